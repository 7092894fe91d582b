package manifest

import (
	"encoding/json"
	"testing"
)

// FuzzDecode checks that what is accepted as a manifest is accepted again as it is
// encoded.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"programs": [{"name": "x", "file": "k/a.comp", "version": "310 es", "prefix": "#define A\n", "defines": {"TILE": "8"}}, {"name": "gemm"}]}`))
	f.Add([]byte(`{"programs": [{"nam": "x"}]}`))
	f.Add([]byte(`{"programs": [{"name": "x", "text": "// \u00e9\r\n#version 430\n"}, {"name": "y", "text_file": "y.glsl"}]}`))
	f.Add([]byte(`{} {}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := decode(data)
		if err != nil {
			return
		}
		text, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		again, err := decode(text)
		if err != nil || len(again.Programs) != len(m.Programs) {
			t.Errorf("%s: %v", text, err)
		}
		for i, e := range m.Programs {
			if e.Text == nil || i >= len(again.Programs) {
				continue
			}
			source, err := e.final("manifest.json")
			if err == nil && (source.Text() != *e.Text || *again.Programs[i].Text != *e.Text) {
				t.Errorf("the text %q became %q and %q", *e.Text, source.Text(), *again.Programs[i].Text)
			}
		}
	})
}
