package cli

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
)

// HelpWidth is the width of help pages, in columns.
const HelpWidth = 80

// setHelp gives root, and the commands below it, help pages of HelpWidth. Texts and examples have
// to fit as they are written.
func (o *Options) setHelp(root *cobra.Command) {
	root.SetUsageFunc(func(cmd *cobra.Command) error { return writeUsage(cmd.OutOrStderr(), cmd) })
	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) {
		out := cmd.OutOrStdout()
		if text := o.helpText(cmd); text != "" {
			fmt.Fprintf(out, "%s\n\n", text)
		}
		_ = writeUsage(out, cmd)
	})
}

// helpText returns the text of a command with the fields of its results.
func (o *Options) helpText(cmd *cobra.Command) string {
	text := strings.TrimSpace(cmd.Long)
	for _, r := range o.Results {
		if r.Command == cmd {
			text += "\n\n" + r.help()
		}
	}
	return text
}

// writeUsage writes what follows the text of a help page.
func writeUsage(out io.Writer, cmd *cobra.Command) error {
	var b strings.Builder
	b.WriteString("Usage:\n")
	if cmd.Runnable() {
		b.WriteString(hang("  "+cmd.UseLine(), 6) + "\n")
	}
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "  %s [command]\n", cmd.CommandPath())
	}
	if len(cmd.Aliases) > 0 {
		fmt.Fprintf(&b, "\nAliases:\n  %s\n", cmd.NameAndAliases())
	}
	if cmd.Example != "" {
		fmt.Fprintf(&b, "\nExamples:\n%s\n", cmd.Example)
	}
	writeCommands(&b, cmd)
	if cmd.HasAvailableLocalFlags() {
		fmt.Fprintf(&b, "\nFlags:\n%s", cmd.LocalFlags().FlagUsagesWrapped(HelpWidth))
	}
	if cmd.HasAvailableInheritedFlags() {
		fmt.Fprintf(&b, "\nGlobal Flags:\n%s", cmd.InheritedFlags().FlagUsagesWrapped(HelpWidth))
	}
	if cmd.HasAvailableSubCommands() {
		text := fmt.Sprintf("Use \"%s [command] --help\" for more information about a command.", cmd.CommandPath())
		fmt.Fprintf(&b, "\n%s\n", hang(text, 0))
	}
	_, err := io.WriteString(out, b.String())
	return err
}

// writeCommands writes the commands below cmd, by group. Those without one come last.
func writeCommands(b *strings.Builder, cmd *cobra.Command) {
	rest := "Available Commands"
	if len(cmd.Groups()) > 0 {
		rest = "Other"
	}
	for _, group := range append(cmd.Groups(), &cobra.Group{Title: rest}) {
		title := "\n" + group.Title + ":\n"
		for _, sub := range cmd.Commands() {
			if sub.IsAvailableCommand() && sub.GroupID == group.ID {
				begin := fmt.Sprintf("  %-*s ", sub.NamePadding(), sub.Name())
				b.WriteString(title + hang(begin+sub.Short, len(begin)) + "\n")
				title = ""
			}
		}
	}
}

// hang breaks a line that is too wide; what follows is indented to a column.
func hang(line string, column int) string {
	first, rest := cutWidth(line, HelpWidth)
	for rest != "" {
		next := strings.Repeat(" ", column) + rest
		line, rest = cutWidth(next, HelpWidth)
		first += "\n" + line
	}
	return first
}

// cutWidth cuts text at the last space that leaves at most width columns.
func cutWidth(text string, width int) (first, rest string) {
	if utf8.RuneCountInString(text) <= width {
		return text, ""
	}
	indent := len(text) - len(strings.TrimLeft(text, " "))
	at := strings.LastIndex(text[indent:width+1], " ") + indent
	if at < indent { // one word is too wide
		return text, ""
	}
	return text[:at], text[at+1:]
}
