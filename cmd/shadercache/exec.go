package main

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/shadercache/shadercache/drivercache"
	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/internal/cli"
)

const execUsage = `Run any OpenGL program with the driver's own cache kept in the cache directory.

The program replaces this process, with its arguments, streams and exit code. Its
machine code is shared with everything else that uses the directory, whatever the
name of the program's file, and is part of an export. SHADERCACHE_DIR is set for
the program, in case it stores program binaries too. Variables of the environment
that are already set are not changed. With --log-level info the changes are logged.

The directory is in use while the program runs, or a process that it started: what
others compile or import in that time is complete, but the slots of NVIDIA's driver
are merged at a later start.

With --driver-cache off only SHADERCACHE_DIR is set. There is no result, so
--json changes nothing.

The exit code is the program's, or 1 when it could not be started.`

const execExample = `  shadercache --log-level info exec -- glmark2 --off-screen`

func newExec(o *options) *cobra.Command {
	cmd := &cobra.Command{
		Use:                   "exec -- PROGRAM [ARGUMENT ...]",
		DisableFlagsInUseLine: true,
		Short:                 "Run any OpenGL program with the managed driver cache",
		Long:                  execUsage,
		Example:               execExample,
		Args:                  cli.SomeArguments("name the program to run"),
		RunE:                  func(_ *cobra.Command, args []string) error { return o.exec(args) },
	}
	cmd.Flags().SetInterspersed(false)
	return cmd
}

// exec replaces this process. It returns where the program cannot be started.
func (o *options) exec(args []string) error {
	program, err := exec.LookPath(args[0])
	if err != nil {
		return err
	}
	path, err := o.Directory()
	if err != nil {
		return err
	}
	before := os.Environ()
	if err := os.Setenv("SHADERCACHE_DIR", path); err != nil {
		return err
	}
	state := glctx.ManageDriverCache(o.ContextOptions())
	if !state.Managed && bool(o.DriverCache) {
		o.Logger().Warn("the driver's own cache is not managed", "reason", state.Reason)
	}
	if state.Managed {
		if err := drivercache.HoldAcrossExec(); err != nil {
			o.Logger().Warn("the driver's cache may be merged while the program runs", "reason", err)
		}
	}
	for _, setting := range os.Environ() {
		if !slices.Contains(before, setting) {
			o.Logger().Info("set " + setting)
		}
	}
	for _, setting := range state.UserSettings() {
		o.Logger().Info("left as it is: " + setting)
	}
	if err := syscall.Exec(program, args, os.Environ()); err != nil {
		return fmt.Errorf("start %s: %w", program, err)
	}
	return nil
}
