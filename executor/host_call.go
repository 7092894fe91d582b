package executor

import (
	"fmt"

	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/job"
)

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
			ranges[i].Buffer, ranges[i].Mapped = b.memory.buffer, glctx.Bytes(b.memory.mapped.Words) // nil where it does not stay mapped
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
