package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/cache/isolate"
	"github.com/shadercache/shadercache/internal/cli"
	"github.com/shadercache/shadercache/shader"
	"github.com/shadercache/shadercache/shader/manifest"
)

// childName is the hidden command that compiles for preload and rebuild --isolate.
const childName = "preload-child"

// isolationFlags are the flags of preload and rebuild for child processes.
type isolationFlags struct {
	isolate bool
	jobs    int
	timeout time.Duration
}

func (f *isolationFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.BoolVar(&f.isolate, "isolate", false, "compile in child processes")
	flags.IntVar(&f.jobs, "jobs", isolate.DefaultJobs(), "children side by side")
	flags.DurationVar(&f.timeout, "timeout", isolate.DefaultTimeout, "limit of a child for one program")
	flags.Lookup("jobs").DefValue = "the number of processors, at most 6"
}

func (f isolationFlags) check(cmd *cobra.Command) error {
	switch {
	case !f.isolate && (cmd.Flags().Changed("jobs") || cmd.Flags().Changed("timeout")):
		return errors.New("--jobs and --timeout need --isolate")
	case f.jobs < 1 || f.jobs > 64:
		return errors.New("--jobs must be 1 to 64")
	case f.timeout <= 0:
		return errors.New("--timeout must be above 0")
	}
	return nil
}

// isolationTimes is when each part of the work ended, in milliseconds since its start.
type isolationTimes struct {
	ReadMillis     float64      `json:"read_ms"`     // the programs were read
	Children       []childStart `json:"children"`    // in the order in which they were ready
	AnsweredMillis float64      `json:"answered_ms"` // the last program was compiled or had failed
	EndedMillis    float64      `json:"ended_ms"`    // all children had ended
	SettledMillis  float64      `json:"settled_ms"`  // programs that children died of were in quarantine
	MergedMillis   float64      `json:"merged_ms"`   // the driver's slots were merged
}

type childStart struct {
	StartedMillis float64 `json:"started_ms"` // since the start of the work, as the others
	ReadyMillis   float64 `json:"ready_ms"`
	ContextMillis float64 `json:"context_ms"` // of which opening the context took
}

func newIsolationTimes(begin, read time.Time, r isolate.Report) *isolationTimes {
	since := func(t time.Time) float64 {
		if t.IsZero() {
			return 0
		}
		return cli.Milliseconds(t.Sub(begin))
	}
	times := &isolationTimes{since(read), []childStart{}, since(r.Answered), since(r.Ended), since(r.Recovered), since(r.Merged)}
	for _, c := range r.Children {
		times.Children = append(times.Children, childStart{since(c.Started), since(c.Ready), cli.Milliseconds(c.Context)})
	}
	return times
}

// preloadIsolated does what preload does, in child processes.
func (o *options) preloadIsolated(f isolationFlags, found []manifest.Program, keepSources bool, begin time.Time) (*preloadResult, error) {
	path, err := o.Directory()
	if err != nil {
		return nil, err
	}
	dir, err := binary.OpenDir(path)
	if err != nil {
		return nil, err
	}
	var programs []preloadLine
	for _, q := range found {
		line := preloadLine{Name: q.Name, err: q.Err}
		if q.Err == nil {
			line.Key = q.Source.Key().String()
		}
		programs = append(programs, line)
	}
	encode := func(i int) string { return isolate.EncodeSource(found[i].Source) }
	return o.isolate(dir, f, programs, encode, begin, "--keep-sources="+strconv.FormatBool(keepSources))
}

// isolate compiles programs in children that get the given arguments. A program with an
// error is not tried.
func (o *options) isolate(dir *binary.Dir, f isolationFlags, programs []preloadLine, encode func(i int) string, begin time.Time, arguments ...string) (*preloadResult, error) {
	read := time.Now()
	r := &preloadResult{Programs: programs}
	var indices []int
	var lines []string
	for i, p := range programs {
		if p.err == nil {
			indices, lines = append(indices, i), append(lines, encode(i))
		}
	}
	bar := o.NewProgress(len(lines), "preloading")
	pool := isolate.Pool{Jobs: f.jobs, Timeout: f.timeout, Dir: dir, Logger: o.Logger(), Command: func() (*exec.Cmd, error) {
		return o.ChildCommand(context.Background(), dir.Path(), []string{childName}, arguments...)
	}}
	ctx, stop := cli.Interruptible()
	defer stop()
	report, err := pool.Run(ctx, lines, func(got isolate.Result) {
		_ = bar.Add(1)
		p := &r.Programs[indices[got.Index]]
		name, key := p.Name, p.Key
		*p = newPreloadLine(got.PreloadResult)
		p.Name, p.Key, p.Quarantined, p.err = name, key, got.Quarantined, isolatedFailure(got.Err)
	})
	_ = bar.Finish()
	if start, ok := errors.AsType[*isolate.StartError](err); ok {
		return nil, cli.Hint(err, start.Hint)
	}
	if err != nil {
		return nil, err
	}
	r.Isolation = newIsolationTimes(begin, read, report)
	r.count()
	return r, nil
}

// isolatedFailure returns the error to print for a program.
func isolatedFailure(err error) error {
	switch {
	case errors.As(err, new(*isolate.LostError)):
		return cli.Hint(err, "the program is in quarantine for a day; shadercache verify --repair ends that")
	}
	return err
}

func newPreloadChild(o *options) *cobra.Command {
	var keepSources bool
	cmd := &cobra.Command{
		Use:     childName,
		Short:   "Compile programs for preload --isolate and rebuild --isolate",
		Example: "  shadercache preload --isolate kernels/",
		Hidden:  true,
		Args:    cli.UsageArgs(cli.NoArguments),
		RunE:    func(*cobra.Command, []string) error { return o.serveChild(keepSources) },
	}
	cmd.Flags().BoolVar(&keepSources, "keep-sources", false, "store the text of each program too")
	return cmd
}

// serveChild answers the requests of a parent: sources of preload, keys of rebuild.
func (o *options) serveChild(keepSources bool) error {
	return isolate.Child{
		Open: func() (isolate.Opened, error) {
			g, err := o.OpenGPU(cache.Options{KeepSources: keepSources})
			if err != nil {
				return isolate.Opened{}, err
			}
			return isolate.Opened{Cache: g.Cache, ContextTime: g.ContextTime, Close: g.Close}, nil
		},
		Find: o.findRequest,
		Hint: func(err error) string {
			if errors.Is(err, isolate.ErrMemoryOnly) {
				return "shadercache doctor"
			}
			return cli.HintFor(err)
		},
	}.Serve()
}

// findRequest returns the source that a request holds, or the stored one whose key it is.
func (o *options) findRequest(request string) (*shader.Source, error) {
	key, err := shader.ParseKey(request)
	if err != nil {
		return isolate.DecodeSource(request)
	}
	_, dir, err := o.OpenDirectory()
	if err != nil {
		return nil, err
	}
	if dir == nil {
		return nil, binary.ErrNotFound
	}
	source, err := o.WithUpstream(dir).Source(key)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", key.Short(), err)
	}
	return source, nil
}
