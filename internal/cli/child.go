package cli

import (
	"context"
	"os"
	"os/exec"
)

// ChildCommand returns a command that starts this executable with the global flags of
// this process, its environment and its standard error, but with dir as cache
// directory.
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
