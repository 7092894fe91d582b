package main

import (
	"fmt"
	"io"

	"github.com/shadercache/shadercache/internal/bench/chart"
	"github.com/shadercache/shadercache/internal/cli"
)

// startupResult is what bench startup prints.
type startupResult struct {
	Workload             string                     `json:"workload"`
	GPU                  string                     `json:"gpu"`
	Driver               string                     `json:"driver"`
	Origin               cli.Origin                 `json:"origin"`
	Programs             int                        `json:"programs"`
	Repeat               int                        `json:"repeat"`
	Preload              bool                       `json:"preload"`
	Scenarios            map[string]scenarioFigures `json:"scenarios"`
	SpeedupVsCold        float64                    `json:"speedup_vs_cold,omitempty"`
	SpeedupVsDriverOnly  float64                    `json:"speedup_vs_driver_only,omitempty"`
	ProcessSpeedupVsCold float64                    `json:"process_speedup_vs_cold,omitempty"`
	Verified             bool                       `json:"verified"`
}

// scenarioFigures are milliseconds, see benchStartupUsage.
type scenarioFigures struct {
	GetMillis           float64 `json:"get_ms"`
	FirstDispatchMillis float64 `json:"first_dispatch_ms"`
	ToFirstResultMillis float64 `json:"to_first_result_ms"`
	TotalMillis         float64 `json:"total_ms"`
	LeastTotalMillis    float64 `json:"least_total_ms"`
	MostTotalMillis     float64 `json:"most_total_ms"`
	ContextMillis       float64 `json:"context_ms"`
	ProcessMillis       float64 `json:"process_ms"`
	Compiles            uint64  `json:"compiles"`
	DriverCache         string  `json:"driver_cache"` // its state when the process started
	Verified            bool    `json:"verified"`

	leastCompiles uint64 // of several runs
}

// compiles says whether a scenario has no program binaries to load, so that all
// programs are compiled, or has them all, so that none is.
func compiles(scenario string) bool {
	return scenario == scenarioCold || scenario == scenarioDriverOnly
}

// Verdict is an error when the figures cannot be trusted: a result was wrong, or a
// scenario was not what its name says.
func (r *startupResult) Verdict() error {
	if !r.Verified {
		return unverified("results on the GPU were wrong")
	}
	for _, name := range scenarioNames {
		s, ran := r.Scenarios[name]
		switch {
		case !ran:
		case compiles(name) && s.leastCompiles < uint64(r.Programs):
			return cli.Hint(fmt.Errorf("bench: %s compiled %d of %s: it was not without program binaries", name, s.leastCompiles, cli.Plural(r.Programs, "program")), "the figures mean nothing; run with --log-level info")
		case !compiles(name) && s.Compiles > 0:
			return cli.Hint(fmt.Errorf("bench: %s compiled %s that it had the program binaries of", name, cli.Plural(s.Compiles, "program")), "the cache did not keep them: run with --log-level info")
		}
	}
	return nil
}

func (r *startupResult) Print(w io.Writer) {
	fmt.Fprintf(w, "%s on %s\ndriver %s\n%s\n\n", r.Workload, r.GPU, r.Driver, r.Origin)
	r.printTables(w)
	r.totals().WriteText(w)
	fmt.Fprintln(w)
	if r.SpeedupVsCold > 0 {
		fmt.Fprintf(w, "both layers: %.1f times as fast as cold, %.1f from the start of the process\n", r.SpeedupVsCold, r.ProcessSpeedupVsCold)
		if r.SpeedupVsDriverOnly > 0 {
			fmt.Fprintf(w, "and %.2f times as fast as with the driver's own cache alone\n", r.SpeedupVsDriverOnly)
		}
	}
	if r.Repeat == 1 {
		fmt.Fprintln(w, "one run of each: --repeat 5 shows how much they vary")
	}
	if r.Verified {
		fmt.Fprintln(w, "every element of every result was verified")
	} else {
		fmt.Fprintln(w, "RESULTS WERE WRONG")
	}
}

// printTables has what is of all programs, and then what is of one, and the context.
func (r *startupResult) printTables(w io.Writer) {
	fmt.Fprintf(w, "milliseconds\t%s\tleast\tmost\tprocess\tcompiles\tdriver's own cache\n", cli.Plural(r.Programs, "program"))
	for _, name := range scenarioNames {
		if s, ran := r.Scenarios[name]; ran {
			fmt.Fprintf(w, "%s\t%.1f\t%.1f\t%.1f\t%.1f\t%d\t%s\n", name, s.TotalMillis, s.LeastTotalMillis, s.MostTotalMillis,
				s.ProcessMillis, s.Compiles, s.DriverCache)
		}
	}
	fmt.Fprint(w, "\nmilliseconds\tget\tfirst dispatch\tto first result\tcontext\n")
	for _, name := range scenarioNames {
		if s, ran := r.Scenarios[name]; ran {
			fmt.Fprintf(w, "%s\t%.3f\t%.3f\t%.3f\t%.1f\n", name, s.GetMillis, s.FirstDispatchMillis, s.ToFirstResultMillis, s.ContextMillis)
		}
	}
	fmt.Fprintln(w)
}

// totals is the picture of what the layers save.
func (r *startupResult) totals() chart.Chart {
	s := chart.Startup{GPU: r.GPU, Driver: r.Driver, Programs: r.Programs, Repeat: r.Repeat, Preload: r.Preload,
		Origin: []string{r.Origin.Machine(), r.Origin.Moment()}, Scenarios: map[string]chart.Scenario{}}
	for name, f := range r.Scenarios {
		s.Scenarios[name] = chart.Scenario{Total: f.TotalMillis, Least: f.LeastTotalMillis, Most: f.MostTotalMillis, Context: f.ContextMillis}
	}
	return s.Chart()
}
