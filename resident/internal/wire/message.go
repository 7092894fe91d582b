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

// IsWhole reports whether word belongs to m with a number, for or from a group.
func (m Message) IsWhole(word, number, group uint32) bool {
	const rest = InlineBit | AddressedBit | StopBit
	return word&^uint32(rest) == m.Word(number, group)&^uint32(rest)
}

// WriteMessage writes a message at an index, its first word last.
func (s Shared) WriteMessage(at int, m Message, word uint32) {
	s[at+1], s[at+2], s[at+3] = m.Kind, m.A, m.B
	s.Store(at, word) // ordered behind the others on every CPU
}

// ReadOutbox reads message number n of group 0, from 1, and reports whether it is there.
func (s Shared) ReadOutbox(n uint32) (Message, bool) {
	m, word, ok := s.readMessage(AtOutbox+OutboxWords*int((n-1)%OutboxLength), n)
	return m, ok && m.IsWhole(word, n, 0)
}

// ReadSecondaryOutbox reads message number n of the other groups, from 1, with its
// group, and reports whether it is there.
func (s Shared) ReadSecondaryOutbox(n uint32) (m Message, group uint32, ok bool) {
	at := AtSecondaryOutbox + SecondaryOutboxWords*int((n-1)%OutboxLength)
	m, word, ok := s.readMessage(at, n)
	if !ok {
		return m, 0, false
	}
	group = s.Load(at + 4)
	return m, group, m.IsWhole(word, n, group)
}

// readMessage reads the words of message number n at an index, the first one before
// the others, and reports whether the number is right.
func (s Shared) readMessage(at int, n uint32) (m Message, word uint32, ok bool) {
	word = s.Load(at)
	if word&SequenceMask != n&SequenceMask {
		return m, word, false
	}
	return Message{s.Load(at + 1), s.Load(at + 2), s.Load(at + 3)}, word, true
}
