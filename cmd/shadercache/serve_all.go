package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/shadercache/shadercache"
	"github.com/shadercache/shadercache/cmd/cli"
)

const serveAllName = "serve-all"

// serveAllCommand is the command of the process that serve --device all asks for the GPUs: a
// driver that is loaded keeps tens of MiB, and the process that accepts clients needs none.
func (o *options) serveAllCommand() cli.Command {
	return cli.Command{
		Use:     serveAllName + " [flags]",
		Short:   "List the GPUs of serve --device all",
		Example: "  shadercache serve --device all",
		Hidden:  true,
		GPUs:    cli.SeveralGPUs,
		Run: func(*cobra.Command, []string) (cli.Result, error) {
			names, err := shadercache.DeviceNames()
			if err != nil {
				return nil, cli.Hint(err, "shadercache doctor")
			}
			return nil, json.NewEncoder(o.Stdout).Encode(names)
		},
	}
}

// allDevices returns the GPUs of --device all, as a process of serveAllName prints them.
func (o *options) allDevices(ctx context.Context) (names []string, err error) {
	child, err := o.ChildCommand(ctx, o.Dir, []string{serveAllName})
	if err != nil {
		return nil, err
	}
	if err = cli.ReadChild(ctx, child, &names); err == nil && len(names) == 0 {
		err = errors.New("there are none")
	}
	if err != nil {
		return nil, fmt.Errorf("list the GPUs: %w", err)
	}
	return names, nil
}
