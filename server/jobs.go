//go:build linux

package server

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/shadercache/shadercache/executor/local"
	"github.com/shadercache/shadercache/internal/raw"
	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/server/internal/wire"
)

// running is a job from its submission to its reply. It is reused.
type running struct {
	task    *task
	pending local.Pending
	entered bool                  // the session's pace and outbox count it
	weight  int64                 // of its turn
	large   int64                 // bytes of large operands that are copied, and of lists: see takeLarge
	start   time.Duration         // of its submission, since the server's
	unread  int                   // bytes that the outbox expects
	in, out int                   // bytes that are copied, and take room in the executor
	placed  struct{ in, out int } // likewise, of those that are not
	inPlace []placed
	inline  []byte
	held    []*sharedMemory // written when the job is done

	request wire.Job // that was decoded, and is submitted
	run     job.Job  // that is submitted for a run
}

var runnings = sync.Pool{New: func() any { return new(running) }}

// release frees what the job held and makes r reusable.
func (r *running) release() {
	for _, m := range r.held {
		m.release()
	}
	r.pending.Release()
	clear(r.held)
	clear(r.inPlace)
	r.request.Reset()
	r.held, r.inPlace, r.run = r.held[:0], r.inPlace[:0], job.Job{}
	r.task, r.entered, r.in, r.out, r.unread, r.weight, r.large = nil, false, 0, 0, 0, 0, 0
	r.placed.in, r.placed.out = 0, 0
	if r.inline = r.inline[:0]; cap(r.inline) > maxKeptBody { // the next job may be another session's
		r.inline = nil
	}
	runnings.Put(r)
}

// launch gives the executor the job or run of a request, by way of submit. complete answers
// it.
func (s *session) launch(t *task, submit func(*session, *running) error) error {
	r := runnings.Get().(*running)
	r.task = t
	err := submit(s, r)
	if err != nil {
		if r.entered {
			s.pace.leave(-1)
			t.out.unexpect(r.unread)
		}
		s.server.large.release(r.large)
		r.release()
	}
	return err
}

// submitJob submits a job.
func (s *session) submitJob(r *running) error {
	r.request.Objects = s.objects
	if err := wire.Decode(r.task.body, &r.request); err != nil {
		return err
	}
	if r.task.times != nil {
		r.task.program = r.request.Program.Name()
	}
	if err := s.prepare(r); err != nil {
		return err
	}
	if err := s.enter(r, len(r.inline)); err != nil {
		return err
	}
	if err := s.takeLarge(r, listBytes(&r.request.Job)); err != nil {
		return err
	}
	if err := s.moveLarge(r, &r.request.Job); err != nil {
		return err
	}
	return s.submit(r)
}

// enter waits until the session may have one more job, whose reply has inline bytes. It comes
// before locks and turns: other sessions do not wait for a client that does not read.
func (s *session) enter(r *running, inline int) error {
	if !r.task.out.expect(inline, r.task.patience) {
		return context.Canceled
	}
	r.unread = inline
	r.task.times.mark(jobChecked)
	err := s.pace.enter(r.task)
	if r.entered = err == nil; !r.entered {
		r.task.out.unexpect(inline)
	}
	return err
}

// submit gives a job to the executor, and then to the goroutine that answers it.
func (s *session) submit(r *running) error {
	err := s.submitBefore(atOnce, r) // most do not wait, and need no context of their own
	if errors.Is(err, context.Canceled) && r.task.isQueued() {
		ctx := r.task.context()
		if err = r.pending.Writes.Lock(ctx); err == nil { // others' turns do not wait for it
			r.pending.Writes.Unlock()
			err = s.submitBefore(ctx, r)
		}
	}
	if err != nil {
		return err
	}
	r.task.times.mark(jobSubmitted)
	s.server.counts.jobs.Add(1)
	s.server.counts.bytesIn.Add(uint64(r.in + r.placed.in))
	s.server.counts.bytesCopied.Add(uint64(r.in + r.out))
	if r.task.direct {
		s.direct = r
	} else {
		s.passOn(r)
	}
	return nil
}

// submitBefore waits, until ctx ends, for a turn, then for the buffers that the job writes, which are
// locked: no other session's job or copy is between the change of one, in the executor's order, and
// that of its version. Then it gives the executor the job.
func (s *session) submitBefore(ctx context.Context, r *running) (err error) {
	if r.weight, err = s.server.turns.acquire(ctx, r.in, r.out); err != nil {
		return err
	}
	if err = r.pending.Writes.Lock(ctx); err == nil {
		err = s.submitLocked(ctx, r)
		r.pending.Writes.Unlock()
	}
	if err != nil {
		s.server.turns.release(r.weight)
	}
	return err
}

// submitLocked waits for room in a slot, and gives the executor the job.
func (s *session) submitLocked(ctx context.Context, r *running) error {
	r.task.times.mark(jobGranted)
	r.start = time.Since(s.server.started)
	if r.task.answered.Load() {
		return context.Canceled
	}
	r.pending.Owner = s.ctx
	err := r.pending.Start(ctx)
	if err == nil { // the check of a job is no work of the GPU
		s.objects.begin()
		s.server.watch.begin(onGPU)
	}
	return err
}

// atOnce is the context of what does not wait: it has ended.
var atOnce, endAtOnce = context.WithCancel(context.Background())

func init() { endAtOnce() }

// errBusy is the error of a job that the goroutine that reads requests cannot submit without
// waiting for other sessions, or for the GPU's thread: that may compile for one.
var errBusy = fmt.Errorf("server: the job has to wait: %w", context.Canceled)

// passOn has complete answer a job.
func (s *session) passOn(r *running) {
	r.task.direct = false
	s.completing.Add(1)
	s.running <- r
}

// complete answers jobs in the order of their submission. It waits for every job, so that
// what a session that has ended still has on the GPU counts against its turns.
func (s *session) complete() {
	for r := range s.running {
		for r != nil {
			out := r.task.out
			s.completeJob(r)
			s.completing.Add(-1)
			if r = s.nextRunning(); r == nil || r.task.out != out || !r.pending.Ready() {
				out.flush()
			}
		}
	}
}

// nextRunning returns the next job that was submitted, or nil.
func (s *session) nextRunning() *running {
	select {
	case r := <-s.running:
		return r
	default:
		return nil
	}
}

// completeJob waits for a job and answers it.
func (s *session) completeJob(r *running) {
	// It does not wait for clients, and ends with the context if not with the job.
	_ = r.pending.Await(context.Background())
	s.server.watch.end(onGPU, true)
	r.task.times.mark(jobDone)
	took := s.pace.took(r.start, time.Since(s.server.started))
	s.pace.leave(took)
	s.server.counts.busyNanos.Add(uint64(max(0, took)))
	if r.pending.Spill.Delivers() { // from memory of its own: it takes no room of others
		s.server.watch.begin(onThread) // what others do there is progress
		defer s.server.watch.end(onThread, true)
		s.server.turns.release(r.weight)
		r.weight = 0
		r.task.out.flush() // replies before do not wait
		_ = s.server.look(s.ctx, severalLooks)
	}
	r.task.expireIfLate()
	if r.task.claim() {
		s.finish(r)
	} else {
		r.pending.Release()
	}
	if r.task.direct { // no other reply follows
		r.task.out.flush()
	}
	r.task.times.mark(jobReplied)
	r.task.times.report(r)
	s.server.turns.release(r.weight)
	s.server.large.release(r.large)
	r.task.out.unexpect(r.unread)
	r.release()
	s.objects.end()
}

// finish delivers the outputs of a job and answers it.
func (s *session) finish(r *running) {
	if err := r.pending.Wait(context.Background()); err != nil {
		r.task.fail(err, wire.CodeInternal)
		return
	}
	r.task.times.mark(jobDelivered)
	s.server.counts.bytesOut.Add(uint64(r.out + r.placed.out))
	at := 0
	for i := range r.request.Counters {
		at += copy(r.inline[at:], raw.Bytes(r.request.Counters[i].To))
	}
	r.task.reply(&wire.Data{Data: r.inline})
}

// prepare makes a request a job of the device.
func (s *session) prepare(r *running) error {
	if err := s.prepareInputs(r); err != nil {
		return err
	}
	if err := s.prepareOutputs(r); err != nil {
		return err
	}
	if err := s.server.device.Check(&r.request.Job, &r.pending); err != nil {
		return err
	}
	return r.bindInPlace(&s.server.limits)
}

// dispatchBytes is what a dispatch of a job or run takes of the process until that is done, itemBytes what
// each of its bindings and uniforms does, texelsBytes what each of the job's copies of texels, and bindBytes
// what each binding of the job's operands.
const dispatchBytes, itemBytes, texelsBytes, bindBytes = 1 << 10, 256, 512, 96

// listBytes is what the lists of a job take.
func listBytes(j *job.Job) (n int) {
	operands := len(j.Inputs) + len(j.Outputs) + len(j.Counters)
	n = texelsBytes * (len(j.TextureInputs) + len(j.TextureOutputs))
	for i := range j.Count() {
		d := j.At(i)
		n += bindBytes * min(operands, len(d.Program.Interface().Resources))
		n += dispatchBytes + itemBytes*(len(d.Uniforms)+len(d.Buffers)+len(d.Blocks)+len(d.Images)+len(d.Textures))
	}
	return n
}

// takeLarge waits until all sessions together have no more large operands, and lists of dispatches, than
// there is room for. It comes before locks, and before there is memory for them.
func (s *session) takeLarge(r *running, lists int) error {
	n := r.in + r.out
	// More has only a job whose operands are the same bytes many times.
	if limit := max(s.server.options.Limits.Memory, 2*wire.MaxBody); uint64(n) > limit {
		return reject(wire.CodeQuota, "a job that copies %d bytes in and %d out: %d are possible together", r.in, r.out, limit)
	}
	if n += lists; n <= 2*wire.MaxBody {
		return nil
	}
	if !r.task.isQueued() {
		return errBusy
	}
	if err := s.server.awaitThread(r.task.context(), severalLooks); err != nil { // those behind it wait no longer than it
		return err
	}
	large, err := s.server.large.acquire(r.task.context(), n, 0)
	if err == nil {
		r.large = large
	}
	return err
}

// moveLarge gives the large operands of a job that does not fit into a slot memory of its own.
func (s *session) moveLarge(r *running, j *job.Job) error {
	if !s.server.executor.HasRoom(j) {
		if !r.task.isQueued() {
			return errBusy
		}
		if err := s.server.awaitThread(r.task.context(), severalLooks); err != nil {
			return err
		}
	}
	return s.server.device.Prepare(s.ctx, j, &r.pending)
}

func (s *session) prepareInputs(r *running) error {
	for i := range r.request.In {
		in := &r.request.In[i]
		data, err := s.bytesOf(&in.Operand, in.Operand.Data)
		if err != nil {
			return err
		}
		r.request.Inputs = append(r.request.Inputs, job.Input{Binding: in.Binding, Data: data})
		if !s.useInPlace(r, in, i, len(data), false) {
			r.in += len(data)
		}
	}
	for i := range r.request.TexelsIn {
		in := &r.request.TexelsIn[i]
		if in.Place == wire.PlaceBuffer {
			continue
		}
		data, err := s.bytesOf(in, in.Data)
		if err != nil {
			return err
		}
		r.request.TextureInputs[i].Texels = data
		r.in += len(data)
	}
	return nil
}

// bytesOf returns the bytes of an operand of the client, which is inline, in memory or none.
func (s *session) bytesOf(op *wire.Operand, inline []byte) ([]byte, error) {
	switch op.Place {
	case wire.PlaceNone:
		return nil, nil
	case wire.PlaceInline:
		return inline, nil
	case wire.PlaceMemory:
		return s.memoryRange(op)
	}
	return nil, reject(wire.CodeInvalid, "a buffer or a texture where bytes are needed, inline or in memory")
}

func (s *session) prepareOutputs(r *running) error {
	counters, inline := 0, 0
	for i := range r.request.Counters {
		counters += 4 * len(r.request.Counters[i].To)
	}
	for i := range r.request.Out {
		inline += r.request.Out[i].Operand.Inline()
	}
	for i := range r.request.TexelsOut {
		inline += r.request.TexelsOut[i].Inline()
	}
	if err := r.task.checkReply(4 + counters + inline); err != nil {
		return err
	}
	r.inline = slices.Grow(r.inline[:0], counters+inline)[:counters+inline]
	r.out += counters
	rest := r.inline[counters:]
	for i := range r.request.Out {
		out := &r.request.Out[i]
		to, err := s.outputOf(&out.Operand, &rest)
		if err != nil {
			return err
		}
		r.request.Outputs = append(r.request.Outputs, job.Output{Binding: out.Binding, To: to})
		if !s.useInPlace(r, out, i, len(to), true) {
			s.hold(r, &out.Operand)
			r.out += len(to)
		}
	}
	for i := range r.request.TexelsOut {
		out := &r.request.TexelsOut[i]
		if out.Place == wire.PlaceBuffer {
			continue
		}
		to, err := s.outputOf(out, &rest)
		if err != nil {
			return err
		}
		r.request.TextureOutputs[i].To = to
		s.hold(r, out)
		r.out += len(to)
	}
	return nil
}

// outputOf returns the bytes of an operand that a job writes: of the reply, whose rest is free, or
// in memory.
func (s *session) outputOf(op *wire.Operand, rest *[]byte) ([]byte, error) {
	n := op.Inline()
	to := (*rest)[:n:n]
	*rest = (*rest)[n:]
	return s.bytesOf(op, to)
}

// hold keeps the memory of an operand that a job writes until that is done.
func (s *session) hold(r *running, op *wire.Operand) {
	if m := s.objects.memoryOf(op); m != nil {
		m.retain()
		r.held = append(r.held, m)
	}
}
