//go:build unix

package manifest

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestPipesAreRefused reads named pipes, without a writer.
func TestPipesAreRefused(t *testing.T) {
	folder := write(t, map[string]string{
		"good.comp":   kernel,
		"reader.comp": "#include \"pipe.glsl\"\n",
		"guard.comp":  kernel + "#ifdef X\n#include \"pipe.glsl\"\n#endif\n",
	})
	for _, name := range []string{"pipe.comp", "pipe.glsl", "pipe.json"} {
		if err := syscall.Mkfifo(filepath.Join(folder, name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if list := (Reader{}).Read(folder); len(list) != 4 || list[0].Err != nil || list[1].Err != nil {
		t.Errorf("%+v", list)
	}
	for _, name := range []string{"pipe.comp", "reader.comp", "pipe.json"} {
		list := (Reader{}).Read(filepath.Join(folder, name))
		if len(list) != 1 || list[0].Err == nil || !strings.Contains(list[0].Err.Error(), "is not a regular file") {
			t.Errorf("%s: %+v", name, list)
		}
	}
}
