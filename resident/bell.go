package resident

// Message is three words to or from a kernel.
type Message struct{ Kind, A, B uint32 }

// Bits of a bell, and of the first word of a message in a ring. The upper half
// is a check of the message, so that a torn one is told from a whole one:
//
//	0-12   sequence number of the newest message
//	13     the message itself stands beside the bell
//	14     of a ring's word: the message has an address, which the check covers
//	15     end the tick
//	16-31  check
const (
	bellSequence  = 0x1fff
	bellInline    = 0x2000
	bellAddressed = 0x4000
	bellStop      = 0x8000
)

// check is 16 bits of a message, its number, and the group that it is for or comes
// from. residentCheck of resident_mail.glsl does the same.
func (m Message) check(number, group uint32) uint32 {
	h := (m.Kind ^ (number&bellSequence^group<<13)*0x9e3779b9) * 0x85ebca6b
	h = (h ^ h>>15 ^ m.A) * 0xc2b2ae35
	h = (h ^ h>>13 ^ m.B) * 0x27d4eb2f
	return h >> 16
}

// word is the first word of message number n in a ring. Those for group 0 need no
// address.
func (m Message) word(n, group uint32) uint32 {
	word := m.check(n, group)<<16 | n&bellSequence
	if group != 0 {
		word |= bellAddressed
	}
	return word
}

// isWhole reports whether word belongs to m as number n of a group.
func (m Message) isWhole(word, n, group uint32) bool {
	const rest = bellInline | bellAddressed | bellStop
	return word&^uint32(rest) == m.word(n, group)&^uint32(rest)
}
