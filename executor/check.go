package executor

import (
	"errors"
	"fmt"

	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/job/texel"
	"github.com/shadercache/shadercache/shader"
)

// checkJob checks a job against its programs, the device and the size of a slot, and
// fills in its layout. It reads nothing that can change before the job runs.
func (e *Executor) checkJob(j *job.Job, l *layout) error {
	c := job.Checker{Job: j, Limits: &e.info.Limits, Uses: &l.uses}
	if err := e.placeParts(j, l); err != nil {
		return err
	}
	for i := range j.Count() {
		d := j.At(i)
		if d.Host != nil {
			if err := e.checkHost(&c, i, l); err != nil {
				return fmt.Errorf("executor: %w: %s on the host: %w", job.ErrInvalid, d.Host.Name, err)
			}
			continue
		}
		h := handleOf(d)
		if h == nil {
			return fmt.Errorf("executor: %w: dispatch %d has no program of the executor's cache", job.ErrInvalid, i)
		}
		if err := e.checkDispatch(&c, i, h, l); err != nil {
			return fmt.Errorf("executor: %w: program %s: %w", job.ErrInvalid, h.Name(), err)
		}
	}
	if err := c.End(); err != nil {
		return fmt.Errorf("executor: %w", err)
	}
	l.work = workOf(l.commands)
	return nil
}

// placeParts gives everything that a job copies its place.
func (e *Executor) placeParts(j *job.Job, l *layout) error {
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
		return fmt.Errorf("executor: %w: the job takes %d bytes in and %d out, a slot has %d each way: raise SlotBytes",
			job.ErrInvalid, l.upBytes, l.downBytes, e.options.SlotBytes)
	}
	return nil
}

// checkDispatch checks the i-th dispatch and adds its command to the layout.
func (e *Executor) checkDispatch(c *job.Checker, i int, h *cache.Handle, l *layout) error {
	d := c.Job.At(i)
	if err := e.checkObjects(d, l); err != nil {
		return err
	}
	of := h.Interface()
	if err := c.Dispatch(i, &of); err != nil {
		return err
	}
	l.bindUses(c)
	added := l.addCommand(command{
		program: h.Program(), groups: d.Groups, size: d.GroupSize, chained: i > 0, operations: d.Operations, barriers: l.barriers(c.Job),
	})
	if d.Indirect != nil {
		added.indirect, added.offset = memoryOf(d.Indirect.Buffer), d.Indirect.Offset
	}
	return nil
}

// checkHost checks a call of the host and adds its command to the layout.
func (e *Executor) checkHost(c *job.Checker, i int, l *layout) error {
	if !e.info.Software() {
		return glctx.ErrNotSoftware
	}
	d := c.Job.At(i)
	if err := e.checkObjects(d, l); err != nil {
		return err
	}
	if err := c.Host(i); err != nil {
		return err
	}
	l.bindUses(c)
	l.addCommand(command{host: d.Host, chained: i > 0, operations: d.Operations})
	return nil
}

// addCommand adds the command of a dispatch, behind all that it binds.
func (l *layout) addCommand(c command) *command {
	c.binds, c.values, c.images, c.textures = len(l.binds), len(l.values), len(l.images), len(l.textures)
	l.commands = append(l.commands, c)
	return &l.commands[len(l.commands)-1]
}

// checkObjects checks that what a dispatch binds is of the executor, and adds it to the layout.
func (e *Executor) checkObjects(d *job.Dispatch, l *layout) error {
	for k := range d.Buffers {
		if err := e.checkMemory(memoryOf(d.Buffers[k].Buffer), l); err != nil {
			return fmt.Errorf("memory at binding %d: %w", d.Buffers[k].Binding, err)
		}
	}
	for k := range d.Blocks {
		b := &d.Blocks[k]
		if err := e.checkMemory(memoryOf(b.Buffer), l); b.Buffer != nil && err != nil {
			return fmt.Errorf("uniform block at binding %d: %w", b.Binding, err)
		}
	}
	for k := range d.Images { // one without a texture is the program's concern
		t := d.Images[k].Texture
		if err := e.checkTexture(textureOf(t), l); t != nil && err != nil {
			return fmt.Errorf("image %d: %w", k, err)
		}
	}
	for k := range d.Textures {
		t := d.Textures[k].Texture
		if err := e.checkTexture(textureOf(t), l); t != nil && err != nil {
			return fmt.Errorf("texture %d: %w", k, err)
		}
	}
	if d.Indirect == nil {
		return nil
	}
	if err := e.checkMemory(memoryOf(d.Indirect.Buffer), l); err != nil {
		return fmt.Errorf("indirect work groups: %w", err)
	}
	return nil
}

func (e *Executor) checkMemory(m *Memory, l *layout) error {
	switch {
	case m == nil:
		return errors.New("there is no memory")
	case m.e != e:
		return errors.New("it belongs to another executor")
	case m.released.Load():
		return errMemoryReleased
	}
	l.objects = append(l.objects, &m.object)
	return nil
}

// bindUses adds what the resources of a dispatch are bound to, and their values, to the layout.
func (l *layout) bindUses(c *job.Checker) {
	for i := range l.uses {
		u := &l.uses[i]
		d, r := c.Job.At(u.Dispatch), u.Resource
		switch {
		case r == nil || r.Kind == shader.StorageBuffer:
			l.bindStorage(d, u)
		case r.Kind == shader.UniformBuffer:
			l.bindBlock(c, d, u)
		case r.Kind == shader.AtomicCounter:
			l.bindCounters(c, u)
		case r.Opaque() == "image":
			l.bindImage(&d.Images[u.Index], u)
		case r.Opaque() == "sampler":
			of := &d.Textures[u.Index]
			l.textures = append(l.textures, textureBind{u.Binding, textureOf(of.Texture), of.Sampler})
		default:
			v := &d.Uniforms[u.Index]
			l.values = append(l.values, value{r.Binding, r.Type, span{len(l.words), v.Bytes()}})
			l.words = v.AppendTo(l.words)
		}
	}
	l.uses = l.uses[:0]
}

func (l *layout) bindStorage(d *job.Dispatch, u *job.Use) {
	b := bind{binding: u.Binding}
	switch {
	case u.Input:
		b.from, b.span = slotInputs, l.inputs[u.Index]
	case u.Output:
		b.from, b.span = slotOutputs, l.outputs[u.Index]
	default:
		of := &d.Buffers[u.Index]
		b.from, b.readOnly, b.memory, b.span = deviceMemory, of.ReadOnly, memoryOf(of.Buffer), span{of.Offset, of.Len()}
		b.zero = of.Zero && !l.isBefore(&b)
	}
	l.binds = append(l.binds, b)
}

// earlierBinds returns what the dispatches bind that have a command: those before the one that is checked.
func (l *layout) earlierBinds() []bind {
	if n := len(l.commands); n > 0 {
		return l.binds[:l.commands[n-1].binds]
	}
	return nil
}

// isBefore reports whether an earlier dispatch binds the range of b to a storage block. It looks at each
// bind once, however many ask.
func (l *layout) isBefore(b *bind) bool {
	if l.stored == nil {
		l.stored = map[region]struct{}{}
	}
	earlier := l.earlierBinds()
	for ; l.known < len(earlier); l.known++ {
		if o := &earlier[l.known]; o.from == deviceMemory {
			l.stored[region{o.memory, o.span}] = struct{}{}
		}
	}
	_, is := l.stored[region{b.memory, b.span}]
	return is
}

func (l *layout) bindBlock(c *job.Checker, d *job.Dispatch, u *job.Use) {
	b := bind{binding: u.Binding, from: slotParams}
	if u.Index < 0 {
		b.span = l.params[u.Dispatch]
	} else if of := &d.Blocks[u.Index]; of.Buffer != nil {
		bound := job.Bound{Buffer: of.Buffer, Offset: of.Offset, Size: of.Size}
		b.from, b.readOnly, b.memory, b.span = deviceBlock, true, memoryOf(of.Buffer), span{of.Offset, bound.Len()}
	} else {
		for ; l.passed < u.Dispatch; l.passed++ {
			l.firstBlock += len(c.Job.At(l.passed).Blocks)
		}
		b.span = l.blocks[l.firstBlock+u.Index]
	}
	b.size = min(b.size, int(max(c.Limits.MaxUniform, int64(u.Resource.Bytes))))
	l.binds = append(l.binds, b)
}

func (l *layout) bindCounters(c *job.Checker, u *job.Use) {
	b := bind{binding: u.Binding, from: slotCounters, span: l.counters[u.Index].down}
	if of := &c.Job.Counters[u.Index]; of.Buffer != nil {
		b.from, b.memory, b.span = deviceCounters, memoryOf(of.Buffer), span{of.Offset, of.Buffer.Size() - of.Offset}
	}
	b.size = min(b.size, int(max(c.Limits.MaxCounters, int64(u.Resource.Bytes))))
	l.binds = append(l.binds, b)
}

func (l *layout) bindImage(im *job.Image, u *job.Use) {
	b := imageBind{unit: u.Binding, texture: textureOf(im.Texture), level: im.Level, layer: im.Layer, access: im.Access, format: im.TexelFormat()}
	if b.texture.texture.Dim == u.Resource.Type.Dim() {
		b.layer = texel.AllLayers
	}
	l.images = append(l.images, b)
}
