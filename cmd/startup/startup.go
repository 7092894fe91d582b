// Package startup measures the start of a program that needs many compute programs,
// with and without the two cache layers.
//
// Every scenario runs in a fresh process of the same executable: a hidden command that
// calls [RunChild] and prints its result. The cold scenario runs first, since the warm
// ones use what it wrote.
package startup

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/schollz/progressbar/v3"

	"github.com/shadercache/shadercache/cmd/bench"
	"github.com/shadercache/shadercache/cmd/cli"
	"github.com/shadercache/shadercache/trace"
)

// Options configure Run.
type Options struct {
	Programs  int      `flag:"programs" help:"number of programs"` // 1 to MaxPrograms
	Repeat    int      `flag:"repeat" help:"runs of each scenario, for medians" must:"at least 1"`
	Scenarios []string // to report, of Scenarios
	Preload   bool     `flag:"preload" help:"get all programs at once before the first dispatch"`
	Chart     string   `flag:"chart" help:"SVG file to draw the totals into, unless a result was wrong; its folder is made" files:"svg"`
	Report    string   `flag:"report" help:"HTML file for a page of one more cold and one more warm start"`
	FleetOptions
	WorkDir string `flag:"workdir" help:"where the scenarios' directories are made, and removed (default the system's temporary directory)"`
}

// MaxPrograms bounds Options.Programs: above it the figures show nothing new.
const MaxPrograms = 4800

// Validate returns an error for options that Run does not accept.
func (s Options) Validate() error {
	switch {
	case s.Programs < 1 || s.Programs > MaxPrograms:
		return fmt.Errorf("--programs must be 1 to %d", MaxPrograms)
	case s.Chart != "" && filepath.Ext(s.Chart) != ".svg":
		return fmt.Errorf("--chart writes SVG, so %s should end in .svg", s.Chart)
	}
	if s.Report != "" && filepath.Ext(s.Report) != ".html" {
		return fmt.Errorf("--report writes HTML, so %s should end in .html", s.Report)
	}
	if err := s.FleetOptions.validate(); err != nil {
		return err
	}
	known := append(slices.Clone(Scenarios), Upstream)
	if s.Remote != "" {
		known = allScenarios
	}
	for _, name := range s.Scenarios {
		if !slices.Contains(known, name) {
			return fmt.Errorf("there is no scenario %q (there are all, %s)", name, strings.Join(known, ", "))
		}
	}
	return nil
}

// run is one call of Run.
type run struct {
	Options
	cli  *cli.Options
	far  *Fleet // nil without a remote
	bar  *progressbar.ProgressBar
	head bench.Header
	runs map[string][]Figures

	trace string // file for the trace of the next child, "" for none
}

// Run measures every scenario, removes what it made on disk, and draws the chart
// unless a result was wrong.
func Run(o *cli.Options, options Options) (*Result, error) {
	r := &run{Options: options, cli: o, runs: map[string][]Figures{}, head: bench.Header{Origin: cli.NewOrigin()}}
	if err := cli.MakeFolderOf(r.Chart); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(cmp.Or(r.WorkDir, os.TempDir()), 0o755); err != nil {
		return nil, err
	}
	work, err := os.MkdirTemp(r.WorkDir, "shadercache-bench-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(work)
	if r.far, err = OpenFleet(r.FleetOptions, work); err != nil {
		return nil, err
	}
	defer r.far.Close()
	if err := r.all(work); err != nil {
		return nil, err
	}
	if r.Report != "" {
		if err := r.writeReport(work); err != nil {
			return nil, fmt.Errorf("bench: the report: %w", err)
		}
	}
	result := r.result()
	if r.Chart != "" && result.Verdict() == nil {
		err = o.WriteOutput(r.Chart, 0o644, func(w io.Writer) error {
			_, err := io.WriteString(w, result.Chart(result.Origin.Machine(), result.Origin.Moment()).SVG())
			return err
		})
	}
	return result, err
}

// all runs every scenario Repeat times, in directories below work.
func (r *run) all(work string) error {
	ctx, stop := cli.Interruptible()
	defer stop()
	r.bar = r.cli.NewProgress(1+r.Repeat*len(r.plan()), "measuring")
	defer func() { _ = r.bar.Finish() }()
	if err := r.warmUp(ctx, filepath.Join(work, "warm-up")); err != nil {
		return fmt.Errorf("bench: %w", err)
	}
	for i := range r.Repeat {
		dir := filepath.Join(work, strconv.Itoa(i))
		if err := r.round(ctx, dir, i); err != nil {
			return fmt.Errorf("bench: %w", err)
		}
		if err := os.RemoveAll(dir); err != nil {
			return err
		}
	}
	return nil
}

// warmUp runs a process that does not count, so that the first one that does finds
// the driver's libraries in memory as the others do.
func (r *run) warmUp(ctx context.Context, dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	_, err := r.child(ctx, Cold, dir, 1, 0)
	_ = r.bar.Add(1)
	return err
}

// plan returns the scenarios to run. The cold start comes first, since it fills the
// directories of the others.
func (r *run) plan() []string {
	plan := slices.Clone(r.Scenarios)
	if !slices.Contains(plan, Cold) {
		plan = slices.Insert(plan, 0, Cold)
	}
	if at := slices.Index(plan, RemoteNext); at >= 0 && !slices.Contains(plan, Remote) {
		plan = slices.Insert(plan, at, Remote)
	}
	return plan
}

// round runs each scenario once, in directories below dir. What the cold start left is
// pushed before the first start from a remote.
func (r *run) round(ctx context.Context, dir string, number int) error {
	filled := filepath.Join(dir, Cold)
	for _, scenario := range r.plan() {
		own := filepath.Join(dir, scenario)
		if scenario == Remote {
			if err := r.far.Push(ctx, r.cli, number, filled); err != nil {
				return fmt.Errorf("%s: %w", scenario, err)
			}
		}
		if scenario == RemoteNext {
			own = filepath.Join(dir, Remote)
		}
		if err := prepareScenario(scenario, filled, own); err != nil {
			return err
		}
		figures, err := r.child(ctx, scenario, own, r.Programs, number)
		if err != nil {
			return fmt.Errorf("%s: %w", scenario, err)
		}
		r.runs[scenario] = append(r.runs[scenario], figures)
		if err := chmodAll(own, 0o700, 0o600); err != nil {
			return err
		}
		_ = r.bar.Add(1)
	}
	return nil
}

// child runs one scenario in a fresh process of this executable.
func (r *run) child(ctx context.Context, scenario, dir string, programs, round int) (Figures, error) {
	state := cli.DriverCacheFill(filepath.Join(dir, driverFolder))
	environment, own := ScenarioEnvironment(os.Environ()), *r.cli
	if scenario == Upstream {
		environment = upstreamEnvironment(environment, dir)
		if dir = ""; slog.Level(own.LogLevel) == slog.LevelWarn {
			own.LogLevel = cli.LogLevel(slog.LevelError) // that a private place is used is the point
		}
	}
	child, err := own.ChildCommand(ctx, dir, []string{"bench", ChildCommand}, "--programs", strconv.Itoa(programs),
		"--memory-only="+strconv.FormatBool(scenario == DriverOnly), "--preload="+strconv.FormatBool(r.Preload))
	if err != nil {
		return Figures{}, err
	}
	if isFleet(scenario) {
		environment = append(environment, r.far.Environment(round)...)
	}
	if r.trace != "" {
		environment = append(environment, trace.Variable+"="+r.trace)
	}
	child.Env = append(environment, StartedNow())
	var c ChildResult
	if err := cli.ReadChild(ctx, child, &c); err != nil {
		return Figures{}, err
	}
	r.head.GPU, r.head.Driver = c.GPU, c.Driver
	c.DriverCache = cmp.Or(c.DriverCache, state)
	return c.Figures, nil
}
