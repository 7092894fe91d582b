//go:build linux

package resident

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/executor"
	"github.com/shadercache/shadercache/glctx"
)

// Session has a kernel do its steps: see the package documentation. Make it
// with New, and Close it before the context and the cache.
//
// Who touches what:
//
//	driver      one goroutine; it alone submits, and only it writes orders
//	GL thread   the buffers, in callbacks of the driver
//	door        Send and the driver, under doorLock; kernels read it in flight
//	mu          what callers want and what they are told
type Session struct {
	context *glctx.Context
	kernel  Kernel
	options Options
	form    Mode
	program *cache.Handle
	group   [3]uint32 // size of a work group

	gl       memory // for the GL thread only
	words    []uint32
	driver   driving // for the driver only
	doorLock sync.Mutex
	door     door
	outbox   outbox
	counts   counts

	attention atomic.Bool   // somebody wants the driver: it comes to a boundary soon
	asleep    atomic.Bool   // the driver waits for work, not for a tick
	wake      chan struct{} // one token for a driver that sleeps
	mu        struct {
		sync.Mutex
		base     uint64 // steps before the epoch
		progress uint64 // steps that every group has done, at the last boundary
		goal     uint64 // steps to get to
		began    uint64 // progress when the run began
		running  bool
		stopping bool
		idle     bool   // the kernel has nothing to do and the inbox is empty
		halted   uint32 // groups
		raised   Signal // of the last run
		failure  error
		asks     []*ask
		changed  chan struct{} // closed and replaced whenever something above changes
		closed   bool

		bound      time.Duration // ticks are kept below it
		boundUntil time.Time
	}
	ended chan struct{} // closed when the driver has ended
}

// counts are what Stats shows.
type counts struct {
	ticks, dispatches, submissions, underWay, steps, looks, naps, preemptions, checkpoints, checkpointBytes, alignments, logged atomic.Uint64

	activeGroups, launchedGroups, lanes atomic.Uint64

	longest atomic.Int64 // nanoseconds
}

// New makes a session: its program, from programs, and all its memory. It
// fails for a kernel that does not fit its program, naming the block, and with
// *shader.CompileError or shader.ErrOutOfMemory, wrapped. Nothing runs yet.
func New(ctx context.Context, c *glctx.Context, programs executor.Programs, k Kernel, o Options) (*Session, error) {
	if k.Phases == 0 {
		k.Phases = 1
	}
	if err := k.check(); err != nil {
		return nil, err
	}
	program, err := programs.Get(ctx, k.Source)
	if err != nil {
		return nil, fmt.Errorf("resident: %w", err)
	}
	bindings, err := k.bindings(program)
	if err != nil {
		program.Release()
		return nil, err
	}
	o = o.withDefaults()
	s := &Session{context: c, kernel: k, options: o, form: chooseForm(k, o, c.Info()), program: program, group: program.WorkGroup(),
		wake: make(chan struct{}, 1), ended: make(chan struct{})}
	s.mu.changed = make(chan struct{})
	err = c.Do(func(gl *glctx.GL) error { return s.gl.make(gl, k, bindings, program.Program(), o.trial.shared) })
	if err != nil {
		s.free()
		return nil, fmt.Errorf("resident: %w", err)
	}
	s.words = s.gl.shared.Words
	s.driver.epoch, s.driver.base = 1, o.trial.base
	s.mu.base, s.mu.progress = o.trial.base, o.trial.base
	if err := s.tryGridBarrier(); err != nil {
		s.free()
		return nil, fmt.Errorf("resident: %w", err)
	}
	s.driver.checkpointed = time.Now()
	go s.drive()
	return s, nil
}

// free gives back what New took.
func (s *Session) free() {
	// It fails only where the context is gone, and the memory with it.
	_ = s.context.Do(func(gl *glctx.GL) error { s.gl.free(gl); return nil })
	s.program.Release()
}

// Mode says how the session runs, and why not as asked.
func (s *Session) Mode() Mode { return s.form }

// Close stops the session at the end of its tick and frees its memory. It is
// idempotent, and returns why checkpoints could not be saved, if so.
func (s *Session) Close() error {
	s.mu.Lock()
	again := s.mu.closed
	s.mu.closed = true
	s.mu.Unlock()
	if !again {
		s.hurry()
		s.alert()
	}
	return serving(s.context, func() error {
		<-s.ended
		return s.driver.saving
	})
}

// Start has the kernel do so many steps, or with 0 go on until it is stopped,
// and does not wait. It returns ErrRunning, ErrClosed, or what made the session
// fail.
func (s *Session) Start(steps uint64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.mu.closed:
		return ErrClosed
	case s.mu.failure != nil:
		return s.mu.failure
	case s.mu.running:
		return ErrRunning
	}
	s.mu.running, s.mu.stopping, s.mu.idle = true, false, false
	s.mu.raised = Signal{}
	s.mu.began = s.mu.progress
	s.mu.goal = s.mu.progress + steps
	if steps == 0 || s.mu.goal < steps {
		s.mu.goal = ^uint64(0)
	}
	s.poke()
	return nil
}

// Run does so many steps and returns how it went: all of them, fewer because of
// a signal or because all groups have halted. Running again goes on. When ctx
// ends the session is stopped and ctx.Err() returned. It fails as Start does, or
// with what made the session fail.
func (s *Session) Run(ctx context.Context, steps uint64) (Outcome, error) {
	if steps == 0 {
		return Outcome{}, errors.New("resident: run of 0 steps: Start runs without an end")
	}
	if err := s.Start(steps); err != nil {
		return Outcome{}, err
	}
	out, err := s.Wait(ctx)
	if err != nil && ctx.Err() != nil {
		out, _ = s.Stop(context.WithoutCancel(ctx))
	}
	return out, err
}

// Wait waits until the session does not run any more, and says how the run
// ended.
func (s *Session) Wait(ctx context.Context) (Outcome, error) {
	var out Outcome
	err := s.until(ctx, func() bool {
		out = Outcome{Steps: s.mu.progress - min(s.mu.began, s.mu.progress), Signal: s.mu.raised}
		return !s.mu.running
	})
	return out, err
}

// Stop ends a run at the end of its tick, or sooner where the driver lets the
// kernel see it, and waits for that. All groups have done the same steps then.
func (s *Session) Stop(ctx context.Context) (Outcome, error) {
	s.mu.Lock()
	s.mu.stopping = true
	s.mu.Unlock()
	s.hurry()
	s.alert()
	return s.Wait(ctx)
}

// until waits for a condition of what mu guards, and then returns nil or what
// made the session fail.
func (s *Session) until(ctx context.Context, met func() bool) error {
	return serving(s.context, func() error { return s.sleepUntil(ctx, met) })
}

func (s *Session) sleepUntil(ctx context.Context, met func() bool) error {
	for {
		s.mu.Lock()
		ok, failure, closed, changed := met(), s.mu.failure, s.mu.closed, s.mu.changed
		s.mu.Unlock()
		switch {
		case failure != nil:
			return failure
		case ok:
			return nil
		case closed:
			select {
			case <-s.ended:
				return ErrClosed
			case <-changed:
				continue
			}
		}
		select {
		case <-changed:
		case <-s.ended:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// tell wakes everybody who waits for a change. mu is held.
func (s *Session) tell() {
	close(s.mu.changed)
	s.mu.changed = make(chan struct{})
}

// alert brings the driver to a boundary at the end of its tick.
func (s *Session) alert() {
	s.attention.Store(true)
	s.poke()
	if s.form.Actual == Persistent {
		// Such a tick ends at once, and the GL thread, which takes as long to wake as
		// the driver, is to be awake by then.
		s.context.Post(func(*glctx.GL) {})
	}
}

// poke wakes a driver that sleeps.
func (s *Session) poke() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// Progress is the number of steps that every group has done. While a tick is
// under way, and the driver shows what a kernel writes, it is how far group 0 is.
func (s *Session) Progress() uint64 {
	s.mu.Lock()
	base, progress := s.mu.base, s.mu.progress
	s.mu.Unlock()
	return max(progress, base+uint64(atomic.LoadUint32(&s.words[wordDone])))
}

// Err is what made the session fail, ErrClosed once it was closed, or nil. Whoever
// polls TryReceive asks for it now and then: nothing comes from a session that failed.
func (s *Session) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.failure == nil && s.mu.closed {
		return ErrClosed
	}
	return s.mu.failure
}

// Heartbeat counts up while the kernel looks at the door, in flight where the
// driver shows that.
func (s *Session) Heartbeat() uint32 { return atomic.LoadUint32(&s.words[wordHeartbeat]) }

// WaitIdle waits until the kernel has nothing to do, because its last steps
// said so and it has taken every message, or because no run is under way.
func (s *Session) WaitIdle(ctx context.Context) error {
	return s.until(ctx, func() bool { return s.mu.idle || !s.mu.running })
}
