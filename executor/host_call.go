package executor

import (
	"errors"
	"fmt"
	"slices"

	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/shader"
)

// HostCall is a part of a job that the host computes, for drivers that run kernels on the
// CPU (glctx.Info.Software): there a dispatch may cost more than its work. On other drivers
// Submit returns [glctx.ErrNotSoftware].
type HostCall struct {
	Name string // in errors and traces

	// Bindings are the storage bindings whose memory Call gets, in this order: memory of the
	// dispatch, or inputs and outputs of the job, each as long as it was bound.
	Bindings []uint32

	// Call is called on the GL thread, in the order of the dispatches: it reads what
	// dispatches before it wrote, and those after it read what it writes. It must not keep
	// memory, write what is bound as ReadOnly, or use the executor. Its error is that of the
	// job; later dispatches of the job do not run then.
	Call func(memory [][]byte) error
}

// UsesStorage reports whether a dispatch uses what is bound to a storage binding.
func (d *Dispatch) UsesStorage(binding uint32) bool {
	if d.Host != nil {
		return slices.Contains(d.Host.Bindings, binding)
	}
	return d.Program != nil && slices.ContainsFunc(d.Program.Interface().Resources, func(r shader.Resource) bool {
		return r.Kind == shader.StorageBuffer && r.Binding == int32(binding)
	})
}

// checkHost checks a call of the host and adds its command to the layout.
func (e *Executor) checkHost(job *Job, i int, l *layout) error {
	d := job.dispatch(i)
	switch {
	case !e.info.Software():
		return glctx.ErrNotSoftware
	case d.Host.Call == nil:
		return errors.New("it has no Call")
	case d.Program != nil || d.Groups != [3]uint32{} || d.GroupSize != [3]uint32{} || d.Indirect != nil ||
		len(d.Uniforms)+len(d.Params)+len(d.Blocks)+len(d.Images)+len(d.Textures) > 0:
		return errors.New("it has a program too, or what only programs use")
	}
	for k := range d.Memory {
		if err := e.checkBound(&d.Memory[k]); err != nil {
			return fmt.Errorf("memory at binding %d: %w", d.Memory[k].Binding, err)
		}
	}
	for _, binding := range d.Host.Bindings {
		b, given := l.storage(job, d, binding)
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
func (r *recorder) onHost(gl *glctx.GL, s *slot, call *HostCall, binds []bind) error {
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
