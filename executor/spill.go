package executor

import (
	"context"
	"slices"

	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/shader"
)

// largeOperand is the size from which an operand of a job that does not fit into a slot gets
// memory of its own.
const largeOperand = 64 << 10

// Spill has memory of the device for operands of one job that are too large for a slot. The
// zero Spill is empty, and so is one after Release. It belongs to one goroutine at a time.
type Spill struct {
	memory []*Memory
	late   []lateOutput
}

// lateOutput is an output that is copied when the job is done.
type lateOutput struct {
	from *Memory
	to   []byte
	read func([]byte) // nil: it is copied only
}

// Move gives the large operands of a job that does not fit into a slot memory that newMemory
// makes: inputs are copied there now, outputs from there by Deliver. It returns the job to
// submit: j, or a copy of it. It returns errors of Submit.
func (s *Spill) Move(ctx context.Context, e *Executor, j *job.Job, newMemory func(size int) (*Memory, error)) (*job.Job, error) {
	if e.HasRoom(j) {
		return j, nil
	}
	if err := job.Check(j, &e.info.Limits); err != nil {
		return nil, err
	}
	to := j.Clone()
	to.Inputs, to.Outputs = nil, nil
	// What is left takes no more than half of a slot together.
	large := min(largeOperand, e.options.SlotBytes/2/(1+len(j.Inputs)+len(j.Outputs)+len(j.TextureInputs)+len(j.TextureOutputs)))
	for i := range j.Inputs {
		in := &j.Inputs[i]
		if operandSize(in.Data, in.Size) < large {
			to.Inputs = append(to.Inputs, *in)
		} else if err := s.moveInput(ctx, to, in, newMemory); err != nil {
			return nil, err
		}
	}
	for i := range j.Outputs {
		out := &j.Outputs[i]
		if operandSize(out.To, out.Size) < large {
			to.Outputs = append(to.Outputs, *out)
		} else if err := s.moveOutput(to, out, newMemory); err != nil {
			return nil, err
		}
	}
	return to, s.moveTexels(ctx, to, large, newMemory)
}

// HasRoom reports whether a job fits into a slot, so that Move makes no memory for it: half of
// one leaves room for the padding of small operands.
func (e *Executor) HasRoom(j *job.Job) bool {
	in, out := 0, 0
	for i := range j.Count() {
		d := j.At(i)
		in += len(d.Params)
		for k := range d.Blocks {
			in += len(d.Blocks[k].Data)
		}
	}
	for i := range j.Inputs {
		in += operandSize(j.Inputs[i].Data, j.Inputs[i].Size)
	}
	for i := range j.Outputs {
		out += operandSize(j.Outputs[i].To, j.Outputs[i].Size)
	}
	for i := range j.TextureInputs {
		if x := &j.TextureInputs[i]; x.Buffer == nil {
			_, n, _ := x.Place() // an error is that of the check
			in += n
		}
	}
	for i := range j.TextureOutputs {
		if x := &j.TextureOutputs[i]; x.Buffer == nil {
			_, n, _ := x.Place()
			out += n
		}
	}
	return max(in, out) <= e.options.SlotBytes/2
}

// operandSize returns the size of a slice, or else of what a function fills or reads.
func operandSize(slice []byte, size int) int { return max(len(slice), size) }

func (s *Spill) moveInput(ctx context.Context, j *job.Job, in *job.Input, newMemory func(int) (*Memory, error)) error {
	data, err := in.Bytes()
	if err != nil {
		return err
	}
	m, err := s.Upload(ctx, data, newMemory)
	if err != nil {
		return err
	}
	BindOperand(j, job.Bound{Binding: in.Binding, Buffer: m, ReadOnly: true})
	return nil
}

func (s *Spill) moveOutput(j *job.Job, out *job.Output, newMemory func(int) (*Memory, error)) error {
	to, err := out.Bytes()
	if err != nil {
		return err
	}
	m, err := s.Download(to, out.Read, newMemory)
	if err != nil {
		return err
	}
	BindOperand(j, job.Bound{Binding: out.Binding, Buffer: m})
	return nil
}

// moveTexels moves the large texels of a job that is its own.
func (s *Spill) moveTexels(ctx context.Context, j *job.Job, large int, newMemory func(int) (*Memory, error)) error {
	for i := range j.TextureInputs {
		in := &j.TextureInputs[i]
		region, n, err := in.Place()
		if err != nil || n < large || in.Buffer != nil {
			continue
		}
		data, err := in.Bytes()
		if err != nil {
			return err
		}
		m, err := s.Upload(ctx, data, newMemory)
		if err != nil {
			return err
		}
		*in = job.TextureInput{Texture: in.Texture, Region: region, Buffer: m}
	}
	for i := range j.TextureOutputs {
		out := &j.TextureOutputs[i]
		region, n, err := out.Place()
		if err != nil || n < large || out.Buffer != nil {
			continue
		}
		to, read, err := out.Bytes()
		if err != nil {
			return err
		}
		m, err := s.Download(to, read, newMemory)
		if err != nil {
			return err
		}
		*out = job.TextureOutput{Texture: out.Texture, Region: region, Buffer: m}
	}
	return nil
}

// Upload returns memory of the Spill that has data.
func (s *Spill) Upload(ctx context.Context, data []byte, newMemory func(int) (*Memory, error)) (*Memory, error) {
	m, err := s.add(len(data), newMemory)
	if err != nil {
		return nil, err
	}
	return m, m.UploadInPieces(ctx, 0, data)
}

// Download returns memory of the Spill that Deliver copies to a slice, and passes to read unless that is
// nil.
func (s *Spill) Download(to []byte, read func([]byte), newMemory func(int) (*Memory, error)) (*Memory, error) {
	m, err := s.add(len(to), newMemory)
	if err == nil {
		s.late = append(s.late, lateOutput{m, to, read})
	}
	return m, err
}

func (s *Spill) add(size int, newMemory func(int) (*Memory, error)) (*Memory, error) {
	m, err := newMemory(size)
	if err == nil {
		s.memory = append(s.memory, m)
	}
	return m, err
}

// Delivers reports whether Deliver copies outputs.
func (s *Spill) Delivers() bool { return len(s.late) > 0 }

// Deliver copies outputs of a job that is done, and then calls their Read functions.
func (s *Spill) Deliver(ctx context.Context) error {
	for i := range s.late {
		if err := s.late[i].from.DownloadInPieces(ctx, 0, s.late[i].to); err != nil {
			return err
		}
	}
	for i := range s.late {
		if out := &s.late[i]; out.read != nil {
			out.read(out.to)
		}
	}
	return nil
}

// Release releases the memory. A job that runs retains what it uses.
func (s *Spill) Release() {
	for _, m := range s.memory {
		m.Release()
	}
	clear(s.memory)
	clear(s.late)
	s.memory, s.late = s.memory[:0], s.late[:0]
}

// BindOperand binds memory in place of an input or output, for every dispatch that has a block
// at the binding, and nothing of its own there. The job was checked with the operand.
func BindOperand(j *job.Job, b job.Bound) {
	uses := func(r shader.Resource) bool { return r.Kind == shader.StorageBuffer && r.Binding == int32(b.Binding) }
	for i := range j.Count() {
		d := j.At(i)
		if d.Host == nil && !slices.ContainsFunc(d.Program.Interface().Resources, uses) {
			continue // else each large operand would be in the list of each dispatch
		}
		if !slices.ContainsFunc(d.Buffers, func(other job.Bound) bool { return other.Binding == b.Binding }) {
			d.Buffers = append(slices.Clip(d.Buffers), b)
		}
	}
}
