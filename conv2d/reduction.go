package conv2d

import "fmt"

// maxLoopIterations is the most loop iterations of one invocation in one dispatch.
// Mesa's llvmpipe silently ends all loops of an invocation after 65,535 iterations
// taken together, so that a longer reduction would be wrong without any error; half
// of that leaves room for the loops that do not scale with the problem.
const maxLoopIterations = 32_768

// span is a half-open range of a reduction, or of an axis of a grid, for one dispatch.
type span struct{ first, last int }

// reduction is a long sum, cut into spans of at most step. Each dispatch adds its
// span to the output of the one before.
type reduction struct{ length, step int }

// maxSteps is the most dispatches of a layer: each takes some KiB of the process.
const maxSteps = 4096

// check returns an error for a sum of too many spans, before they are made. Each is cut pieces times.
func (r reduction) check(pieces int) error {
	if steps := pieces * ceilDiv(r.length, r.step); steps > maxSteps {
		return fmt.Errorf("conv2d: %d dispatches are needed, %d are possible: split the problem", steps, maxSteps)
	}
	return nil
}

// spans returns the spans. An empty sum has one, which is empty.
func (r reduction) spans() []span { return spansOf(r.length, r.step) }

// spansOf cuts a range, of which one is left if it is empty.
func spansOf(length, step int) []span {
	list := make([]span, max(1, ceilDiv(length, step)))
	for i := range list {
		first := i * step
		list[i] = span{first, first + min(step, length-first)}
	}
	return list
}

// loopCost returns the iterations that llvmpipe counts for a loop of n: the check
// that ends the loop counts too.
func loopCost(n int) int { return n + 1 }

// reduction counts in filter rows over all channels of a group, C/Groups*R of them. Each costs an
// iteration and a loop over its S taps.
func (p Problem) reduction() reduction {
	return reduction{length: p.groupC() * p.R, step: maxLoopIterations / (1 + loopCost(p.S))}
}
