//go:build linux && cgo

package glctx_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/shadercache/shadercache/job/texel"
)

var update = flag.Bool("update", false, "write the table of formats in docs/binding.md")

// TestFormatTable compares the table in the documentation with the formats.
func TestFormatTable(t *testing.T) {
	var table strings.Builder
	table.WriteString("| `texel` | GL | qualifier in GLSL | bytes | components | Go | image and sampler |\n|---|---|---|---|---|---|---|\n")
	for f := texel.RGBA32F; f.Known(); f++ {
		prefix := imagePrefix[f.Base()]
		uses := fmt.Sprintf("`%simage`, `%ssampler`", prefix, prefix)
		qualifier := "`" + f.Qualifier() + "`"
		switch {
		case f.Depth():
			uses, qualifier = "`sampler`, shadow", "sampled only"
		case f.Qualifier() == "":
			uses, qualifier = "`sampler`", "sampled only"
		}
		goName := strings.NewReplacer("GL_R11F_G11F_B10F", "R11G11B10F", "GL_", "", "_SNORM", "Snorm", "SRGB8_ALPHA8", "SRGB8A8", "DEPTH_COMPONENT", "Depth", "_", "").Replace(f.String())
		fmt.Fprintf(&table, "| `%s` | %s | %s | %d | %d | `%s` | %s |\n", goName, f, qualifier, f.Bytes(), f.Components(), f.GoType(), uses)
	}
	const page, begin, end = "../docs/binding.md", "-update -->\n", "<!-- end -->"
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(text), begin)
	old, after, ended := strings.Cut(rest, end)
	if !found || !ended {
		t.Fatal("the page has no place for the table")
	}
	if *update {
		if err := os.WriteFile(page, []byte(before+begin+table.String()+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if old != table.String() {
		t.Error("the table in docs/binding.md is out of date: run the test with -update")
	}
}
