package wire

// Message is three words for or from a group of a kernel. In memory a word with a sequence number
// and a check precedes them, so that the reader detects a message of which only a part
// is visible:
//
//	bits 0-12   sequence number
//	bit  13     in the control word: the message itself follows
//	bit  14     in a ring: the message has an address, which the check covers
//	bit  15     in the control word: end the tick
//	bits 16-31  check
type Message struct{ Kind, A, B, Group uint32 }

// check returns 16 bits that depend on the message, its number, and its group.
// residentCheck in resident_mail.glsl is the same function.
func (m Message) check(number uint32) uint32 {
	h := (m.Kind ^ (number&SequenceMask^m.Group<<13)*0x9e3779b9) * 0x85ebca6b
	h = (h ^ h>>15 ^ m.A) * 0xc2b2ae35
	h = (h ^ h>>13 ^ m.B) * 0x27d4eb2f
	return h >> 16
}

// Word returns the first word of a message with a number. Messages of group 0 have no
// address.
func (m Message) Word(number uint32) uint32 {
	word := m.check(number)<<16 | number&SequenceMask
	if m.Group != 0 {
		word |= AddressedBit
	}
	return word
}

// WriteMessage writes a message at an index, its first word last.
func (s Shared) WriteMessage(at int, m Message, word uint32) {
	s[at+1], s[at+2], s[at+3] = m.Kind, m.A, m.B
	s.Store(at, word) // ordered behind the others on every CPU
}

// Outbox is a ring with messages of a kernel.
type Outbox struct{ at, words, takenAt int }

// Outboxes are the primary one, of group 0, and the secondary one, of all other groups,
// whose messages have an address.
var Outboxes = [2]Outbox{{AtOutbox, OutboxWords, AtTaken}, {AtSecondaryOutbox, SecondaryOutboxWords, AtSecondaryTaken}}

// Read reads message number n, from 1, its first word before the others. It reports whether
// the message is there, whole.
func (o Outbox) Read(s Shared, n uint32) (m Message, ok bool) {
	at := o.at + o.words*int((n-1)%OutboxLength)
	word := s.Load(at)
	if word&SequenceMask != n&SequenceMask {
		return m, false
	}
	m = Message{Kind: s.Load(at + 1), A: s.Load(at + 2), B: s.Load(at + 3)}
	if o.words > OutboxWords {
		m.Group = s.Load(at + 4)
	}
	return m, m.isWhole(word, n)
}

// SetTaken tells the kernel how many messages the host has taken.
func (o Outbox) SetTaken(s Shared, n uint32) { s.Store(o.takenAt, n) }

// isWhole reports whether word belongs to m with a number.
func (m Message) isWhole(word, number uint32) bool {
	const rest = InlineBit | AddressedBit | StopBit
	return word&^uint32(rest) == m.Word(number)&^uint32(rest)
}
