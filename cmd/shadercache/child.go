package main

import (
	"context"
	"os"
	"os/exec"
)

// childCommand is a fresh process of this executable with the global flags of
// this one, its environment, and its standard error.
func (o *options) childCommand(ctx context.Context, dir string, command []string, arguments ...string) (*exec.Cmd, error) {
	executable, err := os.Executable()
	if err != nil {
		return nil, err
	}
	all := append(command, "--dir", dir, "--device", o.device,
		"--driver-cache", o.driverCache.String(), "--log-level", o.logLevel.String())
	child := exec.CommandContext(ctx, executable, append(all, arguments...)...)
	child.Args[0] = os.Args[0]
	child.Stderr = o.stderr
	return child, nil
}
