package resident

// Message is three words to or from a kernel.
type Message struct{ Kind, A, B uint32 }

// Bits of a bell, and of the first word of a message in a ring. The upper half
// is a check of the message, so that a torn one is told from a whole one:
//
//	0-12   sequence number of the newest message
//	13     the message itself stands beside the bell
//	15     end the tick
//	16-31  check
const (
	bellSequence = 0x1fff
	bellInline   = 0x2000
	bellStop     = 0x8000
)

// check is 16 bits of a message and its number. residentCheck of resident.glsl
// does the same.
func (m Message) check(number uint32) uint32 {
	h := (m.Kind ^ (number&bellSequence)*0x9e3779b9) * 0x85ebca6b
	h = (h ^ h>>15 ^ m.A) * 0xc2b2ae35
	h = (h ^ h>>13 ^ m.B) * 0x27d4eb2f
	return h >> 16
}

// word is the first word of message number n in a ring.
func (m Message) word(n uint32) uint32 { return m.check(n)<<16 | n&bellSequence }

// isWhole reports whether word belongs to m as number n.
func (m Message) isWhole(word, n uint32) bool { return word&^uint32(bellInline|bellStop) == m.word(n) }
