package wire

import "github.com/shadercache/shadercache/job/texel"

// BufferFlags say what a Buffer request does.
type BufferFlags uint8

// The flags of a buffer or plan request.
const (
	Create BufferFlags = 1 << iota // makes it where it does not exist; without this it must exist
	Fresh                          // with Create: fails with CodeExists where the name exists
	Exact                          // of a plan: no algorithm that errs by more than a sum of products does
)

// Buffer makes a buffer on the device, or opens a named one. Its reply is a
// [BufferReply].
type Buffer struct {
	ID    uint32
	Flags BufferFlags
	Size  uint64 // bytes; 0 opens a named buffer of any size
	Name  []byte // empty: the buffer is the session's own
}

func (m *Buffer) layout(f *fields) {
	word(f, &m.ID)
	f.flags(&m.Flags, Create|Fresh)
	long(f, &m.Size)
	texts(f, &m.Name, MaxText)
}

func (f *fields) flags(v *BufferFlags, known BufferFlags) {
	if small(f, v); !f.writes && *v&^known != 0 {
		f.fail("flags %#x", *v)
	}
}

// BufferReply describes a buffer.
type BufferReply struct {
	Size    uint64
	Version uint64 // 0: never written
	Created bool
}

func (m *BufferReply) layout(f *fields) {
	if long(f, &m.Size); m.Size>>63 != 0 { // callers count in int
		f.fail("a buffer of %d bytes", m.Size)
	}
	long(f, &m.Version)
	f.bool(&m.Created)
}

// Place is where the bytes of an operand are.
type Place uint8

// The places.
const (
	PlaceNone    Place = iota // there is no operand
	PlaceInline               // in the frame: after an operand that is read, in the reply for one that is written
	PlaceMemory               // in shared memory
	PlaceBuffer               // in a buffer on the device
	PlaceTexture              // of a copy: texels of a region of a texture
)

// Operand is a range of bytes. Only those fields are set that its place has:
//
//	inline   Size, and Data where the operand is read
//	memory   ID, Offset, Size
//	buffer   ID, Offset, Size; a Size of 0 is the rest of the buffer
//	texture  ID; the region is the copy's
type Operand struct {
	Place  Place
	ID     uint32
	Offset uint64
	Size   uint64
	Data   []byte
}

// Inline returns the bytes that an operand takes of its frame, or of the reply.
func (o *Operand) Inline() int {
	if o.Place != PlaceInline {
		return 0
	}
	return int(o.Size)
}

// op reads or writes an operand, whose bytes are read by the server or written.
func (f *fields) op(o *Operand, read bool) {
	if !f.writes {
		*o = Operand{}
	}
	small(f, &o.Place)
	switch {
	case o.Place == PlaceNone:
	case o.Place == PlaceInline && read:
		if blob(f, &o.Data); !f.writes {
			o.Size = uint64(len(o.Data))
		}
	case o.Place == PlaceInline:
		size := uint32(o.Size)
		if word(f, &size); size > MaxBody {
			f.fail("an inline operand of %d bytes", size)
		}
		if !f.writes {
			o.Size = uint64(size)
		}
	case o.Place == PlaceMemory || o.Place == PlaceBuffer:
		word(f, &o.ID)
		long(f, &o.Offset)
		long(f, &o.Size)
	case o.Place == PlaceTexture:
		word(f, &o.ID)
	default:
		f.fail("a place %d of an operand", o.Place)
	}
}

// Copy copies bytes between the client and a buffer or a texture, or between two buffers, after
// the requests before it. One of From and To is a buffer or a texture. Its reply is a [CopyReply].
type Copy struct {
	Deadline uint64 // nanoseconds from its receipt; 0: Limits.Deadline
	From, To Operand
	Region   texel.Region // of the texture that one of them is
	Version  uint64       // of the buffer To afterwards; 0: 1 more than before
	Expect   uint64       // with Check: the version that To must have before, else CodeConflict
	Check    bool
}

func (m *Copy) layout(f *fields) {
	long(f, &m.Deadline)
	f.op(&m.From, true)
	f.op(&m.To, false)
	if m.Texture() != nil {
		f.region(&m.Region)
	}
	long(f, &m.Version)
	long(f, &m.Expect)
	f.bool(&m.Check)
}

// Texture returns the operand that is a texture, or nil.
func (m *Copy) Texture() *Operand {
	switch PlaceTexture {
	case m.To.Place:
		return &m.To
	case m.From.Place:
		return &m.From
	}
	return nil
}

// CopyReply ends a copy.
type CopyReply struct {
	Version uint64 // of the buffer: of To where both are one
	Data    []byte // where To was inline
}

func (m *CopyReply) layout(f *fields) {
	long(f, &m.Version)
	blob(f, &m.Data)
}
