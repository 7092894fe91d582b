//go:build linux

package server

import (
	"context"
	"errors"
	"math"
	"sync"
	"time"

	"github.com/shadercache/shadercache/executor"
	"github.com/shadercache/shadercache/executor/named"
	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/server/internal/wire"
)

// running is a job from its submission to its reply. It is reused.
type running struct {
	task    *task
	pending executor.Pending
	entered bool          // the session's pace and outbox count it
	weight  int64         // of its turn
	start   time.Duration // of its submission, since the server's
	unread  int           // bytes that the outbox expects
	in, out int           // bytes that take room in the executor
	bytes   jobBytes
	inPlace []placed // operands that are not copied
	inline  []byte
	held    []*sharedMemory // written when the job is done
	writes  named.Writes    // whose versions rise when the executor has the job
	spill   executor.Spill  // memory of this job alone, for operands that are too large for a slot

	request  wire.Job // storage of the decoder
	job      executor.Job
	uniforms []job.Uniform     // of all dispatches, each of which has a part
	bounds   []executor.Bound  // likewise
	names    map[string]string // of uniforms, so that they are not allocated for each job
}

// jobBytes counts the bytes of the operands of a job.
type jobBytes struct{ in, out, copied int }

var runnings = sync.Pool{New: func() any { return &running{names: map[string]string{}} }}

// maxNames is the number of names that a running keeps.
const maxNames = 256

// release frees what the job held and makes r reusable.
func (r *running) release() {
	for _, m := range r.held {
		m.release()
	}
	r.spill.Release()
	clear(r.held)
	clear(r.writes)
	clear(r.inPlace)
	clear(r.job.Inputs)
	clear(r.job.Outputs)
	clear(r.job.Then)
	clear(r.uniforms)
	clear(r.bounds)
	r.uniforms, r.bounds = r.uniforms[:0], r.bounds[:0]
	r.held, r.writes, r.inPlace = r.held[:0], r.writes[:0], r.inPlace[:0]
	r.job = executor.Job{Inputs: r.job.Inputs[:0], Outputs: r.job.Outputs[:0], Then: r.job.Then[:0]}
	r.task, r.entered, r.in, r.out, r.unread, r.weight, r.bytes = nil, false, 0, 0, 0, 0, jobBytes{}
	if len(r.names) > maxNames {
		clear(r.names)
	}
	if cap(r.inline) > maxKeptBody {
		r.inline = nil
	}
	runnings.Put(r)
}

// name returns a name as a string.
func (r *running) name(b []byte) string {
	name, ok := r.names[string(b)]
	if !ok {
		name = string(b)
		r.names[name] = name
	}
	return name
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
		r.release()
	}
	return err
}

// submitJob submits a job.
func (s *session) submitJob(r *running) error {
	if err := r.request.Decode(r.task.body); err != nil {
		return err
	}
	if err := s.prepare(r); err != nil {
		return err
	}
	if err := s.enter(r, len(r.inline)); err != nil {
		return err
	}
	return s.submit(r)
}

// enter waits until the session may have one more job, whose reply has inline bytes. It comes
// before locks and turns: other sessions do not wait for a client that does not read.
func (s *session) enter(r *running, inline int) error {
	if !r.task.out.expect(inline) {
		return context.Canceled // the session has ended
	}
	r.unread = inline
	r.task.times.mark(jobChecked)
	s.pace.enter()
	r.entered = true
	return nil
}

// submit gives a job to the executor, and then to the goroutine that answers it.
func (s *session) submit(r *running) error {
	if !r.writes.Lock(r.task.isQueued()) { // the goroutine that reads requests does not wait
		return errBusy
	}
	err := s.submitLocked(r)
	r.writes.Unlock()
	if err != nil {
		return err
	}
	r.task.times.mark(jobSubmitted)
	s.server.counts.jobs.Add(1)
	s.server.counts.bytesIn.Add(uint64(r.bytes.in))
	s.server.counts.bytesCopied.Add(uint64(r.bytes.copied))
	if r.task.direct {
		s.direct = r
	} else {
		s.passOn(r)
	}
	return nil
}

// submitLocked waits for a turn and gives the executor a job. The buffers that it writes are
// locked: no other session's job or copy is between the change of one, in the executor's
// order, and that of its version.
func (s *session) submitLocked(r *running) (err error) {
	if r.weight, err = s.server.turns.acquire(s.ctx, r.in, r.out); err != nil {
		return err
	}
	r.task.times.mark(jobGranted)
	r.start = time.Since(s.server.started)
	if r.task.answered.Load() {
		err = context.Canceled
	} else {
		s.server.watch.begin(onGPU)
		if err = s.server.executor.SubmitInto(s.ctx, r.job, &r.pending); err != nil {
			s.server.watch.end(onGPU, false)
		}
	}
	if err != nil {
		s.server.turns.release(r.weight)
		return err
	}
	r.writes.Raise()
	return nil
}

// errBusy is the error of a job that the goroutine that reads requests cannot submit without
// waiting for other sessions.
var errBusy = errors.New("server: the job has to wait")

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
	r.task.times.mark(jobDone)
	took := s.pace.took(r.start, time.Since(s.server.started))
	s.pace.leave(took)
	s.server.counts.busyNanos.Add(uint64(max(0, took)))
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
	r.task.times.report(r.task, r.bytes)
	s.server.watch.end(onGPU, true)
	s.server.turns.release(r.weight)
	r.task.out.unexpect(r.unread)
	r.release()
}

// finish delivers the outputs of a job and answers it.
func (s *session) finish(r *running) {
	err := r.pending.Wait(context.Background())
	if err == nil {
		err = r.spill.Deliver(context.Background())
	}
	if err != nil {
		r.task.fail(err, wire.CodeInternal)
		return
	}
	r.task.times.mark(jobDelivered)
	s.server.counts.bytesOut.Add(uint64(r.bytes.out))
	r.task.reply(&wire.Data{Data: r.inline})
}

// prepare makes the executor's job of a request.
func (s *session) prepare(r *running) error {
	if err := s.prepareInputs(r); err != nil {
		return err
	}
	if err := s.prepareOutputs(r); err != nil {
		return err
	}
	for i := range r.request.Dispatches {
		d, err := s.prepareDispatch(r, &r.request.Dispatches[i])
		if err != nil {
			return err
		}
		if i == 0 {
			r.job.Dispatch = d
		} else {
			r.job.Then = append(r.job.Then, d)
		}
	}
	if err := r.bindInPlace(); err != nil {
		return err
	}
	return s.moveLarge(r)
}

// moveLarge gives the large operands of a job that does not fit into a slot memory of its own.
func (s *session) moveLarge(r *running) error {
	// More has only a job whose operands are the same bytes many times.
	if limit := max(s.server.options.Limits.Memory, 2*wire.MaxBody); uint64(r.in)+uint64(r.out) > limit {
		return reject(wire.CodeQuota, "a job that copies %d bytes in and %d out: %d are possible together", r.in, r.out, limit)
	}
	return r.spill.Move(s.ctx, s.server.executor, &r.job, s.server.newMemory)
}

func (s *session) prepareInputs(r *running) error {
	for i := range r.request.Inputs {
		in := &r.request.Inputs[i]
		data := in.Operand.Data
		switch in.Operand.Place {
		case wire.PlaceInline:
		case wire.PlaceMemory:
			var err error
			if data, err = s.memoryRange(&in.Operand); err != nil {
				return err
			}
			if s.useInPlace(r, in, len(data), false) {
				continue
			}
		default:
			return reject(wire.CodeInvalid, "input at binding %d is neither inline nor in memory", in.Binding)
		}
		r.job.Inputs = append(r.job.Inputs, job.Input{Binding: in.Binding, Data: data})
		r.addIn(len(data))
	}
	return nil
}

func (s *session) prepareOutputs(r *running) error {
	inline := 0
	for i := range r.request.Outputs {
		if o := &r.request.Outputs[i].Operand; o.Place == wire.PlaceInline {
			inline += int(o.Size)
		}
	}
	if err := r.task.checkReply(4 + inline); err != nil {
		return err
	}
	r.inline = resized(r.inline, inline)
	rest := r.inline
	for i := range r.request.Outputs {
		out := &r.request.Outputs[i]
		var to []byte
		switch out.Operand.Place {
		case wire.PlaceInline:
			n := int(out.Operand.Size)
			to, rest = rest[:n:n], rest[n:]
		case wire.PlaceMemory:
			var err error
			if to, err = s.memoryRange(&out.Operand); err != nil {
				return err
			}
			if s.useInPlace(r, out, len(to), true) {
				continue
			}
			m := s.objects.memories[out.Operand.ID]
			m.retain()
			r.held = append(r.held, m)
		default:
			return reject(wire.CodeInvalid, "output at binding %d is neither inline nor in memory", out.Binding)
		}
		r.job.Outputs = append(r.job.Outputs, job.Output{Binding: out.Binding, To: to})
		r.addOut(len(to))
	}
	return nil
}

// addIn counts an input that is copied.
func (r *running) addIn(n int) {
	r.in += n
	r.bytes.in += n
	r.bytes.copied += n
}

// addOut counts an output that is copied.
func (r *running) addOut(n int) {
	r.out += n
	r.bytes.out += n
	r.bytes.copied += n
}

func resized(b []byte, n int) []byte {
	if n <= cap(b) {
		return b[:n]
	}
	return make([]byte, n)
}

func (s *session) prepareDispatch(r *running, m *wire.Dispatch) (d executor.Dispatch, err error) {
	program, ok := s.objects.programs[m.Program]
	if !ok {
		return d, notFound("program", m.Program)
	}
	if beyond := program.Interface().BeyondBlocks(program.Name()); beyond != "" {
		return d, reject(wire.CodeInvalid, "%s", beyond)
	}
	if r.task.times != nil && r.task.program == "" {
		r.task.program = program.Name()
	}
	d = executor.Dispatch{Program: program, Groups: m.Groups}
	if len(m.Params) > 0 {
		d.Params, d.ParamsBinding = m.Params, m.ParamsBinding
	}
	first := len(r.uniforms)
	for _, u := range m.Uniforms {
		r.uniforms = append(r.uniforms, uniformOf(r.name(u.Name), u))
	}
	d.Uniforms = r.uniforms[first:]
	first = len(r.bounds)
	for i := range m.Buffers {
		bound := &m.Buffers[i]
		if bound.Operand.Place != wire.PlaceBuffer {
			return d, reject(wire.CodeInvalid, "binding %d of a dispatch is not a buffer", bound.Binding)
		}
		b, ok := s.objects.buffers[bound.Operand.ID]
		if !ok {
			return d, notFound("buffer", bound.Operand.ID)
		}
		if !bound.ReadOnly {
			r.writes = append(r.writes, b.Buffer)
		}
		r.bounds = append(r.bounds, executor.Bound{Binding: bound.Binding, Buffer: b.Memory, Offset: int(bound.Operand.Offset), Size: int(bound.Operand.Size), ReadOnly: bound.ReadOnly})
	}
	d.Buffers = r.bounds[first:]
	return d, nil
}

func uniformOf(name string, u wire.Uniform) job.Uniform {
	switch u.Kind {
	case wire.UniformInt:
		return job.Int(name, int32(u.Bits))
	case wire.UniformUint:
		return job.Uint(name, u.Bits)
	}
	return job.Float(name, math.Float32frombits(u.Bits))
}
