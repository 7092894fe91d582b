package isolate

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os/exec"
	"runtime"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/drivercache"
	"github.com/shadercache/shadercache/shader"
)

// Pool compiles programs in child processes. Its zero value starts this executable
// again and records nothing. A pool may be used again, by one goroutine at a time.
type Pool struct {
	// Jobs is the number of children side by side. Default: the number of
	// processors, at most 6. A child has a GL context of its own, which takes memory.
	Jobs int

	// Timeout bounds the time of one program. Default: 2 minutes. A child has as long,
	// and at least a minute, to start and to end.
	Timeout time.Duration

	// Command returns a command that starts a child. Default: ChildCommand. The pool
	// takes the command's standard input and output.
	Command func() (*exec.Cmd, error)

	// Dir is the cache directory of the children. The pool records crashes there that
	// a child could not record itself, and after the last child it puts the programs
	// that children died of into quarantine and merges what NVIDIA's driver stored for
	// each child apart. nil: none of it.
	Dir *binary.Dir

	// Logger gets what Dir could not take. Default: nothing is logged.
	Logger *slog.Logger
}

// Result is what became of one request.
type Result struct {
	Index int // of the request

	// PreloadResult has the name and the key where the child found the program. Err is
	// a *ProgramError from the child, or a *LostError.
	cache.PreloadResult

	// Quarantined reports that a process died of the program, now or before.
	Quarantined bool
}

// Report holds when each part of a run ended.
type Report struct {
	Children  []ChildStart // in the order in which they were ready
	Answered  time.Time    // the last program had its result; zero: none had
	Ended     time.Time    // all children had ended
	Recovered time.Time    // programs that children died of were in quarantine
	Merged    time.Time    // the driver's slots were merged
}

// ChildStart is the start of one child.
type ChildStart struct {
	Started time.Time     // the process
	Ready   time.Time     // to compile
	Context time.Duration // of opening the context, as Opened.ContextTime has it
}

// maxDefaultJobs bounds the default number of children.
const maxDefaultJobs = 6

// DefaultJobs returns the default of Pool.Jobs.
func DefaultJobs() int { return min(maxDefaultJobs, runtime.NumCPU()) }

// DefaultTimeout is the default of Pool.Timeout.
const DefaultTimeout = 2 * time.Minute

func (p Pool) withDefaults() Pool {
	if p.Jobs <= 0 {
		p.Jobs = DefaultJobs()
	}
	if p.Timeout <= 0 {
		p.Timeout = DefaultTimeout
	}
	if p.Command == nil {
		p.Command = ChildCommand
	}
	if p.Logger == nil {
		p.Logger = slog.New(slog.DiscardHandler)
	}
	return p
}

// Compile compiles sources as Run does, for children that decode requests with
// DecodeSource, the default. Results have the name and the key of their source.
func (p *Pool) Compile(ctx context.Context, sources []*shader.Source, done func(Result)) (Report, error) {
	request := func(i int) string { return EncodeSource(sources[i]) }
	return p.run(ctx, len(sources), request, func(r Result) {
		r.Name, r.Key = sources[r.Index].Name(), sources[r.Index].Key()
		done(r)
	})
}

// Run has children compile the programs of all requests. A request is one line that
// Child.Find understands. done gets each result once, one at a time, in any order.
//
// Run returns an error when a child cannot start, when ctx ends, and when Dir does not
// take a quarantine. Results until then were passed to done.
func (p *Pool) Run(ctx context.Context, requests []string, done func(Result)) (Report, error) {
	return p.run(ctx, len(requests), func(i int) string { return requests[i] }, done)
}

func (p *Pool) run(ctx context.Context, count int, request func(index int) string, done func(Result)) (Report, error) {
	r := &run{Pool: p.withDefaults(), request: request, done: done}
	r.mu.waiting = make([]int, count)
	for i := range count {
		r.mu.waiting[i] = i
	}
	r.mu.answered, r.mu.lost = map[int]bool{}, map[int]bool{}
	var workers errgroup.Group
	for range min(r.Jobs, count) {
		workers.Go(func() error { return r.work(ctx) })
	}
	err := workers.Wait()
	r.report.Ended = time.Now()
	if r.Dir != nil {
		err = errors.Join(err, r.recoverMarks())
		r.report.Recovered = time.Now()
		r.mergeSlots()
		r.report.Merged = time.Now()
	}
	return r.report, err
}

// recordCrash records the signal that ended a child, in case the child could not.
func (r *run) recordCrash(process int, signal string) {
	if r.Dir == nil || signal == "" {
		return
	}
	err := r.Dir.EachStore(func(_ string, store *binary.Store) error {
		return store.RecordCrash(process, signal)
	}, nil)
	if err != nil {
		r.Logger.Warn("a crash was not recorded: a program is refused after its second crash only", "reason", err)
	}
}

// recoverMarks puts what children died of into quarantine.
func (r *run) recoverMarks() error {
	return r.Dir.EachStore(func(_ string, store *binary.Store) error {
		_, err := store.Recover()
		return err
	}, nil)
}

// mergeSlots merges what NVIDIA's driver stored for each child apart.
func (r *run) mergeSlots() {
	_, err := drivercache.Merge(r.Dir.DriverDir())
	switch {
	case errors.Is(err, drivercache.ErrInUse):
		r.Logger.Warn("the driver's cache is in use, so its slots are merged at a later start")
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		r.Logger.Warn("the driver's slots were not merged", "reason", err)
	}
}
