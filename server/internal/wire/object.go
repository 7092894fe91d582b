package wire

import (
	"math"

	"github.com/shadercache/shadercache/shader"
)

// Kind is a kind of object that a session has. Ids are chosen by the client, each kind
// has its own.
type Kind uint8

// The kinds of objects.
const (
	KindProgram Kind = iota + 1
	KindMemory
	KindBuffer
	KindPlan
	KindTexture
)

func (f *fields) kind() Kind {
	k := Kind(f.u8())
	if k < KindProgram || k > KindTexture {
		f.fail("a kind %d of object", k)
	}
	return k
}

// Form is the form in which a program is given.
type Form uint8

// The forms of programs.
const (
	FormSource Form = iota // text and defines, to which the server adds #version and #define lines
	FormFinal              // text as the driver gets it
	FormName               // no text: the newest program of this name that any session gave
)

// Program makes a program. Its reply is a [ProgramReply].
type Program struct {
	ID      uint32
	Form    Form
	Name    []byte
	Text    []byte
	Defines []Define
}

// Define is one preprocessor definition.
type Define struct{ Name, Value []byte }

// maxDefine is the most bytes of the name or the value of a definition.
const maxDefine = 4096

// Append appends the body to b.
func (m *Program) Append(b []byte) []byte {
	b = appendU32(b, m.ID)
	b = append(b, byte(m.Form))
	b = appendText(b, m.Name)
	b = appendData(b, m.Text)
	b = appendU16(b, uint16(len(m.Defines)))
	for _, d := range m.Defines {
		b = appendText(b, d.Name)
		b = appendText(b, d.Value)
	}
	return b
}

// Decode fills m in from a body.
func (m *Program) Decode(body []byte) error {
	f := fields{rest: body}
	m.ID, m.Form = f.u32(), Form(f.u8())
	if m.Form > FormName {
		f.fail("a form %d of program", m.Form)
	}
	m.Name, m.Text = f.text(MaxText), f.data()
	m.Defines = m.Defines[:0]
	for range f.count(4) {
		m.Defines = append(m.Defines, Define{f.text(maxDefine), f.text(maxDefine)})
	}
	return f.end()
}

// ProgramReply describes a program.
type ProgramReply struct {
	Key       [32]byte // SHA-256, as package shader computes it
	Origin    uint8    // 1 compiled, 2 from disk, 3 from memory, 4 resident
	Interface shader.Interface
}

// Append appends the body to b.
func (m *ProgramReply) Append(b []byte) []byte {
	b = append(b, m.Key[:]...)
	b = append(b, m.Origin)
	for _, n := range m.Interface.WorkGroup {
		b = appendU32(b, n)
	}
	b = appendU16(b, uint16(len(m.Interface.Resources)))
	for i := range m.Interface.Resources {
		b = appendResource(b, &m.Interface.Resources[i])
	}
	return b
}

func appendResource(b []byte, r *shader.Resource) []byte {
	b = append(b, byte(r.Kind))
	b = appendU32(b, uint32(r.Binding))
	b = appendU64(b, uint64(uint32(r.Bytes)))
	b = appendText(b, r.Name)
	for _, n := range [...]int32{r.Declared, r.Stride, r.Offset, int32(r.Type), r.Unit} {
		b = appendU32(b, uint32(n))
	}
	return appendText(b, r.Format)
}

// Decode fills m in from a body.
func (m *ProgramReply) Decode(body []byte) error {
	f := fields{rest: body}
	m.Key, m.Origin = f.bytes32(), f.u8()
	for i := range m.Interface.WorkGroup {
		m.Interface.WorkGroup[i] = f.u32()
	}
	m.Interface.Resources = m.Interface.Resources[:0]
	for range f.count(37) {
		m.Interface.Resources = append(m.Interface.Resources, f.resource())
	}
	return f.end()
}

func (f *fields) resource() (r shader.Resource) {
	r.Kind, r.Binding = shader.ResourceKind(f.u8()), int32(f.u32())
	if n := f.u64(); n > math.MaxUint32 {
		f.fail("a resource of %d bytes", n)
	} else {
		r.Bytes = int32(n)
	}
	r.Name = string(f.text(maxDefine))
	for _, n := range [...]*int32{&r.Declared, &r.Stride, &r.Offset} {
		*n = int32(f.u32())
	}
	r.Type, r.Unit, r.Format = shader.Type(f.u32()), int32(f.u32()), string(f.text(MaxText))
	return r
}

// Memory shares memory with the server. The frame carries the descriptor of a memfd of at
// least Size bytes, sealed with F_SEAL_SHRINK. Its reply is Empty.
type Memory struct {
	ID   uint32
	Size uint64
}

// Append appends the body to b.
func (m *Memory) Append(b []byte) []byte { return appendU64(appendU32(b, m.ID), m.Size) }

// Decode fills m in from a body.
func (m *Memory) Decode(body []byte) error {
	f := fields{rest: body}
	m.ID, m.Size = f.u32(), f.u64()
	return f.end()
}

// Release ends the session's use of an object. Its reply is Empty.
type Release struct {
	Kind Kind
	ID   uint32
}

// Append appends the body to b.
func (m *Release) Append(b []byte) []byte { return appendU32(append(b, byte(m.Kind)), m.ID) }

// Decode fills m in from a body.
func (m *Release) Decode(body []byte) error {
	f := fields{rest: body}
	m.Kind, m.ID = f.kind(), f.u32()
	return f.end()
}

// Delete removes the name of a buffer or plan: sessions that use it keep it, later ones
// do not find it. Its reply is Empty.
type Delete struct {
	Kind Kind
	Name []byte
}

// Append appends the body to b.
func (m *Delete) Append(b []byte) []byte { return appendText(append(b, byte(m.Kind)), m.Name) }

// Decode fills m in from a body.
func (m *Delete) Decode(body []byte) error {
	f := fields{rest: body}
	m.Kind, m.Name = f.kind(), f.text(MaxText)
	return f.end()
}

// Cancel ends a request that is unanswered, which is then answered with CodeCancelled.
// Its reply is Empty, also where the request was answered already.
type Cancel struct{ Request uint64 }

// Append appends the body to b.
func (m *Cancel) Append(b []byte) []byte { return appendU64(b, m.Request) }

// Decode fills m in from a body.
func (m *Cancel) Decode(body []byte) error {
	f := fields{rest: body}
	m.Request = f.u64()
	return f.end()
}
