package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"

	"github.com/spf13/cobra"

	"github.com/shadercache/shadercache/cmd/cli"
	"github.com/shadercache/shadercache/cmd/internal/doctor"
	"github.com/shadercache/shadercache/cmd/internal/report"
	"github.com/shadercache/shadercache/cmd/internal/top"
	"github.com/shadercache/shadercache/trace"
)

const reportUsage = `Show where the time of a start went, as a page for a browser.

The trace is what a program wrote that ran with SHADERCACHE_TRACE=FILE, or a
command with --trace FILE. The page shows the start by phase and by program,
which programs callers waited for, because they were preloaded too late or
never, which were preloaded and never used, the slowest and largest ones, what
the cache directory holds, its starts until now, what doctor finds, and the list
to preload next time. Without --trace it shows the directory alone.

The page is one file without scripts. With --json the figures are printed
instead.`

const reportExample = `  SHADERCACHE_TRACE=start.json ./app
  shadercache report --trace start.json -o report.html`

type pageFlags struct {
	Trace    string `flag:"trace" help:"trace of the start, in place of one of this command"`
	Before   string `flag:"before" help:"trace of another start, such as a cold one, to show beside this one"`
	Out      string `flag:"out,o" help:"file of the page; - is standard output"`
	NoDoctor bool   `flag:"no-doctor" help:"leave out what doctor finds, which opens a context"`
}

func (o *options) reportCommand() cli.Command {
	var f pageFlags
	return cli.Command{
		Use:     "report [--trace FILE] [--before FILE] -o FILE",
		Short:   "Show where the time of a start went, as a page",
		Long:    reportUsage,
		Example: reportExample,
		Flags:   &f, Result: report.Report{},
		Check: func(*cobra.Command, []string) error {
			if f.Out == "" && !o.JSON {
				return errors.New("name the file of the page with -o, or print the figures with --json")
			}
			return nil
		},
		Run: func(*cobra.Command, []string) (cli.Result, error) { return nil, o.report(f) },
	}
}

func (o *options) report(f pageFlags) (err error) {
	r := &report.Report{}
	if r.Start, err = readTrace(f.Trace); err == nil {
		r.Before, err = readTrace(f.Before)
	}
	if err != nil {
		return err
	}
	_, dir, err := o.OpenDirectory()
	if err == nil && dir != nil {
		r.Cache, err = top.NewWatcher(dir).Snapshot(time.Now())
		if err == nil && r.Start != nil {
			err = r.Start.CountOthers(dir)
		}
	}
	if err != nil {
		return err
	}
	if !f.NoDoctor {
		r.Checks = doctor.Examine(&o.Options).Findings
	}
	if f.Out != "" {
		err = o.writePage(f.Out, r)
	}
	if err == nil && o.JSON {
		err = o.Result(r, func(io.Writer) {})
	}
	return err
}

// writePage writes the page of a report. A file that there is is replaced.
func (o *options) writePage(path string, r *report.Report) error {
	if err := o.WriteOutput(path, 0o644, r.WriteHTML); err != nil {
		return err
	}
	if path != cli.Stdout {
		fmt.Fprintln(o.Stderr, "wrote", path)
	}
	return nil
}

// readTrace reads the trace of a start; "" is none.
func readTrace(path string) (*report.Start, error) {
	if path == "" {
		return nil, nil
	}
	start, err := report.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		err = cli.Hint(err, "run the program with "+trace.Variable+"="+path)
	case err != nil && !errors.Is(err, fs.ErrPermission):
		err = cli.Hint(err, "name the file that a program wrote, run with "+trace.Variable+"=FILE")
	}
	return start, err
}
