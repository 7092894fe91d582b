//go:build linux

package resident

import (
	"runtime"
	"testing"
)

// TestForwardsShareAGoroutine has several pairs of sessions that forward: one goroutine
// carries all messages, and ends with the last session.
func TestForwardsShareAGoroutine(t *testing.T) {
	f := newFixture(t)
	const pairs, kind, hops = 3, 7, 9
	var sessions [2 * pairs]*Session
	for i := range sessions {
		sessions[i] = f.started(relayKernel(1))
	}
	before := runtime.NumGoroutine()
	for i, s := range sessions {
		for range 2 {
			if err := s.Forward(kind, sessions[i^1], 0); err != nil {
				t.Fatal(err)
			}
		}
	}
	if n := runtime.NumGoroutine(); n > before+1 {
		t.Errorf("%d routes have %d goroutines", len(sessions), n-before)
	}
	for i := range uint32(pairs) {
		if err := sessions[2*i].Send(Message{Kind: kind, A: hops, B: i}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range uint32(pairs) {
		want := i
		for range hops + 1 {
			want *= 3
		}
		if m, err := sessions[2*i+hops%2].Receive(t.Context()); err != nil || m != (Message{Kind: 1, A: 0, B: want}) {
			t.Errorf("pair %d: %+v, %v: not %d", i, m, err, want)
		}
	}
	for i, s := range sessions {
		if n := carried(); n != len(sessions)-i {
			t.Errorf("%d sessions are carried, not %d", n, len(sessions)-i)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if !eventually(func() bool { return carried() == len(sessions)-i-1 }) {
			t.Fatal("a closed session is carried")
		}
	}
}

// carried returns the number of sessions whose messages are carried.
func carried() int {
	theForwarder.mu.Lock()
	defer theForwarder.mu.Unlock()
	return len(theForwarder.sessions)
}
