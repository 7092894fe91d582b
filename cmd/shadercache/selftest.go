package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/internal/bench/startup"
	"github.com/shadercache/shadercache/internal/cli"
)

const selftestUsage = `Check on this machine, with this environment, that the cache hits.

Two processes, one after the other, get and run the same three programs with a
cache in a temporary directory. The first has to compile all of them. The second
has to load all of them from disk and compile nothing, and the driver's own cache,
where it is managed, has to hold machine code. Every element of every result is
compared with the CPU's.

The exit code is 1 when the cache does not hit, or when a result was wrong.`

const selftestExample = `  shadercache selftest || shadercache doctor`

// selftestPrograms is enough to distinguish some from all.
const selftestPrograms = 3

// selftestResult is what selftest prints.
type selftestResult struct {
	GPU              string      `json:"gpu"`
	Driver           string      `json:"driver"`
	Programs         int         `json:"programs"`
	First            selftestRun `json:"first"` // process
	Second           selftestRun `json:"second"`
	DriverCache      string      `json:"driver_cache"` // "managed", or why it is not
	DriverCacheBytes int64       `json:"driver_cache_bytes"`
	Good             bool        `json:"good"`
	Reasons          []string    `json:"reasons"` // why it is not good
}

// selftestRun is what one process counted.
type selftestRun struct {
	Compiles            uint64  `json:"compiles"`
	DiskHits            uint64  `json:"disk_hits"`
	ToFirstResultMillis float64 `json:"to_first_result_ms"` // median of the programs
	Verified            bool    `json:"verified"`

	driverBytes int64 // after the run
}

func newSelftest(o *options) *cobra.Command {
	return o.WithResult(&cobra.Command{
		Use:     "selftest",
		Short:   "Check that the cache hits on this machine",
		Long:    selftestUsage,
		Example: selftestExample,
		Args:    cli.UsageArgs(cli.NoArguments),
		RunE: func(*cobra.Command, []string) error {
			ctx, stop := cli.Interruptible()
			defer stop()
			r, err := o.selftest(ctx)
			if err != nil {
				return err
			}
			if err := o.Result(r, r.Print); err != nil || r.Good {
				return err
			}
			return cli.Hint(errors.New("the cache does not work here"), "shadercache doctor")
		},
	}, selftestResult{})
}

func (o *options) selftest(ctx context.Context) (_ *selftestResult, err error) {
	work, err := os.MkdirTemp("", "shadercache-selftest-*")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	r := &selftestResult{Programs: selftestPrograms, DriverCache: "managed", Reasons: []string{}}
	if r.First, err = o.selftestRun(ctx, work, r); err != nil {
		return nil, err
	}
	if r.Second, err = o.selftestRun(ctx, work, r); err != nil {
		return nil, err
	}
	r.Second.DiskHits -= r.First.DiskHits // the directory counts both
	r.DriverCacheBytes = r.Second.driverBytes
	r.checkCounters()
	return r, nil
}

// selftestRun runs one process. DiskHits are all of the directory until then.
func (o *options) selftestRun(ctx context.Context, work string, r *selftestResult) (selftestRun, error) {
	child, err := o.ChildCommand(ctx, work, []string{"bench", startup.ChildCommand}, "--programs", strconv.Itoa(selftestPrograms))
	if err != nil {
		return selftestRun{}, err
	}
	output, err := child.Output()
	if errors.As(err, new(*exec.ExitError)) && ctx.Err() == nil {
		return selftestRun{}, cli.ErrReported // the child has printed its error
	}
	if err := errors.Join(ctx.Err(), err); err != nil {
		return selftestRun{}, err
	}
	var figures startup.ChildResult
	if err := json.Unmarshal(output, &figures); err != nil {
		return selftestRun{}, fmt.Errorf("the child printed no result: %w", err)
	}
	dir, err := binary.OpenDir(work)
	if err != nil {
		return selftestRun{}, err
	}
	lifetime, err := dir.Lifetime()
	r.GPU, r.Driver = figures.GPU, figures.Driver
	if figures.DriverCache != "" {
		r.DriverCache = figures.DriverCache
	}
	return selftestRun{
		Compiles:            figures.Compiles,
		DiskHits:            lifetime.DiskHits,
		ToFirstResultMillis: figures.ToFirstResultMillis,
		Verified:            figures.Verified,
		driverBytes:         dir.DriverBytes(),
	}, err
}

// checkCounters compares the counters with what they have to be.
func (r *selftestResult) checkCounters() {
	require := func(holds bool, format string, values ...any) {
		if !holds {
			r.Reasons = append(r.Reasons, fmt.Sprintf(format, values...))
		}
	}
	require(r.First.Verified && r.Second.Verified, "a result differs from the CPU's")
	require(r.First.Compiles == selftestPrograms, "the first process compiled %d of %d", r.First.Compiles, r.Programs)
	require(r.Second.Compiles == 0, "the second process compiled %d of %d again", r.Second.Compiles, r.Programs)
	require(r.Second.DiskHits == selftestPrograms, "the second process found %d of %d on disk", r.Second.DiskHits, r.Programs)
	if r.DriverCache == "managed" {
		require(r.DriverCacheBytes > 0, "the driver stored no machine code in its managed cache")
	}
	r.Good = len(r.Reasons) == 0
}

func (r *selftestResult) Print(w io.Writer) {
	fmt.Fprintf(w, "%s, %s\n\n", r.GPU, r.Driver)
	fmt.Fprint(w, "process\tprograms\tcompiled\tfrom disk\tto first result\tverified\n")
	for _, run := range []struct {
		name string
		selftestRun
	}{{"first", r.First}, {"second", r.Second}} {
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%.2f ms\t%t\n", run.name, r.Programs, run.Compiles, run.DiskHits, run.ToFirstResultMillis, run.Verified)
	}
	fmt.Fprintf(w, "\ndriver cache: %s, %s\n", r.DriverCache, cli.ReadableBytes(r.DriverCacheBytes))
	for _, reason := range r.Reasons {
		fmt.Fprintf(w, "FAILED: %s\n", reason)
	}
	if r.Good {
		fmt.Fprint(w, "the cache hits\n")
	}
}
