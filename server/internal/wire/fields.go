package wire

import (
	"encoding/binary"
	"math"
	"unicode/utf8"
)

// The fields of a body. A text is a u16 length and as many bytes of UTF-8; data is a u32
// length and as many bytes.

func appendU16(b []byte, v uint16) []byte { return binary.LittleEndian.AppendUint16(b, v) }
func appendU32(b []byte, v uint32) []byte { return binary.LittleEndian.AppendUint32(b, v) }
func appendU64(b []byte, v uint64) []byte { return binary.LittleEndian.AppendUint64(b, v) }

func appendBool(b []byte, v bool) []byte {
	if v {
		return append(b, 1)
	}
	return append(b, 0)
}

// appendText cuts what a u16 cannot count: the reader's limits are far lower.
func appendText[T string | []byte](b []byte, v T) []byte {
	v = v[:min(len(v), math.MaxUint16)]
	return append(appendU16(b, uint16(len(v))), v...)
}

func appendData[T string | []byte](b []byte, v T) []byte {
	return append(appendU32(b, uint32(len(v))), v...)
}

// fields reads the fields of a body, or writes them: the layout of a message is one method, for
// both, which changes no message that it writes. After the first fault every read returns zero,
// and end returns the fault.
type fields struct {
	rest []byte
	err  error

	writes bool
	to     []byte // that is written
}

func reading(body []byte) *fields { return &fields{rest: body} }
func writing(b []byte) *fields    { return &fields{writes: true, to: b} }

// small, half, word and long read or write a u8, u16, u32 or u64. Signed values are extended.

func small[T ~uint8](f *fields, v *T) {
	if f.writes {
		f.to = append(f.to, byte(*v))
	} else {
		*v = T(f.u8())
	}
}

func half[T ~uint16](f *fields, v *T) {
	if f.writes {
		f.to = appendU16(f.to, uint16(*v))
	} else {
		*v = T(f.u16())
	}
}

func word[T ~uint32 | ~int32 | ~int](f *fields, v *T) {
	if f.writes {
		f.to = appendU32(f.to, uint32(*v))
	} else {
		*v = T(int32(f.u32()))
	}
}

func long[T ~uint64 | ~int64 | ~int](f *fields, v *T) {
	if f.writes {
		f.to = appendU64(f.to, uint64(*v))
	} else {
		*v = T(f.u64())
	}
}

func (f *fields) bool(v *bool) {
	if f.writes {
		f.to = appendBool(f.to, *v)
	} else {
		*v = f.flag()
	}
}

// texts reads or writes a text of at most max bytes, and blob data.

func texts[T string | []byte](f *fields, v *T, max int) {
	if f.writes {
		f.to = appendText(f.to, *v)
	} else {
		*v = T(f.text(max))
	}
}

func blob[T string | []byte](f *fields, v *T) {
	if f.writes {
		f.to = appendData(f.to, *v)
	} else {
		*v = T(f.data())
	}
}

// listed reads or writes a list of elements that have at least least bytes each.
func listed[T any](f *fields, list *[]T, least int, each func(*fields, *T)) {
	if f.writes {
		f.to = appendU16(f.to, uint16(len(*list)))
	} else {
		*list = resized((*list)[:0], f.count(least))
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

func (f *fields) u8() uint8 {
	if b := f.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (f *fields) u16() uint16 {
	if b := f.take(2); b != nil {
		return binary.LittleEndian.Uint16(b)
	}
	return 0
}

func (f *fields) u32() uint32 {
	if b := f.take(4); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

func (f *fields) u64() uint64 {
	if b := f.take(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

func (f *fields) flag() bool {
	v := f.u8()
	if v > 1 {
		f.fail("%d where 0 or 1 is expected", v)
	}
	return v == 1
}

// text reads a text of at most max bytes.
func (f *fields) text(max int) []byte {
	n := int(f.u16())
	if n > max {
		f.fail("a text of %d bytes, at most %d are allowed", n, max)
	}
	b := f.take(n)
	if !utf8.Valid(b) {
		f.fail("a text that is not UTF-8")
	}
	return b
}

func (f *fields) data() []byte { return f.take(int(f.u32())) }

func (f *fields) bytes32(v *[32]byte) {
	if f.writes {
		f.to = append(f.to, v[:]...)
	} else {
		copy(v[:], f.take(32))
	}
}

// count reads the number of elements of a list. Each has at least least bytes, so that a
// large count in a short body allocates nothing.
func (f *fields) count(least int) int {
	n := int(f.u16())
	if n*least > len(f.rest) {
		f.fail("a list of %d elements in %d bytes", n, len(f.rest))
		return 0
	}
	return n
}

// end returns the first fault. Bytes that are left over are one.
func (f *fields) end() error {
	if f.err == nil && len(f.rest) > 0 {
		f.fail("%d bytes left over", len(f.rest))
	}
	return f.err
}

// Empty is a body without fields: of a status request and of replies that say only that
// the request succeeded.
type Empty struct{}

// Append appends nothing.
func (*Empty) Append(b []byte) []byte { return b }

// Decode fails for a body that is not empty.
func (*Empty) Decode(body []byte) error { return reading(body).end() }
