//go:build linux

package actors

import (
	"io/fs"
	"testing"

	"github.com/shadercache/shadercache/binary"
)

// Kernels compile as they are, with what their files define.
func TestKernelsCompileAlone(t *testing.T) {
	f := newFixture(t)
	files, err := fs.Glob(kernels, "kernels/*.comp")
	if err != nil || len(files) != 4 {
		t.Fatalf("kernels %v, %v", files, err)
	}
	for _, file := range files {
		source, err := binary.ReadSource(kernels, file, nil)
		if err != nil {
			t.Error(err)
			continue
		}
		program, err := f.cache.Get(t.Context(), source)
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		program.Release()
	}
}
