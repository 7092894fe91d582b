//go:build linux

package resident

import (
	"testing"
	"time"
)

// state reads all bytes of a state.
func state(t testing.TB, s *Session, block string) []byte {
	t.Helper()
	for _, v := range s.config.kernel.State {
		if v.Block == block {
			data := make([]byte, v.bufferSize())
			if err := s.Read(t.Context(), block, 0, data); err != nil {
				t.Fatal(err)
			}
			return data
		}
	}
	t.Fatalf("no state %s", block)
	return nil
}

// TestPersistenceDetectsEveryStep runs the workload, and verifies it with a step more or
// less.
func TestPersistenceDetectsEveryStep(t *testing.T) {
	f := newFixture(t)
	for _, claim := range []bool{false, true} {
		p := Persistence{Groups: 3, Local: 32, FMAs: 10, Claim: claim}
		s := f.session(p.Kernel(), quick)
		run(t, s, 777)
		values, witness := state(t, s, "Values"), state(t, s, "Witness")
		if err := p.compare(777, values, witness); err != nil {
			t.Errorf("claim %v: %v", claim, err)
		}
		for _, other := range []uint64{776, 778} {
			if p.compare(other, values, witness) == nil {
				t.Errorf("claim %v: %d steps are accepted for 777", claim, other)
			}
		}
		witness[0] ^= 1
		if p.compare(777, values, witness) == nil {
			t.Errorf("claim %v: a wrong bit is accepted", claim)
		}
	}
}

// TestRunningKernelsTakeMessages writes and reads cells while steps are done.
func TestRunningKernelsTakeMessages(t *testing.T) {
	f := newFixture(t)
	p := Persistence{Groups: 2, Local: 32, FMAs: 10}
	s := f.session(p.Kernel(), Options{TickTime: time.Millisecond})
	if err := s.Start(0); err != nil {
		t.Fatal(err)
	}
	for i := range uint32(40) {
		if err := s.Deliver(t.Context(), Message{Kind: 1, A: i, B: i * i}); err != nil {
			t.Fatal(err)
		}
		if err := s.Send(Message{Kind: 2, A: i}); err != nil {
			t.Fatal(err)
		}
		if m, err := s.Receive(t.Context()); err != nil || m != (Message{Kind: 2, A: i, B: i * i}) {
			t.Fatalf("cell %d: %+v, %v", i, m, err)
		}
	}
	if _, err := s.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := p.Verify(t.Context(), s); err != nil {
		t.Error(err)
	}
}
