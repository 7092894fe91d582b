package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/shadercache/shadercache/internal/cli"
)

const manUsage = `Write a manual page for each command into a folder, for man.

The pages hold the text of --help: shadercache.1 and, for example,
shadercache-preload.1.`

// manResult is what man prints.
type manResult struct {
	Dir   string   `json:"dir"`
	Pages []string `json:"pages"` // file names
}

func newMan(o *options) *cobra.Command {
	return cli.Without(o.WithResult(&cobra.Command{
		Use:     "man FOLDER",
		Short:   "Write the manual pages",
		Long:    manUsage,
		Example: "  shadercache man ~/.local/share/man/man1",
		Hidden:  true,
		Args:    cli.OneArgument("name the folder to write to"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := cli.NoStdout(cmd, args[0]); err != nil {
				return err
			}
			o.CompleteHelp(cmd.Root())
			pages, err := cli.WriteManPages(args[0], cmd.Root())
			if err != nil {
				return err
			}
			return o.Result(manResult{args[0], pages}, func(w io.Writer) {
				fmt.Fprintf(w, "%s in %s\n", cli.Plural(len(pages), "page"), cli.EscapeName(args[0]))
			})
		},
	}, manResult{}), cli.DirFlags, cli.GPUFlags)
}
