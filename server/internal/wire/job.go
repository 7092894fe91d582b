package wire

// Job runs programs: inputs go to the device, the dispatches run in order, outputs come
// back. Its reply is a [Data] with the inline outputs, one after the other.
type Job struct {
	Deadline   uint64 // nanoseconds from its receipt; 0: Limits.Deadline
	Inputs     []Binding
	Outputs    []Binding
	Dispatches []Dispatch
}

// Binding is an operand at a storage block's binding. Inputs and outputs of a job are
// inline or in shared memory, those of a dispatch are buffers.
type Binding struct {
	Binding  uint32
	ReadOnly bool // of a buffer: the program only reads it
	Operand  Operand
}

// Dispatch is one dispatch of a program.
type Dispatch struct {
	Program       uint32
	Groups        [3]uint32
	ParamsBinding uint32
	Params        []byte // the uniform block at ParamsBinding; empty: none
	Uniforms      []Uniform
	Buffers       []Binding
}

// Uniform is the value of a uniform outside any block.
type Uniform struct {
	Kind UniformKind
	Bits uint32 // of the value
	Name []byte
}

// UniformKind is the type of a uniform.
type UniformKind uint8

// The types of uniforms.
const (
	UniformInt UniformKind = iota + 1
	UniformUint
	UniformFloat
)

// Append appends the body to b.
func (m *Job) Append(b []byte) []byte {
	b = appendU64(b, m.Deadline)
	b = appendBindings(b, m.Inputs, true)
	b = appendBindings(b, m.Outputs, false)
	b = appendU16(b, uint16(len(m.Dispatches)))
	for i := range m.Dispatches {
		b = m.Dispatches[i].append(b)
	}
	return b
}

func (d *Dispatch) append(b []byte) []byte {
	b = appendU32(b, d.Program)
	for _, n := range d.Groups {
		b = appendU32(b, n)
	}
	b = appendU32(b, d.ParamsBinding)
	b = appendData(b, d.Params)
	b = appendU16(b, uint16(len(d.Uniforms)))
	for _, u := range d.Uniforms {
		b = append(b, byte(u.Kind))
		b = appendU32(b, u.Bits)
		b = appendText(b, u.Name)
	}
	return appendBindings(b, d.Buffers, false)
}

func appendBindings(b []byte, list []Binding, read bool) []byte {
	b = appendU16(b, uint16(len(list)))
	for i := range list {
		b = appendU32(b, list[i].Binding)
		b = appendBool(b, list[i].ReadOnly)
		b = list[i].Operand.append(b, read)
	}
	return b
}

// Decode fills m in from a body.
func (m *Job) Decode(body []byte) error {
	f := fields{rest: body}
	m.dropLong()
	m.Deadline = f.u64()
	m.Inputs = f.bindings(m.Inputs, true)
	m.Outputs = f.bindings(m.Outputs, false)
	n := f.count(28)
	m.Dispatches = resized(m.Dispatches, n)
	for i := range m.Dispatches {
		f.dispatch(&m.Dispatches[i])
	}
	if n == 0 {
		f.fail("a job without dispatches")
	}
	return f.end()
}

func (f *fields) dispatch(d *Dispatch) {
	d.Program = f.u32()
	for i := range d.Groups {
		d.Groups[i] = f.u32()
	}
	d.ParamsBinding, d.Params = f.u32(), f.data()
	d.Uniforms = d.Uniforms[:0]
	for range f.count(7) {
		u := Uniform{UniformKind(f.u8()), f.u32(), f.text(MaxText)}
		if u.Kind < UniformInt || u.Kind > UniformFloat {
			f.fail("a kind %d of uniform", u.Kind)
		}
		d.Uniforms = append(d.Uniforms, u)
	}
	d.Buffers = f.bindings(d.Buffers, false)
}

func (f *fields) bindings(list []Binding, read bool) []Binding {
	list = resized(list, f.count(6))
	for i := range list {
		list[i].Binding, list[i].ReadOnly = f.u32(), f.flag()
		f.operand(&list[i].Operand, read)
	}
	return list
}

// maxReused is the elements of a list whose storage is used again. Without a limit a peer could
// have a Job grow with each body, by another of its lists.
const maxReused = 64

// dropLong frees the storage of long lists, also of dispatches that the last body did not have.
func (m *Job) dropLong() {
	m.Inputs, m.Outputs, m.Dispatches = short(m.Inputs), short(m.Outputs), short(m.Dispatches)
	all := m.Dispatches[:cap(m.Dispatches)]
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
