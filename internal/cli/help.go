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

// maxIndent is the deepest indentation at which a list begins.
const maxIndent = 6

// FitHelp makes the help of root and of the commands below it fit in HelpWidth. Texts are
// changed now, so that documentation and manual pages have the same lines. Call it when
// all commands were added.
func FitHelp(root *cobra.Command) {
	root.SetUsageFunc(func(cmd *cobra.Command) error {
		return writeUsage(cmd.OutOrStderr(), cmd)
	})
	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) {
		out := cmd.OutOrStdout()
		if text := strings.TrimSpace(cmd.Long); text != "" {
			fmt.Fprintf(out, "%s\n\n", text)
		}
		_ = writeUsage(out, cmd)
	})
	fitCommand(root)
}

func fitCommand(cmd *cobra.Command) {
	cmd.InitDefaultHelpFlag()
	cmd.Long, cmd.Example = fitText(cmd.Long), fitExample(cmd.Example)
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
	if cmd.HasAvailableSubCommands() {
		b.WriteString("\nAvailable Commands:\n")
	}
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			begin := fmt.Sprintf("  %-*s ", sub.NamePadding(), sub.Name())
			b.WriteString(hang(begin+sub.Short, len(begin)) + "\n")
		}
	}
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

// fitText wraps paragraphs that are too wide, and lines of lists and tables below their
// text.
func fitText(text string) string {
	var lines []string
	text = strings.ReplaceAll(text, "\t", "  ")
	for _, block := range strings.Split(text, "\n\n") {
		lines = append(lines, fitBlock(block), "")
	}
	return strings.TrimRight(strings.Join(lines, "\n"), "\n")
}

func fitBlock(block string) string {
	var fitted []string
	lines := strings.Split(block, "\n")
	for len(lines) > 0 {
		// A run of lines without indentation is prose.
		prose := 0
		for prose < len(lines) && lines[prose] != "" && !strings.ContainsAny(lines[prose][:1], " \t") {
			prose++
		}
		if prose == 0 {
			fitted = append(fitted, hang(lines[0], column(lines[0])))
			lines = lines[1:]
			continue
		}
		run := strings.Join(lines[:prose], "\n")
		if widest(lines[:prose]) > HelpWidth {
			run = wrap(run, HelpWidth)
		}
		fitted, lines = append(fitted, run), lines[prose:]
	}
	return strings.Join(fitted, "\n")
}

func widest(lines []string) (width int) {
	for _, line := range lines {
		width = max(width, utf8.RuneCountInString(line))
	}
	return width
}

// column returns the column of the last cell of an indented line of two cells, which are
// separated by at least two spaces, and a deeper indentation for a line of one.
func column(line string) int {
	text := strings.TrimLeft(line, " ")
	indent := len(line) - len(text)
	if cell := strings.Index(text, "  "); cell >= 0 && indent > 0 {
		rest := strings.TrimLeft(text[cell:], " ")
		return len(line) - len(rest)
	}
	if indent > maxIndent {
		return indent // it continues a line of two cells
	}
	return indent + 2
}

// hang breaks a line that is too wide; what follows is indented to a column.
func hang(line string, column int) string {
	if utf8.RuneCountInString(line) <= HelpWidth || column >= HelpWidth/2 {
		return line
	}
	text := strings.TrimLeft(line, " ")
	indent := line[:len(line)-len(text)]
	if cell := strings.Index(text, "  "); cell >= 0 && len(indent) < column {
		indent, text = line[:column], line[column:]
	}
	wrapped := wrap(text, HelpWidth-column)
	if strings.TrimSpace(indent) == "" {
		// The first line begins further left than the others.
		first, rest := cutWidth(text, HelpWidth-len(indent))
		if rest == "" { // one word
			room := HelpWidth - utf8.RuneCountInString(first)
			return indent[:max(0, min(room, len(indent)))] + first
		}
		wrapped = first + "\n" + wrap(rest, HelpWidth-column)
	}
	return indent + strings.ReplaceAll(wrapped, "\n", "\n"+strings.Repeat(" ", column))
}

// cutWidth cuts text at the last space that leaves at most width columns.
func cutWidth(text string, width int) (first, rest string) {
	if utf8.RuneCountInString(text) <= width {
		return text, ""
	}
	at := strings.LastIndex(text[:width+1], " ")
	if at < 0 {
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
