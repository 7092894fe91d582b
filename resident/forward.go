//go:build linux

package resident

import (
	"errors"
	"fmt"

	"github.com/shadercache/shadercache/resident/internal/wire"
)

// A session can be another one's peer: messages of some kinds, which its kernel sends as
// all others, go to the inbox of the peer instead of to the host.
//
//	kernel A      residentSend          outbox of A, mapped memory
//	forwarder     one goroutine for all sessions, see forwarder.go
//	kernel B      residentReceive       inbox of B, which wakes B where it is idle
//
// The forwarder makes no GL call, so the sessions may be of different contexts and GPUs.

// route is where messages of a kind go.
type route struct {
	to    *Session
	group uint32
}

// destination is where a message in the outbox goes.
type destination uint8

const (
	forHost destination = iota
	forwarded
	waits // for room in the inbox of the peer
)

// Forward has the messages of a kind that the kernel of s sends go to a group of another
// session, or to all with Broadcast, as [Session.Send] of that session, instead of to
// Receive. It replaces the route of this kind; to of nil removes it. The sessions may be of
// different contexts and GPUs, and to may be s.
//
// Messages stay in their order, and none is lost: one that does not fit into the inbox
// stays in the outbox, with those behind it, and the kernel of s sees residentSend return
// false once that is full. Two kernels that wait for each other's outbox, without receiving
// meanwhile, wait without an end. A message to a session that has failed or is closed goes to
// Receive.
func (s *Session) Forward(kind uint32, to *Session, group uint32) error {
	if to != nil && group >= to.config.kernel.Groups && group != Broadcast {
		return fmt.Errorf("resident: forward to group %d of a kernel that has %d: the first one is 0", group, to.config.kernel.Groups)
	}
	if err := s.run.err(); err != nil {
		return err
	}
	s.mail.setRoute(kind, route{to, group})
	theForwarder.add(s)
	return nil
}

func (m *mailbox) setRoute(kind uint32, r route) {
	m.out.Lock()
	defer m.out.Unlock()
	if r.to == nil {
		delete(m.out.routes, kind)
		return
	}
	if m.out.routes == nil {
		m.out.routes = map[uint32]route{}
	}
	m.out.routes[kind] = r
}

// forward sends a message to the peer of its kind, if there is one. out is locked, and the
// caller has entered m.
func (m *mailbox) forward(message Message) destination {
	r, ok := m.out.routes[message.Kind]
	if !ok {
		return forHost
	}
	peer := r.to.mail
	if peer != m {
		if !peer.use.TryRLock() {
			return waits // it is being closed
		}
		defer peer.leave()
	}
	if peer.unmapped {
		return forHost
	}
	message.Group = r.group
	switch _, err := peer.send(message); {
	case err == nil:
		m.out.moved = true
		m.run.count(func(n *Stats) { n.Forwarded++ })
		return forwarded
	case errors.Is(err, ErrInboxFull):
		return waits
	}
	return forHost
}

// carry forwards messages until the next one of each outbox is for the host, or waits for
// room. It reports whether it forwarded any, and whether one waits.
func (m *mailbox) carry() (moved, waiting bool) {
	if m.enter() != nil {
		return false, false
	}
	defer m.leave()
	m.out.Lock()
	defer m.out.Unlock()
	m.out.moved, m.out.waiting = false, false
	for from := range wire.Outboxes {
		m.next(from)
	}
	return m.out.moved, m.out.waiting
}
