package sessions

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/shadercache/shadercache/cmd/bench"
	"github.com/shadercache/shadercache/cmd/cli"
	"github.com/shadercache/shadercache/lab/bench/measure"
	"github.com/shadercache/shadercache/resident"
)

// Result is what bench resident prints.
type Result struct {
	bench.Header
	Capabilities resident.Capabilities `json:"capabilities"`
	Rows         []Row                 `json:"rows"`     // one for each measurement
	Verified     bool                  `json:"verified"` // every result is right

	failed error // of workloads; the rows of the others are there
}

// Row is one workload in one mode.
type Row struct {
	Workload        string  `json:"workload"` // what was measured
	Strategy        string  `json:"strategy"` // that was requested
	Got             string  `json:"got"`      // that ran
	Why             string  `json:"why,omitempty"`
	Variant         string  `json:"variant,omitempty"`
	Iterations      uint64  `json:"iterations,omitempty"` // that were done
	PerSecond       float64 `json:"per_s,omitempty"`
	WallMillis      float64 `json:"wall_ms,omitempty"`
	Dispatches      uint64  `json:"dispatches,omitempty"` // of kernels
	GapMicros       float64 `json:"gap_us,omitempty"`
	BoundBy         string  `json:"bound_by,omitempty"`
	Samples         int     `json:"samples,omitempty"` // that were timed
	MedianMicros    float64 `json:"median_us,omitempty"`
	P99Micros       float64 `json:"p99_us,omitempty"` // 99 % take at most this
	MaxMicros       float64 `json:"max_us,omitempty"`
	GBPerSecond     float64 `json:"gb_per_s,omitempty"`
	CPUPercent      float64 `json:"cpu_percent,omitempty"`
	HeartbeatMedian float64 `json:"heartbeat_median_ms,omitempty"`
	HeartbeatMax    float64 `json:"heartbeat_max_ms,omitempty"`
	Silent          uint64  `json:"-"` // submissions between two heartbeats, at most
	NapsPerSecond   float64 `json:"naps_per_s,omitempty"`
	LooksPerSecond  float64 `json:"looks_per_s,omitempty"`
	LongestTick     float64 `json:"longest_tick_ms,omitempty"`
	StopMillis      float64 `json:"stop_ms,omitempty"`

	Held  *measure.Held `json:"held,omitempty"`  // by the process after a soak's session was closed
	Leaks []string      `json:"leaks,omitempty"` // what was less before it

	Verified bool `json:"verified"` // every result is right
}

// setTimes sets the figures of calls from how long each took.
func (r *Row) setTimes(times []time.Duration) {
	l := measure.NewLatencies(times)
	r.Samples = len(times)
	r.MedianMicros, r.P99Micros, r.MaxMicros = measure.Micros(l.Median), measure.Micros(l.P99), measure.Micros(l.Max)
}

// Verdict returns an error where a workload failed or a row is wrong.
func (r *Result) Verdict() error {
	if r.failed != nil {
		return r.failed
	}
	if !r.Verified {
		return bench.Unverified("the state of a session is not what its steps make of it")
	}
	return errors.Join(r.stalled(), r.grew())
}

// grew returns an error where a soak row left more behind than there was before.
func (r *Result) grew() error {
	var rows []string
	for _, row := range r.Rows {
		if len(row.Leaks) > 0 {
			rows = append(rows, row.Strategy+": "+strings.Join(row.Leaks, ", "))
		}
	}
	if rows == nil {
		return nil
	}
	return measure.Grew(strings.Join(rows, "; "))
}

// stalled returns an error where soak rows stalled.
func (r *Result) stalled() error {
	var rows []string
	for _, row := range r.Rows {
		if row.BoundBy == stalls {
			rows = append(rows, fmt.Sprintf("%s: %d submissions without a heartbeat; the longest time without was %.1f ms, the median %.1f ms",
				row.Strategy, row.Silent, row.HeartbeatMax, row.HeartbeatMedian))
		}
	}
	if rows == nil {
		return nil
	}
	return measure.Stalled(strings.Join(rows, "; "))
}

// Print writes the result for people.
func (r *Result) Print(w io.Writer) {
	r.Header.Print(w, r.GPU)
	fmt.Fprint(w, probeText(r.Capabilities))
	workload := ""
	for _, row := range r.Rows {
		if row.Workload != workload {
			workload = row.Workload
			fmt.Fprintf(w, "\n%s\n", rowHeader(workload))
		}
		fmt.Fprintln(w, row.columns())
	}
	fmt.Fprintln(w)
	for _, reason := range r.reasons() {
		fmt.Fprintln(w, reason)
	}
	bench.PrintVerified(w, r.Verified, "the state of every session is what its steps make of it", "RESULTS WERE WRONG")
}

// probeText describes what the driver shows a running kernel.
func probeText(c resident.Capabilities) string {
	no := map[bool]string{false: " not"}
	text := fmt.Sprintf("probe: kernels do%s see what the host writes, it does%s see what they write;\n       %s of %d can wait for each other",
		no[c.HostWritesSeen], no[c.KernelWritesSeen], cli.Plural(int64(c.Residency), "group"), c.ResidencyGroup)
	if c.RoundTrip > 0 {
		text += fmt.Sprintf(", in %.2f us; there and back %.2f us", measure.Micros(c.Barrier), measure.Micros(c.RoundTrip))
	}
	if c.LoopLimit > 0 {
		text += fmt.Sprintf("; loops end after %d rounds", c.LoopLimit)
	}
	return text + "\n"
}

// reasons returns why rows did not run as requested, each reason once.
func (r *Result) reasons() []string {
	var list []string
	for _, row := range r.Rows {
		reason := row.Why
		if row.Got != row.Strategy {
			reason = fmt.Sprintf("%s instead of %s: %s", row.Got, row.Strategy, row.Why)
		}
		if reason != "" && !slices.Contains(list, reason) {
			list = append(list, reason)
		}
	}
	return list
}

// rowHeader returns the head of the table of a workload.
func rowHeader(workload string) string {
	switch workload {
	case "persistence":
		return "persistence\tran as\t\titerations/s\tdispatches\tgap us\tbound by\tCPU %\tverified"
	case "soak":
		return "soak\tran as\t\titerations/s\theartbeat ms\tmost ms\tmost/median\tlongest tick ms\tCPU %\tstall\tverified"
	}
	return workload + "\tran as\t\tmedian us\t99 % us\tmost us\tsamples\tGB/s\tCPU %\tverified"
}

// columns returns the row in the table of its workload.
func (r Row) columns() string {
	head := fmt.Sprintf("%s\t%s\t%s\t", r.Strategy, r.Got, r.Variant)
	tail := fmt.Sprintf("\t%v", r.Verified)
	switch r.Workload {
	case "persistence":
		return head + fmt.Sprintf("%.4g\t%d\t%.1f\t%s\t%.1f", r.PerSecond, r.Dispatches, r.GapMicros, r.BoundBy, r.CPUPercent) + tail
	case "soak":
		return head + fmt.Sprintf("%.4g\t%.2f\t%.2f\t%.1f\t%.2f\t%.1f\t%s", r.PerSecond, r.HeartbeatMedian, r.HeartbeatMax,
			r.HeartbeatMax/max(r.HeartbeatMedian, 1e-9), r.LongestTick, r.CPUPercent, r.BoundBy) + tail
	}
	rate := ""
	if r.GBPerSecond > 0 {
		rate = fmt.Sprintf("%.3g", r.GBPerSecond)
	}
	cpu := ""
	if r.CPUPercent > 0 {
		cpu = fmt.Sprintf("%.1f", r.CPUPercent)
	}
	return head + fmt.Sprintf("%.2f\t%.2f\t%.2f\t%d\t%s\t%s", r.MedianMicros, r.P99Micros, r.MaxMicros, r.Samples, rate, cpu) + tail
}
