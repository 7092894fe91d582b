package executor

import (
	"errors"
	"fmt"

	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/job"
)

// checkHost checks a call of the host and adds its command to the layout.
func (e *Executor) checkHost(j *Job, i int, l *layout) error {
	d := j.At(i)
	switch {
	case !e.info.Software():
		return glctx.ErrNotSoftware
	case d.Host.Call == nil:
		return errors.New("it has no Call")
	case d.Program != nil || d.Groups != [3]uint32{} || d.GroupSize != [3]uint32{} || d.Indirect != nil ||
		len(d.Uniforms)+len(d.Params)+len(d.Blocks)+len(d.Images)+len(d.Textures) > 0:
		return errors.New("it has a program too, or what only programs use")
	}
	for k := range d.Buffers {
		if err := e.checkBound(&d.Buffers[k]); err != nil {
			return fmt.Errorf("memory at binding %d: %w", d.Buffers[k].Binding, err)
		}
	}
	for _, binding := range d.Host.Bindings {
		b, given := l.storage(j, d, binding)
		if given != 1 {
			return fmt.Errorf("binding %d is bound %d times, not once", binding, given)
		}
		b.binding = binding
		l.binds = append(l.binds, b)
	}
	l.commands = append(l.commands, command{
		host: d.Host, chained: i > 0, operations: d.Operations,
		binds: len(l.binds), values: len(l.values), images: len(l.images), textures: len(l.textures),
	})
	return nil
}

// onHost calls a call of the host with the memory of its binds.
func (r *recorder) onHost(gl *glctx.GL, s *slot, call *job.HostCall, binds []bind) error {
	ranges := make([]glctx.HostRange, len(binds))
	for i := range binds {
		b := &binds[i]
		ranges[i] = glctx.HostRange{Offset: b.offset, Len: b.size}
		switch b.from {
		case slotInputs:
			ranges[i].Buffer = s.inputs
		case slotOutputs:
			ranges[i].Buffer = s.outputs
		default:
			ranges[i].Buffer, ranges[i].Mapped = b.memory.buffer, b.memory.hostBytes()
		}
	}
	r.synchronize(gl, glctx.BarrierAllKinds)
	for i := range binds {
		if binds[i].zero {
			gl.Clear(ranges[i].Buffer, ranges[i].Offset, ranges[i].Len)
		}
	}
	if err := gl.OnHost(ranges, call.Call); err != nil {
		return fmt.Errorf("executor: %s on the host: %w", call.Name, err)
	}
	return nil
}

// hostBytes returns the memory where it stays mapped, else nil.
func (m *Memory) hostBytes() []byte { return glctx.Bytes(m.mapped.Words) }
