package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/shadercache/shadercache/internal/cli"
)

const manUsage = `Write a manual page for each command into a folder, for man.

The pages say what --help says: shadercache.1 and, for example,
shadercache-preload.1.`

type manResult struct {
	Dir   string   `json:"dir"`
	Pages []string `json:"pages"`
}

func newMan(o *options) *cobra.Command {
	return o.WithResult(&cobra.Command{
		Use:     "man FOLDER",
		Short:   "Write the manual pages",
		Long:    manUsage,
		Example: "  shadercache man ~/.local/share/man/man1",
		Hidden:  true,
		Args: cli.UsageArgs(func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return errors.New("name the folder to write to")
			}
			return nil
		}),
		RunE: func(cmd *cobra.Command, args []string) error {
			r := &manResult{Dir: args[0], Pages: []string{}}
			if err := os.MkdirAll(r.Dir, 0o755); err != nil {
				return err
			}
			if err := r.write(cmd.Root()); err != nil {
				return err
			}
			return o.Result(r, func(w io.Writer) {
				fmt.Fprintf(w, "%s in %s\n", cli.Plural(len(r.Pages), "page"), r.Dir)
			})
		},
	}, manResult{})
}

// write writes the pages of a command and of those below it.
func (r *manResult) write(cmd *cobra.Command) error {
	var page strings.Builder
	writeManPage(&page, cmd)
	name := manName(cmd) + ".1"
	if err := os.WriteFile(filepath.Join(r.Dir, name), []byte(page.String()), 0o644); err != nil {
		return err
	}
	r.Pages = append(r.Pages, name)
	for _, sub := range manCommands(cmd) {
		if err := r.write(sub); err != nil {
			return err
		}
	}
	return nil
}

func manName(cmd *cobra.Command) string { return strings.ReplaceAll(cmd.CommandPath(), " ", "-") }

// manCommands are the commands below cmd that have a page.
func manCommands(cmd *cobra.Command) (list []*cobra.Command) {
	for _, sub := range cmd.Commands() {
		if !sub.Hidden && sub.Name() != "help" {
			list = append(list, sub)
		}
	}
	return list
}

// writeManPage writes troff. The help texts are set line by line for a terminal,
// so they are not filled.
func writeManPage(w io.Writer, cmd *cobra.Command) {
	cmd.InitDefaultHelpFlag()
	name := manName(cmd)
	fmt.Fprintf(w, ".TH %q 1 \"\" %q\n", strings.ToUpper(name), "shadercache "+cli.ReadVersion().Version)
	fmt.Fprintf(w, ".SH NAME\n%s \\- %s\n", troff(name), troff(cmd.Short))
	writeManText(w, "SYNOPSIS", cmd.UseLine())
	writeManText(w, "DESCRIPTION", cmd.Long)
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

// troff is text that troff prints as it is.
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
