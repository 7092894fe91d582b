package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// Version is the version of the protocol that this package speaks. A server accepts a
// client if Version is within the range that the client's Hello gives.
const Version = 5

// Limits of the protocol, in bytes. Both sides refuse what exceeds them before they
// allocate memory for it.
const (
	HeaderSize = 16
	MaxBody    = 1 << 20
	MaxText    = 255 // of a name
	MaxFiles   = 1   // file descriptors of one frame
)

// Type is the type of a frame. A reply has the type of its request with ReplyBit set.
type Type uint16

// The types of requests.
const (
	TypeHello Type = iota + 1
	TypeProgram
	TypeMemory
	TypeBuffer
	TypeCopy
	TypeJob
	TypePlan
	TypeWeights
	TypeRun
	TypeRelease
	TypeDelete
	TypeCancel
	TypeStatus
	TypeRing
	TypeTexture

	// ReplyBit is set in the type of a reply. TypeError is the reply to a request
	// that failed; with request 0 it is about the session, which then ends.
	ReplyBit  Type = 0x8000
	TypeError Type = ReplyBit
	// TypeWake, with request 0, has the side that gets it look at its ring.
	TypeWake = TypeRing | ReplyBit
)

var typeNames = [...]string{
	TypeHello: "hello", TypeProgram: "program", TypeMemory: "memory", TypeBuffer: "buffer",
	TypeCopy: "copy", TypeJob: "job", TypePlan: "plan", TypeWeights: "weights", TypeRun: "run",
	TypeRelease: "release", TypeDelete: "delete", TypeCancel: "cancel", TypeStatus: "status", TypeRing: "ring",
	TypeTexture: "texture",
}

// String returns the name of the type, as docs/protocol.md has it.
func (t Type) String() string {
	request := t &^ ReplyBit
	switch {
	case t == TypeError:
		return "error"
	case request == 0 || int(request) >= len(typeNames):
		return fmt.Sprintf("type %#04x", uint16(t))
	case request != t:
		return typeNames[request] + " reply"
	}
	return typeNames[request]
}

// Files returns the number of file descriptors that a frame of this type carries.
func (t Type) Files() int {
	if t == TypeMemory || t == TypeRing {
		return 1
	}
	return 0
}

// IsTimed reports whether requests of a type have a deadline, count against the quota of jobs, and
// may be answered out of order.
func (t Type) IsTimed() bool {
	return t == TypeJob || t == TypeCopy || t == TypeWeights || t == TypeRun
}

// Header is the fixed start of a frame. Its layout is the same in all versions of the
// protocol.
//
//	offset  bytes  field
//	0       4      size of the body, at most MaxBody
//	4       2      type
//	6       2      flags, 0
//	8       8      request: chosen by the client, repeated in the reply
type Header struct {
	Size    uint32
	Type    Type
	Request uint64
}

// ErrMalformed is returned for bytes that are not a message of the protocol.
var ErrMalformed = errors.New("malformed message")

func malformed(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrMalformed, fmt.Sprintf(format, args...))
}

// ParseHeader decodes the header in the first HeaderSize bytes of b.
func ParseHeader(b []byte) (Header, error) {
	if len(b) < HeaderSize {
		return Header{}, malformed("a header of %d bytes", len(b))
	}
	h := Header{
		Size:    binary.LittleEndian.Uint32(b),
		Type:    Type(binary.LittleEndian.Uint16(b[4:])),
		Request: binary.LittleEndian.Uint64(b[8:]),
	}
	if h.Size > MaxBody {
		return Header{}, malformed("a body of %d bytes, at most %d are allowed", h.Size, MaxBody)
	}
	if flags := binary.LittleEndian.Uint16(b[6:]); flags != 0 {
		return Header{}, malformed("flags %#x in a header", flags)
	}
	return h, nil
}

// AppendFrame appends a frame with the body of m to b. It fails for a body of more than
// MaxBody bytes and then returns b as it was.
func AppendFrame(b []byte, t Type, request uint64, m Message) ([]byte, error) {
	start := len(b)
	b = append(b, make([]byte, HeaderSize)...)
	if m != nil {
		b = Append(b, m)
	}
	size := len(b) - start - HeaderSize
	if size > MaxBody {
		return b[:start], fmt.Errorf("a %v of %d bytes, at most %d are allowed: data may be in shared memory", t, size, MaxBody)
	}
	header := b[start:]
	binary.LittleEndian.PutUint32(header, uint32(size))
	binary.LittleEndian.PutUint16(header[4:], uint16(t))
	binary.LittleEndian.PutUint64(header[8:], request)
	return b, nil
}

// SetRequest sets the request of a frame.
func SetRequest(frame []byte, request uint64) { binary.LittleEndian.PutUint64(frame[8:], request) }

// MaxBacklog is the bytes of requests that a server reads ahead for a session: several of the
// largest. While it has so many it reads no more, also no cancel.
const MaxBacklog = 8 << 20

// The most requests that it reads ahead, and the most descriptors of them: a process has a limited
// number.
const (
	MaxTasks  = 8192
	maxHanded = 64
)

// Weight returns what a request takes of MaxBacklog.
func Weight(body, files int) int64 {
	return int64(max(body, MaxBacklog/MaxTasks) + files*MaxBacklog/maxHanded)
}

// Deadline returns the deadline of a request without decoding its body, in nanoseconds:
// 0 for a type without one, and for a body that is too short to decode.
func Deadline(t Type, body []byte) uint64 {
	at := 0
	switch t {
	case TypeJob, TypeCopy:
	case TypeRun:
		at = 4 // the plan
	case TypeWeights:
		at = 12 // the plan and the version
	default:
		return 0
	}
	if len(body) < at+8 {
		return 0
	}
	return binary.LittleEndian.Uint64(body[at:])
}
