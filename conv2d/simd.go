//go:build linux

package conv2d

import (
	"regexp"
	"strconv"
)

// simdBits matches the register width in the name of llvmpipe, as in "llvmpipe (LLVM
// 15.0.6, 256 bits)".
var simdBits = regexp.MustCompile(`\b(\d+) bits\b`)

// simdBitsOf returns the width of the CPU's registers by GL_RENDERER, 0 without one.
func simdBitsOf(gpu string) int {
	found := simdBits.FindStringSubmatch(gpu)
	if found == nil {
		return 0
	}
	bits, _ := strconv.Atoi(found[1]) // digits; beyond an int they are of no known width
	return bits
}

// simdLanes returns the number of invocations that a software GPU runs as one: 8
// where the width is not known, which is right for most CPUs and costs only speed
// elsewhere.
func (d device) simdLanes() int {
	switch lanes := d.simdBits / 32; lanes {
	case 4, 8, 16:
		return lanes
	}
	return 8
}
