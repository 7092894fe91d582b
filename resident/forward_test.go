//go:build linux

package resident

import (
	"errors"
	"sync"
	"testing"

	"github.com/shadercache/shadercache/resident/internal/wire"
)

// relayText sends the kind that follows for each message, which is kind, hops, sum, until
// there are no hops left: then it tells the host.
const relayText = `#version 450 core
#include "resident.glsl"
layout(local_size_x = 4) in;
layout(std430, binding = 0) buffer Seen { uint seen[]; };
uint residentStep(uvec2 step) {
    uvec3 message;
    if (!residentReceive(message)) {
        return RESIDENT_IDLE;
    }
    if (residentLeader()) {
        seen[gl_WorkGroupID.x] += 1u;
        bool over = message.y == 0u;
        residentSend(uvec3(over ? 1u : message.x, over ? 0u : message.y - 1u, message.z * 3u + gl_WorkGroupID.x));
    }
    return RESIDENT_GO;
}
`

func relayKernel(groups uint32) Kernel {
	return Kernel{Source: MustSource("relay", relayText, nil), Groups: groups, State: []State{{Block: "Seen", Bytes: 16 * int(groups)}}}
}

// started returns a session that runs without an end.
func (f *fixture) started(k Kernel) *Session {
	f.t.Helper()
	s := f.session(k, quick)
	if err := s.Start(0); err != nil {
		f.t.Fatal(err)
	}
	return s
}

// TestSignalsFromSessionToSession sends messages around three sessions, of which one is on
// another context, until their hops are over: the host sees only the last answers, in order.
func TestSignalsFromSessionToSession(t *testing.T) {
	f, elsewhere := newFixture(t), newFixture(t)
	a, b, c := f.started(relayKernel(1)), f.started(relayKernel(3)), elsewhere.started(relayKernel(1))
	const kind, hops, n = 7, 8, 20
	for _, r := range []struct {
		from, to *Session
		group    uint32
	}{{a, b, 2}, {b, c, 0}, {c, a, 0}} {
		if err := r.from.Forward(kind, r.to, r.group); err != nil {
			t.Fatal(err)
		}
	}
	for i := range uint32(n) {
		if err := a.Send(Message{Kind: kind, A: hops, B: i}); err != nil {
			t.Fatal(err)
		}
	}
	groups := [3]uint32{0, 2, 0} // that handle a message, in turn
	last := [3]*Session{a, b, c}[hops%3]
	for i := range uint32(n) {
		want := i
		for hop := range hops + 1 {
			want = want*3 + groups[hop%3]
		}
		m, err := last.Receive(t.Context())
		if err != nil || m != (Message{Kind: 1, B: want, Group: groups[hops%3]}) {
			t.Fatalf("answer %d: %+v, %v: not %d", i, m, err, want)
		}
	}
	for i, s := range []*Session{a, b, c} {
		if m, ok := s.TryReceive(); ok {
			t.Errorf("session %d has a message for the host: %+v", i, m)
		}
		if err := s.WaitIdle(t.Context()); err != nil {
			t.Fatal(err)
		}
		seen := words(t, s, "Seen", 4)
		sent := uint64(n * ((hops + 3 - i) / 3)) // those that were not the last
		if i == hops%3 {
			sent = uint64(n * (hops / 3))
		}
		if got := uint64(seen[groups[i]]); got < sent || s.Stats().Forwarded != sent {
			t.Errorf("session %d handled %d messages and forwarded %d, not %d", i, got, s.Stats().Forwarded, sent)
		}
	}
}

// TestForwardedMessagesWaitForRoom fills the inbox of a session that does not run: the rest
// waits in the outbox of the sender, and all arrive in order once it does.
func TestForwardedMessagesWaitForRoom(t *testing.T) {
	f := newFixture(t)
	a, b := f.started(relayKernel(1)), f.session(relayKernel(1), quick)
	if err := a.Forward(7, b, 0); err != nil {
		t.Fatal(err)
	}
	const n = wire.InboxLength + wire.OutboxLength/2
	for i := range uint32(n) {
		if err := a.Deliver(t.Context(), Message{Kind: 7, A: 2, B: i}); err != nil {
			t.Fatal(err)
		}
	}
	if !eventually(func() bool { return a.Stats().Forwarded == wire.InboxLength }) {
		t.Fatalf("%d messages were forwarded to an inbox for %d", a.Stats().Forwarded, wire.InboxLength)
	}
	if m, ok := a.TryReceive(); ok {
		t.Errorf("a message that waits was given to the host: %+v", m)
	}
	if err := b.Start(0); err != nil {
		t.Fatal(err)
	}
	for i := range uint32(n) {
		if m, err := b.Receive(t.Context()); err != nil || m != (Message{Kind: 7, A: 0, B: i * 9}) {
			t.Fatalf("message %d: %+v, %v", i, m, err)
		}
	}
}

// TestForwardToASessionThatEnds closes the peer: messages go to the host then, and so does
// what follows the end of a route.
func TestForwardToASessionThatEnds(t *testing.T) {
	f := newFixture(t)
	a, b := f.started(relayKernel(1)), f.started(relayKernel(2))
	if err := a.Forward(7, b, 2); err == nil {
		t.Error("a group that the peer does not have was accepted")
	}
	if err := errors.Join(a.Forward(7, b, Broadcast), a.Forward(8, a, 0)); err != nil {
		t.Fatal(err)
	}
	if err := a.Deliver(t.Context(), Message{Kind: 8, A: 4, B: 1}); err != nil { // around a alone
		t.Fatal(err)
	}
	if m, err := a.Receive(t.Context()); err != nil || m != (Message{Kind: 1, A: 0, B: 243}) {
		t.Errorf("%+v, %v", m, err)
	}
	if err := a.Forward(8, nil, 0); err != nil {
		t.Fatal(err)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	for _, kind := range []uint32{7, 8} {
		if err := a.Send(Message{Kind: kind, A: 1, B: 5}); err != nil {
			t.Fatal(err)
		}
		if m, err := a.Receive(t.Context()); err != nil || m != (Message{Kind: kind, A: 0, B: 15}) {
			t.Errorf("kind %d: %+v, %v", kind, m, err)
		}
	}
	if err := b.Forward(7, a, 0); !errors.Is(err, errClosed) {
		t.Errorf("a route from a closed session: %v", err)
	}
	if b.Heartbeat() != 0 {
		t.Error("memory of a closed session was read")
	}
	if _, ok := b.TryReceive(); ok {
		t.Error("a message of a closed session")
	}
}

// TestPeersThatCloseTogether closes two sessions at once that send each other messages.
func TestPeersThatCloseTogether(t *testing.T) {
	f := newFixture(t)
	for range 5 {
		a, b := f.started(relayKernel(1)), f.started(relayKernel(1))
		if err := errors.Join(a.Forward(7, b, 0), b.Forward(7, a, 0)); err != nil {
			t.Fatal(err)
		}
		for range 10 {
			_ = a.Send(Message{Kind: 7, A: 1 << 30, B: 1})
		}
		if err := b.Deliver(t.Context(), Message{Kind: 7, A: 1 << 30, B: 1}); err != nil {
			t.Fatal(err)
		}
		var both sync.WaitGroup
		both.Go(func() { _ = a.Close() })
		both.Go(func() { _ = b.Close() })
		both.Wait()
	}
}

// BenchmarkForward measures a message from the host over two sessions of one context and
// back to the host, which has 3 signals, beside one session and back.
func BenchmarkForward(b *testing.B) {
	for _, hops := range []uint32{0, 2, 20} {
		b.Run(map[uint32]string{0: "one session", 2: "2 signals", 20: "20 signals"}[hops], func(b *testing.B) {
			f := newFixture(b)
			one, two := f.started(relayKernel(1)), f.started(relayKernel(1))
			if err := errors.Join(one.Forward(7, two, 0), two.Forward(7, one, 0)); err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				if err := one.Send(Message{Kind: 7, A: hops, B: 1}); err != nil {
					b.Fatal(err)
				}
				if _, err := one.Receive(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
