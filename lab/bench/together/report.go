package together

import (
	"cmp"
	"fmt"
	"io"
	"time"

	"github.com/shadercache/shadercache/cmd/bench"
	"github.com/shadercache/shadercache/cmd/bench/stats"
	"github.com/shadercache/shadercache/cmd/cli"
)

// Result is what bench together prints.
type Result struct {
	Workload string `json:"workload"` // what was measured
	bench.Header
	Programs int   `json:"programs"`
	Repeat   int   `json:"repeat"` // rounds of each row
	Rows     []Row `json:"rows"`
	Verified bool  `json:"verified"` // every result of every process is right
}

// Row are the processes that start at once, in milliseconds from the start of each to its
// end; medians of the rounds.
type Row struct {
	Workload      string  `json:"workload"`
	Processes     int     `json:"processes"`        // at once
	Remote        string  `json:"remote,omitempty"` // of machines: file, loopback, or a URL
	LatencyMillis float64 `json:"latency_ms"`       // of a link before it, there and back
	FirstMillis   float64 `json:"first_ms"`         // the process that ended first
	MedianMillis  float64 `json:"median_ms"`
	SlowestMillis float64 `json:"slowest_ms"`
	BesideMillis  float64 `json:"beside_ms"` // what it is compared with, see the workloads
	Ratio         float64 `json:"ratio"`     // slowest, of beside
	Starts        int     `json:"starts"`    // of all rounds, that should find all programs
	Missed        int     `json:"missed"`    // of these, that compiled some

	latency time.Duration
	rounds  []round
}

// round are the times of one round.
type round struct{ first, median, slowest, beside, ratio float64 }

// add adds a round: the sorted times of its processes, what they are compared with, and how
// many programs each start compiled that should have found them.
func (r *Row) add(millis []float64, beside float64, compiled []uint64) {
	if len(millis) == 0 {
		return
	}
	r.rounds = append(r.rounds, round{millis[0], stats.Median(millis), last(millis), beside, last(millis) / beside})
	r.Starts += len(compiled)
	for _, n := range compiled {
		if n > 0 {
			r.Missed++
		}
	}
}

// summarize sets the figures from the rounds.
func (r *Row) summarize() {
	median := func(get func(round) float64) float64 {
		var values []float64
		for _, one := range r.rounds {
			values = append(values, get(one))
		}
		return stats.Median(values)
	}
	r.FirstMillis = median(func(o round) float64 { return o.first })
	r.MedianMillis = median(func(o round) float64 { return o.median })
	r.SlowestMillis = median(func(o round) float64 { return o.slowest })
	r.BesideMillis = median(func(o round) float64 { return o.beside })
	r.Ratio = median(func(o round) float64 { return o.ratio })
}

// Verdict returns an error where a result was wrong, or a start compiled what lay on disk.
// That a remote was not waited for is a figure.
func (r *Result) Verdict() error {
	if !r.Verified {
		return bench.Unverified("results on the GPU were wrong")
	}
	for _, row := range r.Rows {
		if row.Missed > 0 && row.Workload != Machines {
			return cli.Hint(fmt.Errorf("bench: %s: %d of %s compiled what the directory had", row.Workload, row.Missed, cli.Plural(row.Starts, "start")), "the cache did not keep it: run with --log-level info")
		}
	}
	return nil
}

// besides has what each workload is compared with.
var besides = map[string]string{Warm: "a directory each", Cold: "one alone", Failures: "--no-isolate", Machines: "their median"}

// Print writes the result for people.
func (r *Result) Print(w io.Writer) {
	r.Header.Print(w, r.Workload+" on "+r.GPU)
	fmt.Fprintln(w, "\nmilliseconds\tat once\tremote\tlatency\tfirst\tmedian\tslowest\tcompared with\tratio\tmissed")
	for _, row := range r.Rows {
		fmt.Fprintf(w, "%s\t%d\t%s\t%g\t%.0f\t%.0f\t%.0f\t%.0f, %s\t%.2f\t%d of %d\n", row.Workload, row.Processes, cmp.Or(row.Remote, "-"), row.LatencyMillis,
			row.FirstMillis, row.MedianMillis, row.SlowestMillis, row.BesideMillis, besides[row.Workload], row.Ratio, row.Missed, row.Starts)
	}
	fmt.Fprintln(w)
	bench.PrintVerified(w, r.Verified, "every element of every result was verified in every process", "RESULTS WERE WRONG")
}

func last(millis []float64) float64 {
	if len(millis) == 0 {
		return 0
	}
	return millis[len(millis)-1]
}
