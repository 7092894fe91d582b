//go:build linux

package wave

import (
	"io/fs"
	"os"
	"testing"

	"github.com/shadercache/shadercache/binary"
)

// Kernels compile as they are, with what their files define.
func TestKernelsCompileAlone(t *testing.T) {
	f := newFixture(t)
	project := os.DirFS("../..")
	files, err := fs.Glob(project, "resident/wave/kernels/*.comp")
	if err != nil || len(files) != 5 {
		t.Fatalf("kernels %v, %v", files, err)
	}
	for _, file := range files {
		source, err := binary.ReadSource(project, file, nil)
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
