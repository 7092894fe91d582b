package glctx

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/shadercache/shadercache/drivercache"
	"github.com/shadercache/shadercache/internal/futex"
	"github.com/shadercache/shadercache/shader"
	"github.com/shadercache/shadercache/trace"
)

// Options configure a context. The zero value opens the first GPU, else the software
// driver, and puts the driver's own cache into the default cache directory.
type Options struct {
	// Device is a GPU's index ("0") or UUID. Default: the first that works. It must
	// be empty where EGL cannot enumerate devices.
	Device string

	// CacheDir is the cache directory. Its driver/ folder becomes the driver's own
	// cache. A cache over this context must have the same directory; the front door,
	// shadercache.Options.Dir, sets both. Default: see binary.Place.
	CacheDir string

	// Upstream is the read-only directory that the cache over this context has, and
	// Filled whether something else fills the directory: then a private place is used
	// where CacheDir cannot be, see binary.Place. Set both as in cache.Options. Default:
	// $SHADERCACHE_UPSTREAM, else none.
	Upstream string
	Filled   bool

	// DriverCacheOff leaves the driver's own cache as the environment, or an earlier
	// call, sets it. A cache over this context may have any directory.
	DriverCacheOff bool

	// Fresh tells Adopt that the context has just been made, and that no driver of the process
	// has had a program: machine code that is added to the driver's cache before the first one,
	// such as that of Upstream, is used. Default: the owner may have compiled.
	Fresh bool

	// Kind is the API, version, profile and flags of the context. It must be zero for
	// Adopt. Default: OpenGL 4.5 or newer, core profile.
	Kind Kind

	// Priority is that among all contexts of the GPU, of other processes too: "low", "medium" or
	// "high", as EGL_IMG_context_priority has them. It is a hint: Context.Priority returns what
	// was granted. It does not bound how long a dispatch keeps the others waiting. It must be
	// the default for Adopt and for windows. Default: the driver's.
	Priority string

	// NoCompilerThreads has the driver compile on the thread that asks for a program.
	// NVIDIA's starts a thread for each CPU otherwise, and each of them wakes 15 times a
	// second until the process ends (docs/drivers.md): a process that waits for most of its
	// time does without. The programs of one Compile are then made one after the other. It
	// has no effect where another context of the process has started the threads.
	// Default: the driver has its threads.
	NoCompilerThreads bool

	replay       bool // the context is for a Replayer
	timeSoftware bool // WatchTimes measures on software drivers too; for tests

	// Debug requests a debug context and checks for errors after every GL call.
	// Debug contexts are slower and have a different fingerprint.
	Debug bool

	// Tracer receives how the context is made and what the GL thread does to programs: see
	// package trace. Default: nothing is measured.
	Tracer trace.Tracer
	task   uint64 // of its events; set when the context is opened

	// Logger receives the driver's messages: at debug level, or with Debug at the
	// level of their severity. Default: nothing is logged. Without Debug, a Logger
	// whose debug level is disabled when the context is opened receives nothing.
	Logger *slog.Logger
}

// Context is an OpenGL context and the thread that it is current on. All methods may
// be called from any goroutine, except where the thread rule of the package
// documentation restricts them.
type Context struct {
	options  Options
	logger   *slog.Logger
	queue    *queue
	gl       *GL
	info     Info
	full     bool // desktop OpenGL 4.5 or newer
	driver   drivercache.State
	priority string // as granted
	counted  struct {
		sync.Mutex
		Counters
	}
	thread atomic.Int64 // id of the OS thread while it runs callbacks, else 0
	lost   atomic.Bool

	compiling atomic.Int32 // programs that the driver makes

	priming     priming
	resetStatus func() uint32 // nil where the context has no such call

	first firstDispatches
	debug *debugSink

	// Of an adopted context only.
	schedule      func()        // requests a call of Poll; nil where the context is not adopted
	pending       chan struct{} // one token while callbacks are queued
	adoptedThread atomic.Int64  // id of the thread where the context was last current
	gone          atomic.Bool   // no context was current there: GL must not be called
	postponed     any           // the panic of a callback, for the next Poll; used by the thread only

	closeOnce sync.Once
	stopped   chan struct{} // closed when no more callbacks run
}

// Open opens a headless context on a new thread. The first Open of a process also
// puts the driver's own cache into the cache directory. It returns ErrNoDriver,
// ErrTooOld, ErrKind or ErrNoDevice, wrapped, with a hint for the user. Close releases
// the context.
func Open(o Options) (*Context, error) {
	if err := errors.Join(o.Kind.check(), checkPriority(o.Priority)); err != nil {
		return nil, fmt.Errorf("glctx: open: %w", err)
	}
	c := newContext(o)
	if _, set := os.LookupEnv(inlineUniforms); !set {
		os.Setenv(inlineUniforms, "0") // it fails only for other names
	}
	region := c.options.begin(trace.DriverCache)
	c.driver = ManageDriverCache(o)
	region.End(trace.Bool("managed", c.driver.Managed))
	if c.driver.Full {
		c.logger.Warn("the volume is full: the driver's machine code stays in memory", "reason", c.driver.Reason)
	}
	opened := c.markOpening()
	started := make(chan error)
	go c.run(started)
	err := <-started
	opened(err == nil)
	if err != nil {
		return nil, fmt.Errorf("glctx: open: %w", err)
	}
	return c, nil
}

func newContext(o Options) *Context {
	logger := cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	o.task = trace.NewTask()
	return &Context{
		options: o, logger: logger, queue: new(queue), stopped: make(chan struct{}),
		first: firstDispatches{fresh: map[uint32]int{}},
	}
}

// begin begins a piece of work of the GL thread.
func (o *Options) begin(name string) trace.Region {
	return trace.Begin(o.Tracer, trace.GL, o.task, name)
}

// run is the GL thread: it opens the context, runs callbacks until the queue is
// closed, and destroys the context.
func (c *Context) run(started chan<- error) {
	// Never unlocked: the thread ends with the goroutine, so that no other goroutine
	// runs on a thread with GL state.
	runtime.LockOSThread()
	futex.SleepExactly()
	defer close(c.stopped)
	c.thread.Store(threadID())
	defer c.thread.Store(0)
	go loadBindings() // resolves a few thousand names while EGL starts
	surface, err := openEGL(c.options)
	if err == nil {
		c.priority = surface.priority
		if err = c.setUp(); err != nil {
			surface.close()
		}
	}
	started <- err
	if err != nil {
		return
	}
	for {
		j, open := c.queue.take()
		if !open {
			break
		}
		c.runJob(j)
	}
	c.tearDown()
	surface.close()
}

// longCallback is the time above which a callback of Do is an event.
const longCallback = 100 * time.Microsecond

func (c *Context) runJob(j callback) {
	c.gl.callbacks++
	if j.post != nil {
		j.post(c.gl)
		return
	}
	defer j.call.finish()
	defer func() { j.call.panicked = recover() }()
	if err := c.lostError(); err != nil {
		j.call.err = err
		return
	}
	region := c.options.begin(trace.Callback)
	err := errors.Join(j.fn(c.gl), c.gl.takeDebugError())
	region.EndLong(longCallback)
	if err != nil && c.gl.isLost() {
		err = errors.Join(shader.ErrContextLost, err)
	}
	j.call.err = err
}

// Do runs fn on the GL thread and returns the error of fn. After a reset of the GPU
// it returns shader.ErrContextLost, after Close shader.ErrClosed. A panic in fn
// propagates to the caller of Do. Do inside a callback panics. On the thread of an
// adopted context, outside callbacks, it runs the queued callbacks and then fn.
func (c *Context) Do(fn func(gl *GL) error) error {
	if fn == nil {
		panic("glctx: Do was given no function")
	}
	here := threadID()
	if c.thread.Load() == here {
		panic("glctx: Do called inside a callback of Do or Post would wait for itself")
	}
	if err := c.lostError(); err != nil {
		return err
	}
	call := calls.Get().(*call)
	open, slept := c.put(callback{fn: fn, call: call}, false)
	if !open {
		calls.Put(call)
		return shader.ErrClosed
	}
	if c.schedule != nil && c.adoptedThread.Load() == here {
		c.pollWaiting()
	}
	return call.wait(!slept)
}

// lostError returns the error of calls after the context was lost, or nil.
func (c *Context) lostError() error {
	switch {
	case c.gone.Load():
		return fmt.Errorf("%w: no context is current on its thread: was it destroyed before Close?", shader.ErrContextLost)
	case c.lost.Load():
		return shader.ErrContextLost
	}
	return nil
}

// Post queues fn for the GL thread, behind earlier callbacks, and returns. After
// Close fn is discarded. A panic in fn ends the program.
func (c *Context) Post(fn func(gl *GL)) { c.post(fn, false) }

// PostFirst is Post, but fn runs before all callbacks that were not posted so: at once, or
// behind the one that runs. One of theirs runs between two that were posted first.
func (c *Context) PostFirst(fn func(gl *GL)) { c.post(fn, true) }

func (c *Context) post(fn func(gl *GL), first bool) {
	if fn == nil {
		panic("glctx: Post was given no function")
	}
	c.put(callback{post: fn}, first)
}

// put queues a job and reports whether the queue was open, and whether the GL thread
// slept.
func (c *Context) put(j callback, first bool) (open, slept bool) {
	open, slept = c.queue.put(j, first)
	if open && c.schedule != nil {
		c.requestPoll()
	}
	return open, slept
}

// requestPoll makes the owner of an adopted context, or a call that waits on its
// thread, poll.
func (c *Context) requestPoll() {
	select {
	case c.pending <- struct{}{}:
	default:
	}
	c.schedule()
}

// doContext is Do, except that it returns ctx.Err() at once when ctx has ended. A
// running callback is not interrupted.
func (c *Context) doContext(ctx context.Context, fn func(gl *GL) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return c.Do(fn)
}

// ExpectIdle makes the GL thread sleep at once after this callback, if no other is
// queued. Without it the thread spins for up to 100 us, which makes a Do that follows
// closely faster.
func (gl *GL) ExpectIdle() { gl.c.queue.expectIdle = true }

// OthersRan reports whether, since a callback in which *last was set so, others have run: they
// may have bound what they like. It sets *last for this callback. Between the callbacks of an
// adopted context its owner uses it.
func (gl *GL) OthersRan(last *uint64) bool {
	before := *last
	*last = gl.callbacks
	return gl.c.schedule != nil || before == 0 || gl.callbacks-before > 1
}

// Alone reports whether the GL thread is the context's own and no other callback is
// queued: a callback may then poll for something for as long as Alone holds.
func (gl *GL) Alone() bool { return gl.c.schedule == nil && !gl.c.queue.waiting.Load() }

// Info returns the identity and the limits of the driver, which do not change.
func (c *Context) Info() Info { return c.info }

// Lost reports whether the GPU was reset or removed. All calls fail from then on;
// open another context.
func (c *Context) Lost() bool { return c.lost.Load() }

// Compiling reports whether the driver makes programs now, for which it may take minutes. A
// program that was asked for with a context is made to its end, also where the context ends.
func (c *Context) Compiling() bool { return c.compiling.Load() > 0 }

// Done returns a channel that is closed when no more callbacks run: after Close, or,
// for an adopted context, during Close.
func (c *Context) Done() <-chan struct{} { return c.stopped }

// Close waits for queued callbacks, destroys the context, and waits until the driver
// has written its own cache: some milliseconds with Mesa on an idle machine, 5 s at
// most, and one more where the disk does not have yet what was copied from upstream. An
// adopted context is not destroyed: Close accepts no more callbacks, and on the context's
// thread runs those that are queued, or fails them where the context was destroyed before.
// Close is idempotent. Callbacks must not call it.
func (c *Context) Close() error {
	if c.thread.Load() == threadID() && c.schedule == nil {
		panic("glctx: Close called inside a callback would wait for itself")
	}
	c.closeOnce.Do(c.shutDown)
	return nil
}

func (c *Context) shutDown() {
	if c.schedule != nil {
		c.closeAdopted()
		return
	}
	closing := c.options.begin(trace.Close)
	c.queue.close()
	<-c.stopped
	settle := closing.Begin(trace.Settle)
	drivercache.Flush()
	drivercache.AwaitRecords(time.Second)
	settle.End()
	closing.End()
}
