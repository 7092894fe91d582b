//go:build linux

package server

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"time"

	"github.com/shadercache/shadercache/server/internal/ring"
	"github.com/shadercache/shadercache/server/internal/socket"
	"github.com/shadercache/shadercache/server/internal/wire"
)

// ringStream is the second stream of a session: a ring in memory of the client.
type ringStream struct {
	*ring.Ring
	out    *outbox
	memory []byte
}

// openRing makes the session's ring, and starts reading it.
func (s *session) openRing(t *task, m *wire.Ring) (wire.Message, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ctx.Err() != nil { // closeRing has run, or will find no ring
		return nil, s.ctx.Err()
	}
	if s.mu.ring != nil {
		return nil, reject(wire.CodeExists, "the session has a ring already")
	}
	if err := ring.Check(int(m.Size)); err != nil {
		return nil, err
	}
	memory, err := socket.Map(t.files[0], uint64(ring.Bytes(int(m.Size))))
	if err != nil {
		return nil, err
	}
	made := ring.New(ring.Server, memory, int(m.Size), s.wakeClient)
	unread := func(err error) { go s.abort(asReply(fmt.Errorf("the ring of replies: %w", err), wire.CodeQuota)) }
	r := &ringStream{made, newOutbox(made, s.server.options.ReadTime, unread), memory}
	s.mu.ring = r
	s.reading.Go(func() { s.readRing(r) })
	s.reading.Go(r.out.write)
	return &wire.Empty{}, nil
}

// wakeClient has a client that waits look at its ring, and hear that the server goes on.
func (s *session) wakeClient() error {
	s.out.put(wire.TypeWake, 0, &wire.Empty{})
	s.out.flush()
	return nil
}

// wakeRing has the reader of the ring, where there is one, look at it.
func (s *session) wakeRing(b []byte) error {
	if r := s.ring(); r != nil {
		r.Wake()
	}
	return wire.Decode(b, new(wire.Empty))
}

// readRing passes the requests of the ring to handle until it is closed.
func (s *session) readRing(r *ringStream) {
	for {
		h, b, err := r.Next()
		if err == nil && h.Type.Files() > 0 {
			err = errors.Join(wire.ErrMalformed, errors.New("a frame with descriptors came by the ring"))
		}
		if err == nil {
			s.server.counts.requests.Add(1)
			err = s.receive(r.out, h, b, nil)
			if !s.awaitDirect(r) {
				runtime.Gosched() // another goroutine has the request now
			}
		}
		switch {
		case err == nil:
			continue
		case errors.Is(err, wire.ErrMalformed):
			go s.abort(asReply(err, wire.CodeMalformed))
		case !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrClosedPipe): // what closes the ring says why
			s.out.close()
		}
		return
	}
}

// canAwait reports whether the reader of the ring waits for a job itself: where it is the
// only one of the session and short, that saves waking complete.
func (s *session) canAwait() bool {
	return ring.Spins() && s.completing.Load() == 0 && s.pace.isShort(ring.SpinTime)
}

// awaitDirect spins for the job that the reader of the ring has submitted, answers it, and
// reports whether it did. When there is another request, or it takes too long, complete
// answers it.
func (s *session) awaitDirect(r *ringStream) bool {
	job := s.direct
	if job == nil {
		return false
	}
	s.direct = nil
	if job.start-time.Duration(s.server.lastDone.Load()) > ring.SpinTime/2 {
		runtime.Gosched() // the GL thread slept, and waits in this processor's queue
	}
	ring.Spin(func() bool { return job.pending.Ready() || r.Ready() })
	if !job.pending.Ready() {
		s.passOn(job)
		return false
	}
	s.completeJob(job)
	return true
}

// closeRing ends the reading and writing of the ring.
func (s *session) closeRing() {
	if r := s.ring(); r != nil {
		r.out.close()
	}
}

// freeRing frees the ring. No goroutine uses it any more.
func (s *session) freeRing() {
	if r := s.mu.ring; r != nil {
		_ = socket.Unmap(r.memory)
	}
}
