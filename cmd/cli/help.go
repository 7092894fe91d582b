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

// FitHelp makes help pages of root and of the commands below it fit in HelpWidth: see
// CompleteHelp.
func (o *Options) FitHelp(root *cobra.Command) {
	root.SetUsageFunc(func(cmd *cobra.Command) error {
		o.CompleteHelp(root)
		return writeUsage(cmd.OutOrStderr(), cmd)
	})
	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) {
		o.CompleteHelp(root)
		out := cmd.OutOrStdout()
		if text := strings.TrimSpace(cmd.Long); text != "" {
			fmt.Fprintf(out, "%s\n\n", text)
		}
		_ = writeUsage(out, cmd)
	})
}

// CompleteHelp makes examples of root and of the commands below it fit in HelpWidth, where
// texts (Long) have to fit as they are written, and appends the fields of results to the
// texts. Help pages do that themselves: most starts show none, and it takes half a
// millisecond. What else reads texts or examples calls it before, when all commands were
// added; the second call does nothing.
func (o *Options) CompleteHelp(root *cobra.Command) {
	if o.helpComplete {
		return
	}
	o.helpComplete = true
	for _, r := range o.Results {
		r.Command.Long += "\n\n" + r.help()
	}
	fitCommand(root)
}

func fitCommand(cmd *cobra.Command) {
	cmd.InitDefaultHelpFlag()
	cmd.Example = fitExample(cmd.Example)
	for _, sub := range cmd.Commands() {
		fitCommand(sub)
	}
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
		fmt.Fprintf(&b, "\n%s\n", wrap(text, HelpWidth))
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

// fitExample breaks commands that are too wide as a shell continues them.
func fitExample(example string) string {
	var fitted []string
	for _, line := range strings.Split(example, "\n") {
		indent := "  "
		for utf8.RuneCountInString(line) > HelpWidth {
			at := lastSpace(line, HelpWidth-2)
			if at <= len(indent) {
				break
			}
			fitted = append(fitted, line[:at]+" \\")
			indent = "    "
			line = indent + line[at+1:]
		}
		fitted = append(fitted, line)
	}
	return strings.Join(fitted, "\n")
}

// lastSpace returns the last space up to a column that is outside of quotes.
func lastSpace(line string, column int) int {
	last, quote := -1, rune(0)
	for i, r := range line {
		switch {
		case i > column:
			return last
		case quote != 0 && r == quote:
			quote = 0
		case quote == 0 && (r == '"' || r == '\''):
			quote = r
		case quote == 0 && r == ' ':
			last = i
		}
	}
	return last
}
