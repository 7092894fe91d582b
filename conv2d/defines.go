//go:build linux

package conv2d

import (
	"fmt"
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

// defines are numbers as a kernel takes them.
func defines(values map[string]int) shader.Defines {
	d := shader.Defines{}
	for name, v := range values {
		d[name] = strconv.Itoa(v)
	}
	return d
}
