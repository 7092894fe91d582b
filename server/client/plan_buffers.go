//go:build linux

package client

import (
	"context"
	"fmt"

	"github.com/shadercache/shadercache/server/wire"
)

// SubmitBuffers is Submit from a buffer to another one: data stays on the GPU. A matrix
// product with a beta adds to what output has.
func (p *Plan) SubmitBuffers(ctx context.Context, input, output *Buffer) (*Pending, error) {
	if p.released.Load() || input.released.Load() || output.released.Load() {
		return nil, ErrReleased
	}
	if input.c != p.c || output.c != p.c {
		return nil, fmt.Errorf("%w: a buffer of another client", ErrInvalid)
	}
	if input.Size() < 4*p.InputLen() || output.Size() < 4*p.OutputLen() {
		return nil, fmt.Errorf("%w: buffers of %d bytes in and %d out, the plan takes %d and makes %d",
			ErrInvalid, input.Size(), output.Size(), 4*p.InputLen(), 4*p.OutputLen())
	}
	pending := &Pending{c: p.c, sent: wire.TypeRun}
	m := wire.Run{Plan: p.id, Deadline: deadlineOf(ctx), Input: input.operand(0, 0), Output: output.operand(0, 0)}
	if err := pending.submit(ctx, &m); err != nil {
		return nil, err
	}
	return pending, nil
}
