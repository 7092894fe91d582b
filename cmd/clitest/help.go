package clitest

import (
	"io"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/shadercache/shadercache/cmd/cli"
)

// Root makes the root of a command that prints to out, and returns it with its options.
type Root func(out io.Writer) (*cobra.Command, *cli.Options)

// walk calls visit for a command and for each below it, also hidden ones.
func walk(cmd *cobra.Command, visit func(*cobra.Command)) {
	visit(cmd)
	for _, sub := range cmd.Commands() {
		walk(sub, visit)
	}
}

// HelpOfAll finds a command that "help --all" leaves out.
func HelpOfAll(t *testing.T, newRoot Root) {
	var out strings.Builder
	root, _ := newRoot(&out)
	root.SetArgs([]string{"help", "--all"})
	if err := root.Execute(); err != nil {
		t.Fatal(err)
	}
	walk(root, func(cmd *cobra.Command) {
		if hidden(cmd) || cmd.Name() == "help" {
			return
		}
		if n := strings.Count(out.String(), "\n## "+cmd.CommandPath()+"\n\n```\n"+cmd.Long); cmd.HasParent() && n != 1 {
			t.Errorf("%d times %s", n, cmd.CommandPath())
		}
	})
}

// hidden reports whether a command or one above it is not in the help, or is of completion.
func hidden(cmd *cobra.Command) bool {
	for ; cmd != nil; cmd = cmd.Parent() {
		if cmd.Hidden || cmd.Name() == "completion" {
			return true
		}
	}
	return false
}

// HelpFitsATerminal checks each help page, also of hidden commands.
func HelpFitsATerminal(t *testing.T, newRoot Root) {
	root, _ := newRoot(io.Discard)
	walk(root, func(cmd *cobra.Command) {
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
	})
}

// listItem matches the begin of an item of a list: "  NAME   ", "  - ".
var listItem = regexp.MustCompile(`^ +(- |[^ ]+( [^ ]+)*  +)`)

// ListsInHelpAreAligned checks that each line below an item of a list is another item
// with the same columns, or begins at the column of the item's text.
func ListsInHelpAreAligned(t *testing.T, newRoot Root) {
	root, _ := newRoot(io.Discard)
	walk(root, func(cmd *cobra.Command) {
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
	})
}

// EveryCommandHasAnExample checks that each help, also of hidden commands, ends with
// a line that can be typed.
func EveryCommandHasAnExample(t *testing.T, newRoot Root) {
	root, _ := newRoot(io.Discard)
	walk(root, func(cmd *cobra.Command) {
		if !strings.HasPrefix(cmd.Example, "  ") || !strings.Contains(cmd.Example, root.Name()) {
			t.Errorf("%s has the example %q", cmd.CommandPath(), cmd.Example)
		}
		if cmd.Long == "" && !cmd.Hidden || cmd.Short == "" {
			t.Errorf("%s has no text", cmd.CommandPath())
		}
	})
}
