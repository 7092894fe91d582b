//go:build linux

package server

import (
	"context"
	"encoding/binary"
	"errors"
	"slices"

	"github.com/shadercache/shadercache/server/internal/wire"
)

// handle takes the requests of the queue in order. It runs until the queue is closed, and takes
// requests of an ended session without effect.
func (s *session) handle() {
	defer close(s.running)
	for t := s.queue.next(); t != nil; t = s.queue.next() {
		s.handling.Lock()
		s.take(t)
		s.handling.Unlock()
		if s.queue.size() == 1 { // whatever became of this one: it may have been answered meanwhile
			s.flush()
		}
	}
}

// canStart reports whether the goroutine that read a request performs it at once, without
// the queue, which saves waking handle: a small job, where the session may have one more on the
// GPU and no request is in the queue. Then none of the stream is before it.
func (s *session) canStart(t *task) bool {
	small := (t.header.Type == wire.TypeJob || t.header.Type == wire.TypeRun) && len(t.body) <= maxKeptBody
	return small && s.queue.size() == 0 && s.pace.hasRoom()
}

// take performs a request, unless it is answered or its session has ended, and frees it. It
// reports false for one that has to go through the queue. handling is held.
func (s *session) take(t *task) bool {
	t.times.mark(jobTaken)
	t.expireIfLate()
	if s.ctx.Err() == nil && !t.answered.Load() && !s.perform(t) {
		return false
	}
	t.free()
	return true
}

// perform performs one request. Those that are timed are answered later, or here when they
// fail. It reports false for one that has to go through the queue.
func (s *session) perform(t *task) bool {
	if t.isQueued() {
		s.flush() // replies before do not wait for the device
	}
	var err error
	if t.header.Type.IsTimed() {
		err = s.start(t)
		if !t.isQueued() && errors.Is(err, context.Canceled) {
			return false
		}
		if err != nil && t.claim() {
			t.fail(err, wire.CodeInvalid)
			t.out.flush()
		}
	} else if t.out.expect(0, s.context) { // waits while the client does not read
		err = s.answerInOrder(t)
	}
	if errors.Is(err, wire.ErrMalformed) {
		s.abort(asReply(err, wire.CodeMalformed))
	}
	return true
}

// made are the requests that make an object, and its kind. They may wait for the device, and a
// cancel answers them meanwhile.
var made = map[wire.Type]wire.Kind{
	wire.TypeProgram: wire.KindProgram, wire.TypeMemory: wire.KindMemory, wire.TypeBuffer: wire.KindBuffer, wire.TypePlan: wire.KindPlan,
	wire.TypeTexture: wire.KindTexture,
}

// makes returns the id of the object that a request makes, which comes first.
func (t *task) makes() uint32 { return binary.LittleEndian.Uint32(t.body) }

// answerInOrder performs a request that is answered in order, and answers it. What is not
// answered with its reply, as it was cancelled meanwhile, changes nothing. It returns why it failed.
func (s *session) answerInOrder(t *task) error {
	kind, makes := made[t.header.Type]
	if !makes && !t.claim() {
		return nil
	}
	reply, err := s.answer(t)
	answers := !makes || t.claim()
	if answers && err == nil && t.named != nil && t.checkReply(len(wire.Append(nil, reply))) == nil {
		s.server.library.add(t.named)
	}
	switch {
	case err != nil && answers:
		t.fail(err, wire.CodeInvalid)
	case err == nil && !(answers && t.reply(reply)) && makes:
		_ = s.objects.drop(kind, t.makes())
	}
	return err
}

// answer performs a request that is answered in order.
func (s *session) answer(t *task) (wire.Message, error) {
	switch t.header.Type {
	case wire.TypeProgram:
		return decoded(t, s.program)
	case wire.TypeMemory:
		return decoded(t, s.memory)
	case wire.TypeBuffer:
		return decoded(t, s.buffer)
	case wire.TypePlan:
		return decoded(t, s.plan)
	case wire.TypeTexture:
		return decoded(t, s.texture)
	case wire.TypeRing:
		return decoded(t, s.openRing)
	case wire.TypeRelease:
		return decoded(t, s.drop)
	case wire.TypeDelete:
		return decoded(t, s.deleteName)
	case wire.TypeStatus:
		return decoded(t, func(*task, *wire.Empty) (wire.Message, error) { return s.server.Status().message() })
	}
	return nil, reject(wire.CodeInvalid, "this server has no %v", t.header.Type)
}

// decoded performs a request with the message of its body.
func decoded[M any, P interface {
	*M
	wire.Message
}](t *task, perform func(*task, P) (wire.Message, error)) (wire.Message, error) {
	m := P(new(M))
	if err := wire.Decode(t.body, m); err != nil {
		return nil, err
	}
	kind, makes := made[t.header.Type]
	if !makes {
		return perform(t, m)
	}
	admitted := func() (wire.Message, error) {
		if err := t.s.objects.admit(kind, t.makes()); err != nil {
			return nil, err
		}
		return perform(t, m)
	}
	unsettled := t.s.objects.unsettled() // first: it may be settled while the request fails
	reply, err := admitted()
	noRoom := []wire.Code{wire.CodeQuota, wire.CodeOutOfMemory}
	if err != nil && slices.Contains(noRoom, asReply(err, wire.CodeInvalid).Code) && settle(t.context(), unsettled) {
		return admitted()
	}
	return reply, err
}

// drop releases an object.
func (s *session) drop(_ *task, m *wire.Release) (wire.Message, error) {
	return &wire.Empty{}, s.objects.drop(m.Kind, m.ID)
}

// start performs a request up to the point where the GPU has it. An error is its answer.
func (s *session) start(t *task) error {
	switch t.header.Type {
	case wire.TypeJob:
		return s.launch(t, (*session).submitJob)
	case wire.TypeCopy:
		return s.copy(t)
	case wire.TypeWeights:
		return s.weights(t)
	}
	return s.launch(t, (*session).submitRun)
}
