//go:build linux

package actors

import (
	"testing"

	"github.com/shadercache/shadercache/resident/residenttest"
)

func TestKernelsCompileAlone(t *testing.T) {
	t.Parallel()
	residenttest.CompileAlone(t, kernels, "kernels/*.comp", 4)
}
