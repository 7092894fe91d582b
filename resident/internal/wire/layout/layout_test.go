package layout

import (
	"os"
	"path/filepath"
	"testing"
)

// folder is the path of the resident folder from here.
const folder = "../../.."

// TestGeneratedFilesAreCurrent compares the generated files with the table.
func TestGeneratedFilesAreCurrent(t *testing.T) {
	files, err := Files()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		got, err := os.ReadFile(filepath.Join(folder, f.Path))
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != f.Text {
			t.Errorf("%s is out of date: run go generate ./resident/...", f.Path)
		}
	}
}

// TestLinesHaveOneWriter asserts that no two fields of a line overlap, that vectors are
// aligned, and that each line names one writer.
func TestLinesHaveOneWriter(t *testing.T) {
	for _, b := range Blocks {
		writers := map[int]string{}
		next := 0
		b.EachField(func(l Line, f Field, at int) {
			if at < next {
				t.Errorf("%s: %s overlaps the field before it", b.Name, f.Name)
			}
			if f.Words == 4 && at%4 != 0 {
				t.Errorf("%s: uvec4 %s is not aligned", b.Name, f.Name)
			}
			next = at + f.Words
			if w, ok := writers[at/LineWords]; ok && w != l.Writer || l.Writer == "" {
				t.Errorf("%s: line of %s has two writers", b.Name, f.Name)
			}
			writers[at/LineWords] = l.Writer
		})
	}
}

// TestLongLinesPanic adds a field too many.
func TestLongLinesPanic(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("a line of 68 bytes passes")
		}
	}()
	b := Block{Lines: []Line{{"long", "host", []Field{{"A", LineWords, ""}, {"B", 1, ""}}}}}
	b.EachField(func(Line, Field, int) {})
}
