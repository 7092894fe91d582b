package shadercache

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"time"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/cache/isolate"
	"github.com/shadercache/shadercache/executor"
	"github.com/shadercache/shadercache/fleet"
	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/shader"
	"github.com/shadercache/shadercache/trace"
)

// Options configure [Open] and [New]. The zero value is a good choice: the first
// GPU, else the software driver, and the default cache directory.
type Options struct {
	// Dir is the cache directory, of program binaries and of the driver's own
	// cache. Default: $SHADERCACHE_DIR, else "shadercache" in the user's cache
	// directory. A directory that cannot be used is not an error: programs are
	// then kept in memory, and Logger gets one warning.
	Dir string

	// Upstream is a second cache directory, such as one of a container image. It is only
	// read, and may belong to root. What it has is found in both layers: program
	// binaries in place, and the driver's own machine code by a copy in Dir. Where Dir
	// cannot be used, a private place is, on a tmpfs for example: Logger gets one warning
	// that names it. See binary.Place. Default: $SHADERCACHE_UPSTREAM, else none.
	Upstream string

	// Device is a GPU's index ("0") or UUID. Default: the first that works.
	Device string

	// Devices are the GPUs that [OpenAll] opens, each by index or UUID. One that is there
	// twice is opened twice, with a context each. Open and New have no use for them.
	// Default: all that EGL lists except software drivers, else the first that works.
	Devices []string

	// Logger receives warnings of the cache and messages of the driver. Default:
	// nothing is logged.
	Logger *slog.Logger

	// Tracer receives where the time of the process is spent: see package trace. Default:
	// with $SHADERCACHE_TRACE a recording that Close writes to that file, in the format of
	// Chrome's trace viewer and of Perfetto; else nothing is measured.
	Tracer trace.Tracer

	// FromHistory, where it is above 0, makes Open preload in the background, for so long,
	// what earlier starts of this executable asked for, and Close record what this one did:
	// see cache.PreloadHistory and cache.Options.History. A request for a program that is not
	// its turn yet does not wait for the others. Default: 0, nothing is preloaded.
	FromHistory time.Duration

	// CompileBeside compiles programs in a second context, on a thread of its own, so
	// that the context's thread only loads them: for render loops. It takes 20 to 60 ms
	// when the GPU is opened, and on a GPU 20 MiB of its memory. Where it cannot be
	// had, Logger gets one warning. See glctx.Beside. Default: false.
	CompileBeside bool

	// Remote is a store of packs that many machines share, so that one that never ran a
	// program starts warm: see package fleet. A start connects to it while the context is
	// made, and the first program waits for its packs: see fleet.Options.PackWait. With
	// fleet.ReadWrite, Close pushes what was compiled, for at most a second. No failure of
	// the remote is an error: Logger gets a warning. The package of the URL's scheme has to
	// be imported:
	//
	//	import _ "github.com/shadercache/shadercache/fleet/http"
	//
	// Zero fields are taken from the environment: SHADERCACHE_REMOTE and others, see
	// fleet.Options. A process that has more rights than its user (setuid) has no remote.
	// Default: none.
	Remote fleet.Options

	// Server chooses the server that [Connect] uses:
	//
	//	off     none: a GPU of this process
	//	auto    the user's server where one runs, else a GPU of this process
	//	start   the same, and one is started where none runs; where that fails, a
	//	        GPU of this process, and Logger gets a warning
	//	PATH    the server whose socket that is; an error where none runs
	//
	// The user's server is that of $SHADERCACHE_SERVER where it is a path, else the one
	// that shadercache serve starts without options. Open and New have no use for a
	// server. Default: $SHADERCACHE_SERVER, else off.
	Server string

	// ServerDevice is the GPU of a server with several: its number in the server, from 0, or
	// its UUID. Connect returns ErrNotFound where a server at a path has no such GPU that
	// serves. A GPU of this process is chosen by Device. Default: the one with the fewest
	// sessions.
	ServerDevice string

	// ServerNear is the name of a buffer of a server with several GPUs: without
	// ServerDevice the one that has it is used, where there is one. Default: none.
	ServerNear string

	// NoExecutor leaves GPU.Executor nil. An executor takes 16 MiB of memory by
	// default, half of it on the device. It needs OpenGL 4.5: over a context of another
	// kind, see Context.Kind, Open and New return glctx.ErrNeeds45 without NoExecutor.
	NoExecutor bool

	// NoTrials keeps the cache from starting child processes. A program that the driver
	// had when a process ended is suspect: a crash of the driver would end the next
	// process too. So the executable is started once more to try it, as a process that
	// ends before main runs. Packages that are initialised before this one are
	// initialised in it too; it has no arguments, and what it prints is discarded. With
	// NoTrials, in a process with set-user-id, and where no process can be started,
	// suspects are tried in this process, one at a time.
	NoTrials bool

	// Context, Cache and Executor configure the parts. The directories are set above
	// and not there; Device and Logger replace theirs, where they are set.
	Context  glctx.Options
	Cache    cache.Options
	Executor executor.Options
}

// GPU is an OpenGL context of this process with a cache of programs and an executor over it. The
// caller uses its parts, from any goroutine, and after that ends all of them with [GPU.Close].
type GPU struct {
	Context  *glctx.Context
	Cache    *cache.Cache
	Executor *executor.Executor // nil with Options.NoExecutor

	// ContextTime is how long Open took to make the context. New leaves it 0.
	ContextTime time.Duration

	othersCompiled bool // of GPUs: one that was closed before compiled programs

	beside      *glctx.Beside // nil without Options.CompileBeside
	fleet       *fleetMember  // nil without a remote
	stopPreload func()        // of Options.FromHistory
	tracer      trace.Tracer
	trace       *trace.File  // nil where the environment asks for none
	logger      *slog.Logger // nil: nothing is logged
}

// Open opens a GL context without a window, on a thread of its own, and a cache and
// an executor over it. The first Open of a process also points the driver's own cache
// at the cache directory. It never uses a server: [Connect] does. It returns
// glctx.ErrNoDriver, glctx.ErrTooOld, glctx.ErrKind or glctx.ErrNoDevice, wrapped, with
// what to do about it. Close releases the GPU.
func Open(o Options) (*GPU, error) {
	if err := o.check(); err != nil {
		return nil, fmt.Errorf("shadercache: open: %w", err)
	}
	return open(o, nil)
}

// open is Open of a GPU beside others. A remote is used once for each driver: shared has those in
// use, which this GPU's first program waits for too. Nil: the GPU is the first.
func open(o Options, shared remotes) (*GPU, error) {
	o, file := o.distribute().startTrace()
	open := trace.Begin(o.Tracer, trace.Process, 0, trace.Open)
	defer func() { open.End() }()
	var f *fleetMember
	if shared == nil {
		f = openFleet(o) // connects meanwhile
	}
	began := time.Now()
	making := open.Begin(trace.OpenContext)
	context, err := glctx.Open(o.Context)
	making.End()
	if err != nil {
		f.close(false)
		return nil, err
	}
	elapsed := time.Since(began)
	if other := shared[context.Fingerprint().Digest()]; other != nil {
		other.follow(&o.Cache)
	} else if shared != nil {
		f = openFleet(o)
	}
	return newGPU(context, o, f, file, &open, elapsed)
}

// New makes a cache and an executor over a context that is open: an adopted one, or
// one with a window. The GPU owns the context from then on, also when New fails:
// Close closes it, which leaves an adopted context to its owner. Device and
// Options.Context must be zero: the context is made.
func New(context *glctx.Context, o Options) (*GPU, error) {
	if o.Device != "" || o.Context != (glctx.Options{}) {
		err := errors.New("shadercache: new: Device and Context are options of a context that is still to be opened; set them where it is")
		return nil, errors.Join(err, context.Close())
	}
	if err := o.check(); err != nil {
		return nil, errors.Join(fmt.Errorf("shadercache: new: %w", err), context.Close())
	}
	o, file := o.distribute().startTrace()
	open := trace.Begin(o.Tracer, trace.Process, 0, trace.Open)
	defer func() { open.End() }()
	return newGPU(context, o, openFleet(o), file, &open, 0)
}

func newGPU(context *glctx.Context, o Options, f *fleetMember, file *trace.File, open *trace.Region, contextTime time.Duration) (*GPU, error) {
	gpu := &GPU{Context: context, ContextTime: contextTime, fleet: f, tracer: o.Tracer, trace: file, logger: o.Logger}
	f.start(context.Fingerprint(), &o.Cache)
	var device cache.Device = context
	var err error
	if o.CompileBeside {
		if gpu.beside, err = glctx.OpenBeside(context); err == nil {
			device = gpu.beside
		} else if o.Cache.Logger != nil {
			o.Cache.Logger.Warn("programs are compiled on the context's own thread", "reason", err)
		}
	}
	if o.Cache.Trier == nil {
		o.Cache.Trier = newTrier(context, o)
	}
	making := open.Begin(trace.NewCache)
	defer func() { making.End() }()
	if gpu.Cache, err = cache.New(device, o.Cache); err != nil {
		err = errors.Join(err, gpu.closeContexts())
		f.close(false)
		return nil, err
	}
	gpu.stopPreload = startPreload(gpu.Cache, o)
	if o.NoExecutor {
		return gpu, nil
	}
	making.End()
	making = open.Begin(trace.NewExecutor)
	if gpu.Executor, err = executor.New(context, gpu.Cache, o.Executor); err != nil {
		if errors.Is(err, glctx.ErrNeeds45) {
			err = fmt.Errorf("shadercache: %w; Open with Options.NoExecutor needs none", err)
		}
		return nil, errors.Join(err, gpu.Close())
	}
	return gpu, nil
}

// closeContexts closes the context, and the one beside it.
func (g *GPU) closeContexts() error {
	if g.beside == nil {
		return g.Context.Close()
	}
	return errors.Join(g.beside.Close(), g.Context.Close())
}

// check returns an error for a server, and for a directory that is set for one part alone:
// both layers belong into one.
func (o Options) check() error {
	if o.Server != "" && o.Server != "off" {
		return errors.New("Options.Server is for Connect: Open and New make a context in this process")
	}
	if o.Context.CacheDir != "" || o.Cache.Dir != "" {
		return errors.New("Options.Dir sets the directory of both layers: leave Context.CacheDir and Cache.Dir empty")
	}
	if o.Context.Upstream != "" || o.Cache.Upstream != "" {
		return errors.New("Options.Upstream sets the upstream directory of both layers: leave Context.Upstream and Cache.Upstream empty")
	}
	return nil
}

// place returns the place of the cache directory, of options that were distributed.
func (o Options) place() binary.Place {
	return binary.Place{Dir: o.Cache.Dir, Upstream: o.Cache.Upstream, Filled: o.Cache.Filled}
}

// distribute returns o with its shared fields put into the parts that use them.
func (o Options) distribute() Options {
	if o.Dir != "" {
		o.Context.CacheDir, o.Cache.Dir = o.Dir, o.Dir
	}
	o.Context.Upstream, o.Cache.Upstream = o.Upstream, o.Upstream
	o.Cache.History = o.Cache.History || o.FromHistory > 0
	o.Cache.Filled = o.Cache.Filled || o.Context.Filled || o.hasRemote()
	o.Context.Filled = o.Cache.Filled
	if o.Device != "" {
		o.Context.Device = o.Device
	}
	if o.Logger != nil {
		o.Context.Logger, o.Cache.Logger = o.Logger, o.Logger
	}
	return o
}

// Close waits for pending jobs, stores what was compiled, and closes executor, cache,
// context and remote. It must be called once. A cache that the caller has closed is no
// error. Programs that are still in use are a *cache.InUseError; the context
// is closed all the same.
func (g *GPU) Close() error {
	region := trace.Begin(g.tracer, trace.Process, 0, trace.Close)
	defer func() {
		region.End()
		g.writeTrace()
	}()
	var stopped error
	if g.Executor != nil {
		stopped = g.Executor.Close()
	}
	g.Context.PollWhile(g.stopPreload) // it may need this thread
	closed := g.Cache.Close()
	if _, inUse := errors.AsType[*cache.InUseError](closed); inUse {
		g.Cache.Abandon()
	} else if errors.Is(closed, shader.ErrClosed) {
		closed = nil
	}
	err := errors.Join(stopped, closed, g.closeContexts())
	g.fleet.close(g.othersCompiled || g.Cache.Stats().Compiles > 0)
	return err
}

// trialVariable makes a process one that tries programs: see Options.NoTrials.
const trialVariable = "SHADERCACHE_TRIAL"

// trialProcess is the value of trialVariable.
type trialProcess struct {
	Parent         int           `json:"parent"` // process id, so that no other process acts on it
	Dir            string        `json:"dir"`
	Upstream       string        `json:"upstream,omitempty"`
	Device         string        `json:"device,omitempty"`
	Kind           glctx.Kind    `json:"kind"` // of the context
	DriverCacheOff bool          `json:"driver_cache_off,omitempty"`
	Driver         shader.Digest `json:"driver"` // the fingerprint of the parent's driver
}

// errOtherDriver is reported by a child that opens another driver than its parent, such as
// the parent of a window on another GPU.
var errOtherDriver = errors.New("shadercache: the child process has another driver")

// The child is this executable, started again. It never reaches main, so that applications
// need no code for it.
func init() {
	value, set := os.LookupEnv(trialVariable)
	if !set {
		return
	}
	_ = os.Unsetenv(trialVariable) // not for the processes that this one starts
	var t trialProcess
	if json.Unmarshal([]byte(value), &t) != nil || t.Parent != os.Getppid() || isPrivileged() {
		if len(os.Args) > 0 && os.Args[len(os.Args)-1] == trialVariable {
			os.Exit(1) // its parent has ended
		}
		return // inherited, or set by a user
	}
	if err := (isolate.Child{Open: t.open}).Serve(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// isPrivileged reports whether the process has more rights than its user, who must not
// choose what it does.
func isPrivileged() bool { return os.Getuid() != os.Geteuid() || os.Getgid() != os.Getegid() }

// open opens the cache that the child tries programs with.
func (t trialProcess) open() (isolate.Opened, error) {
	start := time.Now()
	off := t.DriverCacheOff || isolate.HasOtherDriverCache()
	context, err := glctx.Open(glctx.Options{CacheDir: t.Dir, Upstream: t.Upstream, Device: t.Device, Kind: t.Kind, DriverCacheOff: off})
	if err != nil {
		return isolate.Opened{}, err
	}
	opened := time.Since(start)
	if context.Fingerprint().Digest() != t.Driver {
		return isolate.Opened{}, errors.Join(errOtherDriver, context.Close())
	}
	programs, err := cache.New(context, cache.Options{Dir: t.Dir, Upstream: t.Upstream, InTrial: true, FillOnly: true, RecordCrashes: true})
	if err != nil {
		return isolate.Opened{}, errors.Join(err, context.Close())
	}
	closeAll := func() error { return errors.Join(programs.Close(), context.Close()) }
	return isolate.Opened{Cache: programs, ContextTime: opened, Close: closeAll}, nil
}

// newTrier returns what tries suspects for a cache over context, or nil where nothing can.
func newTrier(context *glctx.Context, o Options) cache.Trier {
	if o.NoTrials || o.Cache.InTrial || o.Cache.MemoryOnly || o.Cache.Store != nil || isPrivileged() {
		return nil
	}
	l := o.place().Open()
	dir, upstream := l.Dir, ""
	if dir == nil {
		return nil // the cache logs it
	}
	if len(l.Upstream) > 0 {
		upstream = l.Upstream[0].Path()
	}
	how := context.Options()
	t := trialProcess{os.Getpid(), dir.Path(), upstream, how.Device, context.Kind(), how.DriverCacheOff, context.Fingerprint().Digest()}
	return &isolate.Trier{Dir: dir, Command: t.command}
}

// command returns a command that starts the child. Its argument says that it is one: those of the parent
// are for main.
func (t trialProcess) command() (*exec.Cmd, error) {
	value, err := json.Marshal(t)
	if err != nil {
		return nil, err
	}
	// The file of the process itself, also where it was deleted or replaced.
	command := exec.Command("/proc/self/exe")
	if _, err := os.Lstat(command.Path); err != nil {
		executable, err := os.Executable()
		if err != nil {
			return nil, err
		}
		command.Path = executable
	}
	command.Args = []string{os.Args[0], trialVariable}
	command.Env = append(os.Environ(), trialVariable+"="+string(value))
	return command, nil
}

// startTrace returns the options with the tracer of all parts, and the file that the
// environment asks for, which is nil where the caller has a Tracer.
func (o Options) startTrace() (Options, *trace.File) {
	var file *trace.File
	if o.Tracer == nil && !o.Cache.InTrial && !isPrivileged() {
		if file = trace.FromEnvironment(); file != nil {
			o.Tracer = file
		}
	}
	o.Context.Tracer, o.Cache.Tracer = o.Tracer, o.Tracer
	o.Executor.Tracer, o.Remote.Tracer = o.Tracer, o.Tracer
	return o, file
}

// writeTrace writes the file of the environment. A failure is a warning.
func (g *GPU) writeTrace() {
	if g.trace == nil {
		return
	}
	info := g.Context.Info()
	err := g.trace.Write(trace.String("gpu", info.GPU), trace.String("driver", info.Driver),
		trace.String("driver_cache", g.Context.DriverCache().String()))
	warnOfTrace(g.logger, g.trace, err)
}

// warnOfTrace logs that a trace was not written. logger may be nil.
func warnOfTrace(logger *slog.Logger, file *trace.File, err error) {
	if err != nil && logger != nil {
		logger.Warn("the trace was not written", "file", file.Path(), "error", err)
	}
}
