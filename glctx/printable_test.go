package glctx

import (
	"encoding/json"
	"testing"
	"unicode/utf8"
)

func TestPrintable(t *testing.T) {
	for text, want := range map[string]string{
		"":                          "",
		"NVIDIA H200/PCIe/SSE2":     "NVIDIA H200/PCIe/SSE2",
		"Intel® UHD \"630\" (Пётр)": "Intel® UHD \"630\" (Пётр)",
		"a\x1b[31mred":              `a\x1b[31mred`,
		`a\x1b[31mred`:              `a\\x1b[31mred`,
		"\xff\xfe":                  `\xff\xfe`,
		"\ufffd\u009b\u202e\n":      "\ufffd" + `\u009b\u202e\n`,
	} {
		if got := printable(text); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
}

// What is printable is the same after JSON, and texts that differ stay different.
func FuzzPrintable(f *testing.F) {
	f.Add("a\xff", `a\xff`)
	f.Add("\x1b[2J", "\ufffd")
	f.Fuzz(func(t *testing.T, a, b string) {
		pa, pb := printable(a), printable(b)
		if (pa == pb) != (a == b) {
			t.Errorf("%q and %q became %q and %q", a, b, pa, pb)
		}
		data, err := json.Marshal(pa)
		var back string
		if err == nil {
			err = json.Unmarshal(data, &back)
		}
		if err != nil || back != pa || !utf8.ValidString(pa) {
			t.Errorf("%q became %q and %q: %v", a, pa, back, err)
		}
	})
}
