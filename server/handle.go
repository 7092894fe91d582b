//go:build linux

package server

import (
	"errors"

	"github.com/shadercache/shadercache/server/wire"
)

// handle takes the requests of the queue in order. It runs until tasks is closed, and takes
// requests of an ended session without effect.
func (s *session) handle() {
	defer close(s.running)
	for t := range s.tasks {
		s.handling.Lock()
		s.take(t)
		s.handling.Unlock()
		s.queued.Add(-1)
	}
}

// canStart reports whether the goroutine that read a request performs it at once, without
// the queue, which saves waking handle: a small job that need not wait for a turn, where no
// request is in the queue. Then none of the stream is before it.
func (s *session) canStart(t *task) bool {
	small := (t.header.Type == wire.TypeJob || t.header.Type == wire.TypeRun) && len(t.body) <= maxKeptBody
	return small && s.queued.Load() == 0 && s.pace.hasRoom() && s.server.turns.isFree()
}

// take performs a request, unless it is answered or its session has ended, and frees it.
// handling is held.
func (s *session) take(t *task) {
	t.times.mark(jobTaken)
	t.expireIfLate()
	if s.ctx.Err() == nil && !t.answered.Load() {
		s.perform(t)
	}
	if t.cancel != nil && s.ctx.Err() != nil {
		t.cancel()
	}
	closeAll(t.files)
	s.backlog.Release(int64(len(t.body)))
	t.releaseBody()
}

// perform performs one request. Those that isTimed are answered later, or here when they
// fail.
func (s *session) perform(t *task) {
	if isTimed(t.header.Type) {
		if err := s.start(t); err != nil && t.claim() {
			t.fail(err, wire.CodeInvalid)
			t.out.flush()
		}
		return
	}
	reply, err := s.answer(t)
	if !t.claim() {
		return // it was cancelled; what it made stays until the session ends, or its id is released
	}
	if err != nil {
		t.fail(err, wire.CodeInvalid)
	} else {
		t.reply(reply)
	}
	if len(s.tasks) == 0 {
		t.out.flush()
	}
	if errors.Is(err, wire.ErrMalformed) {
		s.abort(asReply(err, wire.CodeMalformed))
	}
}

// answer performs a request that is answered in order.
func (s *session) answer(t *task) (wire.Message, error) {
	b := t.body
	switch t.header.Type {
	case wire.TypeProgram:
		return s.program(t, b)
	case wire.TypeMemory:
		return s.memory(t, b)
	case wire.TypeBuffer:
		return s.buffer(t, b)
	case wire.TypePlan:
		return s.plan(t, b)
	case wire.TypeRing:
		return s.openRing(t, b)
	case wire.TypeRelease:
		var m wire.Release
		if err := m.Decode(b); err != nil {
			return nil, err
		}
		return &wire.Empty{}, s.objects.drop(m.Kind, m.ID)
	case wire.TypeDelete:
		return s.deleteName(b)
	case wire.TypeStatus:
		if err := (&wire.Empty{}).Decode(b); err != nil {
			return nil, err
		}
		return s.server.Status().message()
	}
	return nil, reject(wire.CodeInvalid, "this server has no %v", t.header.Type)
}

// start performs a request up to the point where the GPU has it. An error is its answer.
func (s *session) start(t *task) error {
	var err error
	switch t.header.Type {
	case wire.TypeJob:
		err = s.startJob(t)
	case wire.TypeCopy:
		err = s.copy(t)
	case wire.TypeWeights:
		err = s.weights(t)
	case wire.TypeRun:
		err = s.startRun(t)
	}
	if errors.Is(err, wire.ErrMalformed) {
		defer s.abort(asReply(err, wire.CodeMalformed))
	}
	return err
}
