//go:build linux

package glctx

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/shadercache/shadercache/drivercache"
	"github.com/shadercache/shadercache/shader"
)

// Options say which context to open. The zero value opens the first GPU, else
// the software driver, with the driver's own cache managed in the default cache
// directory.
type Options struct {
	// Device is a GPU's index ("0") or UUID. Empty takes the first that works.
	// Where devices cannot be told apart it must be empty.
	Device string

	// CacheDir is the cache directory, whose driver/ folder becomes the
	// driver's own cache. Empty is binary.DefaultDir.
	CacheDir string

	// DriverCacheOff leaves the driver's own cache as the environment has it.
	DriverCacheOff bool

	// Debug asks for a debug context and checks for errors after every GL call.
	// Debug contexts have a fingerprint of their own and run slower.
	Debug bool

	// Logger receives the driver's own messages: at debug level, or with Debug
	// at the level of their severity. Nil logs nothing. Whether it takes messages
	// at debug level is asked once: where it does not, the driver is not heard.
	Logger *slog.Logger
}

// Context is an OpenGL context and the thread that it is current on. All
// methods may be called from any goroutine, except as the thread rule says.
type Context struct {
	options  Options
	logger   *slog.Logger
	queue    *queue
	gl       *GL
	info     Info
	driver   drivercache.State
	counters counters
	thread   atomic.Int64 // id of the OS thread while it runs callbacks; 0 = none now
	owner    atomic.Int64 // id of the thread where an adopted context was last current
	lost     atomic.Bool
	schedule func()        // how an adopted context asks for Poll; nil for our own thread
	work     chan struct{} // one token when an adopted context has something to poll
	debug    *debugSink

	closeOnce sync.Once
	stopped   chan struct{} // closed when no callback will run any more
}

// Open makes a headless context on a thread of its own. The first Open of a
// process also points the driver's own cache at the cache directory. It returns
// ErrNoDriver, ErrTooOld or ErrNoDevice, wrapped, with what to do about it.
// Close releases it.
func Open(o Options) (*Context, error) {
	c := newContext(o)
	c.driver = ManageDriverCache(o)
	started := make(chan error)
	go c.run(started)
	if err := <-started; err != nil {
		return nil, fmt.Errorf("glctx: open: %w", err)
	}
	return c, nil
}

func newContext(o Options) *Context {
	logger := o.Logger
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	return &Context{options: o, logger: logger, queue: newQueue(), stopped: make(chan struct{})}
}

// run is the GL thread: it opens the context, works until the queue is closed
// and takes the context down again.
func (c *Context) run(started chan<- error) {
	// Never unlocked: the thread ends with the goroutine, and no other
	// goroutine inherits a thread that GL has touched.
	runtime.LockOSThread()
	defer close(c.stopped)
	c.thread.Store(int64(syscall.Gettid()))
	defer c.thread.Store(0)
	go loadBindings() // a few thousand names, resolved while EGL starts
	surface, err := openEGL(c.options)
	if err == nil {
		if err = c.begin(); err != nil {
			surface.close()
		}
	}
	started <- err
	if err != nil {
		return
	}
	var batch []job
	for {
		var open bool
		if batch, open = c.queue.take(batch); !open {
			break
		}
		c.runBatch(batch)
	}
	c.end()
	surface.close()
}

// begin reads what has to be known once. The context is current.
func (c *Context) begin() error {
	if err := loadBindings(); err != nil {
		return err
	}
	c.gl = &GL{c: c}
	if err := c.gl.requireVersion(); err != nil {
		return err
	}
	c.gl.listen()
	c.info = c.gl.readInfo()
	if err := c.gl.Err(); err != nil {
		return fmt.Errorf("reading the driver's limits: %w", err)
	}
	return c.gl.preparePriming()
}

// end frees what begin made. The context is current.
func (c *Context) end() {
	c.gl.endPriming()
	c.gl.unlisten()
}

func (c *Context) runBatch(batch []job) {
	for i, j := range batch {
		c.runJob(j)
		batch[i] = job{}
	}
}

func (c *Context) runJob(j job) {
	if j.post != nil {
		j.post(c.gl)
		return
	}
	defer j.call.finish()
	defer func() { j.call.panicked = recover() }()
	if c.lost.Load() {
		j.call.err = shader.ErrContextLost
		return
	}
	err := errors.Join(j.fn(c.gl), c.gl.takeDebugError())
	if err != nil && c.gl.checkLost() {
		err = errors.Join(shader.ErrContextLost, err)
	}
	j.call.err = err
}

// Do runs fn on the GL thread and returns what it returned. After a reset of
// the GPU it returns shader.ErrContextLost, after Close shader.ErrClosed. A
// panic in fn goes on in the caller. Do inside a callback panics. On the thread
// of an adopted context, outside callbacks, it runs what is waiting and then fn
// right there.
func (c *Context) Do(fn func(gl *GL) error) error {
	if fn == nil {
		panic("glctx: Do was given no function")
	}
	here := int64(syscall.Gettid())
	if c.thread.Load() == here {
		panic("glctx: Do called inside a callback of Do or Post would wait for itself")
	}
	if c.lost.Load() {
		return shader.ErrContextLost
	}
	call := newCall()
	if !c.put(job{fn: fn, call: call}) {
		calls.Put(call)
		return shader.ErrClosed
	}
	if c.schedule != nil && c.owner.Load() == here {
		c.Poll()
	}
	return call.wait()
}

// Post runs fn on the GL thread some time later, after everything that was
// posted before it. It does not wait. After Close fn is dropped. A panic in fn
// ends the program.
func (c *Context) Post(fn func(gl *GL)) {
	if fn == nil {
		panic("glctx: Post was given no function")
	}
	c.put(job{post: fn})
}

func (c *Context) put(j job) bool {
	if !c.queue.put(j) {
		return false
	}
	if c.schedule != nil {
		select {
		case c.work <- struct{}{}:
		default:
		}
		c.schedule()
	}
	return true
}

// doContext is Do that is not started when ctx has ended. A callback that runs
// is never interrupted.
func (c *Context) doContext(ctx context.Context, fn func(gl *GL) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return c.Do(fn)
}

// ExpectIdle says that no work is expected soon, so that the thread sleeps after this
// callback. Otherwise it keeps looking for work for a while, which makes a
// Do that follows closely faster and costs up to 100 us of CPU time.
func (gl *GL) ExpectIdle() { gl.c.queue.quiet = true }

// Info says which driver this is and what it can do. It never changes.
func (c *Context) Info() Info { return c.info }

// Lost reports whether the GPU was reset or removed. Nothing works any more;
// open another context.
func (c *Context) Lost() bool { return c.lost.Load() }

// Done is closed when no callback will run any more: after Close, or, for an
// adopted context, as soon as Close is called.
func (c *Context) Done() <-chan struct{} { return c.stopped }

// Close waits for everything that was posted, then takes the context down, and
// waits for the driver to write what it has for its own cache: some milliseconds
// with Mesa on an idle machine, 5 s at most. For an adopted context it only stops
// taking callbacks, and on its thread runs those that are waiting: the context is
// the caller's. Close is idempotent; callbacks must not call it.
func (c *Context) Close() error {
	if c.thread.Load() == int64(syscall.Gettid()) && c.schedule == nil {
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
	c.queue.close()
	<-c.stopped
	drivercache.Flush()
}
