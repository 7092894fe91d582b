//go:build linux

package server

import (
	"github.com/shadercache/shadercache/executor"
	"github.com/shadercache/shadercache/server/internal/wire"
)

// largeOperand is the size from which an operand of a job that does not fit into a slot
// gets memory of its own on the device.
const largeOperand = 64 << 10

// moveLarge gives the large operands of a job that does not fit into a slot memory of
// their own: inputs are copied there before the job is submitted, outputs from there when
// it is done.
func (s *session) moveLarge(r *running) error {
	// Half of a slot leaves room for the padding of small operands.
	if room := s.server.executor.SlotBytes() / 2; r.in+paramsBytes(r) <= room && r.out <= room {
		return nil
	}
	// More has only a job whose operands are the same bytes many times.
	if limit := max(s.server.options.Limits.Memory, 2*wire.MaxBody); uint64(r.in)+uint64(r.out) > limit {
		return reject(wire.CodeQuota, "a job that copies %d bytes in and %d out: %d are possible together", r.in, r.out, limit)
	}
	inputs := r.job.Inputs[:0]
	for _, in := range r.job.Inputs {
		if len(in.Data) < largeOperand {
			inputs = append(inputs, in)
			continue
		}
		if err := r.checkOperand(in.Binding, len(in.Data), false); err != nil {
			return err
		}
		memory, err := s.deviceMemory(r, len(in.Data))
		if err != nil {
			return err
		}
		if err := memory.UploadInPieces(s.ctx, 0, in.Data); err != nil {
			return err
		}
		r.bind(executor.Bound{Binding: in.Binding, Memory: memory, ReadOnly: true})
	}
	r.job.Inputs = inputs
	outputs := r.job.Outputs[:0]
	for _, out := range r.job.Outputs {
		if len(out.To) < largeOperand {
			outputs = append(outputs, out)
			continue
		}
		if err := r.checkOperand(out.Binding, len(out.To), true); err != nil {
			return err
		}
		memory, err := s.deviceMemory(r, len(out.To))
		if err != nil {
			return err
		}
		r.late = append(r.late, download{memory, out.To})
		r.bind(executor.Bound{Binding: out.Binding, Memory: memory})
	}
	r.job.Outputs = outputs
	return nil
}

// checkOperand checks an operand that the executor binds as memory, as it would check an input
// or output.
func (r *running) checkOperand(binding uint32, size int, output bool) error {
	used, err := r.job.CheckSize(binding, size)
	if err == nil && output && !used {
		return reject(wire.CodeInvalid, "output at binding %d: no program of the job has a storage block there", binding)
	}
	return err
}

func paramsBytes(r *running) int {
	n := len(r.job.Params)
	for i := range r.job.Then {
		n += len(r.job.Then[i].Params)
	}
	return n
}

// deviceMemory makes memory that lives as long as the job.
func (s *session) deviceMemory(r *running, size int) (*executor.Memory, error) {
	s.server.watch.begin(false)
	defer s.server.watch.end(false)
	memory, err := s.server.executor.NewMemory(size)
	if err == nil {
		r.device = append(r.device, memory)
	}
	return memory, err
}

// bind binds memory for every dispatch that has nothing of its own at the binding.
func (r *running) bind(bound executor.Bound) {
	r.job.Memory = withBound(r.job.Memory, bound)
	for i := range r.job.Then {
		r.job.Then[i].Memory = withBound(r.job.Then[i].Memory, bound)
	}
}

func withBound(list []executor.Bound, bound executor.Bound) []executor.Bound {
	for i := range list {
		if list[i].Binding == bound.Binding {
			return list
		}
	}
	return append(list, bound)
}
