//go:build linux

package resident

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/shadercache/shadercache/executor"
	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/resident/internal/wire"
)

// Session runs the steps of a kernel: see the package documentation. Make it with New,
// and Close it before the context and the cache.
//
// Its state belongs to four parts:
//
//	scheduler   its goroutine only; requests get it as an argument, see atBoundary
//	runState    callers and the scheduler, under its mutex
//	mailbox     callers, the scheduler and the kernel: mapped memory
//	config      fixed by New
type Session struct {
	context *glctx.Context
	config  *config
	run     *runState
	mail    *mailbox
}

// config holds what is fixed for the life of a session.
type config struct {
	kernel  Kernel
	options Options
	mode    Mode
	caps    Capabilities // none without Options.Capabilities
	group   [3]uint32    // size of a work group

	// synchronous is set where a dispatch ends within the call that issues it: the GL
	// thread does nothing else until then, so that no dispatch may last longer than a tick.
	synchronous bool
}

// New makes a session with its program, from programs, and all its memory. It starts
// no run. It fails for a kernel that does not fit its program, naming the block, with
// ErrLoopLimit where one step declares more loops than the driver allows, and with
// *shader.CompileError or shader.ErrOutOfMemory, wrapped.
func New(ctx context.Context, c *glctx.Context, programs executor.Programs, k Kernel, o Options) (*Session, error) {
	s, sc, err := open(ctx, c, programs, k, o)
	if err != nil {
		return nil, err
	}
	go sc.loop()
	return s, nil
}

// open makes a session and its scheduler, which does not run yet.
func open(ctx context.Context, c *glctx.Context, programs executor.Programs, k Kernel, o Options) (*Session, *scheduler, error) {
	k.Phases = cmp.Or(k.Phases, 1)
	if err := k.checkFields(); err != nil {
		return nil, nil, err
	}
	if err := c.CheckUniforms(); err != nil {
		return nil, nil, fmt.Errorf("resident: %w", err)
	}
	o = o.withDefaults()
	mode := chooseMode(k, o, c.Info())
	if err := mode.checkLoops(k); err != nil {
		return nil, nil, err
	}
	program, err := k.getProgram(ctx, c, programs, o)
	if err != nil {
		return nil, nil, fmt.Errorf("resident: %w", err)
	}
	bindings, err := k.bindings(program, c.Info().MaxStorage)
	if err != nil {
		program.Release()
		return nil, nil, err
	}
	cfg := &config{kernel: k, options: o, mode: mode, group: program.WorkGroup()}
	if o.Capabilities != nil {
		cfg.caps = *o.Capabilities
	}
	cfg.synchronous = c.Info().Software() || !cfg.caps.DispatchReturns
	sc := &scheduler{config: cfg, context: c, program: program, run: newRunState(o.test.base), epoch: 1, base: o.test.base,
		checkpointed: time.Now(), clearRun: true}
	err = c.Do(func(gl *glctx.GL) error { return sc.gl.makeBuffers(gl, k, bindings, program, o.test.mapping) })
	if err == nil {
		sc.words = sc.gl.shared.Words
		err = sc.testGridBarrier()
	}
	if err != nil {
		sc.release()
		return nil, nil, fmt.Errorf("resident: %w", err)
	}
	sc.mail = &mailbox{words: sc.words, config: cfg, run: sc.run}
	return &Session{context: c, config: cfg, run: sc.run, mail: sc.mail}, sc, nil
}

// Mode returns how the session runs, and why not as requested.
func (s *Session) Mode() Mode { return s.config.mode }

// Close stops the session at the end of its tick and frees its memory. It is
// idempotent, and returns the error of the last checkpoint that could not be saved.
func (s *Session) Close() error {
	if s.run.markClosed() {
		s.mail.requestStop()
		s.interrupt()
	}
	return s.polling(func() error {
		<-s.run.ended
		return s.run.view().saving
	})
}

// Start begins a run of a number of steps, or with 0 one without an end, and does not
// wait. It returns ErrRunning, shader.ErrClosed, or the error that made the session fail.
func (s *Session) Start(steps uint64) error { return s.run.startRun(steps) }

// Run does a number of steps and returns its outcome: fewer steps after a signal, or
// once all groups have halted. The next run continues there. When ctx ends, the session
// is stopped and ctx.Err() returned. It returns the errors of Start, and the error that
// made the session fail.
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

// Wait waits until the session does not run, and returns the outcome of the run.
func (s *Session) Wait(ctx context.Context) (out Outcome, err error) {
	err = s.polling(func() error {
		out, err = s.run.waitOutcome(ctx)
		return err
	})
	return out, err
}

// Stop ends a run at the end of its tick, or sooner where the kernel sees the request,
// and waits for that. All groups have done the same steps then.
func (s *Session) Stop(ctx context.Context) (Outcome, error) {
	s.run.locked(func() { s.run.stopping = true })
	s.mail.requestStop()
	s.interrupt()
	return s.Wait(ctx)
}

// WaitIdle waits until the kernel has nothing to do: all groups were idle in their last
// step and have had what was sent before, or no run is in progress.
func (s *Session) WaitIdle(ctx context.Context) error {
	sent := s.mail.number()
	return s.polling(func() error { return s.run.waitIdle(ctx, sent) })
}

// Progress returns the number of steps that every group has done. During a tick, where
// the host sees kernel writes, it is the progress of group 0.
func (s *Session) Progress() uint64 {
	v := s.run.view()
	return max(v.progress, v.base+uint64(s.mail.load(wire.AtDone)))
}

// Err returns the error that made the session fail, shader.ErrClosed after Close, or nil. A
// caller that polls TryReceive should check it: a failed session sends no messages.
func (s *Session) Err() error { return s.run.err() }

// Heartbeat returns a counter that the kernel increases while it polls the doorbell,
// during a dispatch where the host sees kernel writes.
func (s *Session) Heartbeat() uint32 { return s.mail.load(wire.AtHeartbeat) }

// interrupt brings the scheduler to a boundary at the end of its tick.
func (s *Session) interrupt() {
	s.run.attention.Store(true)
	s.run.wakeScheduler()
	if s.config.mode.Actual == Persistent {
		// A persistent tick ends within microseconds. This wakes the GL thread, which the
		// scheduler needs next, at the same time as the scheduler.
		s.context.Post(func(*glctx.GL) {})
	}
}

// polling calls wait while the context processes what the caller of an adopted context
// must process: see glctx.Context.PollWhile.
func (s *Session) polling(wait func() error) (err error) {
	s.context.PollWhile(func() { err = wait() })
	return err
}
