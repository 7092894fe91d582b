//go:build linux

package conv2d

import (
	"regexp"
	"strconv"
)

// simdBits is where llvmpipe says how wide its registers are, as in
// "llvmpipe (LLVM 15.0.6, 256 bits)".
var simdBits = regexp.MustCompile(`\b(\d+) bits\b`)

// simdBitsOf reads the width of the CPU's registers from GL_RENDERER, 0 where it
// does not say.
func simdBitsOf(gpu string) int {
	found := simdBits.FindStringSubmatch(gpu)
	if found == nil {
		return 0
	}
	bits, err := strconv.Atoi(found[1])
	if err != nil {
		return 0
	}
	return bits
}

// simdLanes is how many invocations a software GPU runs as one: 8 where it is not
// known, which is right for most CPUs and costs only speed elsewhere.
func (d device) simdLanes() int {
	switch lanes := d.simdBits / 32; lanes {
	case 4, 8, 16:
		return lanes
	}
	return 8
}
