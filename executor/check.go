//go:build linux

package executor

import (
	"errors"
	"fmt"
	"strings"

	"github.com/shadercache/shadercache/shader"
)

// maxOutputs is how many outputs a job may have: a bit for each.
const maxOutputs = 64

// need is what a job takes of a slot, bytes, padding included.
type need struct{ up, down int }

// check says what is wrong with a job, or what it needs. It looks at nothing
// that can change before the job runs.
func (e *Executor) check(job *Job) (need, error) {
	n, err := e.measure(job)
	if err != nil {
		return n, err
	}
	var used uint64 // outputs that a program writes, one bit each
	for i := range job.dispatches() {
		d := job.dispatch(i)
		if d.Program == nil {
			return n, fmt.Errorf("executor: dispatch %d has no program", i)
		}
		if err := e.checkDispatch(job, d, &used); err != nil {
			return n, fmt.Errorf("executor: program %s: %w", d.Program.Name(), err)
		}
	}
	for i := range job.Outputs {
		if used&(1<<i) == 0 {
			return n, fmt.Errorf("executor: output at binding %d: no program of the job has a storage block there", job.Outputs[i].Binding)
		}
	}
	return n, nil
}

// dispatches is how many dispatches the job has.
func (j *Job) dispatches() int { return 1 + len(j.Then) }

// dispatch is the i-th one.
func (j *Job) dispatch(i int) *Dispatch {
	if i == 0 {
		return &j.Dispatch
	}
	return &j.Then[i-1]
}

// measure adds up what the job takes of a slot.
func (e *Executor) measure(job *Job) (need, error) {
	var n need
	if len(job.Outputs) > maxOutputs {
		return n, fmt.Errorf("executor: %d outputs, at most %d can be", len(job.Outputs), maxOutputs)
	}
	for i := range job.Inputs {
		size, err := job.Inputs[i].size()
		if err != nil {
			return n, fmt.Errorf("executor: input at binding %d: %w", job.Inputs[i].Binding, err)
		}
		n.up += e.padded(size)
	}
	for i := range job.dispatches() {
		n.up += e.padded(len(job.dispatch(i).Params))
	}
	for i := range job.Outputs {
		size, err := job.Outputs[i].size()
		if err != nil {
			return n, fmt.Errorf("executor: output at binding %d: %w", job.Outputs[i].Binding, err)
		}
		n.down += e.padded(size)
	}
	if largest := max(n.up, n.down); largest > e.options.SlotBytes {
		return n, fmt.Errorf("executor: the job takes %d bytes in and %d out, a slot has %d each way: raise SlotBytes",
			n.up, n.down, e.options.SlotBytes)
	}
	return n, nil
}

// padded is n rounded up so that what follows is aligned.
func (e *Executor) padded(n int) int { return (n + e.align - 1) / e.align * e.align }

func (in *Input) size() (int, error) {
	return hostSize(in.Data, in.Size, in.Fill != nil, "Data", "Fill")
}

func (out *Output) size() (int, error) {
	return hostSize(out.To, out.Size, out.Read != nil, "To", "Read")
}

// hostSize is the size of an input or output: that of a slice, or the one given
// with a function.
func hostSize(slice []byte, size int, function bool, sliceName, functionName string) (int, error) {
	switch {
	case function && slice != nil:
		return 0, fmt.Errorf("has both %s and %s", sliceName, functionName)
	case function && size <= 0:
		return 0, fmt.Errorf("has %s and a Size of %d", functionName, size)
	case function:
		return size, nil
	case len(slice) == 0:
		return 0, fmt.Errorf("has neither %s nor %s", sliceName, functionName)
	}
	return len(slice), nil
}

func (e *Executor) checkDispatch(job *Job, d *Dispatch, used *uint64) error {
	if err := e.checkGroups(d); err != nil {
		return err
	}
	for i := range d.Memory {
		if err := e.checkBound(&d.Memory[i]); err != nil {
			return fmt.Errorf("memory at binding %d: %w", d.Memory[i].Binding, err)
		}
	}
	resources := d.Program.Interface().Resources
	for i := range resources {
		if err := e.checkResource(job, d, &resources[i], used); err != nil {
			return err
		}
	}
	return nil
}

func (e *Executor) checkGroups(d *Dispatch) error {
	if in := d.Indirect; in != nil {
		if err := e.checkMemory(in.Memory); err != nil {
			return fmt.Errorf("indirect work groups: %w", err)
		}
		if in.Offset < 0 || in.Offset%4 != 0 || in.Offset+12 > in.Memory.Size() {
			return fmt.Errorf("indirect work groups at byte %d of %d: three words at a multiple of 4 are needed",
				in.Offset, in.Memory.Size())
		}
		return nil
	}
	for axis, n := range d.Groups {
		if limit := e.info.MaxGroups[axis]; int64(n) > int64(limit) {
			return fmt.Errorf("%d work groups along %c, this device allows %d: split the job", n, 'x'+rune(axis), limit)
		}
	}
	return nil
}

func (e *Executor) checkMemory(m *Memory) error {
	switch {
	case m == nil:
		return errors.New("there is no memory")
	case m.e != e:
		return errors.New("it belongs to another executor")
	case m.released.Load():
		return errMemoryReleased
	}
	return nil
}

func (e *Executor) checkBound(b *Bound) error {
	if err := e.checkMemory(b.Memory); err != nil {
		return err
	}
	if b.Offset < 0 || b.Offset%e.info.StorageAlignment != 0 {
		return fmt.Errorf("offset %d is not a multiple of %d", b.Offset, e.info.StorageAlignment)
	}
	if b.Size < 0 || b.Offset+b.bytes() > b.Memory.Size() || b.bytes() <= 0 {
		return fmt.Errorf("bytes %d to %d of %d", b.Offset, b.Offset+b.bytes(), b.Memory.Size())
	}
	return nil
}

// bytes is the size with the default filled in.
func (b *Bound) bytes() int {
	if b.Size == 0 {
		return b.Memory.Size() - b.Offset
	}
	return b.Size
}

func (e *Executor) checkResource(job *Job, d *Dispatch, r *shader.Resource, used *uint64) error {
	switch r.Kind {
	case shader.StorageBuffer:
		return checkStorage(job, d, r, used, e.info.MaxStorage)
	case shader.UniformBuffer:
		return checkParams(d, r)
	case shader.Uniform:
		return checkUniform(d, r)
	}
	return errors.New("atomic counter buffers cannot be bound: use atomics in a storage block")
}

func checkStorage(job *Job, d *Dispatch, r *shader.Resource, used *uint64, limit int64) error {
	from, i := job.find(d, uint32(r.Binding))
	size := 0
	switch from {
	case nowhere:
		return fmt.Errorf("storage block %s (binding %d) is not bound", r.Name, r.Binding)
	case ambiguous:
		return fmt.Errorf("storage block %s (binding %d) is bound twice", r.Name, r.Binding)
	case inMemory:
		size = d.Memory[i].bytes()
	case inInput:
		size, _ = job.Inputs[i].size()
	case inOutput:
		size, _ = job.Outputs[i].size()
		*used |= 1 << i
	}
	if size+wordBytes-1 < int(r.Bytes) { // Mesa rounds what a block needs up to 16
		return fmt.Errorf("storage block %s (binding %d) needs %d bytes and is bound to %d", r.Name, r.Binding, r.Bytes, size)
	}
	if int64(size) > limit {
		return fmt.Errorf("storage block %s (binding %d) is bound to %d bytes, this device allows %d", r.Name, r.Binding, size, limit)
	}
	return nil
}

func checkParams(d *Dispatch, r *shader.Resource) error {
	if d.Params == nil || d.ParamsBinding != uint32(r.Binding) {
		return fmt.Errorf("uniform block %s (binding %d) has no Params", r.Name, r.Binding)
	}
	if len(d.Params) < int(r.Bytes) {
		return fmt.Errorf("uniform block %s (binding %d) needs %d bytes and Params has %d", r.Name, r.Binding, r.Bytes, len(d.Params))
	}
	return nil
}

func checkUniform(d *Dispatch, r *shader.Resource) error {
	if r.Binding < 0 {
		return nil // not set by location: some drivers list what GLSL has built in
	}
	if r.Bytes > 1 {
		return fmt.Errorf("uniform %s is an array: put it into a uniform block", r.Name)
	}
	if d.uniform(r.Name) < 0 {
		return fmt.Errorf("uniform %s is not set%s", r.Name, d.unknownUniforms())
	}
	return nil
}

// uniform is the index of the value for a uniform, -1 if there is none.
func (d *Dispatch) uniform(name string) int {
	for i := range d.Uniforms {
		if d.Uniforms[i].name == name {
			return i
		}
	}
	return -1
}

// unknownUniforms names the values that no uniform of the program takes: the
// missing one may be among them under a wrong name.
func (d *Dispatch) unknownUniforms() string {
	var unknown []string
	for _, u := range d.Uniforms {
		known := false
		for _, r := range d.Program.Interface().Resources {
			known = known || r.Kind == shader.Uniform && r.Name == u.name
		}
		if !known {
			unknown = append(unknown, u.name)
		}
	}
	if unknown == nil {
		return ""
	}
	return "; the program has none of the name " + strings.Join(unknown, ", ")
}

// place says where a storage binding is served from.
type place uint8

const (
	nowhere   place = iota
	ambiguous       // from more than one of a kind
	inMemory        // Dispatch.Memory
	inInput
	inOutput
)

// find is the place of a storage binding, and the index there.
func (j *Job) find(d *Dispatch, binding uint32) (place, int) {
	found, index := nowhere, 0
	note := func(p place, i int) {
		if found != nowhere {
			p = ambiguous
		}
		found, index = p, i
	}
	for i := range d.Memory {
		if d.Memory[i].Binding == binding {
			note(inMemory, i)
		}
	}
	if found != nowhere {
		return found, index
	}
	for i := range j.Inputs {
		if j.Inputs[i].Binding == binding {
			note(inInput, i)
		}
	}
	for i := range j.Outputs {
		if j.Outputs[i].Binding == binding {
			note(inOutput, i)
		}
	}
	return found, index
}
