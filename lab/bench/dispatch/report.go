package dispatch

import (
	"fmt"
	"io"
	"math/bits"
	"time"

	"github.com/shadercache/shadercache/cmd/bench"
	"github.com/shadercache/shadercache/cmd/bench/stats"
	"github.com/shadercache/shadercache/lab/bench/measure"
)

// Result is what bench dispatch prints.
type Result struct {
	bench.Header
	Dispatches      int             `json:"dispatches"` // of kernels
	RecordMicros    float64         `json:"record_us"`
	DispatchMicros  float64         `json:"dispatch_us"`
	FenceMicros     float64         `json:"fence_us"`
	SubmitMicros    float64         `json:"submit_us"`
	RoundTripMicros float64         `json:"round_trip_us"`
	RoundTripP99    float64         `json:"round_trip_p99_us"` // 99 % of Submit and Wait take at most this
	PipelinedMicros float64         `json:"pipelined_us"`
	Switches        []SwitchFigures `json:"switches"`

	Spreads  map[string]stats.Spread `json:"spreads"`
	Gap      GapFigures              `json:"gap"`
	Verified bool                    `json:"verified"` // every result is right
}

// SwitchFigures are those of programs that are dispatched in turn.
type SwitchFigures struct {
	Programs    int     `json:"programs"`
	Micros      float64 `json:"us"`
	ExtraMicros float64 `json:"extra_us"` // more than the same program every time
}

// GapFigures are the times between dispatches on the GPU's clock.
type GapFigures struct {
	MedianMicros float64  `json:"median_us"`
	P99Micros    float64  `json:"p99_us"` // 99 % take at most this
	MaxMicros    float64  `json:"max_us"`
	Histogram    []GapBin `json:"histogram"`
}

// GapBin counts the gaps below a power of 2, and not below the one before.
type GapBin struct {
	BelowMicros float64 `json:"below_us"`
	Count       int     `json:"count"`
}

// newGapFigures returns the figures of gaps, all 0 where there are none.
func newGapFigures(gaps []time.Duration) GapFigures {
	all := measure.NewLatencies(gaps)
	f := GapFigures{MedianMicros: measure.Micros(all.Median), P99Micros: measure.Micros(all.P99), MaxMicros: measure.Micros(all.Max), Histogram: []GapBin{}}
	bins := map[int]int{}
	for _, gap := range gaps {
		bins[bits.Len64(uint64(max(0, gap)/(250*time.Nanosecond)))]++
	}
	for power := range 64 {
		if count := bins[power]; count > 0 {
			f.Histogram = append(f.Histogram, GapBin{0.25 * float64(uint64(1)<<power), count})
		}
	}
	return f
}

// Verdict returns an error where a dispatch is missing in the count.
func (r *Result) Verdict() error {
	if !r.Verified {
		return bench.Unverified("the kernels did not count every dispatch")
	}
	return nil
}

// Print writes the result for people.
func (r *Result) Print(w io.Writer) {
	r.Header.Print(w, fmt.Sprintf("%d dispatches on %s", r.Dispatches, r.GPU))
	fmt.Fprintln(w, "\nmicroseconds\tmedian\tleast\tmost\tmore than the same program")
	for _, row := range []struct{ what, name string }{
		{"record", "record"}, {"dispatch", "dispatch"}, {"fence", "fence"}, {"round trip", "round_trip"}, {"pipelined", "pipelined"},
	} {
		s := r.Spreads[row.name]
		fmt.Fprintf(w, "%s\t%.2f\t%.2f\t%.2f\n", row.what, s.Median, s.Least, s.Most)
	}
	fmt.Fprintf(w, "round trip, 99%% are below\t%.2f\n", r.RoundTripP99)
	fmt.Fprintf(w, "submit\t%.2f\n", r.SubmitMicros)
	for _, sw := range r.Switches {
		s := r.Spreads[fmt.Sprintf("switch_%d", sw.Programs)]
		fmt.Fprintf(w, "switch, %d programs\t%.2f\t%.2f\t%.2f\t%+.2f\n", sw.Programs, s.Median, s.Least, s.Most, sw.ExtraMicros)
	}
	fmt.Fprintf(w, "gap\t%.2f\ngap, 99%% are below\t%.2f\ngap, largest\t%.2f\n\n", r.Gap.MedianMicros, r.Gap.P99Micros, r.Gap.MaxMicros)
	for _, bin := range r.Gap.Histogram {
		fmt.Fprintf(w, "gaps below %g us\t%d\n", bin.BelowMicros, bin.Count)
	}
	fmt.Fprintln(w)
	bench.PrintVerified(w, r.Verified, "every dispatch was counted", "DISPATCHES ARE MISSING")
}
