package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/shadercache/shadercache/internal/cli"
)

const versionUsage = `Print the version, the revision it was built from, and the Go version.`

func newVersion(o *options) *cobra.Command {
	return cli.Without(o.WithResult(&cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		Long:    versionUsage,
		Example: "  shadercache version --json",
		Args:    cli.UsageArgs(cli.NoArguments),
		RunE: func(*cobra.Command, []string) error {
			v := cli.ReadVersion()
			return o.Result(v, func(w io.Writer) {
				revision := v.Revision
				if v.Modified {
					revision += " with changes"
				}
				fmt.Fprintf(w, "shadercache %s (%s, %s, %s)\n", v.Version, revision, v.Go, v.Platform)
			})
		},
	}, cli.Version{}), cli.DirFlags, cli.GPUFlags)
}
