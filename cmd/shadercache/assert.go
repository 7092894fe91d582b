package main

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/shadercache/shadercache/cmd/cli"
	"github.com/shadercache/shadercache/cmd/internal/report"
)

const assertUsage = `Fail when a start compiled too much or took too long, as a step of CI.

The trace is what a program wrote that ran with SHADERCACHE_TRACE=FILE. Times
are from the begin of the process until a program was ready, machine code
included. Each limit that is exceeded is named, with the programs that exceed
it. A program that did not become ready is an error, and so is a trace that had
no room for all events.`

const assertExample = `  SHADERCACHE_TRACE=start.json ./app
  shadercache assert --max-compiles 0 --max-first-result 50ms --trace start.json`

type assertFlags struct {
	Trace    string        `flag:"trace" help:"trace of the start, in place of one of this command"`
	Compiles int           `flag:"max-compiles" help:"programs that a start may compile"`
	First    time.Duration `flag:"max-first-result" help:"time until the first program is ready, as in 50ms"`
	All      time.Duration `flag:"max-ready" help:"time until all programs are ready"`
	Waits    time.Duration `flag:"max-wait" help:"time that callers wait for programs, summed up"`
	Unused   int           `flag:"max-unused" help:"programs that are preloaded and never used"`
}

// assertResult says which limits a start kept.
type assertResult struct {
	Kept   bool          `json:"kept"` // all limits
	Limits []assertLimit `json:"limits"`

	trace string // its file
}

type assertLimit struct {
	Name     string   `json:"name"` // of the flag
	Limit    float64  `json:"limit"`
	Value    float64  `json:"value"`
	Unit     string   `json:"unit"` // programs or ms
	Kept     bool     `json:"kept"`
	Programs []string `json:"programs,omitempty"` // that exceed it
}

func (o *options) assertCommand() cli.Command {
	var f assertFlags
	return cli.Command{
		Use:     "assert --trace FILE [--max-compiles N] [--max-first-result TIME]",
		Short:   "Fail when a start compiled too much or took too long",
		Long:    assertUsage,
		Example: assertExample,
		Flags:   &f, Unused: cli.GPUFlags, Result: assertResult{},
		Check: func(*cobra.Command, []string) error {
			if f.Trace == "" {
				return errors.New("name the trace of the start with --trace")
			}
			return nil
		},
		Run: func(cmd *cobra.Command, _ []string) (cli.Result, error) { return assertStart(cmd, f) },
	}
}

func assertStart(cmd *cobra.Command, f assertFlags) (*assertResult, error) {
	start, err := readTrace(f.Trace)
	if err != nil {
		return nil, err
	}
	r := &assertResult{Kept: true, trace: f.Trace}
	add := func(name string, limit, value float64, unit string, programs []string) {
		if !cmd.Flags().Changed(name) {
			return
		}
		l := assertLimit{Name: name, Limit: limit, Value: value, Unit: unit, Kept: value <= limit}
		if !l.Kept {
			l.Programs = programs
		}
		r.Limits, r.Kept = append(r.Limits, l), r.Kept && l.Kept
	}
	names := func(has func(report.Program) bool) (list []string) {
		for _, p := range start.Programs {
			if has(p) {
				list = append(list, p.Name)
			}
		}
		return list
	}
	compiled := names(func(p report.Program) bool { return p.Origin == "compiled" })
	waited := names(func(p report.Program) bool { return p.WaitedMillis > 0 })
	unused := names(func(p report.Program) bool { return p.Use == report.Unused })
	failed := names(func(p report.Program) bool { return p.ReadyMillis == 0 && (p.Error != "" || p.Use == report.Filled) })
	add("max-compiles", float64(f.Compiles), float64(len(compiled)), "programs", compiled)
	add("max-first-result", cli.Milliseconds(f.First), start.FirstMillis, "ms", nil)
	add("max-ready", cli.Milliseconds(f.All), start.ReadyMillis, "ms", nil)
	add("max-wait", cli.Milliseconds(f.Waits), start.WaitedMillis, "ms", waited)
	add("max-unused", float64(f.Unused), float64(len(unused)), "programs", unused)
	if len(r.Limits) == 0 {
		return nil, cli.Usage(cmd, errors.New("name at least one limit"))
	}
	switch {
	case len(start.Programs) == 0:
		return nil, cli.Hint(errors.New("the trace has no program"), "is it of a process that asked for one?")
	case len(failed) > 0:
		return nil, cli.Hint(fmt.Errorf("of %s, %d did not become ready: %q", cli.Plural(len(start.Programs), "program"), len(failed), failed), "shadercache why")
	case start.Dropped > 0:
		return nil, fmt.Errorf("the trace had no room for %s", cli.Plural(start.Dropped, "event"))
	}
	return r, nil
}

func (r *assertResult) Verdict() error {
	if r.Kept {
		return nil
	}
	return cli.Hint(errors.New("the start exceeds its limits"), "shadercache report --trace "+r.trace+" -o report.html")
}

// Print writes a line for each limit, and the programs that exceed it.
func (r *assertResult) Print(w io.Writer) {
	for _, l := range r.Limits {
		verdict := "kept"
		if !l.Kept {
			verdict = "EXCEEDED"
		}
		fmt.Fprintf(w, "%s\t%.4g of %.4g %s\t%s\n", l.Name, l.Value, l.Limit, l.Unit, verdict)
		for _, name := range l.Programs {
			fmt.Fprintf(w, "\t%s\t\n", name)
		}
	}
}
