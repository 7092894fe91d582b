package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/shadercache/shadercache/cmd/cli"
)

// moved has the commands that shadercache-lab has, by the command that they were below.
var moved = map[string][]string{
	"":      {"checkpoint", "lint"},
	"run":   {"interpreter", "wave"},
	"bench": {"conv2d", "devices", "dispatch", "executor", "gemm", "interpreter", "resident", "steal", "table", "together", "wave"},
}

// addMoved adds commands that say where they are now, whatever their arguments.
func (o *options) addMoved(root *cobra.Command) {
	for parent, names := range moved {
		above, _, err := root.Find([]string{parent})
		if err != nil || parent == "" {
			above = root
		}
		for _, name := range names {
			o.Add(above, movedCommand(name))
		}
	}
}

func movedCommand(name string) cli.Command {
	return cli.Command{
		Use:     name,
		Short:   "Moved to shadercache-lab",
		Example: "  shadercache-lab --help",
		Hidden:  true,
		Args:    cobra.ArbitraryArgs,
		Setup:   func(cmd *cobra.Command) { cmd.DisableFlagParsing = true },
		Run: func(cmd *cobra.Command, _ []string) (cli.Result, error) {
			err := fmt.Errorf("%s moved: it is %s-lab%s", cmd.CommandPath(), cmd.Root().Name(), cmd.CommandPath()[len(cmd.Root().Name()):])
			return nil, cli.Usage(cmd, cli.Hint(err, "make lab builds bin/shadercache-lab"))
		},
	}
}
