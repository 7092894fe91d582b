package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/shadercache/shadercache/internal/cli"
)

const commandDoc = "../../docs/command.md"

// TestCommandDoc keeps docs/command.md equal to the help texts; -update writes
// it.
func TestCommandDoc(t *testing.T) {
	var b strings.Builder
	b.WriteString("# The command\n\nThis page is what `shadercache help` prints; a test keeps it so. The global\nflags of the first section belong to every command.\n")
	writeCommandDoc(&b, newRoot(&options{cli.Options{Stdout: io.Discard, Stderr: io.Discard}}))
	checkDoc(t, commandDoc, b.String(), "TestCommandDoc")
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

// TestHelpFitsATerminal checks each help page, also of hidden commands.
func TestHelpFitsATerminal(t *testing.T) {
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		var page strings.Builder
		cmd.SetOut(&page)
		if err := cmd.Help(); err != nil {
			t.Error(err)
		}
		if !strings.Contains(page.String(), "Usage:") {
			t.Errorf("%s: %s", cmd.CommandPath(), page.String())
		}
		for line := range strings.Lines(page.String()) {
			if line = strings.ReplaceAll(strings.TrimSuffix(line, "\n"), "\t", "        "); utf8.RuneCountInString(line) > cli.HelpWidth {
				t.Errorf("%s: %d columns: %s", cmd.CommandPath(), utf8.RuneCountInString(line), line)
			}
		}
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
	}
	walk(newRoot(&options{cli.Options{Stdout: io.Discard, Stderr: io.Discard}}))
}

// listItem matches the begin of an item of a list: "  NAME   ", "  - ".
var listItem = regexp.MustCompile(`^ +(- |[^ ]+( [^ ]+)*  +)`)

// TestListsInHelpAreAligned checks that each line below an item of a list is another item
// with the same columns, or begins at the column of the item's text.
func TestListsInHelpAreAligned(t *testing.T) {
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		for paragraph := range strings.SplitSeq(cmd.Long, "\n\n") {
			indent, column := 0, 0 // of the last item
			for line := range strings.SplitSeq(paragraph, "\n") {
				begin := len(line) - len(strings.TrimLeft(line, " "))
				item := len(listItem.FindString(line))
				switch {
				case begin == 0:
					column = 0
				case column == 0:
					indent, column = begin, item
				case begin == column, begin == indent && item == column:
				default:
					t.Errorf("%s: a list whose items begin at %d and their texts at %d has the line\n%s", cmd.CommandPath(), indent, column, line)
				}
			}
		}
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
	}
	walk(newRoot(&options{cli.Options{Stdout: io.Discard, Stderr: io.Discard}}))
}

// TestEveryCommandHasAnExample checks that each help, also of hidden commands, ends with
// a line that can be typed.
func TestEveryCommandHasAnExample(t *testing.T) {
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		if !strings.HasPrefix(cmd.Example, "  ") || !strings.Contains(cmd.Example, "shadercache") {
			t.Errorf("%s has the example %q", cmd.CommandPath(), cmd.Example)
		}
		if cmd.Long == "" && !cmd.Hidden || cmd.Short == "" {
			t.Errorf("%s has no text", cmd.CommandPath())
		}
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
	}
	walk(newRoot(&options{cli.Options{Stdout: io.Discard, Stderr: io.Discard}}))
}

// TestManPages formats the pages with groff, where it is installed.
func TestManPages(t *testing.T) {
	dir := t.TempDir()
	root := newRoot(&options{cli.Options{Stdout: io.Discard, Stderr: io.Discard}})
	root.SetArgs([]string{"man", dir})
	if err := root.Execute(); err != nil {
		t.Fatal(err)
	}
	pages, err := filepath.Glob(filepath.Join(dir, "shadercache*.1"))
	if err != nil || len(pages) < 20 {
		t.Fatalf("%d pages, %v", len(pages), err)
	}
	for _, page := range pages {
		data, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range []string{".TH \"SHADERCACHE", ".SH NAME\n", ".SH SYNOPSIS\n", ".SH EXAMPLES\n"} {
			if !strings.Contains(string(data), part) {
				t.Errorf("%s has no %q", page, part)
			}
		}
		if groff, err := exec.LookPath("groff"); err == nil {
			out, err := exec.Command(groff, "-man", "-Tutf8", "-ww", "-z", page).CombinedOutput()
			if err != nil || len(out) > 0 {
				t.Errorf("%s: %v\n%s", page, err, out)
			}
		}
	}
	preload, err := os.ReadFile(filepath.Join(dir, "shadercache-preload.1"))
	if err != nil || !strings.Contains(string(preload), "\n\\fB\\-D, \\-\\-define\\fR \\fINAME=VALUE\\fR\n") {
		t.Errorf("%v in\n%s", err, preload)
	}
}
