package jobs

import (
	"fmt"
	"io"
	"math"
	"sync"
	"time"

	"github.com/shadercache/shadercache/cmd/cli"
	"github.com/shadercache/shadercache/lab/bench/measure"
)

// SoakFigures are those of a long run of mixed jobs.
type SoakFigures struct {
	Seconds       float64      `json:"seconds"` // of the whole run
	Workers       int          `json:"workers"`
	Jobs          uint64       `json:"jobs"` // that were done
	JobsPerSecond float64      `json:"jobs_per_s"`
	Rounds        uint64       `json:"rounds"` // of the same jobs in changing order
	MedianMillis  float64      `json:"round_median_ms"`
	P99Millis     float64      `json:"round_p99_ms"`
	MaxMillis     float64      `json:"round_max_ms"`
	StallRatio    float64      `json:"stall_ratio"` // largest / median
	Stalled       bool         `json:"stalled"`     // by more than stallRatio
	Moved         uint64       `json:"moved"`       // results moved out of their slots, to make room
	RSSGrowth     int64        `json:"rss_growth_bytes"`
	HeapGrowth    int64        `json:"heap_growth_bytes"`
	Leaks         []string     `json:"leaks"`
	Samples       []SoakSample `json:"samples"`  // states of the process, at equal distances
	Verified      bool         `json:"verified"` // every result is right
}

// SoakSample is the state of the process at one time. The first after warming up is
// compared with the last.
type SoakSample struct {
	AtSeconds float64 `json:"at_s"`
	Jobs      uint64  `json:"jobs"` // that were done
	RSS       int64   `json:"rss_bytes"`
	Heap      int64   `json:"heap_bytes"` // alive after a garbage collection
	measure.Held
}

const (
	// stallRatio is how many medians a round may take before it is a stall.
	stallRatio = 10

	// soakGrowth is how much memory may have grown: what garbage collection and the
	// driver's own pools keep, which does not depend on the length of the run.
	soakGrowth = 32 << 20
)

// compare records what has grown.
func (f *SoakFigures) compare(before, after SoakSample) {
	f.RSSGrowth, f.HeapGrowth = after.RSS-before.RSS, after.Heap-before.Heap
	f.Leaks = after.Grown(before.Held)
	for _, memory := range []struct {
		what          string
		before, after int64
	}{{"resident bytes", before.RSS, after.RSS}, {"heap bytes", before.Heap, after.Heap}} {
		if memory.after > memory.before+soakGrowth {
			f.Leaks = append(f.Leaks, fmt.Sprintf("%s: %d before, %d at the end", memory.what, memory.before, memory.after))
		}
	}
}

// Print writes the figures for people.
func (f *SoakFigures) Print(w io.Writer) {
	fmt.Fprintf(w, "soak of %.1f s, %d goroutines: %d jobs, %.0f a second\n", f.Seconds, f.Workers, f.Jobs, f.JobsPerSecond)
	fmt.Fprintf(w, "round of %d jobs\tmedian %.3f ms\t99%% %.3f ms\tlargest %.3f ms, %.1f times the median\n",
		len(soakKinds), f.MedianMillis, f.P99Millis, f.MaxMillis, f.StallRatio)
	fmt.Fprintf(w, "results moved to make room\t%d\n", f.Moved)
	fmt.Fprintf(w, "memory after warming up and at the end\tresident %+d bytes\theap %+d bytes\n", f.RSSGrowth, f.HeapGrowth)
	for _, leak := range f.Leaks {
		fmt.Fprintf(w, "GREW: %s\n", leak)
	}
}

// roundTimes is a histogram of times in classes of 2%, whose memory does not grow with
// the run.
type roundTimes struct {
	sync.Mutex
	classes [2048]uint64
	rounds  uint64
	largest time.Duration
}

const roundClass = 1.02

// record counts the time of a round.
func (r *roundTimes) record(d time.Duration) {
	class := int(math.Log(max(1, float64(d)/1e3)) / math.Log(roundClass))
	r.Lock()
	defer r.Unlock()
	r.classes[min(class, len(r.classes)-1)]++
	r.rounds++
	r.largest = max(r.largest, d)
}

// quantile returns the time, in milliseconds, that the given share of the rounds do
// not exceed.
func (r *roundTimes) quantile(share float64) float64 {
	seen := uint64(0)
	for class, n := range r.classes {
		if seen += n; float64(seen) >= share*float64(r.rounds) {
			return math.Pow(roundClass, float64(class+1)) / 1e3
		}
	}
	return 0
}

// setFigures sets the figures of the rounds.
func (r *roundTimes) setFigures(f *SoakFigures) {
	f.Rounds, f.MaxMillis = r.rounds, cli.Milliseconds(r.largest)
	if r.rounds > 0 {
		f.MedianMillis, f.P99Millis = r.quantile(0.5), r.quantile(0.99)
		f.StallRatio = f.MaxMillis / f.MedianMillis
		f.Stalled = f.StallRatio > stallRatio
	}
}
