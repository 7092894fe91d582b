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

func (f *fields) kind(k *Kind) {
	if small(f, k); !f.writes && (*k < KindProgram || *k > KindTexture) {
		f.fail("a kind %d of object", *k)
	}
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

func (m *Program) layout(f *fields) {
	word(f, &m.ID)
	if small(f, &m.Form); !f.writes && m.Form > FormName {
		f.fail("a form %d of program", m.Form)
	}
	texts(f, &m.Name, MaxText)
	blob(f, &m.Text)
	listed(f, &m.Defines, 4, func(f *fields, d *Define) {
		texts(f, &d.Name, maxDefine)
		texts(f, &d.Value, maxDefine)
	})
}

// ProgramReply describes a program.
type ProgramReply struct {
	Key       [32]byte // SHA-256, as package shader computes it
	Origin    uint8    // 1 compiled, 2 from disk, 3 from memory, 4 resident
	Interface shader.Interface
}

func (m *ProgramReply) layout(f *fields) {
	f.bytes32(&m.Key)
	small(f, &m.Origin)
	for i := range m.Interface.WorkGroup {
		word(f, &m.Interface.WorkGroup[i])
	}
	listed(f, &m.Interface.Resources, 37, (*fields).resource)
}

func (f *fields) resource(r *shader.Resource) {
	small(f, &r.Kind)
	word(f, &r.Binding)
	size := uint64(uint32(r.Bytes))
	if long(f, &size); size > math.MaxUint32 {
		f.fail("a resource of %d bytes", size)
	}
	if !f.writes { // others read it meanwhile
		r.Bytes = int32(size)
	}
	texts(f, &r.Name, maxDefine)
	for _, n := range [...]*int32{&r.Declared, &r.Stride, &r.Offset} {
		word(f, n)
	}
	word(f, &r.Type)
	word(f, &r.Unit)
	texts(f, &r.Format, MaxText)
}

// Memory shares memory with the server. The frame carries the descriptor of a memfd of at
// least Size bytes, sealed with F_SEAL_SHRINK. Its reply is Empty.
type Memory struct {
	ID   uint32
	Size uint64
}

func (m *Memory) layout(f *fields) {
	word(f, &m.ID)
	long(f, &m.Size)
}

// Release ends the session's use of an object. Its reply is Empty.
type Release struct {
	Kind Kind
	ID   uint32
}

func (m *Release) layout(f *fields) {
	f.kind(&m.Kind)
	word(f, &m.ID)
}

// Delete removes the name of a buffer or plan: sessions that use it keep it, later ones
// do not find it. Its reply is Empty.
type Delete struct {
	Kind Kind
	Name []byte
}

func (m *Delete) layout(f *fields) {
	f.kind(&m.Kind)
	texts(f, &m.Name, MaxText)
}

// Cancel ends a request that is unanswered, which is then answered with CodeCancelled.
// Its reply is Empty, also where the request was answered already.
type Cancel struct{ Request uint64 }

func (m *Cancel) layout(f *fields) {
	long(f, &m.Request)
}
