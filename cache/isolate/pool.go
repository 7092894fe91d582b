package isolate

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os/exec"
	"runtime"
	"slices"
	"time"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/drivercache"
	"github.com/shadercache/shadercache/shader"
	"github.com/shadercache/shadercache/trace"
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

	// MaxMemoryBytes bounds the memory that a child takes for one program, beyond what
	// it had before; measured on Linux only. Default: DefaultMemoryBytes(Jobs);
	// negative: no limit.
	MaxMemoryBytes int64

	// Command returns a command that starts a child. Default: ChildCommand. The pool
	// takes the command's standard input and output, and passes what the child and its
	// driver print on either to the command's standard error: each line once, without
	// the traces of a crash.
	Command func() (*exec.Cmd, error)

	// Begun is called with the index of a request before a child gets it, never at the
	// same time as done. Default: nothing.
	Begun func(index int)

	// Dir is the cache directory of the children. The pool records crashes there that
	// a child could not record itself, puts the programs that children died of into
	// quarantine, and after the last child merges what NVIDIA's driver stored for each
	// child apart. It starts one child where every program is stored already, or known not
	// to compile, and the others when one has to be compiled. Of pools of several processes
	// that compile the same sources at once, one does, and the others wait, and load what
	// it made; one in which nothing happens for 5 s is not waited for. nil: none of it.
	Dir *binary.Dir

	// Driver is the folder in Dir of the children's driver, where that is known: what other
	// drivers have is not stored for it. Default: "", any.
	Driver string

	// Logger gets what Dir could not take. Default: nothing is logged.
	Logger *slog.Logger

	// Tracer gets the wait for another process, and the merge. Default: nothing is measured.
	Tracer trace.Tracer
}

// Result is what became of one request.
type Result struct {
	Index int `json:"-"` // of the request

	// PreloadResult has the name and the key where the child found the program. Err is
	// a *ProgramError from the child, or a *LostError; from Compile, a
	// *shader.CompileError for a source that does not compile.
	cache.PreloadResult

	// Quarantined reports that the program is in quarantine: the driver crashed with it,
	// now or before.
	Quarantined bool `json:"quarantined,omitempty"`

	// BadDriverCache reports that the driver crashed of its own cache and not of the
	// program, which a child with an empty one made. It is set aside.
	BadDriverCache bool `json:"-"`

	// Recorded reports that Err is the compile error of an earlier process: see
	// cache.Options.KeepCompileErrors.
	Recorded bool `json:"recorded,omitempty"`

	// Detail is what Opened.Compile adds, for the caller of Run.
	Detail string `json:"detail,omitempty"`
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
	switch {
	case p.MaxMemoryBytes == 0:
		p.MaxMemoryBytes = DefaultMemoryBytes(p.Jobs)
	case p.MaxMemoryBytes < 0:
		p.MaxMemoryBytes = 0
	}
	if p.Command == nil {
		p.Command = ChildCommand
	}
	p.Logger = cmp.Or(p.Logger, slog.New(slog.DiscardHandler))
	return p
}

// Compile compiles sources as Run does, for children that decode requests with
// decodeSource, the default. Results have the name and the key of their source.
func (p *Pool) Compile(ctx context.Context, sources []*shader.Source, done func(Result)) (Report, error) {
	r := &run{Pool: p.withDefaults(), done: func(r Result) {
		source := sources[r.Index]
		r.Name, r.Key = source.Name(), source.Key()
		if e, ok := errors.AsType[*ProgramError](r.Err); ok && e.Log != "" {
			r.Err = &shader.CompileError{Name: r.Name, Log: e.Log, Source: source}
		}
		done(r)
	}}
	r.sources = sources
	r.request = func(i int) string { return encodeSource(sources[i]) }
	return r.all(ctx, len(sources))
}

// Run has children compile the programs of all requests. A request is one line that
// Opened.Compile understands. done gets each result once, one at a time, in any order.
//
// Run returns an error when a child cannot start, when ctx ends, and when Dir does not
// take a quarantine. Results until then were passed to done.
func (p *Pool) Run(ctx context.Context, requests []string, done func(Result)) (Report, error) {
	r := &run{Pool: p.withDefaults(), done: done}
	r.request = func(i int) string { return requests[i] }
	return r.all(ctx, len(requests))
}

// isKnown reports whether a driver's store has a program, or its compile error.
func (r *run) isKnown(source *shader.Source) bool {
	return slices.ContainsFunc(r.stores, func(s *binary.Store) bool { return s.Has(source.Key()) || s.Failure(source) != nil })
}

// openStores opens the store of each driver in Dir, or that of the one that is known. A
// directory without any is not an error.
func (r *run) openStores() {
	if r.Dir == nil {
		return
	}
	r.stores = nil
	infos, _ := r.Dir.Drivers()
	for _, info := range infos {
		if r.Driver != "" && info.Dir != r.Driver {
			continue
		}
		if store, err := r.Dir.Store(info.Fingerprint); err == nil && info.Fingerprint.DirName() == info.Dir {
			r.stores = append(r.stores, store)
		}
	}
}

// bury records the signal that ended a child, in case the child could not, and puts what it
// died of into quarantine. It reports whether the program of key is refused.
func (r *run) bury(child *childProcess, lost *LostError, key shader.Key) (refused bool, err error) {
	if r.Dir != nil && lost.Signal != "" {
		err := r.Dir.EachStore(func(_ string, store *binary.Store) error {
			return store.RecordCrash(child.command.Process.Pid, lost.Signal)
		}, nil)
		if err != nil {
			r.Logger.Warn("a crash was not recorded: a program is refused after its second crash only", "reason", err)
		}
	}
	return r.recoverMarks(key)
}

// recoverMarks puts what children died of into quarantine, and reports whether the
// program of key is refused.
func (r *run) recoverMarks(key shader.Key) (refused bool, err error) {
	if r.Dir == nil {
		return false, nil
	}
	r.recovering.Lock()
	defer r.recovering.Unlock()
	err = r.Dir.EachStore(func(_ string, store *binary.Store) error {
		found, err := store.Recover()
		for _, q := range found.Active {
			refused = refused || q.Key == key && q.Refused()
		}
		return err
	}, nil)
	return refused, err
}

// mergeSlots merges what NVIDIA's driver stored for each child apart.
func (r *run) mergeSlots() {
	region := trace.Begin(r.Tracer, trace.Process, 0, trace.Merge)
	defer func() { region.End() }()
	_, err := drivercache.Merge(r.Dir.DriverDir())
	switch {
	case errors.Is(err, drivercache.ErrInUse):
		r.Logger.Debug("the driver's cache is in use, so its slots are merged at a later start") // which finds them all the same
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		r.Logger.Warn("the driver's slots were not merged", "reason", err)
	}
}
