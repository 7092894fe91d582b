// Package together measures processes that start at the same time: on one warm directory,
// on one empty one, and on new machines that share a remote.
//
// Processes are started as [startup] starts them, with programs whose results each of them
// verifies, and by the command preload.
package together

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/schollz/progressbar/v3"

	"github.com/shadercache/shadercache/cmd/bench"
	"github.com/shadercache/shadercache/cmd/cli"
	"github.com/shadercache/shadercache/cmd/startup"
)

// The workloads.
const (
	Warm     = "warm"     // processes on one warm directory, beside as many with one each
	Cold     = "cold"     // preloads of an empty directory, beside one alone
	Failures = "failures" // a preload of a warm directory and sources that do not compile, beside --no-isolate
	Machines = "machines" // starts in empty directories with one remote, beside their median
)

// Workloads are the names of all, in their order.
var Workloads = []string{Warm, Cold, Failures, Machines}

// File is the one of Options.Remotes that is a folder.
const File = "file"

// Options configure Run.
type Options struct {
	Workloads []string        `flag:"workloads" list:"commas" help:"one or several"`
	Processes []int           `flag:"processes" help:"at once, on one directory"`
	Machines  []int           `flag:"machines" help:"at once, with a directory each"`
	Remotes   []string        `flag:"remote" list:"commas" help:"of machines: file, loopback, or a URL"`
	Latencies []time.Duration `flag:"latency" help:"of a link before the remote, there and back"`
	Programs  int             `flag:"programs" help:"number of programs"`
	Repeat    int             `flag:"repeat" help:"rounds of each row"`
	WorkDir   string          `flag:"workdir" help:"where directories are made, and removed (default the system's temporary directory)"`
}

// most bounds how many processes start at once.
const most = 64

// Validate returns an error for options that Run does not accept.
func (o Options) Validate() error {
	switch {
	case o.Programs < 1 || o.Programs > startup.MaxPrograms:
		return fmt.Errorf("--programs must be 1 to %d", startup.MaxPrograms)
	case o.Repeat < 1:
		return errors.New("--repeat must be at least 1")
	}
	for _, n := range slices.Concat(o.Processes, o.Machines) {
		if n < 1 || n > most {
			return fmt.Errorf("--processes and --machines must be 1 to %d each", most)
		}
	}
	for _, name := range o.Workloads {
		if !slices.Contains(Workloads, name) {
			return fmt.Errorf("there is no workload %q (there are %s)", name, strings.Join(Workloads, ", "))
		}
	}
	return nil
}

// run is one call of Run.
type run struct {
	Options
	cli         *cli.Options
	bar         *progressbar.ProgressBar
	work        string // folder of all that is made
	shadercache string // the executable
	filled      string // a directory with all programs
	manifest    string // file with all programs, for preload
	failures    string // file with these and some that do not compile
	pushes      int    // to remotes
	result      Result
}

// Run measures all workloads, and removes what it made on disk.
func Run(o *cli.Options, options Options) (*Result, error) {
	ctx, stop := cli.Interruptible()
	defer stop()
	r := &run{Options: options, cli: o}
	r.result = Result{Workload: fmt.Sprintf("together%d", r.Programs), Header: bench.Header{Origin: cli.NewOrigin()},
		Programs: r.Programs, Repeat: r.Repeat, Verified: true}
	var err error
	if r.shadercache, err = findShadercache(); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(cmp.Or(r.WorkDir, os.TempDir()), 0o755); err != nil {
		return nil, err
	}
	if r.work, err = os.MkdirTemp(r.WorkDir, "shadercache-bench-"); err != nil {
		return nil, err
	}
	defer os.RemoveAll(r.work)
	plan := r.plan()
	r.bar = o.NewProgress(1+len(plan)*r.Repeat, "measuring")
	defer func() { _ = r.bar.Finish() }()
	if err := r.fill(ctx); err != nil {
		return nil, fmt.Errorf("bench: %w", err)
	}
	for _, row := range plan {
		if err := r.measure(ctx, row); err != nil {
			return nil, fmt.Errorf("bench: %s: %w", row.Workload, err)
		}
	}
	return &r.result, nil
}

// plan returns the rows to measure, without figures.
func (r *run) plan() (rows []Row) {
	for _, workload := range r.Workloads {
		switch workload {
		case Failures:
			rows = append(rows, Row{Workload: workload, Processes: 1})
		case Machines:
			rows = append(rows, r.machines()...)
		default:
			for _, n := range r.Processes {
				rows = append(rows, Row{Workload: workload, Processes: n})
			}
		}
	}
	return rows
}

// machines returns the rows of Machines. A folder has no link before it.
func (r *run) machines() (rows []Row) {
	for _, remote := range r.Remotes {
		for _, latency := range r.Latencies {
			if remote == File && latency > 0 {
				continue
			}
			for _, n := range r.Machines {
				rows = append(rows, Row{Workload: Machines, Processes: n, Remote: remote, LatencyMillis: cli.Milliseconds(latency), latency: latency})
			}
		}
	}
	return rows
}

// measure measures a row, in Repeat rounds.
func (r *run) measure(ctx context.Context, row Row) error {
	rounds := map[string]func(context.Context, *Row) error{Warm: r.warm, Cold: r.cold, Failures: r.failing, Machines: r.fleet}
	for range r.Repeat {
		if err := rounds[row.Workload](ctx, &row); err != nil {
			return err
		}
		_ = r.bar.Add(1)
	}
	row.summarize()
	r.result.Rows = append(r.result.Rows, row)
	return nil
}
