//go:build linux

package interpreter

import "context"

// RunContinuousTotal runs total instructions on each machine as [Interpreter.RunContinuous]
// does, without a bound on batches or time.
func (v *Interpreter) RunContinuousTotal(ctx context.Context, total uint64) (Result, error) {
	p := v.batches("continuous")
	p.total, p.depth = total, maxInFlight
	return v.run(ctx, p)
}
