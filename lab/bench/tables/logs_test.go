package tables

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/shadercache/shadercache/lab/bench/gobench"
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
	Soak struct {
		Jobs       int     `json:"jobs"`
		Workers    int     `json:"workers"`
		StallRatio float64 `json:"stall_ratio"`
	} `json:"soak"`
}

type executorRow struct {
	KernelMicros   float64 `json:"kernel_us"`
	Bytes          int     `json:"up_bytes"`
	Depth          int     `json:"depth"`
	MaxDelayMicros float64 `json:"max_delay_us"`
	JobsPerSecond  float64 `json:"jobs_per_s"`
	OfBound        float64 `json:"of_bound"`
	CPUMicros      float64 `json:"cpu_us_per_job"`
	CPUPercent     float64 `json:"cpu_percent"`
}

func (l *logs) executor(name string) executorLog { return readLog[executorLog](l, name) }

type dispatchLog struct {
	Fence     float64 `json:"fence_us"`
	RoundTrip float64 `json:"round_trip_us"`
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
		RoundTripNanos int `json:"round_trip_ns"`
	} `json:"capabilities"`
	Rows []residentRow `json:"rows"`
}

type residentRow struct {
	Workload string  `json:"workload"`
	Strategy string  `json:"strategy"`
	Variant  string  `json:"variant"`
	Median   float64 `json:"median_us"`
	P99      float64 `json:"p99_us"`
}

func (l *logs) resident(name string) residentLog { return readLog[residentLog](l, name) }

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
