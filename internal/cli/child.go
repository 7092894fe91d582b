package cli

import (
	"context"
	"os"
	"os/exec"
)

// ChildCommand is a fresh process of this executable with the global flags of
// this one, its environment, and its standard error.
func (o *Options) ChildCommand(ctx context.Context, dir string, command []string, arguments ...string) (*exec.Cmd, error) {
	executable, err := os.Executable()
	if err != nil {
		return nil, err
	}
	all := append(command, "--dir", dir, "--device", o.Device,
		"--driver-cache", o.DriverCache.String(), "--log-level", o.LogLevel.String())
	child := exec.CommandContext(ctx, executable, append(all, arguments...)...)
	child.Args[0] = os.Args[0]
	child.Stderr = o.Stderr
	return child, nil
}
