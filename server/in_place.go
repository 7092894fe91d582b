//go:build linux

package server

import (
	"slices"

	"github.com/shadercache/shadercache/executor"
	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/server/internal/wire"
)

// placed is an operand of a job in pinned memory of the client, which kernels read and
// write in place.
type placed struct {
	bound  job.Bound
	output bool
	index  int // in the inputs or outputs of the job
}

// maxInPlace is the most operands of a job of which any is used in place: each is compared
// with the others.
const maxInPlace = 64

// useInPlace adds an operand of size bytes in shared memory to those that are used in
// place, and reports whether that is possible. Otherwise it is copied: where the memory is
// not pinned or the range is not aligned, and where kernels that write an output would
// change an operand that they also read or write under another binding.
func (s *session) useInPlace(r *running, b *wire.Binding, index, size int, output bool) bool {
	pinned := s.pinned(&b.Operand)
	if pinned == nil || b.Operand.Offset%uint64(s.server.context.Info().StorageAlignment) != 0 {
		return false
	}
	if len(r.request.In)+len(r.request.Out) > maxInPlace || !r.isApart(b, output) {
		return false
	}
	bound := job.Bound{Binding: b.Binding, Buffer: pinned, Offset: int(b.Operand.Offset), Size: size, ReadOnly: !output, Zero: output}
	r.inPlace = append(r.inPlace, placed{bound, output, index})
	if output {
		r.placed.out += size
	} else {
		r.placed.in += size
	}
	return true
}

// isApart reports whether no other operand of the job has the binding of b, and none of
// which one is an output has a byte of its range.
func (r *running) isApart(b *wire.Binding, output bool) bool {
	for k, list := range [...][]wire.Binding{r.request.In, r.request.Out} {
		for i := range list {
			other, written := &list[i], output || k == 1
			if other != b && (other.Binding == b.Binding || written && r.task.s.objects.overlap(&other.Operand, &b.Operand)) {
				return false
			}
		}
	}
	return true
}

// overlap reports whether two operands in shared memory, which may have two ids, have a byte in
// common.
func (o *objects) overlap(a, b *wire.Operand) bool {
	x, y := o.memoryOf(a), o.memoryOf(b)
	return x != nil && y != nil && x.inode == y.inode && a.Offset < b.Offset+b.Size && b.Offset < a.Offset+a.Size
}

// bindInPlace binds the operands that are used in place, and takes them from the inputs and
// outputs, with which the job is checked before.
func (r *running) bindInPlace(l *job.Limits) error {
	if len(r.inPlace) == 0 {
		return nil
	}
	j := &r.request.Job
	if err := job.Check(j, l); err != nil {
		return err
	}
	for _, p := range slices.Backward(r.inPlace) {
		executor.BindOperand(j, p.bound)
		if p.output {
			j.Outputs = slices.Delete(j.Outputs, p.index, p.index+1)
		} else {
			j.Inputs = slices.Delete(j.Inputs, p.index, p.index+1)
		}
	}
	return nil
}
