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

// Append appends the body to b. The job has been checked.
func (m *Job) Append(b []byte) []byte {
	b = appendU64(b, m.Deadline)
	b = appendBindings(b, m.In, true)
	b = appendBindings(b, m.Out, false)
	b = appendU16(b, uint16(m.Count()))
	for i := range m.Count() {
		b = appendDispatch(b, m.At(i))
	}
	return m.appendMore(b)
}

func appendDispatch(b []byte, d *job.Dispatch) []byte {
	b = appendU32(b, idOf(d.Program))
	for _, n := range d.Groups {
		b = appendU32(b, n)
	}
	b = appendU32(b, d.ParamsBinding)
	b = appendData(b, d.Params)
	b = appendU16(b, uint16(len(d.Uniforms)))
	for i := range d.Uniforms {
		b = appendUniform(b, &d.Uniforms[i])
	}
	b = appendU16(b, uint16(len(d.Buffers)))
	for i := range d.Buffers {
		bound := &d.Buffers[i]
		b = append(appendU32(b, bound.Binding), flagsOf(bound))
		b = appendRange(b, bound.Buffer, bound.Offset, bound.Size)
	}
	return appendMore(b, d)
}

// The flags of a buffer at a binding.
const (
	readOnly = 1 << iota
	zeroed
)

func flagsOf(b *job.Bound) (flags byte) {
	if b.ReadOnly {
		flags = readOnly
	}
	if b.Zero {
		flags |= zeroed
	}
	return flags
}

func appendRange(b []byte, buffer job.Bindable, offset, size int) []byte {
	operand := Operand{Place: PlaceBuffer, ID: idOf(buffer), Offset: uint64(offset), Size: uint64(size)}
	return operand.append(b, false)
}

func appendBindings(b []byte, list []Binding, read bool) []byte {
	b = appendU16(b, uint16(len(list)))
	for i := range list {
		b = appendBool(appendU32(b, list[i].Binding), false)
		b = list[i].Operand.append(b, read)
	}
	return b
}

// Decode fills m in from a body. An error of Objects is returned where nothing is malformed.
func (m *Job) Decode(body []byte) error {
	f := jobFields{fields: fields{rest: body}, job: m}
	m.dropLong()
	m.TextureInputs, m.TextureOutputs, m.Counters = nil, nil, nil
	m.TexelsIn, m.TexelsOut = m.TexelsIn[:0], m.TexelsOut[:0]
	m.Deadline = f.u64()
	m.In = f.bindings(m.In, true)
	m.Out = f.bindings(m.Out, false)
	n := f.count(29)
	if n == 0 {
		f.fail("a job without dispatches")
	}
	m.Then = resized(m.Then, max(0, n-1))
	for i := range n {
		f.dispatch(m.At(i))
	}
	if has := f.u8(); has != 0 {
		own := f
		own.more(has)
		f = own
	}
	if err := f.end(); err != nil {
		return err
	}
	return f.missing
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

// jobFields reads the fields of a job.
type jobFields struct {
	fields
	job     *Job
	missing error // the first of Objects
}

func (f *jobFields) dispatch(d *job.Dispatch) {
	*d = job.Dispatch{Buffers: d.Buffers[:0], Uniforms: d.Uniforms[:0]}
	id := f.u32()
	d.Program = find(f, Objects.Program, id)
	for i := range d.Groups {
		d.Groups[i] = f.u32()
	}
	if d.ParamsBinding, d.Params = f.u32(), f.data(); len(d.Params) == 0 {
		d.Params = nil
	}
	for range f.count(7) {
		d.Uniforms = append(d.Uniforms, f.uniform())
	}
	for range f.count(6) {
		d.Buffers = append(d.Buffers, f.bound())
	}
	if has := f.u8(); has != 0 {
		own := *f // closures move it to the heap, but not f
		own.moreOf(d, has)
		*f = own
	}
}

// find returns the object of an id, and notes the error of the first that is not there.
func find[T any](f *jobFields, of func(Objects, uint32) (T, error), id uint32) (object T) {
	if f.job.Objects == nil || f.err != nil || f.missing != nil {
		return object
	}
	object, f.missing = of(f.job.Objects, id)
	return object
}

// maxNames is the number of names that a Job keeps.
const maxNames = 256

// name reads a text that many jobs have.
func (f *jobFields) name() string {
	text := f.text(MaxText)
	name, ok := f.job.names[string(text)]
	if !ok {
		if name = string(text); f.job.names == nil || len(f.job.names) >= maxNames {
			f.job.names = map[string]string{}
		}
		f.job.names[name] = name
	}
	return name
}

func (f *jobFields) bound() (b job.Bound) {
	var o Operand
	b.Binding = f.u32()
	flags := f.u8()
	if flags > readOnly|zeroed {
		f.fail("flags %#x of a binding", flags)
	}
	b.ReadOnly, b.Zero = flags&readOnly != 0, flags&zeroed != 0
	if f.operand(&o, false); f.err == nil && o.Place != PlaceBuffer {
		f.fail("binding %d of a dispatch is not a buffer", b.Binding)
	}
	b.Offset, b.Size = int(o.Offset), int(o.Size)
	b.Buffer = find(f, Objects.Buffer, o.ID)
	return b
}

func (f *fields) bindings(list []Binding, read bool) []Binding {
	list = resized(list, f.count(6))
	for i := range list {
		list[i].Binding = f.u32()
		if f.flag() {
			f.fail("an operand that is read only")
		}
		f.operand(&list[i].Operand, read)
	}
	return list
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

// Append appends the body to b.
func (m *Data) Append(b []byte) []byte { return appendData(b, m.Data) }

// Decode fills m in from a body.
func (m *Data) Decode(body []byte) error {
	f := fields{rest: body}
	m.Data = f.data()
	return f.end()
}
