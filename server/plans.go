//go:build linux

package server

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/shadercache/shadercache/conv2d"
	"github.com/shadercache/shadercache/executor/named"
	"github.com/shadercache/shadercache/internal/raw"
	"github.com/shadercache/shadercache/internal/rwlock"
	"github.com/shadercache/shadercache/server/internal/wire"
)

// plan is a chain of layers with programs and weights on the device, of one session or
// named.
type plan struct {
	*conv2d.Plan
	layers        []conv2d.Layer
	exact         bool
	bytes         int64
	input, output int // elements

	lock *rwlock.RWMutex // held while weights change; by readers, until the executor has a run of them
}

func (p *plan) Bytes() int64 { return p.bytes }
func (p *plan) Free()        { p.Plan.Release() }

// openPlan is a plan that a session uses.
type openPlan struct {
	*plan
	named *named.Object[*plan] // nil: the session's own
}

// maxLayers is the most layers of a plan.
const maxLayers = 1024

// parseSpec reads the layers of a plan, one a line, as conv2d.ParseLayer does.
func parseSpec(spec string) ([]conv2d.Layer, error) {
	var layers []conv2d.Layer
	for line := range strings.Lines(spec) {
		if strings.TrimSpace(line) == "" {
			continue
		}
		layer, err := conv2d.ParseLayer(line)
		if err != nil {
			return nil, err
		}
		layers = append(layers, layer)
	}
	if len(layers) == 0 || len(layers) > maxLayers {
		return nil, reject(wire.CodeInvalid, "a plan of %d layers: 1 to %d are possible", len(layers), maxLayers)
	}
	return layers, nil
}

// specOf returns the layers as text: equal for equal layers.
func specOf(layers []conv2d.Layer) string {
	lines := make([]string, len(layers))
	for i, l := range layers {
		lines[i] = l.Spec()
	}
	return strings.Join(lines, "\n")
}

// newPlan makes a plan, after take has counted its bytes on the device, which is undone where it
// fails.
func (s *Server) newPlan(ctx context.Context, layers []conv2d.Layer, exact bool, take func(int64) error) (*plan, error) {
	o := conv2d.PlanOptions{Exact: exact}
	bytes, err := conv2d.PlanBytes(ctx, s.executor, s.programs, layers, o)
	if err == nil {
		err = take(bytes)
	}
	if err != nil {
		return nil, err
	}
	s.watch.begin(compiling) // between two programs, too: a trial of one may take longer than a kernel may
	made, err := conv2d.NewPlan(ctx, s.executor, s.programs, layers, o)
	s.watch.end(compiling, true)
	if err != nil {
		_ = take(-bytes)
		return nil, err
	}
	info := made.Info()
	return &plan{Plan: made, layers: layers, exact: exact, bytes: bytes, input: info.Input, output: info.Output, lock: rwlock.New(s.context.PollWhile)}, nil
}

// plan makes or opens a plan.
func (s *session) plan(t *task, m *wire.Plan) (wire.Message, error) {
	s.settleNamed(t, m.Name)
	opened, created, err := s.openPlan(t.context(), m)
	if err != nil {
		return nil, err
	}
	s.objects.add(m.ID, opened)
	reply, err := opened.reply(t.context(), created)
	if err != nil {
		return nil, errors.Join(err, s.objects.drop(wire.KindPlan, m.ID))
	}
	if created && t.checkReply(len(wire.Append(nil, reply))) != nil { // the answer is an error
		_ = s.server.plans.Delete(string(m.Name))
	}
	return reply, nil
}

func (s *session) openPlan(ctx context.Context, m *wire.Plan) (p *openPlan, created bool, err error) {
	create := m.Flags&wire.Create != 0
	var layers []conv2d.Layer
	if create || len(m.Spec) > 0 {
		if layers, err = parseSpec(string(m.Spec)); err != nil {
			return nil, false, err
		}
	}
	if len(m.Name) > 0 {
		return s.openNamedPlan(ctx, m, layers)
	}
	if !create {
		return nil, false, reject(wire.CodeInvalid, "a plan without a name can only be created")
	}
	o := s.objects
	take := func(n int64) error {
		if n < 0 {
			o.device.give(uint64(-n))
			return nil
		}
		return o.device.take(uint64(n))
	}
	made, err := s.server.newPlan(ctx, layers, m.Flags&wire.Exact != 0, take)
	if err != nil {
		return nil, false, err
	}
	return &openPlan{plan: made}, true, nil
}

func (s *session) openNamedPlan(ctx context.Context, m *wire.Plan, layers []conv2d.Layer) (p *openPlan, created bool, err error) {
	exact := m.Flags&wire.Exact != 0
	var create func() (*plan, error)
	if m.Flags&wire.Create != 0 {
		create = func() (*plan, error) {
			return s.server.newPlan(context.WithoutCancel(ctx), layers, exact, s.server.plans.Take)
		}
	}
	n, created, err := s.server.plans.Open(string(m.Name), m.Flags&wire.Fresh != 0, 0, create)
	if err != nil {
		return nil, false, err
	}
	if layers != nil && (specOf(layers) != specOf(n.Value.layers) || exact != n.Value.exact) || exact && !n.Value.exact {
		s.server.plans.Leave(n)
		return nil, false, reject(wire.CodeExists, "the named plan %q has other layers", m.Name)
	}
	return &openPlan{n.Value, n}, created, nil
}

func (*openPlan) kind() wire.Kind { return wire.KindPlan }

func (p *openPlan) close(o *objects) {
	if p.named != nil {
		o.server.plans.Leave(p.named)
		return
	}
	o.device.give(uint64(p.Bytes()))
	p.Free()
}

func (p *plan) reply(ctx context.Context, created bool) (*wire.PlanReply, error) {
	if err := p.lock.RLock(ctx); err != nil {
		return nil, err
	}
	defer p.lock.RUnlock()
	var layers, programs strings.Builder
	info := p.Info()
	for _, layer := range info.Layers {
		fmt.Fprintf(&layers, "%s\t%s\t%g\n", layer.Algorithm, layer.Basis, layer.Tolerance)
	}
	for _, used := range info.Programs {
		fmt.Fprintf(&programs, "%s\t%v\n", used.Name, used.Origin)
	}
	return &wire.PlanReply{
		Created: created, HasWeights: info.Version != 0, Version: info.Version,
		Input: uint64(info.Input), Weights: uint64(info.Weights), Bias: uint64(info.Bias), Output: uint64(info.Output),
		Layers: []byte(layers.String()), Programs: []byte(programs.String()),
	}, nil
}

// weights puts weights on the device, unless the version is there.
func (s *session) weights(t *task) error {
	var m wire.Weights
	if err := wire.Decode(t.body, &m); err != nil {
		return err
	}
	p, err := found[*openPlan](s.objects, m.Plan)
	if err != nil {
		return err
	}
	if m.Version == 0 {
		return reject(wire.CodeInvalid, "weights need a version that is not 0")
	}
	if err := s.server.awaitThread(t.context(), severalLooks); err != nil {
		return err
	}
	info := p.Info()
	if n := int(p.bytes) + 4*(info.Weights+info.Bias); n > 2*wire.MaxBody { // a second set on the device, and a copy
		large, err := s.server.large.acquire(t.context(), n, 0)
		if err != nil {
			return err
		}
		defer s.server.large.release(large)
	}
	if err := p.lock.Lock(t.context()); err != nil {
		return err
	}
	defer p.lock.Unlock()
	if !t.claim() {
		return nil
	}
	reply := &wire.WeightsReply{Uploaded: p.Info().Version != m.Version}
	if reply.Uploaded {
		err = s.setWeights(p.plan, &m)
	}
	if err != nil {
		t.fail(err, wire.CodeInvalid)
	} else {
		t.reply(reply)
	}
	t.out.flush()
	return nil
}

// setWeights sets the weights of every layer. p.lock is held. After an error the plan has those
// of before.
func (s *session) setWeights(p *plan, m *wire.Weights) error {
	weights, err := s.bytesOf(&m.Weights, m.Weights.Data)
	if err != nil {
		return err
	}
	bias, err := s.bytesOf(&m.Bias, m.Bias.Data)
	if err != nil {
		return err
	}
	if info := p.Info(); len(weights) != 4*info.Weights || len(bias) != 4*info.Bias {
		return reject(wire.CodeInvalid, "%d bytes of weights and %d of bias, the plan takes %d and %d", len(weights), len(bias), 4*info.Weights, 4*info.Bias)
	}
	s.server.counts.bytesIn.Add(uint64(len(weights) + len(bias)))
	weightValues, biasValues := floats(weights), floats(bias) // takes seconds of GiB, and no GPU
	s.server.watch.begin(onThread)
	defer s.server.watch.end(onThread, true)
	if _, err := p.SetWeights(s.ctx, m.Version, weightValues, biasValues); err != nil {
		return err
	}
	s.server.counts.weights.Add(1)
	return nil
}

// floats returns a copy of elements, which a client may change meanwhile.
func floats(b []byte) []float32 {
	values := make([]float32, len(b)/4)
	copy(raw.Bytes(values), b)
	return values
}

// submitRun submits a run of a plan.
func (s *session) submitRun(r *running) error {
	var m wire.Run
	if err := wire.Decode(r.task.body, &m); err != nil {
		return err
	}
	p, err := found[*openPlan](s.objects, m.Plan)
	if err != nil {
		return err
	}
	inline := m.Output.Inline()
	if err := r.task.checkReply(4 + inline); err != nil {
		return err
	}
	if err := s.enter(r, inline); err != nil {
		return err
	}
	in, out, err := s.runSides(r, &m)
	if err == nil {
		err = s.takeLarge(r, p.Steps()*dispatchBytes)
	}
	if err != nil {
		return err
	}
	makes := (in.memory == nil) != (out.memory == nil)
	if makes && r.task.isQueued() {
		if err := s.server.awaitThread(r.task.context(), severalLooks); err != nil { // likewise, and before the lock
			return err
		}
	}
	if makes && !r.task.isQueued() {
		return errBusy
	}
	if !p.lock.TryRLock() { // most do not wait, and need no context of their own
		if err := p.lock.RLock(r.task.patience()); err != nil {
			return err
		}
	}
	defer p.lock.RUnlock()
	if err := s.prepareRun(r, &in, &out, p); errors.Is(err, conv2d.ErrNoWeights) {
		return &wire.Error{Code: wire.CodeInvalid, Message: "the plan has no weights", Hint: "set them first"}
	} else if err != nil {
		return err
	}
	if err := s.moveLarge(r, &r.run); err != nil {
		return err
	}
	return s.submit(r)
}

// runSides returns the input and the output of a run. They are used in place where each is a buffer, or
// begins where pinned memory does, and they have no byte in common; else those of the client are copied.
func (s *session) runSides(r *running, m *wire.Run) (in, out side, err error) {
	r.inline = slices.Grow(r.inline[:0], m.Output.Inline())[:m.Output.Inline()]
	s.hold(r, &m.Output)
	if in, err = s.sideOf(&m.Input, m.Input.Data); err != nil {
		return in, out, err
	}
	if out, err = s.sideOf(&m.Output, r.inline); err != nil {
		return in, out, err
	}
	switch {
	case in.size == 0 || out.size == 0:
		err = reject(wire.CodeInvalid, "a run needs an input and an output")
	case in.buffer != nil && in.offset != 0 || out.buffer != nil && out.offset != 0:
		err = reject(wire.CodeInvalid, "a plan uses a buffer from its first byte")
	case in.memory != nil && in.offset == 0 && out.memory != nil && out.offset == 0 && !s.objects.overlap(&m.Input, &m.Output):
		r.placed.in, r.placed.out = len(in.data), len(out.data)
	default:
		r.in, r.out = len(in.data), len(out.data)
		for _, each := range []*side{&in, &out} {
			if each.buffer == nil {
				each.memory = nil
			}
		}
	}
	return in, out, err
}

// prepareRun makes the job of a run. p.lock is held.
func (s *session) prepareRun(r *running, in, out *side, p *openPlan) (err error) {
	if p.KeepsOutput() && out.buffer == nil {
		return &wire.Error{Code: wire.CodeInvalid, Message: "the plan changes an output that is there", Hint: "let it write a buffer that has the values from before"}
	}
	if in.memory == nil && out.memory == nil {
		r.run, err = p.JobOfBytes(in.data, out.data)
		return err
	}
	if !in.holds(4*p.input) || !out.holds(4*p.output) {
		return reject(wire.CodeInvalid, "%d bytes in and %d out, the plan takes %d and makes %d", in.size, out.size, 4*p.input, 4*p.output)
	}
	if in.memory == nil {
		in.memory, err = r.pending.Spill.Upload(s.ctx, in.data, s.server.newMemory)
	}
	if err == nil && out.memory == nil {
		out.memory, err = r.pending.Spill.Download(out.data, nil, s.server.newMemory)
	}
	if err != nil {
		return err
	}
	if out.buffer != nil {
		r.pending.Writes = append(r.pending.Writes, out.buffer.Buffer)
	}
	dispatches, err := p.Dispatches(conv2d.Operands{Input: in.memory, Output: out.memory})
	if err != nil {
		return err
	}
	r.run = conv2d.JobOf(dispatches...)
	return nil
}
