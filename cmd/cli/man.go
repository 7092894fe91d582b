package cli

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// writeManPages writes a manual page for cmd and for each command below it into dir,
// which it makes if it is missing. It returns the names of the pages.
func (o *Options) writeManPages(dir string, cmd *cobra.Command) ([]string, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	var page strings.Builder
	o.writeManPage(&page, cmd)
	name := manName(cmd) + ".1"
	if err := os.WriteFile(filepath.Join(dir, name), []byte(page.String()), 0o644); err != nil {
		return nil, err
	}
	pages := []string{name}
	for _, sub := range manCommands(cmd) {
		below, err := o.writeManPages(dir, sub)
		if err != nil {
			return nil, err
		}
		pages = append(pages, below...)
	}
	return pages, nil
}

func manName(cmd *cobra.Command) string { return strings.ReplaceAll(cmd.CommandPath(), " ", "-") }

// manCommands returns the commands below cmd that have a page.
func manCommands(cmd *cobra.Command) (list []*cobra.Command) {
	for _, sub := range cmd.Commands() {
		if !sub.Hidden && sub.Name() != "help" {
			list = append(list, sub)
		}
	}
	return list
}

// writeManPage writes troff. The lines of help texts are kept as they are, since they
// are broken for a terminal.
func (o *Options) writeManPage(w io.Writer, cmd *cobra.Command) {
	cmd.InitDefaultHelpFlag()
	name := manName(cmd)
	fmt.Fprintf(w, ".TH %q 1 \"\" %q\n", strings.ToUpper(name), "shadercache "+ReadVersion().Version)
	fmt.Fprintf(w, ".SH NAME\n%s \\- %s\n", troff(name), troff(cmd.Short))
	writeManText(w, "SYNOPSIS", cmd.UseLine())
	writeManText(w, "DESCRIPTION", o.helpText(cmd))
	writeManFlags(w, "OPTIONS", cmd.NonInheritedFlags())
	writeManFlags(w, "GLOBAL OPTIONS", cmd.InheritedFlags())
	writeManText(w, "EXAMPLES", cmd.Example)
	var others []string
	if cmd.HasParent() {
		others = append(others, manName(cmd.Parent()))
	}
	for _, sub := range manCommands(cmd) {
		others = append(others, manName(sub))
	}
	for i, other := range others {
		others[i] = fmt.Sprintf("\\fB%s\\fR(1)", troff(other))
	}
	if len(others) > 0 {
		fmt.Fprintf(w, ".SH SEE ALSO\n%s\n", strings.Join(others, ", "))
	}
}

func writeManText(w io.Writer, section, text string) {
	if text != "" {
		fmt.Fprintf(w, ".SH %s\n.nf\n%s\n.fi\n", section, troff(strings.Trim(text, "\n")))
	}
}

func writeManFlags(w io.Writer, section string, flags *pflag.FlagSet) {
	if !flags.HasAvailableFlags() {
		return
	}
	fmt.Fprintf(w, ".SH %s\n", section)
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		value, usage := pflag.UnquoteUsage(f)
		term := troff("--" + f.Name)
		if f.Shorthand != "" {
			term = troff("-"+f.Shorthand) + ", " + term
		}
		fmt.Fprintf(w, ".TP\n\\fB%s\\fR \\fI%s\\fR\n%s\n", term, troff(value), troff(usage))
	})
}

// troff escapes text so that troff prints it unchanged.
func troff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(text)
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			lines[i] = `\&` + line
		}
	}
	return strings.Join(lines, "\n")
}
