//go:build linux

package actors

import (
	"context"
	"fmt"

	"github.com/shadercache/shadercache/executor"
	"github.com/shadercache/shadercache/glctx"
)

// World is actors on one device: see the package documentation. Its methods may
// be called from any goroutine, also side by side, but not from a callback of
// glctx.Context.Do or Post. What the host orders happens between two ticks, in
// the order of the calls. Close it before its executor.
type World struct {
	executor *executor.Executor
	cache    executor.Programs
	options  Options
	programs worldPrograms
	buffers  worldBuffers

	mu           glctx.Mutex // held while anything is done on the device
	closed       bool
	report       Report
	requests     uint32              // the last one's number
	replies      map[uint32]*Message // of requests that are waited for; nil until it came
	hostMessages []Message           // to the host
	outgoing     []Envelope          // to other devices
}

// Report says what a world has done since it was made, and how it is now.
type Report struct {
	Tick      uint32 `json:"tick"`       // the next one
	Live      int    `json:"live"`       // actors in it
	Free      int    `json:"free"`       // slots
	Sent      uint64 `json:"sent"`       // messages that a mailbox took
	Handled   uint64 `json:"handled"`    // of them; broadcasts not counted
	Dead      uint64 `json:"dead"`       // of them, those whose receiver ended, failed or was restarted first
	Full      uint64 `json:"full"`       // messages that found no room: the sender knows
	Stale     uint64 `json:"stale"`      // messages and orders to nobody: the sender knows
	Spawned   uint64 `json:"spawned"`    //
	NoSlot    uint64 `json:"no_slot"`    // spawns that found no slot: the spawner knows
	Ended     uint64 `json:"ended"`      // actors that left their slots
	Failed    uint64 `json:"failed"`     // times that an actor failed
	Broadcast uint64 `json:"broadcasts"` // messages to all
	TooMany   uint64 `json:"too_many"`   // arrivals at a barrier beyond its parties
}

const reportWords = 24

// New makes a world without actors. programs is a cache over the executor's
// context. It fails for options out of bounds, with *shader.CompileError for
// handlers that do not compile, and with what cache and executor report.
func New(ctx context.Context, e *executor.Executor, programs executor.Programs, o Options) (*World, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	w := &World{executor: e, cache: programs, options: o, requests: hostMailbox, replies: map[uint32]*Message{}}
	w.mu.Of = e.Context()
	w.report.Free = o.Slots
	if w.programs, err = getPrograms(ctx, programs, o); err != nil {
		return nil, err
	}
	if w.buffers, err = newWorldBuffers(e, o); err != nil {
		w.programs.release()
		return nil, fmt.Errorf("actors: %w", err)
	}
	return w, nil
}

// SetHandlers replaces the handlers between two ticks; actors, states and
// messages stay. The new ones have numbers of their own: an actor goes on with
// the handler of its number. The program comes from the cache. On an error
// nothing has changed.
func (w *World) SetHandlers(ctx context.Context, handlers ...Handler) error {
	o := w.Options()
	o.Handlers = handlers
	if err := o.validate(); err != nil {
		return err
	}
	tick, err := getTick(ctx, w.cache, o)
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		tick.Release()
		return ErrClosed
	}
	w.programs.tick.Release()
	w.programs.tick = tick
	w.options.Handlers = handlers
	return nil
}

// maxTicks is how many ticks are issued at once.
const maxTicks = 32

// Step runs n ticks. It returns ctx.Err() between two submissions, and what the
// executor reports; the report is of the last submission.
func (w *World) Step(ctx context.Context, n int) (Report, error) {
	for n > 0 {
		count := min(n, maxTicks)
		if err := w.stepBatch(ctx, count); err != nil {
			return w.Report(), err
		}
		n -= count
	}
	return w.Report(), nil
}

func (w *World) stepBatch(ctx context.Context, n int) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	var all []executor.Dispatch
	for range n {
		all = append(all, executor.Dispatch{
			Program:  w.programs.tick,
			Indirect: &executor.Indirect{Memory: w.buffers.world.Memory, Offset: tickGroupsAt},
			Memory:   append(w.buffers.bound(), w.options.Memory...),
			Uniforms: append(w.uniforms(), w.options.Uniforms...),
		})
		all = append(all, w.sweepAndPlan(0)...)
	}
	return w.submitAndWait(ctx, executor.Job{Dispatch: all[0], Then: all[1:]})
}

// sweepAndPlan is sweep and plan: after a tick, or to settle what the host ordered.
func (w *World) sweepAndPlan(settle uint32) []executor.Dispatch {
	uniforms := append(w.uniforms(), executor.Uint("settle", settle))
	return []executor.Dispatch{
		{
			Program: w.programs.sweep, Groups: [3]uint32{uint32(w.options.Slots+63) / 64, 1, 1},
			Memory: w.buffers.bound(), Uniforms: uniforms,
		},
		{Program: w.programs.plan, Groups: [3]uint32{1, 1, 1}, Memory: w.buffers.bound(), Uniforms: uniforms},
	}
}

func (w *World) uniforms() []executor.Uniform {
	return []executor.Uniform{executor.Uint("actorDevice", uint32(w.options.Device))}
}

// submitAndWait submits a job that ends with a plan, waits, and reads the report. Without
// an error it has run, even if ctx has ended. mu is held.
func (w *World) submitAndWait(ctx context.Context, job executor.Job) error {
	if w.closed {
		return ErrClosed
	}
	words := make([]uint32, reportWords)
	// A program that has memory at the binding does not see the report.
	job.Outputs = append(job.Outputs, executor.Output{Binding: reportBinding, To: glctx.Bytes(words)})
	pending, err := w.executor.Submit(ctx, job)
	if err != nil {
		return fmt.Errorf("actors: %w", err)
	}
	// It runs, whatever becomes of ctx: the report must not be missed.
	ctx = context.WithoutCancel(ctx)
	if err := pending.Wait(ctx); err != nil {
		return fmt.Errorf("actors: %w", err)
	}
	outbox, err := w.report.decode(words)
	if err != nil {
		return err
	}
	return w.readOutbox(ctx, outbox)
}

// reportBinding is Report in actors_plan.comp.
const reportBinding = 7

// decode takes in what actors_plan wrote, and returns the messages in the outbox.
func (r *Report) decode(words []uint32) (outbox int, err error) {
	r.Tick, r.Live, r.Free = words[0], int(words[1]), int(words[2])
	for i, counter := range []*uint64{
		&r.Sent, &r.Handled, &r.Full, &r.Stale, &r.Spawned, &r.NoSlot, &r.Ended, &r.Dead, &r.Failed, &r.Broadcast, &r.TooMany,
	} {
		*counter = extendCounter(*counter, words[3+i])
	}
	if words[14] != 0 || words[15] != 0 {
		return 0, fmt.Errorf("actors: the device broke its rules: %d messages unpublished, %d slots claimed twice", words[14], words[15])
	}
	return int(words[16]), nil
}

// extendCounter is a counter of 64 bits whose low word is now low. It misses nothing as
// long as less than 1<<32 is counted between two reports.
func extendCounter(before uint64, low uint32) uint64 { return before + uint64(low-uint32(before)) }

// Report is the world as of the last step or order.
func (w *World) Report() Report {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.report
}

// Options are those of New, with the defaults filled in.
func (w *World) Options() Options {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.options
}

// Close frees what the world has on the device. It is idempotent.
func (w *World) Close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.closed {
		w.closed = true
		w.programs.release()
		w.buffers.release()
	}
}
