package executor

import (
	"errors"
	"fmt"
	"slices"

	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/shader"
)

// maxOutputs is the number of outputs that a job may have: layout has a bit for
// each.
const maxOutputs = 64

// checkJob checks a job against its programs, the device and the size of a slot, and
// fills in its layout. It reads nothing that can change before the job runs.
func (e *Executor) checkJob(j *Job, l *layout) error {
	if err := e.placeParts(j, l); err != nil {
		return err
	}
	for i := range j.Count() {
		d := j.At(i)
		if d.Host != nil {
			if err := e.checkHost(j, i, l); err != nil {
				return fmt.Errorf("executor: %s on the host: %w", d.Host.Name, err)
			}
			continue
		}
		h := handleOf(d)
		if h == nil {
			return fmt.Errorf("executor: dispatch %d has no program of the executor's cache", i)
		}
		if err := e.checkDispatch(j, i, h, l); err != nil {
			return fmt.Errorf("executor: program %s: %w", h.Name(), err)
		}
	}
	for i := range j.Outputs {
		if l.boundOutputs&(1<<i) == 0 {
			return noBlock(j.Outputs[i].Binding)
		}
	}
	return nil
}

// placeParts gives everything that a job copies its place.
func (e *Executor) placeParts(j *Job, l *layout) error {
	if len(j.Outputs) > maxOutputs {
		return fmt.Errorf("executor: %d outputs, at most %d can be", len(j.Outputs), maxOutputs)
	}
	for i := range j.Inputs {
		size, err := j.Inputs[i].Len()
		if err != nil {
			return fmt.Errorf("executor: %w", err)
		}
		l.inputs = append(l.inputs, l.addUp(size, e.align))
	}
	for i := range j.Count() {
		d := j.At(i)
		l.params = append(l.params, l.addUp(len(d.Params), e.align))
		for k := range d.Blocks {
			l.blocks = append(l.blocks, l.addUp(len(d.Blocks[k].Data), e.align))
		}
	}
	for i := range j.Outputs {
		size, err := j.Outputs[i].Len()
		if err != nil {
			return fmt.Errorf("executor: %w", err)
		}
		l.outputs = append(l.outputs, l.addDown(size, e.align))
	}
	if err := e.placeTextures(j, l); err != nil {
		return err
	}
	if err := e.placeCounters(j, l); err != nil {
		return err
	}
	if max(l.upBytes, l.downBytes) > e.options.SlotBytes {
		return fmt.Errorf("executor: the job takes %d bytes in and %d out, a slot has %d each way: raise SlotBytes",
			l.upBytes, l.downBytes, e.options.SlotBytes)
	}
	return nil
}

// checkDispatch checks the i-th dispatch and adds its command to the layout.
func (e *Executor) checkDispatch(j *Job, i int, h *cache.Handle, l *layout) error {
	d := j.At(i)
	if err := e.checkGroups(d, h); err != nil {
		return err
	}
	for k := range d.Buffers {
		if err := e.checkBound(&d.Buffers[k]); err != nil {
			return fmt.Errorf("memory at binding %d: %w", d.Buffers[k].Binding, err)
		}
	}
	resources := h.Interface().Resources
	for k := range resources {
		if err := e.bindResource(j, i, h, &resources[k], l); err != nil {
			return err
		}
	}
	c := command{
		groups: d.Groups, size: d.GroupSize, chained: i > 0, operations: d.Operations,
		binds: len(l.binds), values: len(l.values), images: len(l.images), textures: len(l.textures),
	}
	c.barriers = l.barriersOf(j, &c)
	if d.Indirect != nil {
		c.indirect, c.offset = memoryOf(d.Indirect.Buffer), d.Indirect.Offset
	}
	l.commands = append(l.commands, c)
	return nil
}

func (e *Executor) checkGroups(d *Dispatch, h *cache.Handle) error {
	if err := e.checkGroupSize(d, h); err != nil {
		return err
	}
	if in := d.Indirect; in != nil {
		if err := e.checkMemory(memoryOf(in.Buffer)); err != nil {
			return fmt.Errorf("indirect work groups: %w", err)
		}
		if in.Offset < 0 || in.Offset%4 != 0 || in.Offset+12 > in.Buffer.Size() {
			return fmt.Errorf("indirect work groups at byte %d of %d: three words at a multiple of 4 are needed",
				in.Offset, in.Buffer.Size())
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
	if err := e.checkMemory(memoryOf(b.Buffer)); err != nil {
		return err
	}
	if b.Offset < 0 || b.Offset%align != 0 {
		return fmt.Errorf("offset %d is not a multiple of %d", b.Offset, align)
	}
	if n := b.Len(); n <= 0 || n > b.Buffer.Size()-b.Offset {
		return fmt.Errorf("bytes %d to %d of %d", b.Offset, b.Offset+b.Len(), b.Buffer.Size())
	}
	return nil
}

// bindResource checks that one resource of a program is provided and adds its
// binding or value to the layout.
func (e *Executor) bindResource(j *Job, dispatch int, h *cache.Handle, r *shader.Resource, l *layout) error {
	d := j.At(dispatch)
	switch r.Kind {
	case shader.StorageBuffer:
		return l.bindStorage(j, d, r, e.info.MaxStorage)
	case shader.UniformBuffer:
		return e.bindBlock(j, dispatch, r, l)
	case shader.AtomicCounter:
		return e.bindCounters(j, r, l)
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
	return l.setUniform(d, h, r)
}

func (l *layout) bindStorage(j *Job, d *Dispatch, r *shader.Resource, limit int64) error {
	b, given := l.storage(j, d, uint32(r.Binding))
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
func checkOperand(j *Job, binding uint32, size int, output bool) error {
	used := false
	for i := range j.Count() {
		d := j.At(i)
		if !usesStorage(d, binding) || slices.ContainsFunc(d.Buffers, func(b Bound) bool { return b.Binding == binding }) {
			continue
		}
		used = true
		if d.Host != nil {
			continue
		}
		h := handleOf(d)
		for _, r := range h.Interface().Resources {
			if r.Kind == shader.StorageBuffer && r.Binding == int32(binding) {
				if err := checkSize(&r, size, true); err != nil {
					return fmt.Errorf("executor: program %s: %w", h.Name(), err)
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
