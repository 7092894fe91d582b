package cli

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/shadercache/shadercache/resident"
	"github.com/shadercache/shadercache/shader"
)

// TestShippedIncludesGiveTheKeysOfPackages compares the key of a kernel in a file with that
// of the same text in a program, which finds it only then.
func TestShippedIncludesGiveTheKeysOfPackages(t *testing.T) {
	const text = "#version 450 core\n#include \"resident.glsl\"\nlayout(local_size_x = 64) in;\nuint residentStep(uvec2 step) { return RESIDENT_HALT; }\n"
	file := filepath.Join(t.TempDir(), "kernel.comp")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, defines := range []shader.Defines{nil, {"N": "1"}} {
		flags := SourceFlags{Defines: Defines(defines)}
		source, err := shader.ReadFile(file, flags.Options())
		if err != nil {
			t.Fatal(err)
		}
		if want := resident.MustSource("kernel", text, defines); source.Key() != want.Key() {
			t.Errorf("got\n%.300s\nwant\n%.300s", source.Text(), want.Text())
		}
	}
	for _, name := range []string{"resident_mail.glsl", "queue.glsl", "actors.glsl", "registry.glsl"} {
		if f, err := (shippedIncludes{}).Open(name); err != nil {
			t.Error(err)
		} else {
			_ = f.Close()
		}
	}
	for _, name := range []string{"persistence.comp", "../source.go", "queue_run.comp", "."} {
		if _, err := (shippedIncludes{}).Open(name); err == nil {
			t.Errorf("%s is found", name)
		}
	}
}
