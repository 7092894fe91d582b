//go:build linux

package client

import (
	"context"
	"fmt"
	"math"

	"github.com/shadercache/shadercache/server/wire"
)

// Job is one unit of work: inputs, one dispatch or a chain of them, outputs. It mirrors
// executor.Job. It and its slices may be reused when Submit returns, except for an
// Output's To, which is written until Wait has returned.
type Job struct {
	Dispatch
	Then    []Dispatch // further dispatches, each after the writes of the one before
	Inputs  []Input    // bound for every dispatch of the job
	Outputs []Output   // bound for every dispatch of the job
}

// Dispatch is one dispatch of a program. Every storage block and uniform block of the
// program must be bound, and every uniform set.
type Dispatch struct {
	Program *Program
	Groups  [3]uint32 // work groups along x, y and z

	// Buffers are bound for this dispatch. They take precedence over inputs and outputs.
	Buffers []Bound

	// Uniforms are the values of uniforms outside any block.
	Uniforms []Uniform

	// Params is the content of the uniform block at ParamsBinding.
	Params        []byte
	ParamsBinding uint32
}

// Bound is a buffer at a storage binding.
type Bound struct {
	Binding  uint32
	Buffer   *Buffer
	Offset   int  // bytes
	Size     int  // bytes; 0 is the rest of the buffer
	ReadOnly bool // the program only reads it
}

// Input is data for the storage block at Binding: Data, or Size bytes of Memory at Offset.
type Input struct {
	Binding      uint32
	Data         []byte
	Memory       *Memory
	Offset, Size int
}

// Output is the destination of the storage block at Binding: To, or Size bytes of Memory
// at Offset.
type Output struct {
	Binding      uint32
	To           []byte
	Memory       *Memory
	Offset, Size int
}

// Uniform is a value for a uniform outside any block.
type Uniform struct {
	name string
	kind wire.UniformKind
	bits uint32
}

// Int returns a value for an int or bool uniform.
func Int(name string, v int32) Uniform { return Uniform{name, wire.UniformInt, uint32(v)} }

// Uint returns a value for a uint uniform.
func Uint(name string, v uint32) Uniform { return Uniform{name, wire.UniformUint, v} }

// Float returns a value for a float uniform.
func Float(name string, v float32) Uniform {
	return Uniform{name, wire.UniformFloat, math.Float32bits(v)}
}

// Submit sends a job. It waits while the session has as many unanswered jobs as the server
// allows. ctx also gives the job its deadline, see the package documentation. Every
// Pending has to be waited for or released.
func (c *Client) Submit(ctx context.Context, job *Job) (*Pending, error) {
	p := &Pending{c: c, sent: wire.TypeJob}
	m := wire.Job{Deadline: deadlineOf(ctx)}
	if err := p.operands(ctx, &m, job); err != nil {
		p.unstage(true)
		return nil, err
	}
	m.Dispatches = make([]wire.Dispatch, 0, 1+len(job.Then))
	for i := range 1 + len(job.Then) {
		d := &job.Dispatch
		if i > 0 {
			d = &job.Then[i-1]
		}
		dispatch, err := d.message()
		if err != nil {
			p.unstage(true)
			return nil, err
		}
		m.Dispatches = append(m.Dispatches, dispatch)
	}
	if err := p.submit(ctx, &m); err != nil {
		return nil, err
	}
	return p, nil
}

// operands fills in inputs and outputs. Large ones of the caller's memory go through
// shared memory.
func (p *Pending) operands(ctx context.Context, m *wire.Job, job *Job) error {
	for _, in := range job.Inputs {
		operand, err := p.input(ctx, in.Data, in.Memory, in.Offset, in.Size)
		if err != nil {
			return err
		}
		m.Inputs = append(m.Inputs, wire.Binding{Binding: in.Binding, Operand: operand})
	}
	for _, out := range job.Outputs {
		operand, err := p.output(ctx, out.To, out.Memory, out.Offset, out.Size)
		if err != nil {
			return err
		}
		m.Outputs = append(m.Outputs, wire.Binding{Binding: out.Binding, Operand: operand})
	}
	return nil
}

func (d *Dispatch) message() (wire.Dispatch, error) {
	if d.Program == nil || d.Program.released.Load() {
		return wire.Dispatch{}, fmt.Errorf("client: a dispatch without a program: %w", ErrReleased)
	}
	m := wire.Dispatch{Program: d.Program.id, Groups: d.Groups, Params: d.Params, ParamsBinding: d.ParamsBinding}
	for _, u := range d.Uniforms {
		m.Uniforms = append(m.Uniforms, wire.Uniform{Kind: u.kind, Bits: u.bits, Name: []byte(u.name)})
	}
	for _, b := range d.Buffers {
		if b.Buffer == nil || b.Buffer.released.Load() {
			return wire.Dispatch{}, fmt.Errorf("client: buffer at binding %d: %w", b.Binding, ErrReleased)
		}
		m.Buffers = append(m.Buffers, wire.Binding{Binding: b.Binding, ReadOnly: b.ReadOnly, Operand: b.Buffer.operand(b.Offset, b.Size)})
	}
	return m, nil
}
