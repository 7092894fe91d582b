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

func (o *Options) newMan(name string) *cobra.Command {
	return Without(o.WithResult(&cobra.Command{
		Use:     "man FOLDER",
		Short:   "Write the manual pages",
		Long:    manUsage,
		Example: "  " + name + " man ~/.local/share/man/man1",
		Hidden:  true,
		Args:    OneArgument("name the folder to write to"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := NoStdout(cmd, args[0]); err != nil {
				return err
			}
			o.CompleteHelp(cmd.Root())
			pages, err := WriteManPages(args[0], cmd.Root())
			if err != nil {
				return err
			}
			return o.Result(manResult{args[0], pages}, func(w io.Writer) {
				fmt.Fprintf(w, "%s in %s\n", Plural(len(pages), "page"), EscapeName(args[0]))
			})
		},
	}, manResult{}), DirFlags, GPUFlags)
}
