package resident

import (
	"strings"
	"testing"
	"testing/fstest"
)

// TestIncludesAreFoundInAnyFolder reads a kernel in a folder that includes resident.glsl
// and a file of its own, and compares the files of the source.
func TestIncludesAreFoundInAnyFolder(t *testing.T) {
	fsys := fstest.MapFS{
		"deep/kernel.comp":   {Data: []byte("#version 450 core\n#include \"resident.glsl\"\n#include \"own.glsl\"\n")},
		"deep/own.glsl":      {Data: []byte("layout(local_size_x = 1) in;\nuint residentStep(uvec2 step) { return RESIDENT_HALT; }\n")},
		"deep/resident.glsl": {Data: []byte("not ours")},
	}
	s, err := ReadSource(fsys, "deep/kernel.comp", nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"deep/kernel.comp", "deep/resident.glsl", "deep/resident_control.glsl", "deep/own.glsl"} {
		if !strings.Contains(strings.Join(s.Files(), " "), want) {
			t.Errorf("%s is not among %q", want, s.Files())
		}
	}
	if strings.Contains(s.Text(), "not ours") {
		t.Error("a file of the same name replaced the package's")
	}
	if _, err := ReadSource(fsys, "deep/own.glsl", nil); err == nil {
		t.Error("a kernel without the include is accepted")
	}
}
