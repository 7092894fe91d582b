//go:build linux

package actors

import (
	"context"
	"errors"
	"fmt"

	"github.com/shadercache/shadercache/executor"
	"github.com/shadercache/shadercache/executor/kernelset"
	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/resident/internal/loops"
)

// World is a set of actors on one device: see the package documentation. Its methods
// may be called from any goroutine, also concurrently, but not from a callback of
// glctx.Context.Do or Post. Commands of the host are executed between two ticks, in the
// order of the calls. Close it before its executor.
type World struct {
	executor *executor.Executor
	cache    executor.Programs
	options  Options
	programs worldPrograms
	buffers  worldBuffers

	mu           glctx.Mutex // locked during every job on the device
	closed       bool
	failure      error // resident.ErrLoopLimit, wrapped
	report       Report
	requests     uint32              // the last one's number
	replies      map[uint32]*Message // of open requests; nil until the reply arrives
	hostMessages []Message           // to the host
	outgoing     []Envelope          // to other devices
	routed       bool                // a router takes them
}

// Report has the counters of a world since New, and its present state.
type Report struct {
	Tick      uint32 `json:"tick"`       // the next one
	Live      int    `json:"live"`       // actors in it
	Free      int    `json:"free"`       // slots
	Sent      uint64 `json:"sent"`       // messages put into a mailbox
	Handled   uint64 `json:"handled"`    // of them; broadcasts not counted
	Dead      uint64 `json:"dead"`       // of them, those whose receiver ended, failed or was restarted first
	Full      uint64 `json:"full"`       // messages without room, as returned to the sender
	Stale     uint64 `json:"stale"`      // messages and commands to actors that have ended, as returned to the sender
	Spawned   uint64 `json:"spawned"`    //
	NoSlot    uint64 `json:"no_slot"`    // spawns without a free slot, as returned to the spawner
	Ended     uint64 `json:"ended"`      // actors whose slots became free
	Failed    uint64 `json:"failed"`     // times that an actor failed
	Broadcast uint64 `json:"broadcasts"` // messages to all
	TooMany   uint64 `json:"too_many"`   // arrivals at a barrier beyond its parties
}

const reportWords = 24

// reportedWords is the room for messages of the outbox behind the report.
const reportedWords = 256

// New makes a world without actors. programs is a cache over the executor's context. It
// returns an error for options out of range, a *shader.CompileError for handlers that
// do not compile, and the errors of cache and executor.
func New(ctx context.Context, e *executor.Executor, programs executor.Programs, o Options) (*World, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	w := &World{executor: e, cache: programs, options: o}
	if err := o.checkLoops(loops.Limit(e.Context().Info())); err != nil {
		return nil, err
	}
	if err := w.getPrograms(ctx, programs); err != nil {
		return nil, err
	}
	if err := w.prepare(); err != nil {
		w.programs.release()
		return nil, err
	}
	return w, nil
}

// prepare makes the buffers of a world that has its programs.
func (w *World) prepare() (err error) {
	w.requests, w.replies = hostMailbox, map[uint32]*Message{}
	w.mu.Context = w.executor.Context()
	w.report.Free = w.options.Slots
	if w.buffers, err = newWorldBuffers(w.executor, w.options); err != nil {
		return fmt.Errorf("actors: %w", err)
	}
	return nil
}

// SetHandlers replaces the handlers between two ticks; actors, states and messages
// stay. An actor keeps the number of its handler and continues with the new handler of
// that number. After an error the previous handlers stay.
func (w *World) SetHandlers(ctx context.Context, handlers ...Handler) error {
	o := w.Options()
	o.Handlers = handlers
	if err := errors.Join(o.validate(), o.checkLoops(loops.Limit(w.executor.Context().Info()))); err != nil {
		return err
	}
	handles, err := kernelset.Get(ctx, w.cache, kernels, o.tickKernel())
	if err != nil {
		return fmt.Errorf("actors: %w", err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		kernelset.Release(handles...)
		return errClosed
	}
	w.programs.tick.Release()
	w.programs.tick = handles[0]
	w.options.Handlers = handlers
	return nil
}

// maxTicks is the number of ticks in a submission.
const maxTicks = 32

// Step runs n ticks. It returns ctx.Err() between two submissions, and the errors of
// the executor, and resident.ErrLoopLimit. The report is that of the last submission.
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
	all := w.ticks(n)
	return w.submitAndWait(ctx, job.Job{Dispatch: all[0], Then: all[1:]})
}

// stepSending sends messages and runs a tick, in which they are received: as SendAll and
// Step, in one submission where they fit.
func (w *World) stepSending(ctx context.Context, envelopes []Envelope) ([]error, error) {
	if len(envelopes) == 0 {
		return nil, w.stepBatch(ctx, 1)
	}
	commands, err := w.sendCommands(envelopes)
	if err != nil {
		return nil, err
	}
	return w.executeAll(ctx, commands, "send to", true)
}

// ticks returns the dispatches of n ticks.
func (w *World) ticks(n int) (all []job.Dispatch) {
	for i := range n {
		all = append(all, job.Dispatch{
			Program:  w.programs.tick,
			Indirect: &job.Indirect{Buffer: w.buffers.world.Memory, Offset: tickGroupsAt},
			Buffers:  append(w.buffers.bound(), w.options.Memory...),
			Uniforms: append(w.uniforms(), w.options.Uniforms...),
		})
		all = append(all, w.sweepAndPlan(false, i == n-1)...)
	}
	return all
}

// sweepAndPlan returns the sweep and plan dispatches, which end a tick or follow commands
// of the host. The last plan of a job reports messages.
func (w *World) sweepAndPlan(afterCommands, last bool) []job.Dispatch {
	flag, takes := uint32(0), uint32(0)
	if afterCommands {
		flag = 1
	}
	if last && w.hasRoom() {
		takes = uint32(reportedWords / w.options.envelopeWords())
	}
	uniforms := append(w.uniforms(), job.Uint("afterCommands", flag), job.Uint("takes", takes))
	return []job.Dispatch{
		{
			Program: w.programs.sweep, Groups: [3]uint32{uint32(w.options.Slots+63) / 64, 1, 1},
			Buffers: w.buffers.bound(), Uniforms: uniforms,
		},
		{Program: w.programs.plan, Groups: [3]uint32{1, 1, 1}, Buffers: w.buffers.bound(), Uniforms: uniforms},
	}
}

func (w *World) uniforms() []job.Uniform {
	return []job.Uniform{job.Uint("actorDevice", uint32(w.options.Device))}
}

// submitAndWait submits a job that ends with a plan, waits, and reads the report. Without an
// error the job has run, even if ctx has ended. mu must be locked.
func (w *World) submitAndWait(ctx context.Context, j job.Job) error {
	if err := w.usable(); err != nil {
		return err
	}
	words := make([]uint32, reportWords+reportedWords)
	// Only actors_plan declares this binding as its report. A handler with memory at the
	// binding gets that memory.
	j.Outputs = append(j.Outputs, job.Output{Binding: reportBinding, Dirty: true, To: glctx.Bytes(words)})
	pending, err := w.executor.Submit(ctx, j)
	if err != nil {
		return fmt.Errorf("actors: %w", err)
	}
	// The job runs also when ctx ends, and its report is needed.
	ctx = context.WithoutCancel(ctx)
	if err := pending.Wait(ctx); err != nil {
		return fmt.Errorf("actors: %w", err)
	}
	outbox, err := w.report.decode(words)
	if errors.Is(err, loops.ErrTooLong) {
		w.failure = err
	}
	if err != nil {
		return err
	}
	if words[18] != 0 {
		w.receiveAll(words[reportWords:], outbox)
		return nil
	}
	return w.readOutbox(ctx, outbox)
}

// usable returns shader.ErrClosed, or why the states of the world are not to be trusted. mu must
// be locked.
func (w *World) usable() error {
	if w.closed {
		return errClosed
	}
	return w.failure
}

// reportBinding is the binding of Report in actors_plan.comp.
const reportBinding = 7

// decode updates the counters with the report of actors_plan, and returns the number of
// messages in the outbox.
func (r *Report) decode(words []uint32) (outbox int, err error) {
	r.Tick, r.Live, r.Free = words[0], int(words[1]), int(words[2])
	for i, counter := range []*uint64{
		&r.Sent, &r.Handled, &r.Full, &r.Stale, &r.Spawned, &r.NoSlot, &r.Ended, &r.Dead, &r.Failed, &r.Broadcast, &r.TooMany,
	} {
		*counter = extendCounter(*counter, words[3+i])
	}
	if words[17] != 0 {
		return 0, fmt.Errorf("%w: it ended a loop early, so states are wrong: declare the loop turns of a handler in Handler.Loops, or divide its work", loops.ErrTooLong)
	}
	if words[14] != 0 || words[15] != 0 {
		return 0, fmt.Errorf("actors: inconsistent state on the device: %d messages unpublished, %d slots claimed twice", words[14], words[15])
	}
	return int(words[16]), nil
}

// extendCounter returns a 64-bit counter whose low word has become low. It is right as
// long as the counter grows by less than 1<<32 between two reports.
func extendCounter(before uint64, low uint32) uint64 { return before + uint64(low-uint32(before)) }

// Report returns the report of the last step or command.
func (w *World) Report() Report {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.report
}

// Options returns the options of New, with the defaults set.
func (w *World) Options() Options {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.options
}

// Close releases the programs and buffers of the world. It is idempotent.
func (w *World) Close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.closed {
		w.closed = true
		w.programs.release()
		w.buffers.release()
	}
}
