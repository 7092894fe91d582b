package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/shadercache/shadercache/cmd/cli"
	"github.com/shadercache/shadercache/drivercache"
	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/trace"
)

const execUsage = `Run any OpenGL program with the driver's own cache kept in the cache directory.

The program replaces this process, with its arguments, streams, signals and exit
code. Its machine code is shared with everything else that uses the directory,
whatever the name of the program's file, and is part of an export.
SHADERCACHE_DIR is set for the program, in case it stores program binaries too.
Variables of the environment that are already set are not changed. With
--log-level info the changes are logged. Where the cache cannot be used the
program starts all the same, after one warning.

The directory is in use while the program runs, or a process that it started:
what others compile or import in that time is complete, but the slots of
NVIDIA's driver are merged at a later start.

With --driver-cache off only SHADERCACHE_DIR is set.

With --record every OpenGL program that is linked, by the program and by those
that it starts, is written to a folder: the sources as the driver got them and
what else decides the link, once each, and the order of their first use. A small
C library does that, preloaded by LD_PRELOAD; it is compiled once, by the C
compiler, unless it lies beside the executable. The programs see nothing of it,
and a full disk costs them nothing but the recording. Programs that are linked
statically, setuid or 32-bit are not recorded, nor are those of another C
library than glibc.

With --report this process stays beside the program, passes signals on, and at
its end prints to standard error how many entries of its own cache the driver
read, and how many it had to add; stats has the totals. Mesa's reads are seen.
NVIDIA's driver reads its files as a whole, so only additions are known. What
other processes did with the directory meanwhile counts too. Which programs were
compiled shows shadercache recording diff.

The exit code is the program's; 127 when there is no such program, 126 when it
cannot be executed.`

const execExample = `  shadercache --log-level info exec -- glmark2 --off-screen
  shadercache exec --record shaders -- python3 simulation.py`

func (o *options) execCommand() cli.Command {
	var f struct {
		Record string `flag:"record" help:"write every OpenGL program that is linked to a folder"`
		Report bool   `flag:"report" help:"report at its end what the driver read of its cache, and added"`
	}
	return cli.Command{
		Use:     "exec [--record DIR] [--report] -- PROGRAM [ARGUMENT ...]",
		Short:   "Run any OpenGL program with the managed driver cache",
		Long:    execUsage,
		Example: execExample,
		Args:    cli.SomeArguments("name the program to run"),
		Flags:   &f, Unused: "device api",
		Setup: func(cmd *cobra.Command) { cmd.Flags().SetInterspersed(false) },
		Check: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("record") && (f.Record == "" || f.Record == "--") {
				return fmt.Errorf("--record needs the name of a folder, and got %q", f.Record)
			}
			return nil
		},
		Run: func(cmd *cobra.Command, args []string) (cli.Result, error) {
			return nil, o.exec(cmd.Context(), args, f.Record, f.Report)
		},
	}
}

// exec replaces this process. It returns where the program cannot be started, or not be
// recorded to a folder that was named.
func (o *options) exec(ctx context.Context, args []string, folder string, report bool) error {
	program, err := findProgram(args[0])
	if err == nil && folder != "" {
		err = o.record(ctx, folder, program)
	}
	if err != nil {
		return err
	}
	o.setExecEnvironment()
	if file := o.HandTrace(); file != nil && os.Getenv(trace.Variable) == "" {
		_ = os.Setenv(trace.Variable, file[1]) // the program writes it
	}
	if report {
		return o.execReporting(program, args)
	}
	drivercache.AwaitRecords(math.MaxInt64) // exec itself would wait for the disk, and lose the record
	err = syscall.Exec(program, args, os.Environ())
	if errors.Is(err, syscall.ENOEXEC) && isScript(program) {
		err = syscall.Exec("/bin/sh", append([]string{"sh", program}, args[1:]...), os.Environ())
	}
	return cannotExecute(program, err)
}

// findProgram returns the path of a program as a shell finds it.
func findProgram(name string) (string, error) {
	program, err := exec.LookPath(name)
	if err == nil || errors.Is(err, exec.ErrDot) {
		return program, nil // a shell accepts the current folder in $PATH
	}
	found := name
	if !strings.Contains(name, "/") {
		found = inPath(name)
	}
	if _, err := os.Stat(found); err != nil {
		if found == "" || errors.Is(err, fs.ErrNotExist) {
			err = errors.New("there is no such program")
		}
		return "", cli.Exit(fmt.Errorf("%s: %w", name, err), cli.ExitNotFound)
	}
	if cause, ok := errors.AsType[*exec.Error](err); ok && !errors.Is(err, exec.ErrNotFound) {
		err = cause.Err
	} else {
		err = fs.ErrPermission
	}
	return "", cannotExecute(found, err)
}

// inPath returns the first file of a name in $PATH, executable or not, or "".
func inPath(name string) string {
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		path := filepath.Join(dir, name)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			return path
		}
	}
	return ""
}

func cannotExecute(program string, err error) error {
	return cli.Exit(fmt.Errorf("start %s: %w", program, err), cli.ExitCannotExecute)
}

// isScript reports whether a file that the kernel does not execute is a text, which a
// shell reads.
func isScript(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	begin := make([]byte, 128)
	n, _ := f.Read(begin)
	return n > 0 && !bytes.Contains(begin[:n], []byte{0})
}

// setExecEnvironment sets the environment of the program. What cannot be set is logged,
// and costs the program its cache.
func (o *options) setExecEnvironment() {
	made, err := o.makeEnvironment()
	if err != nil {
		o.Logger().Warn("the program runs without the cache", "reason", err)
		return
	}
	if made.managed {
		drivercache.FirstProgram() // the slot of this process is that of the program
		if err := drivercache.HoldAcrossExec(); err != nil {
			o.Logger().Warn("the driver's cache may be merged while the program runs", "reason", err)
		}
	}
	for _, setting := range made.set {
		o.Logger().Info("set " + setting)
	}
	for _, setting := range made.kept {
		o.Logger().Info("left as it is: " + setting)
	}
}

// madeEnvironment is what makeEnvironment did. Settings are NAME=VALUE.
type madeEnvironment struct {
	directory string
	managed   bool     // the driver's own cache is in the directory
	set       []string // set by it
	kept      []string // of the user, and not changed
}

// makeEnvironment makes the cache directory one for programs that inherit the environment
// of this process: it sets the variables, makes the folders, merges the slots of earlier
// programs and copies the machine code of upstream directories.
func (o *options) makeEnvironment() (made madeEnvironment, err error) {
	if made.directory, err = o.Directory(); err != nil {
		return made, err
	}
	before := os.Environ()
	if err := os.Setenv("SHADERCACHE_DIR", made.directory); err != nil {
		return made, err
	}
	state := glctx.ManageDriverCache(o.ContextOptions())
	if !state.Managed && bool(o.DriverCache) {
		o.Logger().Warn("the driver's own cache is not managed", "reason", state.Reason)
	}
	if made.managed = state.Managed; made.managed {
		o.fillDriverCaches()
	}
	for _, setting := range os.Environ() {
		if !slices.Contains(before, setting) {
			made.set = append(made.set, setting)
		}
	}
	made.kept = state.UserSettings()
	return made, nil
}

// fillDriverCaches copies the machine code of the upstream directories: for every driver,
// since the program chooses one later.
func (o *options) fillDriverCaches() {
	for _, upstream := range o.Place().Find().Upstream {
		for _, folder := range drivercache.Folders() {
			r, err := drivercache.Fill(upstream.DriverDir(), folder)
			if err != nil {
				o.Logger().Warn("machine code of the upstream directory was not copied, or not all of it", "reason", err)
			}
			if r.Files > 0 {
				o.Logger().Info(fmt.Sprintf("copied %s of machine code from %s", cli.Plural(r.Files, "file"), upstream.Path()))
			}
		}
	}
}
