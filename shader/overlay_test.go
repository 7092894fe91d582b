package shader

import (
	"errors"
	"io/fs"
	"slices"
	"strings"
	"testing"
)

func TestOverlayReplacesAndAddsFiles(t *testing.T) {
	kernels := files("main.comp", "#version 450 core\n#include \"a.glsl\"\n#include \"b.glsl\"\n",
		"a.glsl", "int a_of_the_files;\n", "b.glsl", "int b_of_the_files;\n")
	overlay := Overlay{kernels, map[string]string{"a.glsl": "int a_of_the_user;\n"}}
	source, err := ReadSource(overlay, "main.comp", Defines{"N": "3"})
	must(t, err)
	for text, want := range map[string]bool{"a_of_the_user": true, "a_of_the_files": false, "b_of_the_files": true, "#define N 3": true} {
		if strings.Contains(source.Text(), text) != want {
			t.Errorf("the source contains %q: %t\n%s", text, !want, source.Text())
		}
	}
	if !slices.Equal(source.Files(), []string{"main.comp", "a.glsl", "b.glsl"}) {
		t.Errorf("files %q", source.Files())
	}
	delete(kernels, "b.glsl")
	if _, err = ReadSource(overlay, "main.comp", nil); err == nil || !strings.Contains(err.Error(), "b.glsl") {
		t.Errorf("error is %v", err)
	}
}

func TestOverlayWithoutFiles(t *testing.T) {
	overlay := Overlay{Texts: map[string]string{"k/a.comp": "x\n"}}
	data, err := fs.ReadFile(overlay, "k/a.comp")
	if err != nil || string(data) != "x\n" {
		t.Errorf("got %q, %v", data, err)
	}
	info, err := fs.Stat(overlay, "k/a.comp")
	must(t, err)
	if info.Name() != "a.comp" || info.Size() != 2 || info.IsDir() || !info.Mode().IsRegular() || !info.ModTime().IsZero() || info.Sys() != nil {
		t.Errorf("info %v", info)
	}
	if _, err := overlay.Open("k/b.comp"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error is %v, not fs.ErrNotExist", err)
	}
}
