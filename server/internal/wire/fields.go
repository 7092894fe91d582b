package wire

import (
	"cmp"
	"encoding/binary"
	"math"
	"sync"
	"unicode/utf8"
)

// Message is the body of a frame.
type Message interface {
	// layout reads or writes the fields, in their order.
	layout(f *fields)
}

// Append appends the body of m to b and returns the extended slice.
func Append(b []byte, m Message) []byte { return lay(m, fields{writes: true, to: b}).to }

// Decode fills m in from a body.
func Decode(body []byte, m Message) error {
	f := lay(m, fields{rest: body})
	return f.end()
}

// fields reads the fields of a body, or writes them: the layout of a message is one method, for
// both, which changes no message that it writes. After the first fault every read returns zero,
// and end returns the fault.
//
// A text is a u16 length and as many bytes of UTF-8; data is a u32 length and as many bytes.
type fields struct {
	rest []byte
	err  error

	writes bool
	to     []byte // that is written

	job     *Job  // whose fields these are; nil: another message's
	missing error // the first of its Objects
}

// unused are fields for reuse: what a method of an interface gets is on the heap.
var unused = sync.Pool{New: func() any { return new(fields) }}

// lay has a message read or write f, and returns what became of it.
func lay(m Message, f fields) fields {
	p := unused.Get().(*fields)
	*p = f
	m.layout(p)
	f = *p
	*p = fields{}
	unused.Put(p)
	return f
}

// small, half, word and long read or write a u8, u16, u32 or u64. Signed values are extended.

func small[T ~uint8](f *fields, v *T) {
	if f.writes {
		f.to = append(f.to, byte(*v))
	} else {
		*v = T(f.number(1))
	}
}

func half[T ~uint16](f *fields, v *T) {
	if f.writes {
		f.to = binary.LittleEndian.AppendUint16(f.to, uint16(*v))
	} else {
		*v = T(f.number(2))
	}
}

func word[T ~uint32 | ~int32 | ~int](f *fields, v *T) {
	if f.writes {
		f.to = binary.LittleEndian.AppendUint32(f.to, uint32(*v))
	} else {
		*v = T(int32(f.number(4)))
	}
}

func long[T ~uint64 | ~int64 | ~int](f *fields, v *T) {
	if f.writes {
		f.to = binary.LittleEndian.AppendUint64(f.to, uint64(*v))
	} else {
		*v = T(f.number(8))
	}
}

func (f *fields) bool(v *bool) {
	n := bit(*v, 1)
	if small(f, &n); n > 1 {
		f.fail("%d where 0 or 1 is expected", n)
	}
	if !f.writes {
		*v = n == 1
	}
}

// texts reads or writes a text of at most max bytes. What a u16 cannot count is cut: the reader's
// limits are far lower.
func texts[T string | []byte](f *fields, v *T, max int) {
	n := uint16(min(len(*v), math.MaxUint16))
	if half(f, &n); f.writes {
		f.to = append(f.to, (*v)[:n]...)
	} else {
		*v = T(f.text(int(n), max))
	}
}

// blob reads or writes data.
func blob[T string | []byte](f *fields, v *T) {
	n := uint32(len(*v))
	if word(f, &n); f.writes {
		f.to = append(f.to, *v...)
	} else {
		*v = T(f.take(int(n)))
	}
}

// listed reads or writes a list of elements that have at least least bytes each.
func listed[T any](f *fields, list *[]T, least int, each func(*fields, *T)) {
	if n := f.count(len(*list), least); !f.writes {
		*list = resized((*list)[:0], n)
	}
	for i := range *list {
		each(f, &(*list)[i])
	}
}

func (f *fields) fail(format string, args ...any) {
	if f.err == nil {
		f.err = malformed(format, args...)
		f.rest = nil
	}
}

func (f *fields) take(n int) []byte {
	if n < 0 || n > len(f.rest) { // below 0 where an int has 32 bits
		f.fail("the body ends within a field")
		return nil
	}
	b := f.rest[:n:n]
	f.rest = f.rest[n:]
	return b
}

// number reads a number of so many bytes.
func (f *fields) number(bytes int) uint64 {
	switch b := f.take(bytes); len(b) {
	case 1:
		return uint64(b[0])
	case 2:
		return uint64(binary.LittleEndian.Uint16(b))
	case 4:
		return uint64(binary.LittleEndian.Uint32(b))
	case 8:
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

// text reads a text of n bytes, of which max are allowed.
func (f *fields) text(n, max int) []byte {
	if n > max {
		f.fail("a text of %d bytes, at most %d are allowed", n, max)
	}
	b := f.take(n)
	if !utf8.Valid(b) {
		f.fail("a text that is not UTF-8")
	}
	return b
}

func (f *fields) bytes32(v *[32]byte) {
	if f.writes {
		f.to = append(f.to, v[:]...)
	} else {
		copy(v[:], f.take(32))
	}
}

// count reads or writes the number of elements of a list. Each has at least least bytes, so that a
// large count in a short body allocates nothing.
func (f *fields) count(has, least int) int {
	n := uint16(has)
	if half(f, &n); !f.writes && int(n)*least > len(f.rest) {
		f.fail("a list of %d elements in %d bytes", n, len(f.rest))
		return 0
	}
	return int(n)
}

// end returns the first fault, of which bytes that are left over are one, or else what no Objects
// have.
func (f *fields) end() error {
	if f.err == nil && len(f.rest) > 0 {
		f.fail("%d bytes left over", len(f.rest))
	}
	return cmp.Or(f.err, f.missing)
}

// Empty is a body without fields: of a status request and of replies that say only that
// the request succeeded.
type Empty struct{}

func (*Empty) layout(*fields) {}
