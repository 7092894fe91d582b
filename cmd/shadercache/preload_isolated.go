package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/drivercache"
	"github.com/shadercache/shadercache/internal/cli"
	"github.com/shadercache/shadercache/shader"
)

// preloadChildName is the hidden command that compiles for another process.
const preloadChildName = "preload-child"

// isolationFlags are the flags of preload that have to do with children.
type isolationFlags struct {
	isolate bool
	jobs    int
	timeout time.Duration
}

func (f *isolationFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.BoolVar(&f.isolate, "isolate", false, "compile in child processes")
	flags.IntVar(&f.jobs, "jobs", min(6, runtime.NumCPU()), "children side by side")
	flags.DurationVar(&f.timeout, "timeout", 2*time.Minute, "what a child may need for one program")
	flags.Lookup("jobs").DefValue = "the number of processors, at most 6"
}

// check refuses numbers that make no sense.
func (f isolationFlags) check(cmd *cobra.Command) error {
	switch {
	case !f.isolate && (cmd.Flags().Changed("jobs") || cmd.Flags().Changed("timeout")):
		return errors.New("--jobs and --timeout need --isolate")
	case f.jobs < 1 || f.jobs > 64:
		return errors.New("--jobs must be 1 to 64")
	case f.timeout <= 0:
		return errors.New("--timeout must be more than nothing")
	}
	return nil
}

// isolatedJob is what children compile.
type isolatedJob struct {
	programs  []preloadLine      // one with an error is not tried
	word      func(i int) string // how a child is told of a program
	arguments []string           // of every child
}

// isolationTimes are when what was done, in milliseconds since the start.
type isolationTimes struct {
	ReadMillis     float64      `json:"read_ms"`     // the programs were known
	Children       []childStart `json:"children"`    // in the order in which they were ready
	AnsweredMillis float64      `json:"answered_ms"` // every program was answered for
	EndedMillis    float64      `json:"ended_ms"`    // all children had ended
	SettledMillis  float64      `json:"settled_ms"`  // quarantines were written
	MergedMillis   float64      `json:"merged_ms"`   // the driver's slots were merged
}

type childStart struct {
	StartedMillis float64 `json:"started_ms"` // since the start of the work, as the others
	ReadyMillis   float64 `json:"ready_ms"`
	ContextMillis float64 `json:"context_ms"` // of which opening the context took
}

// preloadIsolated does what preload does, in child processes. args are what the
// programs are read from.
func (o *options) preloadIsolated(f isolationFlags, args []string, how preloadFlags) (*preloadResult, error) {
	begin := time.Now()
	path, err := o.Directory()
	if err != nil {
		return nil, err
	}
	dir, err := binary.OpenDir(path)
	if err != nil {
		return nil, err
	}
	job := isolatedJob{word: strconv.Itoa, arguments: how.arguments(args)}
	for _, q := range readRequests(args, shader.Defines(how.defines)) {
		line := preloadLine{Name: q.name, err: q.err}
		if q.err == nil {
			line.Key = q.source.Key().String()
		}
		job.programs = append(job.programs, line)
	}
	return o.isolate(dir, f, job, begin)
}

// isolate has children do a job that began some time ago.
func (o *options) isolate(dir *binary.Dir, f isolationFlags, job isolatedJob, begin time.Time) (*preloadResult, error) {
	since := func() float64 { return cli.Milliseconds(time.Since(begin)) }
	r := &preloadResult{Programs: job.programs, Isolation: &isolationTimes{ReadMillis: since(), Children: []childStart{}}}
	var indices []int
	for i, p := range job.programs {
		if p.err == nil {
			indices = append(indices, i)
		}
	}
	bar := o.NewProgress(len(indices), "preloading")
	s := isolation{
		timeout: f.timeout,
		word:    job.word,
		command: func() (*exec.Cmd, error) {
			return o.ChildCommand(context.Background(), dir.Path(), []string{preloadChildName}, job.arguments...)
		},
		crashed: func(process int, signal string) {
			if err := o.tellCrash(dir, process, signal); err != nil {
				o.Logger().Warn("it takes a second crash to refuse a program", "reason", err)
			}
		},
		ready: func(started time.Time, contextMillis float64) {
			r.Isolation.Children = append(r.Isolation.Children,
				childStart{cli.Milliseconds(started.Sub(begin)), since(), contextMillis})
		},
		done: func(i int, got preloadLine) {
			_ = bar.Add(1)
			got.Name, got.Key = r.Programs[i].Name, r.Programs[i].Key
			r.Programs[i] = got
			r.Isolation.AnsweredMillis = since()
		},
	}
	ctx, stop := cli.Interruptible()
	defer stop()
	err := s.run(ctx, indices, f.jobs)
	r.Isolation.EndedMillis = since()
	_ = bar.Finish()
	settleErr := o.settle(dir)
	r.Isolation.SettledMillis = since()
	o.mergeSlots(dir)
	r.Isolation.MergedMillis = since()
	if err := errors.Join(err, settleErr); err != nil {
		return nil, err
	}
	r.count()
	return r, nil
}

// tellCrash says which signal ended a child, in case the child could not.
func (o *options) tellCrash(dir *binary.Dir, process int, signal string) error {
	return o.ForStores(dir, func(_ string, store *binary.Store) error {
		return store.RecordCrash(process, signal)
	})
}

// settle puts what children died of into quarantine.
func (o *options) settle(dir *binary.Dir) error {
	return o.ForStores(dir, func(_ string, store *binary.Store) error {
		_, err := store.Recover()
		return err
	})
}

// mergeSlots merges what NVIDIA's driver kept for each child on its own.
func (o *options) mergeSlots(dir *binary.Dir) {
	_, err := drivercache.Merge(dir.DriverDir())
	switch {
	case errors.Is(err, drivercache.ErrInUse):
		o.Logger().Warn("the driver's cache is in use, so its slots are merged at a later start")
	case err != nil && !errors.Is(err, os.ErrNotExist):
		o.Logger().Warn("the driver's slots were not merged", "reason", err)
	}
}

func newPreloadChild(o *options) *cobra.Command {
	how := preloadFlags{defines: defineFlag{}}
	var kept bool
	cmd := &cobra.Command{
		Use:     preloadChildName,
		Short:   "Compile programs for preload --isolate",
		Example: "  echo 0 | shadercache preload-child conv2d_3x3",
		Hidden:  true,
		RunE: func(_ *cobra.Command, args []string) error {
			find := func() (finder, error) { return requestFinder(readRequests(args, shader.Defines(how.defines))), nil }
			if kept {
				find = o.keptFinder
			}
			return o.preloadChild(find, cache.Options{KeepSources: how.keepSources})
		},
	}
	how.add(cmd)
	cmd.Flags().BoolVar(&kept, "kept", false, "take keys of sources that are kept, and no indices of arguments")
	return cmd
}

// finder finds the program that a parent's word means.
type finder func(word string) (request, error)

// requestFinder takes the index of a request.
func requestFinder(requests []request) finder {
	return func(word string) (request, error) {
		index, err := strconv.Atoi(word)
		if err != nil || index < 0 || index >= len(requests) {
			return request{}, fmt.Errorf("there is no program %q", word)
		}
		return requests[index], nil
	}
}

// keptFinder takes the key of a source that is kept.
func (o *options) keptFinder() (finder, error) {
	_, dir, err := o.OpenDirectory()
	if err != nil {
		return nil, err
	}
	if dir == nil {
		return nil, binary.ErrNotFound
	}
	dir = o.WithUpstream(dir)
	return func(word string) (request, error) {
		key, err := shader.ParseKey(word)
		if err != nil {
			return request{}, err
		}
		source, err := dir.Source(key)
		if err != nil {
			return request{name: key.Short(), err: err}, nil
		}
		return request{name: source.Name(), source: source}, nil
	}, nil
}

// preloadChild answers until its input ends. An interrupt is the parent's
// business: dying of it would look as if the driver had died. The programs are
// read while the context opens.
func (o *options) preloadChild(read func() (finder, error), options cache.Options) error {
	signal.Ignore(os.Interrupt)
	var find finder
	var reading errgroup.Group
	reading.Go(func() (err error) {
		find, err = read()
		return err
	})
	out := json.NewEncoder(o.Stdout)
	g, err := o.OpenGPU(options)
	if err := errors.Join(err, reading.Wait()); err != nil {
		if g != nil {
			err = errors.Join(err, g.Close())
		}
		return out.Encode(isolatedReply{Error: err.Error(), Hint: cli.HintFor(err)})
	}
	if reason := g.Cache.Stats().MemoryOnly; reason != "" {
		err := out.Encode(isolatedReply{Error: "nothing can be kept: " + reason, Hint: "shadercache doctor"})
		return errors.Join(err, g.Close())
	}
	if err := out.Encode(isolatedReply{Ready: true, ContextMillis: cli.Milliseconds(g.ContextTime)}); err != nil {
		return errors.Join(err, g.Close())
	}
	return errors.Join(o.answer(g, os.Stdin, out, find), g.Close())
}

// answer compiles what each line of the input asks for.
func (o *options) answer(g *cli.GPU, in io.Reader, out *json.Encoder, find finder) error {
	for input := bufio.NewScanner(in); input.Scan(); {
		q, err := find(input.Text())
		if err == nil {
			err = out.Encode(isolatedReply{Program: o.preloadOne(g, q)})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// preloadOne says what is wrong with a program on standard error.
func (o *options) preloadOne(g *cli.GPU, q request) preloadLine {
	line := preloadLine{Name: q.name, err: q.err}
	if q.err == nil {
		loaded, err := g.Cache.Preload(context.Background(), []*shader.Source{q.source}, nil)
		if len(loaded) == 1 {
			line = newPreloadLine(loaded[0])
		} else {
			line.err = err
		}
	}
	if line.err != nil {
		line.Error = line.err.Error()
		line.SetAside = errors.Is(line.err, binary.ErrQuarantined)
		cli.PrintError(o.Stderr, line.failure())
	}
	return line
}
