package startup

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/cmd/bench/stats"
	"github.com/shadercache/shadercache/cmd/cli"
	"github.com/shadercache/shadercache/drivercache"
	"github.com/shadercache/shadercache/fleet"
)

// ChildCommand is the hidden command below bench that prints the result of RunChild.
const ChildCommand = "startup-child"

// startedEnvironment carries the time, in nanoseconds since 1970, at which the parent
// started the child.
const startedEnvironment = "SHADERCACHE_BENCH_STARTED"

// ChildOptions configure RunChild.
type ChildOptions struct {
	Programs   int  `flag:"programs" help:"number of programs"`
	MemoryOnly bool `flag:"memory-only" help:"keep no program binaries"`
	Preload    bool `flag:"preload" help:"get all programs before the first dispatch"`
}

// ChildResult is what the child prints.
type ChildResult struct {
	GPU     string `json:"gpu"`
	Driver  string `json:"driver"`
	Priming string `json:"priming"` // how programs are made ready before their first dispatch
	Figures
}

// RunChild runs one scenario in this process. It opens the GPU while another goroutine
// prepares sources and expected results, then runs every program once.
func RunChild(o *cli.Options, options ChildOptions) (r *ChildResult, err error) {
	started := ProcessStart()
	var w *Work
	var prepare errgroup.Group
	prepare.Go(func() (err error) {
		preparing := o.BeginTrace("prepare")
		defer func() { preparing.End() }()
		w, err = NewWork(options.Programs)
		return err
	})
	g, err := o.OpenGPU(cache.Options{MemoryOnly: options.MemoryOnly, MaxPrograms: options.Programs})
	if err := errors.Join(err, prepare.Wait()); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, g.Close()) }()
	w.preload = options.Preload
	running := o.BeginTrace("run")
	err = w.Run(g)
	running.End()
	if err != nil {
		return nil, err
	}
	verifying := o.BeginTrace("verify")
	verified := w.Verify()
	verifying.End()
	process := time.Since(started)
	r = &ChildResult{
		GPU:     g.Name(),
		Driver:  g.Driver(),
		Priming: g.Context.Priming(),
		Figures: Figures{
			GetMillis:           stats.Median(w.get),
			FirstDispatchMillis: stats.Median(w.dispatch),
			ToFirstResultMillis: stats.Median(w.both),
			TotalMillis:         cli.Milliseconds(w.total),
			ContextMillis:       cli.Milliseconds(g.ContextTime),
			ProcessMillis:       cli.Milliseconds(process),
			Compiles:            g.Cache.Stats().Compiles,
			DriverCache:         unmanaged(g.Context.DriverCache()),
			Verified:            verified,
		},
	}
	if start := g.Stats().Remote; start.Outcome != fleet.Disabled {
		r.Outcome, r.WaitedMillis = string(start.Outcome), cli.Milliseconds(start.Waited)
	}
	return r, nil
}

// unmanaged returns where the driver's cache is if it is outside the scenario's
// directory, and "" otherwise.
func unmanaged(d drivercache.State) string {
	if d.Managed && d.Reason == "" {
		return ""
	}
	return d.String()
}

// StartedNow returns the variable that tells a child process when it was started.
func StartedNow() string { return fmt.Sprintf("%s=%d", startedEnvironment, time.Now().UnixNano()) }

// ProcessStart returns when the benchmark that started this process did, or now.
func ProcessStart() time.Time {
	nanos, err := strconv.ParseInt(os.Getenv(startedEnvironment), 10, 64)
	if err != nil {
		return time.Now()
	}
	return time.Unix(0, nanos)
}
