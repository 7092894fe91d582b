package wire

import "testing"

// TestPartialMessagesAreDetected flips every bit of a message.
func TestPartialMessagesAreDetected(t *testing.T) {
	m := Message{Kind: 3, A: 1 << 20, B: 0xffff}
	word := m.Word(9000)
	if !m.isWhole(word, 9000) || m.isWhole(word, 9001) {
		t.Error("a whole message is not accepted, or accepted as the next one")
	}
	groups := []uint32{0, 1, 2, 130, 65534, ^uint32(0)}
	for _, group := range groups {
		for _, other := range groups {
			if (Message{3, 7, 8, other}).isWhole(Message{3, 7, 8, group}.Word(9000), 9000) != (group == other) {
				t.Errorf("a message of group %d, read as one of group %d", group, other)
			}
		}
	}
	for bit := range 32 {
		for _, torn := range []Message{{m.Kind ^ 1<<bit, m.A, m.B, 0}, {m.Kind, m.A ^ 1<<bit, m.B, 0}, {m.Kind, m.A, m.B ^ 1<<bit, 0}} {
			if torn.isWhole(word, 9000) {
				t.Errorf("%+v is accepted for %+v", torn, m)
			}
		}
	}
}

// TestOutboxesReturnMessagesInOrder writes messages as a kernel does, over the end of
// both rings, with one whose word is missing.
func TestOutboxesReturnMessagesInOrder(t *testing.T) {
	s := make(Shared, SharedWords)
	for n := uint32(1); n <= 2*OutboxLength+3; n++ {
		m := Message{n, ^n, 7, 0}
		at := AtOutbox + OutboxWords*int((n-1)%OutboxLength)
		s[at+1], s[at+2], s[at+3] = m.Kind, m.A, m.B
		if _, ok := Outboxes[0].Read(s, n); ok {
			t.Fatalf("message %d is accepted without its word", n)
		}
		s.WriteMessage(at, m, m.Word(n))
		if got, ok := Outboxes[0].Read(s, n); !ok || got != m {
			t.Fatalf("message %d is %+v, %v", n, got, ok)
		}
		at = AtSecondaryOutbox + SecondaryOutboxWords*int((n-1)%OutboxLength)
		m.Group = 1 + n%5
		s[at+4] = m.Group
		if _, ok := Outboxes[1].Read(s, n); ok {
			t.Fatalf("secondary message %d is accepted without its word", n)
		}
		s.WriteMessage(at, m, m.Word(n))
		if got, ok := Outboxes[1].Read(s, n); !ok || got != m {
			t.Fatalf("secondary message %d is %+v, %v", n, got, ok)
		}
	}
}

// TestCommandAndStatus compares the words of a command with its fields, and the fields
// of a status with its words.
func TestCommandAndStatus(t *testing.T) {
	s := make(Shared, SharedWords)
	s.WriteCommand(Command{Epoch: 1, Target: 2, Budget: 3, Poll: 4, Base: 6<<32 | 5, Flags: 7, Phases: 8})
	for i := range uint32(8) {
		if got := s.Load(AtCommand + int(i)); got != i+1 {
			t.Errorf("word %d of the command is %d", i, got)
		}
	}
	s.SetBudget(30)
	s.SetTarget(20, 70)
	if s.Budget() != 30 || s[AtCommand+1] != 20 || s[AtBase+2] != 70 {
		t.Errorf("command %v", s[AtCommand:AtCommand+8])
	}
	for at := AtTicks; at <= AtSpoiled; at++ {
		s[at] = uint32(at)
	}
	want := Status{AtTicks, AtLeast, AtMost, AtKind, AtArgument, AtSource, AtHalted, AtIdle, AtActive, AtSpoiled}
	if got := s.ReadStatus(); got != want || got.Progress() != AtLeast {
		t.Errorf("status %+v", got)
	}
	s[AtLeast] = ^uint32(0)
	if got := s.ReadStatus().Progress(); got != AtMost {
		t.Errorf("progress of halted groups is %d", got)
	}
}
