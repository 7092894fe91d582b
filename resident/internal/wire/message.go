package wire

// Message is three words to or from a kernel. In memory a word with a sequence number
// and a check precedes them, so that the reader detects a message of which only a part
// is visible:
//
//	bits 0-12   sequence number
//	bit  13     in the control word: the message itself follows
//	bit  14     in a ring: the message has an address, which the check covers
//	bit  15     in the control word: end the tick
//	bits 16-31  check
type Message struct{ Kind, A, B uint32 }

// check returns 16 bits that depend on the message, its number, and the group that it
// is for or comes from. residentCheck in resident_mail.glsl is the same function.
func (m Message) check(number, group uint32) uint32 {
	h := (m.Kind ^ (number&SequenceMask^group<<13)*0x9e3779b9) * 0x85ebca6b
	h = (h ^ h>>15 ^ m.A) * 0xc2b2ae35
	h = (h ^ h>>13 ^ m.B) * 0x27d4eb2f
	return h >> 16
}

// Word returns the first word of a message with a number, for or from a group. Messages
// of group 0 have no address.
func (m Message) Word(number, group uint32) uint32 {
	word := m.check(number, group)<<16 | number&SequenceMask
	if group != 0 {
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

// Read reads message number n, from 1, with its group, its first word before the others. It
// reports whether the message is there, whole.
func (o Outbox) Read(s Shared, n uint32) (m Message, group uint32, ok bool) {
	at := o.at + o.words*int((n-1)%OutboxLength)
	word := s.Load(at)
	if word&SequenceMask != n&SequenceMask {
		return m, 0, false
	}
	m = Message{s.Load(at + 1), s.Load(at + 2), s.Load(at + 3)}
	if o.words > OutboxWords {
		group = s.Load(at + 4)
	}
	return m, group, m.isWhole(word, n, group)
}

// SetTaken tells the kernel how many messages the host has taken.
func (o Outbox) SetTaken(s Shared, n uint32) { s.Store(o.takenAt, n) }

// isWhole reports whether word belongs to m with a number, from a group.
func (m Message) isWhole(word, number, group uint32) bool {
	const rest = InlineBit | AddressedBit | StopBit
	return word&^uint32(rest) == m.Word(number, group)&^uint32(rest)
}
