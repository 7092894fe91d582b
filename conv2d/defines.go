//go:build linux

package conv2d

import (
	"fmt"
	"maps"
	"strconv"

	"github.com/shadercache/shadercache/shader"
)

// onOff is a condition as a define.
func onOff(v bool) string {
	if v {
		return "1"
	}
	return "0"
}

// checkGrids fails where the device cannot start that many groups.
func checkGrids(problem fmt.Stringer, on device, grids ...[3]int) error {
	for _, groups := range grids {
		for axis, n := range groups {
			if n > int(on.maxGroups[axis]) {
				return fmt.Errorf("conv2d: %v needs %d work groups along %c, this device allows %d: split the problem",
					problem, n, 'x'+rune(axis), on.maxGroups[axis])
			}
		}
	}
	return nil
}

// maxUnrolled is the most sums of an invocation over which Mesa is sure to unroll the loops:
// no candidate has more.
const maxUnrolled = 128

// checkLoops fails where a software driver would end the loops of a kernel for GPUs before
// the last step: see maxLoopIterations. Each step has a loop over its depth, and two over
// the vectors that an invocation copies.
func checkLoops(on device, sums, steps, depth, copies int) error {
	each := 1 + loopCost(depth) + 2*loopCost(copies)
	if on.software && (sums > maxUnrolled || product(steps, each) > maxLoopIterations) {
		return fmt.Errorf("conv2d: %d steps, each with %d loop iterations and %d sums: a driver that runs on the CPU ends such loops early (hint: more parts, or an algorithm for the CPU)",
			steps, each, sums)
	}
	return nil
}

// merged returns all defines of lists; the later ones win.
func merged(lists ...shader.Defines) shader.Defines {
	all := shader.Defines{}
	for _, d := range lists {
		maps.Copy(all, d)
	}
	return all
}

// defines are numbers as a kernel takes them.
func defines(values map[string]int) shader.Defines {
	d := shader.Defines{}
	for name, v := range values {
		d[name] = strconv.Itoa(v)
	}
	return d
}
