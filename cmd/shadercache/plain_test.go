package main

import (
	"strings"
	"testing"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/internal/cli"
)

func TestWhatIsShown(t *testing.T) {
	tests := []struct{ text, name, message string }{
		{"conv2d_3x3", "conv2d_3x3", "conv2d_3x3"},
		{"Faltung 3×3 畳み込み", "Faltung 3×3 畳み込み", "Faltung 3×3 畳み込み"},
		{"two\nlines\tand \x1b[31mred", `two\nlines\tand \x1b[31mred`, "two\nlines\tand " + `\x1b[31mred`},
		{"\xff\r\n\u202e'\"\\", `\xff\r\n\u202e'"\`, `\xff` + "\n" + `\u202e'"\`},
		{"", "", ""},
	}
	for _, test := range tests {
		if got := cli.Shown(test.text); got != test.name {
			t.Errorf("shown(%q) = %q, want %q", test.text, got, test.name)
		}
		if got := cli.Plain(test.text); got != test.message {
			t.Errorf("plain(%q) = %q, want %q", test.text, got, test.message)
		}
	}
}

// Reasons quote names and what files hold.
func TestReasonsSteerNoTerminal(t *testing.T) {
	const red = "\x1b[31mred"
	quarantine := &binary.Quarantined{Reason: red}
	var out strings.Builder
	printExplanation(&out, "driver", binary.Explanation{Name: red, Damage: red, Rejected: red, Quarantine: quarantine, Failure: red})
	(&inspectLine{programLine: programLine{Name: red}, Damage: red, Quarantine: quarantine}).Print(&out)
	if text := out.String(); strings.Contains(text, "\x1b") || strings.Count(text, `\x1b[31mred`) != 8 {
		t.Errorf("printed is %q", text)
	}
}
