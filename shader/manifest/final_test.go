package manifest

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shadercache/shadercache/shader"
)

// finals are texts that programs hand to a driver, none of which may change.
var finals = map[string]string{
	"plain":     "#version 430\nvoid main() {}\n",
	"no end":    "#version 430\nvoid main() {}",
	"windows":   "#version 430\r\nvoid main() {}\r\n",
	"old mac":   "#version 430\rvoid main() {}\r",
	"comment":   "// made by a tool\n\n/* two\nlines */ #version 430\nvoid main() {}\n",
	"lines":     "#version 430\n#define TILE 8\n#line 1 0\n#line 7 2\nvoid main() {}\n",
	"unicode":   "#version 310 es // \u00e9\u4e16\U0001F600\nvoid main() {}\n",
	"separator": "#version 430 // \u2028 <>&\nvoid main() {}\n",
}

func TestFinalTextsAreNotChanged(t *testing.T) {
	for name, text := range finals {
		quoted, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		folder := write(t, map[string]string{
			"m.json":       `{"programs": [{"name": "inline", "text": ` + string(quoted) + `}, {"name": "file", "text_file": "dumps/x.glsl"}]}`,
			"dumps/x.glsl": text,
		})
		programs := reader().Read(filepath.Join(folder, "m.json")) // its -D does not apply
		if len(programs) != 2 {
			t.Fatalf("%s: %+v", name, programs)
		}
		for _, p := range programs {
			if p.Err != nil || p.Source.Text() != text || p.Source.Name() != p.Name {
				t.Errorf("%s, %s: %+v", name, p.Name, p)
			}
		}
		if a, b := programs[0].Source.Key(), programs[1].Source.Key(); a != b {
			t.Errorf("%s: the keys differ", name)
		}
		if verbatim, err := shader.NewSource("x", text, nil); err != nil || verbatim.Key() != programs[0].Source.Key() {
			if name != "old mac" || err != nil {
				t.Errorf("%s: NewSource has another key: %v", name, err)
			}
		}
	}
}

// A text file may have any bytes but NUL, since drivers ignore comments.
func TestFinalTextsOfOtherEncodings(t *testing.T) {
	text := "#version 430 // caf\xe9\nvoid main() {}\n"
	folder := write(t, map[string]string{
		"m.json": `{"programs": [{"name": "latin1", "text_file": "x.glsl"}]}`,
		"n.json": `{"programs": [{"name": "latin1", "text": "#version 430 // caf` + "\xe9" + `\n"}]}`,
		"x.glsl": text,
	})
	if p := reader().Read(filepath.Join(folder, "m.json")); p[0].Err != nil || p[0].Source.Text() != text {
		t.Errorf("%+v", p)
	}
	if p := reader().Read(filepath.Join(folder, "n.json")); p[0].Err == nil || !strings.Contains(p[0].Err.Error(), "text_file") {
		t.Errorf("a text that JSON changes was accepted: %+v", p)
	}
}

func TestFinalTextsThatAreRefused(t *testing.T) {
	for entry, want := range map[string]string{
		`{"name": "x", "text": "#version 430\n", "text_file": "x.glsl"}`:       "not both",
		`{"name": "x", "text": "#version 430\n", "file": "x.comp"}`:            "final",
		`{"name": "x", "text": "#version 430\n", "defines": {"A": "1"}}`:       "final",
		`{"name": "x", "text": "#version 430\n", "version": "450"}`:            "final",
		`{"name": "x", "text_file": "x.glsl", "prefix": "precision highp f;"}`: "final",
		`{"text": "#version 430\n"}`:                                           "name",
		`{"name": "x", "text": ""}`:                                            "empty",
		`{"name": "x", "text": " \n"}`:                                         "empty",
		`{"name": "x", "text": "void main() {}"}`:                              "#version",
		`{"name": "x", "text": "#version 430\n\u0000"}`:                        "NUL",
		`{"name": "x", "text": "#version 430 // \ud800\n"}`:                    "text_file",
		`{"name": "x", "text_file": "missing.glsl"}`:                           "missing.glsl",
		`{"name": "x", "text_file": "."}`:                                      "regular",
		`{"name": "x", "text_file": "large.glsl"}`:                             "more than",
		`{"name": "x", "text": 7}`:                                             "not a manifest",
	} {
		files := map[string]string{"m.json": `{"programs": [` + entry + `]}`}
		if want == "more than" {
			files["large.glsl"] = "#version 430\n" + strings.Repeat("// filler\n", maxText/10)
		}
		folder := write(t, files)
		p := reader().Read(filepath.Join(folder, "m.json"))
		if len(p) != 1 || p[0].Err == nil || !strings.Contains(p[0].Err.Error(), want) {
			t.Errorf("%s: %+v, want an error with %q", entry, p, want)
		}
	}
}
