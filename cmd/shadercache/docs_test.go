package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

const commandDoc = "../../docs/command.md"

// TestCommandDoc keeps docs/command.md equal to the help texts; -update writes
// it.
func TestCommandDoc(t *testing.T) {
	var b strings.Builder
	b.WriteString("# The command\n\nThis page is what `shadercache help` prints; a test keeps it so. The global\nflags of the first section belong to every command.\n")
	writeCommandDoc(&b, newRoot(&options{stdout: io.Discard, stderr: io.Discard}))
	if *update {
		if err := os.WriteFile(commandDoc, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(commandDoc)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != b.String() {
		t.Errorf("%s differs from the help texts: go test -tags egl ./cmd/shadercache -run TestCommandDoc -update", commandDoc)
	}
}

func writeCommandDoc(b *strings.Builder, cmd *cobra.Command) {
	cmd.InitDefaultHelpFlag()
	usage, _, _ := strings.Cut(cmd.UsageString(), "\nGlobal Flags:")
	fmt.Fprintf(b, "\n## %s\n\n```\n%s\n\n%s```\n", cmd.CommandPath(), cmd.Long, usage)
	for _, sub := range cmd.Commands() {
		if !sub.Hidden && sub.Name() != "completion" && sub.Name() != "help" {
			writeCommandDoc(b, sub)
		}
	}
}
