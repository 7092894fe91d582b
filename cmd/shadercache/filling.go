package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/cache/isolate"
	"github.com/shadercache/shadercache/cmd/cli"
	"github.com/shadercache/shadercache/cmd/internal/replay"
)

// filling is the work of preload, rebuild and push --recording: it compiles the programs of a
// result.
type filling struct {
	*options
	how    preloadFlags
	dir    *binary.Dir
	result *preloadResult
}

// compile compiles the programs that have a source, then those of recordings, and completes
// the result.
func (f filling) compile() error {
	err := f.compilePrograms()
	if err == nil {
		err = f.replay()
	}
	f.result.finish(f.how.Budget)
	return err
}

// compilePrograms compiles in child processes where they can be had.
func (f filling) compilePrograms() error {
	if f.how.NoIsolate {
		return f.compileHere()
	}
	err := f.compileIsolated()
	if errors.Is(err, isolate.ErrNoProcess) {
		f.Logger().Warn("programs are compiled in this process", "reason", err)
		return f.compileHere()
	}
	return err
}

// inPieces runs work on n programs with a progress bar, until an interrupt or the end of a
// budget, 0 being none. That end is no failure: what was not begun is counted.
func (f filling) inPieces(n int, what string, budget time.Duration, work func(ctx context.Context, bar *cli.Progress) error) error {
	bar := f.NewPieces(n, what)
	defer bar.Finish()
	ctx, stop := f.Interruptible(bar.Waiting)
	defer stop()
	if budget <= 0 {
		return work(ctx, bar)
	}
	ctx, cancel := context.WithTimeout(ctx, budget)
	defer cancel()
	if err := work(ctx, bar); !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return nil
}

// compileHere compiles in this process.
func (f filling) compileHere() error {
	indices := f.result.unique()
	if len(indices) == 0 {
		return nil
	}
	g, err := f.OpenGPU(f.how.cacheOptions())
	if err != nil {
		return err
	}
	if reason := g.Cache.Stats().MemoryOnly; reason != "" {
		err := cli.Hint(fmt.Errorf("programs cannot be stored: %s", reason), "shadercache doctor")
		return errors.Join(err, g.Close())
	}
	return errors.Join(f.compileWith(g.Cache, indices), g.Close())
}

func (f filling) compileWith(c *cache.Cache, indices []int) error {
	var loaded []cache.PreloadResult
	err := f.inPieces(len(indices), "preloading", f.how.Budget, func(ctx context.Context, bar *cli.Progress) (err error) {
		loaded, err = c.Preload(ctx, f.result.sources(indices), func(p cache.PreloadResult) { bar.End(p.Name) })
		return err
	})
	if err != nil {
		return err
	}
	c.WaitStored()
	for i, p := range loaded {
		f.result.Programs[indices[i]].set(isolate.Stored(c, p))
	}
	f.result.Recorded = int(c.Stats().NegativeHits)
	return nil
}

// inChildren has a pool of children, which get an argument, work on lines of the result.
func (f filling) inChildren(
	what string, lines []int, budget time.Duration, argument string,
	run func(ctx context.Context, pool *isolate.Pool, bar *cli.Progress) (isolate.Report, error),
) error {
	if len(lines) == 0 {
		return nil
	}
	read, pool, report := time.Now(), f.pool(argument), isolate.Report{}
	err := f.inPieces(len(lines), what, budget, func(ctx context.Context, bar *cli.Progress) (err error) {
		pool.Begun = func(i int) { bar.Begin(f.result.Programs[lines[i]].title()) }
		report, err = run(ctx, pool, bar)
		return err
	})
	if f.result.Isolation == nil {
		f.result.Isolation = newIsolationTimes(f.result.begin, read, report)
	}
	if start, ok := errors.AsType[*isolate.StartError](err); ok {
		return cli.Hint(err, cmp.Or(start.Hint, "shadercache doctor"))
	}
	if errors.As(err, new(*isolate.LostError)) {
		return cli.Hint(err, "shadercache doctor")
	}
	return err
}

// pool returns the pool of children that get the given argument.
func (f filling) pool(argument string) *isolate.Pool {
	f.WarnOfPlace() // children get its path, and do not log it
	memory := int64(f.how.Memory)
	if memory == 0 {
		memory = -1
	}
	return &isolate.Pool{
		Jobs: f.how.Jobs, Timeout: f.how.Timeout, MaxMemoryBytes: memory, Dir: f.dir, Logger: f.Logger(), Tracer: f.Tracer(), Driver: f.how.driver,
		Command: func() (*exec.Cmd, error) {
			return f.ChildCommand(context.Background(), f.dir.Path(), []string{childName}, argument)
		},
	}
}

// compileIsolated compiles in children.
func (f filling) compileIsolated() error {
	indices := f.result.unique()
	keep := "--keep-sources=" + strconv.FormatBool(f.how.KeepSources)
	return f.inChildren("preloading", indices, f.how.Budget, keep, func(ctx context.Context, pool *isolate.Pool, bar *cli.Progress) (isolate.Report, error) {
		return pool.Compile(ctx, f.result.sources(indices), func(got isolate.Result) {
			p := &f.result.Programs[indices[got.Index]]
			bar.End(p.title())
			p.set(got.PreloadResult)
			p.Quarantined = got.Quarantined
			if got.Recorded {
				f.result.Recorded++
			}
		})
	})
}

// replay compiles programs of recordings, in children.
func (f filling) replay() error {
	lines := f.result.replays()
	if len(lines) == 0 {
		return nil
	}
	driver, err := f.CurrentFingerprint()
	if err != nil {
		return err
	}
	items := make([]replay.Item, len(lines))
	for i, line := range lines {
		items[i] = *f.result.Programs[line].item
	}
	return f.inChildren("replaying", lines, 0, "--replay", func(ctx context.Context, pool *isolate.Pool, bar *cli.Progress) (isolate.Report, error) {
		return replay.Run(ctx, *pool, f.dir, driver, items, func(got replay.Result) {
			p := &f.result.Programs[lines[got.Index]]
			bar.End(p.title())
			p.setReplayed(got)
			if p.drawn() && strings.Contains(driver.Version, "Mesa") {
				f.result.NeedRun++
			}
		})
	})
}
