package cli

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"
)

const manUsage = `Write a manual page for each command into a folder, for man.

The pages hold the text of --help, one for each command.`

// manResult is what man prints.
type manResult struct {
	Dir   string   `json:"dir"`
	Pages []string `json:"pages"` // file names
}

func (o *Options) man(name string) Command {
	return Command{
		Use: "man FOLDER [flags]", Short: "Write the manual pages", Long: manUsage,
		Example: "  " + name + " man ~/.local/share/man/man1",
		Hidden:  true,
		Args:    OneArgument("name the folder to write to"),
		Unused:  DirFlags + GPUFlags, Result: manResult{},
		Check: func(cmd *cobra.Command, args []string) error { return NoStdout(cmd, args[0]) },
		Run: func(cmd *cobra.Command, args []string) (Result, error) {
			pages, err := o.writeManPages(args[0], cmd.Root())
			return manResult{args[0], pages}, err
		},
	}
}

func (r manResult) Print(w io.Writer) {
	fmt.Fprintf(w, "%s in %s\n", Plural(len(r.Pages), "page"), EscapeName(r.Dir))
}
