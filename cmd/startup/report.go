package startup

import (
	"fmt"
	"io"
	"strconv"

	"github.com/shadercache/shadercache/cmd/bench"
	"github.com/shadercache/shadercache/cmd/cli"
	"github.com/shadercache/shadercache/fleet"
)

// Result is what bench startup prints.
type Result struct {
	Workload string `json:"workload"` // what was measured
	bench.Header
	Programs             int                `json:"programs"`
	Repeat               int                `json:"repeat"` // runs of each row
	Preload              bool               `json:"preload"`
	Scenarios            map[string]Figures `json:"scenarios"`
	SpeedupVsCold        float64            `json:"speedup_vs_cold,omitempty"`
	SpeedupVsDriverOnly  float64            `json:"speedup_vs_driver_only,omitempty"`
	ProcessSpeedupVsCold float64            `json:"process_speedup_vs_cold,omitempty"`
	UpstreamVsBoth       float64            `json:"upstream_vs_both,omitempty"` // time from the start of the process
	Fleet                *FleetFigures      `json:"fleet,omitempty"`            // with --remote
	Verified             bool               `json:"verified"`                   // every result is right
}

// result summarizes the runs.
func (r *run) result() *Result {
	result := &Result{
		Workload:  "startup" + strconv.Itoa(r.Programs),
		Header:    r.head,
		Programs:  r.Programs,
		Repeat:    r.Repeat,
		Preload:   r.Preload,
		Scenarios: map[string]Figures{},
		Verified:  true,
	}
	all := map[string]Figures{}
	for name, runs := range r.runs {
		all[name] = medianFigures(runs)
		result.Verified = result.Verified && all[name].Verified
	}
	for _, name := range r.Options.Scenarios {
		result.Scenarios[name] = all[name]
	}
	cold, both := all[Cold], all[Both]
	result.SpeedupVsCold = speedup(cold.TotalMillis, both.TotalMillis)
	result.SpeedupVsDriverOnly = speedup(all[DriverOnly].TotalMillis, both.TotalMillis)
	result.ProcessSpeedupVsCold = speedup(cold.ProcessMillis, both.ProcessMillis)
	result.UpstreamVsBoth = speedup(all[Upstream].ProcessMillis, both.ProcessMillis)
	if r.far != nil {
		result.Fleet = r.far.figures(all)
	}
	return result
}

// Verdict returns an error where the figures cannot be trusted: a result was wrong, or
// a scenario did not have the caches of its name.
func (r *Result) Verdict() error {
	if !r.Verified {
		return bench.Unverified("results on the GPU were wrong")
	}
	for _, name := range allScenarios {
		f, ran := r.Scenarios[name]
		switch {
		case !ran || name == Remote && f.Outcome != string(fleet.Pulled): // the next start has it
		case compilesAll(name) && f.leastCompiles < uint64(r.Programs):
			return cli.Hint(fmt.Errorf("bench: %s compiled %d of %s: it was not without program binaries", name, f.leastCompiles, cli.Plural(r.Programs, "program")), "the figures mean nothing; run with --log-level info")
		case !compilesAll(name) && f.Compiles > 0:
			return cli.Hint(fmt.Errorf("bench: %s compiled %s that it had the program binaries of", name, cli.Plural(f.Compiles, "program")), "the cache did not keep them: run with --log-level info")
		}
	}
	return nil
}

// Print writes the result for people.
func (r *Result) Print(w io.Writer) {
	r.Header.Print(w, r.Workload+" on "+r.GPU)
	fmt.Fprintln(w)
	r.printTables(w)
	r.Chart().WriteText(w)
	fmt.Fprintln(w)
	if r.SpeedupVsCold > 0 {
		fmt.Fprintf(w, "both layers: %.1f times as fast as cold, %.1f from the start of the process\n", r.SpeedupVsCold, r.ProcessSpeedupVsCold)
		if r.SpeedupVsDriverOnly > 0 {
			fmt.Fprintf(w, "and %.2f times as fast as with the driver's own cache alone\n", r.SpeedupVsDriverOnly)
		}
	}
	if r.UpstreamVsBoth > 0 {
		fmt.Fprintf(w, "first start with a read-only directory: %.2f times the time of both layers, from the start of the process\n", r.UpstreamVsBoth)
	}
	r.printFleet(w)
	if r.Repeat == 1 {
		fmt.Fprintln(w, "one run of each: --repeat 5 shows how much they vary")
	}
	bench.PrintVerified(w, r.Verified, "every element of every result was verified", "RESULTS WERE WRONG")
}

// printTables writes the totals of all programs, then the medians per program.
func (r *Result) printTables(w io.Writer) {
	fmt.Fprintf(w, "milliseconds\t%s\tleast\tmost\tprocess\tcompiles\tdriver's own cache\n", cli.Plural(r.Programs, "program"))
	for _, name := range allScenarios {
		if f, ran := r.Scenarios[name]; ran {
			fmt.Fprintf(w, "%s\t%.1f\t%.1f\t%.1f\t%.1f\t%d\t%s\n", name, f.TotalMillis, f.LeastTotalMillis, f.MostTotalMillis,
				f.ProcessMillis, f.Compiles, f.DriverCache)
		}
	}
	fmt.Fprint(w, "\nmilliseconds\tget\tfirst dispatch\tto first result\tcontext\n")
	for _, name := range allScenarios {
		if f, ran := r.Scenarios[name]; ran {
			fmt.Fprintf(w, "%s\t%.3f\t%.3f\t%.3f\t%.1f\n", name, f.GetMillis, f.FirstDispatchMillis, f.ToFirstResultMillis, f.ContextMillis)
		}
	}
	fmt.Fprintln(w)
}

// printFleet writes the figures of starts from a remote.
func (r *Result) printFleet(w io.Writer) {
	f := r.Fleet
	if f == nil {
		return
	}
	fmt.Fprintf(w, "\nremote: %s\npushed %s in %.0f ms\n", f, cli.ReadableBytes(f.PushedBytes), f.PushMillis)
	for _, name := range []string{Remote, RemoteNext} {
		if s, ran := r.Scenarios[name]; ran {
			fmt.Fprintf(w, "%s: %s, waited %.0f ms, %s\n", name, s.Outcome, s.WaitedMillis, cli.Plural(s.Compiles, "compile"))
		}
	}
	if f.RatioToWarm > 0 {
		fmt.Fprintf(w, "remote, from the start of the process: %.2f times a warm start (%+.0f ms), %+.0f ms to a cold one\n",
			f.RatioToWarm, f.ExtraMillis, f.ExtraColdMilli)
	}
}
