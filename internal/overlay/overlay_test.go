package overlay_test

import (
	"errors"
	"io/fs"
	"testing"

	"github.com/shadercache/shadercache/internal/overlay"
)

func TestOpen(t *testing.T) {
	kernels := overlay.Texts{
		"kernels/common.glsl": "common",
		"kernels/step.comp":   "step",
		"own.glsl":            "base",
	}
	fsys := overlay.FS{
		overlay.Texts{"own.glsl": "replaced"},
		overlay.Shared{FS: kernels, Pattern: "kernels/*.glsl"},
		overlay.Mount{Dir: "a/b", FS: kernels},
		kernels,
	}
	for name, want := range map[string]string{
		"own.glsl":              "replaced",
		"common.glsl":           "common",
		"x/y/common.glsl":       "common",
		"kernels/step.comp":     "step",
		"a/b/kernels/step.comp": "step",
		"a/b/own.glsl":          "base",
		"step.comp":             "",
		"a/b":                   "",
		"missing":               "",
	} {
		text, err := fs.ReadFile(fsys, name)
		if want == "" {
			if !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s: %q, %v", name, text, err)
			}
			continue
		}
		if string(text) != want || err != nil {
			t.Errorf("%s: %q, %v, not %q", name, text, err, want)
		}
	}
}

func TestStat(t *testing.T) {
	info, err := fs.Stat(overlay.Texts{"a/b.glsl": "text"}, "a/b.glsl")
	if err != nil {
		t.Fatal(err)
	}
	if info.Name() != "b.glsl" || info.Size() != 4 || info.IsDir() || !info.Mode().IsRegular() {
		t.Errorf("%s, %d bytes, %v", info.Name(), info.Size(), info.Mode())
	}
}
