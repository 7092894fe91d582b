package executor

import "context"

// Await waits until Wait would return without waiting. It delivers nothing, so that the
// caller can decide then whether Wait or Release is to follow. It returns nil or
// ctx.Err().
func (p *Pending) Await(ctx context.Context) error {
	if p.Ready() {
		return nil
	}
	return p.batch.wait(ctx)
}
