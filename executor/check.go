package executor

import (
	"errors"
	"fmt"
	"slices"

	"github.com/shadercache/shadercache/shader"
)

// maxOutputs is the number of outputs that a job may have: layout has a bit for
// each.
const maxOutputs = 64

// checkJob checks a job against its programs, the device and the size of a slot, and
// fills in its layout. It reads nothing that can change before the job runs.
func (e *Executor) checkJob(job *Job, l *layout) error {
	if err := e.placeParts(job, l); err != nil {
		return err
	}
	for i := range job.dispatches() {
		d := job.dispatch(i)
		if d.Host != nil {
			if err := e.checkHost(job, i, l); err != nil {
				return fmt.Errorf("executor: %s on the host: %w", d.Host.Name, err)
			}
			continue
		}
		if d.Program == nil {
			return fmt.Errorf("executor: dispatch %d has no program", i)
		}
		if err := e.checkDispatch(job, i, l); err != nil {
			return fmt.Errorf("executor: program %s: %w", d.Program.Name(), err)
		}
	}
	for i := range job.Outputs {
		if l.boundOutputs&(1<<i) == 0 {
			return noBlock(job.Outputs[i].Binding)
		}
	}
	return nil
}

// dispatches returns the number of dispatches in the job.
func (j *Job) dispatches() int { return 1 + len(j.Then) }

// dispatch returns the i-th dispatch.
func (j *Job) dispatch(i int) *Dispatch {
	if i == 0 {
		return &j.Dispatch
	}
	return &j.Then[i-1]
}

// mayRunNothing reports whether a dispatch may be one of no groups.
func (d *Dispatch) mayRunNothing() bool {
	return d.Indirect != nil || d.Host == nil && d.Groups == [3]uint32{}
}

// placeParts gives everything that a job copies its place.
func (e *Executor) placeParts(job *Job, l *layout) error {
	if len(job.Outputs) > maxOutputs {
		return fmt.Errorf("executor: %d outputs, at most %d can be", len(job.Outputs), maxOutputs)
	}
	for i := range job.Inputs {
		size, err := job.Inputs[i].Len()
		if err != nil {
			return fmt.Errorf("executor: %w", err)
		}
		l.inputs = append(l.inputs, l.addUp(size, e.align))
	}
	for i := range job.dispatches() {
		d := job.dispatch(i)
		l.params = append(l.params, l.addUp(len(d.Params), e.align))
		for k := range d.Blocks {
			l.blocks = append(l.blocks, l.addUp(len(d.Blocks[k].Data), e.align))
		}
	}
	for i := range job.Outputs {
		size, err := job.Outputs[i].Len()
		if err != nil {
			return fmt.Errorf("executor: %w", err)
		}
		l.outputs = append(l.outputs, l.addDown(size, e.align))
	}
	if err := e.placeTextures(job, l); err != nil {
		return err
	}
	if err := e.placeCounters(job, l); err != nil {
		return err
	}
	if max(l.upBytes, l.downBytes) > e.options.SlotBytes {
		return fmt.Errorf("executor: the job takes %d bytes in and %d out, a slot has %d each way: raise SlotBytes",
			l.upBytes, l.downBytes, e.options.SlotBytes)
	}
	return nil
}

// checkDispatch checks the i-th dispatch and adds its command to the layout.
func (e *Executor) checkDispatch(job *Job, i int, l *layout) error {
	d := job.dispatch(i)
	if err := e.checkGroups(d); err != nil {
		return err
	}
	for k := range d.Memory {
		if err := e.checkBound(&d.Memory[k]); err != nil {
			return fmt.Errorf("memory at binding %d: %w", d.Memory[k].Binding, err)
		}
	}
	resources := d.Program.Interface().Resources
	for k := range resources {
		if err := e.bindResource(job, i, &resources[k], l); err != nil {
			return err
		}
	}
	c := command{
		groups: d.Groups, size: d.GroupSize, chained: i > 0, operations: d.Operations,
		binds: len(l.binds), values: len(l.values), images: len(l.images), textures: len(l.textures),
	}
	c.barriers = l.barriersOf(job, &c)
	if d.Indirect != nil {
		c.indirect, c.offset = d.Indirect.Memory, d.Indirect.Offset
	}
	l.commands = append(l.commands, c)
	return nil
}

func (e *Executor) checkGroups(d *Dispatch) error {
	if err := e.checkGroupSize(d); err != nil {
		return err
	}
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
	if d.Groups == [3]uint32{} && len(d.Images)+len(d.Textures) > 0 {
		return nil // makes the driver ready
	}
	for axis, n := range d.Groups {
		if n == 0 {
			return fmt.Errorf("Groups are %d: 0 along %c, so nothing would run: where groups are along x alone, those along y and z are 1, not 0", d.Groups, 'x'+rune(axis))
		}
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

func (e *Executor) checkBound(b *Bound) error { return e.checkRange(b, e.info.StorageAlignment) }

// checkRange checks a range of memory whose offset has to be aligned.
func (e *Executor) checkRange(b *Bound, align int) error {
	if err := e.checkMemory(b.Memory); err != nil {
		return err
	}
	if b.Offset < 0 || b.Offset%align != 0 {
		return fmt.Errorf("offset %d is not a multiple of %d", b.Offset, align)
	}
	if n := b.bytes(); n <= 0 || n > b.Memory.Size()-b.Offset {
		return fmt.Errorf("bytes %d to %d of %d", b.Offset, b.Offset+b.bytes(), b.Memory.Size())
	}
	return nil
}

// bytes returns Size, or the rest of the memory where Size is 0.
func (b *Bound) bytes() int {
	if b.Size == 0 {
		return b.Memory.Size() - b.Offset
	}
	return b.Size
}

// bindResource checks that one resource of a program is provided and adds its
// binding or value to the layout.
func (e *Executor) bindResource(job *Job, dispatch int, r *shader.Resource, l *layout) error {
	d := job.dispatch(dispatch)
	switch r.Kind {
	case shader.StorageBuffer:
		return l.bindStorage(job, d, r, e.info.MaxStorage)
	case shader.UniformBuffer:
		return e.bindBlock(job, dispatch, r, l)
	case shader.AtomicCounter:
		return e.bindCounters(job, r, l)
	}
	if r.Binding < 0 {
		return nil // has no location: atomic counters, and built-in variables that some drivers list
	}
	switch r.Opaque() {
	case shader.ImageOpaque:
		return e.bindImages(d, r, l)
	case shader.SamplerOpaque:
		return e.bindTextures(d, r, l)
	}
	return l.setUniform(d, r)
}

func (l *layout) bindStorage(job *Job, d *Dispatch, r *shader.Resource, limit int64) error {
	b, given := l.storage(job, d, uint32(r.Binding))
	if given == 0 {
		return fmt.Errorf("storage block %s (binding %d) is not bound", r.Name, r.Binding)
	}
	if given > 1 {
		return fmt.Errorf("storage block %s (binding %d) is bound twice", r.Name, r.Binding)
	}
	if err := checkSize(r, b.size, b.from != deviceMemory); err != nil {
		return err
	}
	if int64(b.size) > limit {
		return fmt.Errorf("storage block %s (binding %d) is bound to %d bytes, this device allows %d", r.Name, r.Binding, b.size, limit)
	}
	b.binding = uint32(r.Binding)
	l.binds = append(l.binds, b)
	return nil
}

// checkSize returns an error where size bytes are too few for a storage block, or, as whole
// demands, not all of them are elements of its last array or words.
func checkSize(r *shader.Resource, size int, whole bool) error {
	if least := max(int(r.Declared), int(r.Bytes)-wordBytes+1); size < least { // Mesa rounds the size of a block up to 16
		return fmt.Errorf("storage block %s (binding %d) needs %d bytes and is bound to %d", r.Name, r.Binding, least, size)
	}
	element := max(4, int(r.Stride))
	if rest := (size - int(r.Offset)) % element; whole && rest != 0 {
		return fmt.Errorf("storage block %s (binding %d) is bound to %d bytes, %d more than whole elements of %d bytes from byte %d on",
			r.Name, r.Binding, size, rest, element, r.Offset)
	}
	return nil
}

// checkOperand checks an input or output, of size bytes, that is bound as memory.
func (j *Job) checkOperand(binding uint32, size int, output bool) error {
	used := false
	for i := range j.dispatches() {
		d := j.dispatch(i)
		if !d.UsesStorage(binding) || slices.ContainsFunc(d.Memory, func(b Bound) bool { return b.Binding == binding }) {
			continue
		}
		used = true
		if d.Host != nil {
			continue
		}
		for _, r := range d.Program.Interface().Resources {
			if r.Kind == shader.StorageBuffer && r.Binding == int32(binding) {
				if err := checkSize(&r, size, true); err != nil {
					return fmt.Errorf("executor: program %s: %w", d.Program.Name(), err)
				}
			}
		}
	}
	if output && !used {
		return noBlock(binding)
	}
	return nil
}

// noBlock returns the error of an output that no dispatch is bound to.
func noBlock(binding uint32) error {
	return fmt.Errorf("executor: output at binding %d: no program of the job has a storage block there", binding)
}
