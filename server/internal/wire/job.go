package wire

import "github.com/shadercache/shadercache/job"

// Job is a job.Job on its way: its inputs and outputs are operands, its programs and buffers
// go by their ids. Its reply is a [Data] with the inline outputs, one after the other.
type Job struct {
	Deadline uint64 // nanoseconds from its receipt; 0: Limits.Deadline
	In, Out  []Binding

	// TexelsIn and TexelsOut are where the texels of TextureInputs and TextureOutputs are.
	TexelsIn, TexelsOut []Operand

	// Job has the dispatches. Its Inputs and Outputs are not sent, nor where texels are; Decode
	// leaves these as they are, and reuses slices that most jobs have until Reset.
	job.Job

	Objects Objects // where Decode finds programs, buffers and textures; nil: it leaves them out

	names map[string]string // of uniforms, so that they are not allocated for each job
}

// Binding is an operand at a storage block's binding, inline or in shared memory.
type Binding struct {
	Binding uint32
	Operand Operand
}

// Objects are the programs, buffers and textures of a session, by the ids of its client. An error
// is the answer to the job.
type Objects interface {
	Program(id uint32) (job.Program, error)
	Buffer(id uint32) (job.Bindable, error)
	Texture(id uint32) (job.Texture, error)
}

// Object is a program, buffer or texture of a client: its number in the session.
type Object interface{ ID() uint32 }

func idOf(object any) uint32 {
	o, _ := object.(Object)
	if o == nil {
		return 0
	}
	return o.ID()
}

// layout reads or writes a job. One that is written has been checked.
func (m *Job) layout(f *fields) {
	f.job = m
	if !f.writes {
		m.dropLong()
		m.TextureInputs, m.TextureOutputs, m.Counters = nil, nil, nil
		m.TexelsIn, m.TexelsOut = m.TexelsIn[:0], m.TexelsOut[:0]
	}
	long(f, &m.Deadline)
	listed(f, &m.In, 6, func(f *fields, b *Binding) { f.binding(b, true) })
	listed(f, &m.Out, 6, func(f *fields, b *Binding) { f.binding(b, false) })
	n := f.count(m.Count(), 29)
	if n == 0 {
		f.fail("a job without dispatches")
	}
	if !f.writes {
		m.Then = resized(m.Then, max(0, n-1))
	}
	for i := range n {
		f.dispatch(m.At(i))
	}
	f.more()
}

func (f *fields) binding(b *Binding, read bool) {
	readOnly := false
	word(f, &b.Binding)
	if f.bool(&readOnly); readOnly {
		f.fail("an operand that is read only")
	}
	f.op(&b.Operand, read)
}

func (f *fields) dispatch(d *job.Dispatch) {
	if !f.writes {
		*d = job.Dispatch{Buffers: d.Buffers[:0], Uniforms: d.Uniforms[:0]}
	}
	object(f, Objects.Program, &d.Program)
	for i := range d.Groups {
		word(f, &d.Groups[i])
	}
	word(f, &d.ParamsBinding)
	if blob(f, &d.Params); !f.writes && len(d.Params) == 0 {
		d.Params = nil
	}
	listed(f, &d.Uniforms, 7, (*fields).uniform)
	listed(f, &d.Buffers, 6, (*fields).bound)
	f.moreOf(d)
}

// The flags of a buffer at a binding.
const (
	readOnly = 1 << iota
	zeroed
)

func (f *fields) bound(b *job.Bound) {
	o, flags := Operand{Place: PlaceBuffer}, bit(b.ReadOnly, readOnly)|bit(b.Zero, zeroed)
	word(f, &b.Binding)
	if small(f, &flags); flags > readOnly|zeroed {
		f.fail("flags %#x of a binding", flags)
	}
	if !f.writes {
		b.ReadOnly, b.Zero = flags&readOnly != 0, flags&zeroed != 0
	}
	if f.memory(&o, false, &b.Buffer, &b.Offset, &b.Size); o.Place != PlaceBuffer {
		f.fail("binding %d of a dispatch is not a buffer", b.Binding)
	}
}

// find returns the object of an id, and notes the error of the first that is not there.
func find[T any](f *fields, of func(Objects, uint32) (T, error), id uint32) (object T) {
	if f.job.Objects == nil || f.err != nil || f.missing != nil {
		return object
	}
	object, f.missing = of(f.job.Objects, id)
	return object
}

// object reads or writes the id of an object.
func object[T any](f *fields, of func(Objects, uint32) (T, error), v *T) {
	id := idOf(*v)
	if word(f, &id); !f.writes {
		*v = find(f, of, id)
	}
}

// maxNames is the number of names that a Job keeps.
const maxNames = 256

// name reads or writes a text that many jobs have.
func (f *fields) name(v *string) {
	if f.writes {
		texts(f, v, MaxText)
		return
	}
	var text []byte
	texts(f, &text, MaxText)
	name, ok := f.job.names[string(text)]
	if !ok {
		if name = string(text); f.job.names == nil || len(f.job.names) >= maxNames {
			f.job.names = map[string]string{}
		}
		f.job.names[name] = name
	}
	*v = name
}

// Reset drops what the job refers to, and keeps its storage.
func (m *Job) Reset() {
	for i := range m.Count() {
		d := m.At(i)
		clear(d.Buffers)
		clear(d.Uniforms)
		d.Program, d.Params, d.Indirect, d.Blocks, d.Images, d.Textures = nil, nil, nil, nil, nil, nil
	}
	clear(m.Inputs)
	clear(m.Outputs)
	m.Inputs, m.Outputs, m.Objects = short(m.Inputs[:0]), short(m.Outputs[:0]), nil
	m.TextureInputs, m.TextureOutputs, m.Counters = nil, nil, nil
}

// maxReused is the elements of a list whose storage is used again. Without a limit a peer could
// have a Job grow with each body, by another of its lists.
const maxReused = 64

// dropLong frees the storage of long lists, also of dispatches that the last body did not have.
func (m *Job) dropLong() {
	m.In, m.Out, m.Then = short(m.In), short(m.Out), short(m.Then)
	m.TexelsIn, m.TexelsOut = short(m.TexelsIn), short(m.TexelsOut)
	m.Uniforms, m.Buffers = short(m.Uniforms), short(m.Buffers)
	all := m.Then[:cap(m.Then)]
	for i := range all {
		all[i].Uniforms, all[i].Buffers = short(all[i].Uniforms), short(all[i].Buffers)
	}
}

// short returns s, or nil where it is long.
func short[T any](s []T) []T {
	if cap(s) > maxReused {
		return nil
	}
	return s
}

// resized returns a slice of n elements that reuses those of s.
func resized[T any](s []T, n int) []T {
	if n <= cap(s) {
		return s[:n]
	}
	return append(s[:cap(s)], make([]T, n-cap(s))...)
}

// Data is a reply of bytes: the inline outputs of a job or run, or the status as JSON.
type Data struct{ Data []byte }

func (m *Data) layout(f *fields) { blob(f, &m.Data) }
