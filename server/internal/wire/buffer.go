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

// Append appends the body to b.
func (m *Buffer) Append(b []byte) []byte { return m.fields(writing(b)).to }

// Decode fills m in from a body.
func (m *Buffer) Decode(body []byte) error { return m.fields(reading(body)).end() }

func (m *Buffer) fields(f *fields) *fields {
	word(f, &m.ID)
	f.flags(&m.Flags, Create|Fresh)
	long(f, &m.Size)
	texts(f, &m.Name, MaxText)
	return f
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

// Append appends the body to b.
func (m *BufferReply) Append(b []byte) []byte { return m.fields(writing(b)).to }

// Decode fills m in from a body.
func (m *BufferReply) Decode(body []byte) error { return m.fields(reading(body)).end() }

func (m *BufferReply) fields(f *fields) *fields {
	if long(f, &m.Size); m.Size>>63 != 0 { // callers count in int
		f.fail("a buffer of %d bytes", m.Size)
	}
	long(f, &m.Version)
	f.bool(&m.Created)
	return f
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

func (o *Operand) append(b []byte, read bool) []byte {
	b = append(b, byte(o.Place))
	switch {
	case o.Place == PlaceNone:
		return b
	case o.Place == PlaceInline && read:
		return appendData(b, o.Data)
	case o.Place == PlaceInline:
		return appendU32(b, uint32(o.Size))
	case o.Place == PlaceTexture:
		return appendU32(b, o.ID)
	}
	return appendU64(appendU64(appendU32(b, o.ID), o.Offset), o.Size)
}

// op reads or writes an operand, whose bytes are read by the server or written.
func (f *fields) op(o *Operand, read bool) {
	if f.writes {
		f.to = o.append(f.to, read)
	} else {
		f.operand(o, read)
	}
}

func (f *fields) operand(o *Operand, read bool) {
	*o = Operand{Place: Place(f.u8())}
	switch {
	case o.Place == PlaceNone:
	case o.Place == PlaceInline && read:
		o.Data = f.data()
		o.Size = uint64(len(o.Data))
	case o.Place == PlaceInline:
		if o.Size = uint64(f.u32()); o.Size > MaxBody {
			f.fail("an inline operand of %d bytes", o.Size)
		}
	case o.Place == PlaceMemory || o.Place == PlaceBuffer:
		o.ID, o.Offset, o.Size = f.u32(), f.u64(), f.u64()
		if o.Offset+o.Size < o.Offset {
			f.fail("a range beyond 64 bits")
		}
	case o.Place == PlaceTexture:
		o.ID = f.u32()
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

// Append appends the body to b.
func (m *Copy) Append(b []byte) []byte { return m.fields(writing(b)).to }

// Decode fills m in from a body.
func (m *Copy) Decode(body []byte) error { return m.fields(reading(body)).end() }

func (m *Copy) fields(f *fields) *fields {
	long(f, &m.Deadline)
	f.op(&m.From, true)
	f.op(&m.To, false)
	if m.Texture() != nil {
		f.region(&m.Region)
	}
	long(f, &m.Version)
	long(f, &m.Expect)
	f.bool(&m.Check)
	return f
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

// Append appends the body to b.
func (m *CopyReply) Append(b []byte) []byte { return m.fields(writing(b)).to }

// Decode fills m in from a body.
func (m *CopyReply) Decode(body []byte) error { return m.fields(reading(body)).end() }

func (m *CopyReply) fields(f *fields) *fields {
	long(f, &m.Version)
	blob(f, &m.Data)
	return f
}
