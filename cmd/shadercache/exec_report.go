package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/cmd/cli"
	"github.com/shadercache/shadercache/drivercache"
)

// caught are the signals that do not end exec while it stays beside a program.
var caught = []os.Signal{os.Interrupt, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGUSR1, syscall.SIGUSR2}

// execReporting runs a program as a child, and reports what the driver did with its cache
// until its end. The error has the exit code of the program.
func (o *options) execReporting(program string, args []string) error {
	dir := o.reportDirectory()
	end := func() drivercache.Activity { return drivercache.Activity{} }
	if dir != nil {
		end = drivercache.Observe(dir.DriverDir())
	}
	child := &exec.Cmd{Path: program, Args: args, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr}
	signals := make(chan os.Signal, 16)
	cli.Notify(signals, caught...)
	began := time.Now()
	err := child.Start()
	if errors.Is(err, syscall.ENOEXEC) && isScript(program) {
		child = &exec.Cmd{Path: "/bin/sh", Args: append([]string{"sh", program}, args[1:]...), Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr}
		err = child.Start()
	}
	if err != nil {
		return cannotExecute(program, err)
	}
	go func() {
		for s := range signals {
			if s != os.Interrupt && s != syscall.SIGQUIT { // those it has from the terminal
				_ = child.Process.Signal(s) // it may have ended
			}
		}
	}()
	_ = child.Wait() // the state of the process has it
	if dir != nil {
		o.reportRun(dir, program, end(), time.Since(began))
	}
	return exitOf(child.ProcessState)
}

// reportDirectory returns the cache directory, or nil with a warning.
func (o *options) reportDirectory() *binary.Dir {
	dir, err := o.MakeDirectory()
	if _, managed := drivercache.Managed(); err == nil && !managed {
		err = errors.New("the driver's own cache is not managed")
	}
	if err != nil {
		o.Logger().Warn("there is no report", "reason", err)
		return nil
	}
	return dir
}

// reportRun prints and records a run.
func (o *options) reportRun(dir *binary.Dir, program string, a drivercache.Activity, took time.Duration) {
	run := binary.Run{Time: time.Now().UTC(), Program: program, Activity: a, Millis: cli.Milliseconds(took)}
	fmt.Fprintf(o.Stderr, "shadercache: the driver %s\n", activityText(run))
	if err := dir.AppendRun(run); err != nil {
		o.Logger().Warn("the run is not in stats", "reason", err)
	}
}

// activityText returns what a driver did: "read 12 entries of its cache and added 0".
func activityText(r binary.Run) string {
	text := fmt.Sprintf("read %d of its entries and added %d", r.Read, r.Added)
	if r.Read < 0 {
		text = fmt.Sprintf("added %d entries, and what it read is not known", r.Added)
	}
	if r.Added > 0 {
		text += ", " + cli.ReadableBytes(r.Bytes)
	}
	return text
}

// exitOf returns an error with the exit code of a program, as a shell has it; nil for 0.
func exitOf(state *os.ProcessState) error {
	code := state.ExitCode()
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		code = 128 + int(status.Signal())
	}
	if code == 0 {
		return nil
	}
	return cli.Exit(cli.ErrReported, code)
}
