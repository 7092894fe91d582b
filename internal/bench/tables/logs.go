package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/shadercache/shadercache/internal/bench/gobench"
)

// logs reads raw output below root and joins its errors. Its types have only the fields
// that the tables use, so that logs of older versions can be read.
type logs struct {
	root string
	err  error
}

func readLog[T any](l *logs, name string) T {
	var v T
	data, err := os.ReadFile(filepath.Join(l.root, name))
	if err == nil {
		err = json.Unmarshal(data, &v)
	}
	if err != nil {
		l.err = errors.Join(l.err, err)
	}
	return v
}

type startupLog struct {
	GPU       string                     `json:"gpu"`
	Driver    string                     `json:"driver"`
	Programs  int                        `json:"programs"`
	Repeat    int                        `json:"repeat"`
	Preload   bool                       `json:"preload"`
	Scenarios map[string]startupScenario `json:"scenarios"`
}

type startupScenario struct {
	Get         float64 `json:"get_ms"`
	Dispatch    float64 `json:"first_dispatch_ms"`
	FirstResult float64 `json:"to_first_result_ms"`
	Total       float64 `json:"total_ms"`
	LeastTotal  float64 `json:"least_total_ms"` // 0 in older logs
	MostTotal   float64 `json:"most_total_ms"`
	Context     float64 `json:"context_ms"`
	Process     float64 `json:"process_ms"`
	Compiles    int     `json:"compiles"`
	DriverCache string  `json:"driver_cache"`
}

func (l *logs) startup(name string) startupLog { return readLog[startupLog](l, name) }

type executorLog struct {
	Rows   []executorRow `json:"rows"`
	Upload struct {
		GBPerS float64 `json:"gb_per_s"`
	} `json:"upload"`
	Parts []struct {
		KernelMicros   float64 `json:"kernel_us"`
		Bytes          int     `json:"up_bytes"`
		MeasuredMicros float64 `json:"kernel_measured_us"`
	} `json:"parts"`
	Soak struct {
		Jobs       int     `json:"jobs"`
		Workers    int     `json:"workers"`
		StallRatio float64 `json:"stall_ratio"`
		RSSGrowth  float64 `json:"rss_growth_bytes"`
	} `json:"soak"`
}

type executorRow struct {
	KernelMicros    float64 `json:"kernel_us"`
	Bytes           int     `json:"up_bytes"`
	Depth           int     `json:"depth"`
	MaxDelayMicros  float64 `json:"max_delay_us"`
	JobsPerSecond   float64 `json:"jobs_per_s"`
	SpeedupVsDepth1 float64 `json:"speedup_vs_depth1"`
	OfBound         float64 `json:"of_bound"`
	JobsPerBatch    float64 `json:"jobs_per_batch"`
	SubmitMicros    float64 `json:"submit_us"`
	CPUMicros       float64 `json:"cpu_us_per_job"`
	CPUPercent      float64 `json:"cpu_percent"`
	AllocationsAJob float64 `json:"allocations_per_job"`
}

func (l *logs) executor(name string) executorLog { return readLog[executorLog](l, name) }

type dispatchLog struct {
	Record    float64 `json:"record_us"`
	Dispatch  float64 `json:"dispatch_us"`
	Fence     float64 `json:"fence_us"`
	Submit    float64 `json:"submit_us"`
	RoundTrip float64 `json:"round_trip_us"`
	Pipelined float64 `json:"pipelined_us"`
	Switches  []struct {
		Programs int     `json:"programs"`
		Micros   float64 `json:"us"`
	} `json:"switches"`
	Gap struct {
		Median float64 `json:"median_us"`
		P99    float64 `json:"p99_us"`
	} `json:"gap"`
}

func (l *logs) dispatch(name string) dispatchLog { return readLog[dispatchLog](l, name) }

type kernelsLog struct {
	Rows []kernelRow `json:"rows"`
}

type kernelRow struct {
	Shape      string  `json:"shape"`
	Algorithm  string  `json:"algorithm"`
	Millis     float64 `json:"ms"`
	TFLOPS     float64 `json:"tflops"`
	Error      float64 `json:"max_rel_error"`
	Peer       string  `json:"peer"`
	PeerMillis float64 `json:"peer_ms"`
	Ratio      float64 `json:"ratio"`
}

// name returns the shape without its kind.
func (r kernelRow) name() string {
	_, name, _ := strings.Cut(r.Shape, ":")
	return name
}

func (l *logs) kernels(name string) kernelsLog { return readLog[kernelsLog](l, name) }

type residentLog struct {
	Capabilities struct {
		Residency      int `json:"residency"`
		BarrierNanos   int `json:"barrier_ns"`
		RoundTripNanos int `json:"round_trip_ns"`
	} `json:"capabilities"`
	Rows []residentRow `json:"rows"`
}

type residentRow struct {
	Workload    string  `json:"workload"`
	Strategy    string  `json:"strategy"`
	Variant     string  `json:"variant"`
	PerSecond   float64 `json:"per_s"`
	Dispatches  int     `json:"dispatches"`
	BoundBy     string  `json:"bound_by"`
	CPUPercent  float64 `json:"cpu_percent"`
	Median      float64 `json:"median_us"`
	P99         float64 `json:"p99_us"`
	BeatMedian  float64 `json:"heartbeat_median_ms"`
	BeatMax     float64 `json:"heartbeat_max_ms"`
	LongestTick float64 `json:"longest_tick_ms"`
	Verified    bool    `json:"verified"`
}

func (l *logs) resident(name string) residentLog { return readLog[residentLog](l, name) }

type interpreterLog struct {
	Rows []struct {
		Program   string  `json:"program"`
		Form      string  `json:"form"`
		Machines  int     `json:"machines"`
		Registers string  `json:"registers"`
		PerSecond float64 `json:"instructions_per_second"`
	} `json:"rows"`
}

func (l *logs) interpreter(name string) interpreterLog { return readLog[interpreterLog](l, name) }

type stealLog struct {
	Rows []struct {
		Tasks  int     `json:"tasks"`
		Groups int     `json:"groups"`
		Steal  bool    `json:"steal"`
		Micros float64 `json:"us"`
		Least  int     `json:"least"`
		Most   int     `json:"most"`
		Stolen int     `json:"stolen"`
	} `json:"rows"`
}

func (l *logs) steal(name string) stealLog { return readLog[stealLog](l, name) }

// goBench returns the figures of Go's benchmarks in a log.
func (l *logs) goBench(name string) gobench.Figures {
	data, err := os.ReadFile(filepath.Join(l.root, name))
	l.err = errors.Join(l.err, err)
	return gobench.Read(string(data))
}

// number returns what the group of a pattern matches in a text.
func (l *logs) number(name, pattern string) (v float64) {
	data, err := os.ReadFile(filepath.Join(l.root, name))
	if m := regexp.MustCompile(pattern).FindSubmatch(data); err == nil && m != nil {
		v, err = strconv.ParseFloat(string(m[1]), 64)
	} else if err == nil {
		err = fmt.Errorf("%s has no %s", name, pattern)
	}
	l.err = errors.Join(l.err, err)
	return v
}
