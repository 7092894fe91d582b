//go:build linux

// Package loops has the limit of drivers on loops, which all kernels of package resident
// and of its neighbours keep below, and find when they pass it.
package loops

import (
	"errors"
	"fmt"

	"github.com/shadercache/shadercache/glctx"
)

// software is the number of loop turns after which llvmpipe ends loops: a loop of n turns
// takes n + 1.
const software = 65535

// reserve is the part of a limit for the loops of the common part of a kernel and of
// the arithmetic of drivers.
const reserve = 5000

// Limit returns the turns of an invocation, over all its loops together, after which the driver ends loops without an error; 0: it ends none.
func Limit(info glctx.Info) uint32 {
	if info.Software() {
		return software
	}
	return 0
}

// Turns returns how often an invocation may do what takes a number of turns, with
// others that it takes once: 0 where once is too much. A limit of 0 allows any number.
func Turns(limit uint32, each, once uint64) uint64 {
	if limit == 0 {
		return ^uint64(0)
	}
	limit -= min(limit, reserve)
	return (uint64(limit) - min(uint64(limit), once)) / max(each, 1)
}

// ErrTooLong is returned, wrapped, for loops that the driver ends.
var ErrTooLong = errors.New("the kernel has longer loops than the driver allows")

// TooLong returns ErrTooLong, wrapped with what takes more turns than a limit allows.
func TooLong(what string, turns uint64, limit uint32) error {
	return fmt.Errorf("%w: %s takes %d loop turns, and this driver ends the loops of an invocation after %d, without an error (%d are reserved): divide the work",
		ErrTooLong, what, turns, limit, min(limit, reserve))
}
