//go:build linux

package client

import (
	"context"
	"fmt"

	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/server/internal/wire"
)

// Pending is a submitted job, or a run of a plan. It belongs to one goroutine at a time
// and has to be waited for or released.
type Pending struct {
	c      *Client
	call   call
	inline [][]byte // destinations of the inline outputs, in order
	staged []stagedOperand
	reads  []func() // by which the caller reads outputs that are copied; not called yet
	over   bool
	err    error
}

// stagedOperand is an operand in shared memory of its own.
type stagedOperand struct {
	*Memory
	to []byte // where it is copied; nil: an input
}

// input returns the operand of an input.
func (p *Pending) input(ctx context.Context, data []byte) (wire.Operand, error) {
	if operand, ok := p.c.shared(data); ok {
		return operand, nil
	}
	if len(data) <= inlineBytes {
		return wire.Operand{Place: wire.PlaceInline, Data: data}, nil
	}
	m, err := p.c.stage(ctx, len(data))
	if err != nil {
		return wire.Operand{}, err
	}
	p.staged = append(p.staged, stagedOperand{m, nil})
	copy(m.bytes, data)
	return m.operand(0, len(data)), nil
}

// output returns the operand of an output, which the caller reads by a function unless that is nil.
func (p *Pending) output(ctx context.Context, to []byte, read func([]byte)) (wire.Operand, error) {
	if read != nil {
		p.reads = append(p.reads, func() { read(to) })
	}
	if operand, ok := p.c.shared(to); ok {
		return operand, nil
	}
	if len(to) <= inlineBytes {
		p.inline = append(p.inline, to)
		return wire.Operand{Place: wire.PlaceInline, Size: uint64(len(to))}, nil
	}
	m, err := p.c.stage(ctx, len(to))
	if err != nil {
		return wire.Operand{}, err
	}
	p.staged = append(p.staged, stagedOperand{m, to})
	return m.operand(0, len(to)), nil
}

// unstage gives back staged memory: for reuse only where no job uses it. One that failed, as
// by its deadline, may still run, and write it.
func (p *Pending) unstage(unused bool) {
	for _, s := range p.staged {
		if unused {
			p.c.unstage(s.Memory)
		} else {
			s.Release()
		}
	}
	p.staged = nil
}

// submit sends the request, unless to make it failed with err.
func (p *Pending) submit(ctx context.Context, sent wire.Type, m wire.Message, err error) (job.Pending, error) {
	for _, to := range p.inline {
		p.call.room += len(to)
	}
	p.call.sent, p.call.deliver = sent, p.deliver
	if err == nil {
		err = p.c.start(ctx, &p.call, m)
	}
	if err != nil {
		p.unstage(true)
		return nil, err
	}
	return p, nil
}

// deliver copies the inline outputs. The reader calls it.
func (p *Pending) deliver(body []byte) error {
	var reply wire.Data
	if err := wire.Decode(body, &reply); err != nil {
		return err
	}
	return p.take(reply.Data)
}

// take copies the inline outputs from the bytes of a reply, which has these and no others.
func (p *Pending) take(data []byte) error {
	left := len(data)
	for _, to := range p.inline {
		left -= len(to)
	}
	if left != 0 {
		return fmt.Errorf("%w: a reply with %d bytes of outputs, not %d", ErrMalformed, len(data), len(data)-left)
	}
	for _, to := range p.inline {
		data = data[copy(to, data):]
	}
	return nil
}

// deliverStaged copies the outputs in staged memory.
func (p *Pending) deliverStaged() {
	for _, s := range p.staged {
		copy(s.to, s.bytes)
	}
}

// Wait waits for the job and delivers its outputs. When ctx ends first it returns an
// error, the job continues, and Wait may be called again. Otherwise further calls return
// the same error.
func (p *Pending) Wait(ctx context.Context) error {
	if err := p.deliverOnce(ctx); err != nil {
		return err
	}
	for len(p.reads) > 0 {
		next := p.reads[0]
		p.reads = p.reads[1:] // even if it panics
		next()
	}
	return nil
}

// deliverOnce waits for the job, and copies its outputs the first time.
func (p *Pending) deliverOnce(ctx context.Context) error {
	if p.over {
		return p.err
	}
	if err := p.c.wait(ctx, &p.call); err != nil && !p.call.ended.Load() {
		return err
	}
	p.over, p.err = true, p.call.err
	if p.err == nil {
		p.deliverStaged()
	}
	p.unstage(p.err == nil)
	return p.err
}

// Done returns a channel that is closed when Wait would return without waiting.
func (p *Pending) Done() <-chan struct{} {
	p.call.awaited.Store(true)
	return p.call.done
}

// Release discards the result, and cancels the job if it has not started. It may be
// called again, and does nothing after Wait has delivered.
func (p *Pending) Release() {
	if p.over {
		return
	}
	p.over, p.err = true, job.ErrReleased
	if !p.call.ended.Load() {
		p.c.cancel(&p.call)
		<-p.call.done // the server answers a cancel at once
	}
	p.unstage(p.call.err == nil)
}
