package main

import (
	"strings"
	"testing"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/binary/explain"
	"github.com/shadercache/shadercache/cmd/cli"
)

// Reasons quote names and the content of files.
func TestReasonsCannotControlATerminal(t *testing.T) {
	const red = "\x1b[31mred"
	quarantine := &binary.Quarantined{Reason: red}
	var out strings.Builder
	printExplanation(&out, "driver", explain.Program{Explanation: binary.Explanation{Name: red, Damage: red, Rejected: red, Quarantine: quarantine, Failure: red}})
	(&inspectLine{Program: cli.Program{Entry: binary.Entry{Name: red}}, Damage: red, Quarantine: quarantine}).Print(&out)
	if text := out.String(); strings.Contains(text, "\x1b") || strings.Count(text, `\x1b[31mred`) != 8 {
		t.Errorf("printed is %q", text)
	}
}
