package cli

import "testing"

func TestEscape(t *testing.T) {
	tests := []struct{ text, name, message string }{
		{"conv2d_3x3", "conv2d_3x3", "conv2d_3x3"},
		{"Faltung 3×3 畳み込み", "Faltung 3×3 畳み込み", "Faltung 3×3 畳み込み"},
		{"two\nlines\tand \x1b[31mred", `two\nlines\tand \x1b[31mred`, "two\nlines\tand " + `\x1b[31mred`},
		{"\xff\r\n\u202e'\"\\", `\xff\r\n\u202e'"\`, `\xff` + "\n" + `\u202e'"\`},
		{"", "", ""},
	}
	for _, test := range tests {
		if got := EscapeName(test.text); got != test.name {
			t.Errorf("EscapeName(%q) = %q, want %q", test.text, got, test.name)
		}
		if got := EscapeText(test.text); got != test.message {
			t.Errorf("EscapeText(%q) = %q, want %q", test.text, got, test.message)
		}
	}
}
