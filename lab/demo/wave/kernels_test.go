//go:build linux

package wave

import (
	"os"
	"testing"

	"github.com/shadercache/shadercache/resident/residenttest"
)

func TestKernelsCompileAlone(t *testing.T) {
	t.Parallel()
	residenttest.CompileAlone(t, os.DirFS("../../.."), "lab/demo/wave/kernels/*.comp", 5)
}
