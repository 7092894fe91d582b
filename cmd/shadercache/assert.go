package main

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/shadercache/shadercache/cmd/cli"
)

const assertUsage = `Fail when a start compiled too much or took too long, as a step of CI.

The trace is what a program wrote that ran with SHADERCACHE_TRACE=FILE. Times
are from the begin of the process until a program was ready, machine code
included. Each limit that is exceeded is named, with the programs that exceed
it.`

const assertExample = `  SHADERCACHE_TRACE=start.json ./app
  shadercache assert --max-compiles 0 --max-first-result 50ms --trace start.json`

type assertFlags struct {
	trace             string
	compiles          int
	first, all, waits time.Duration
	unused            int
}

// assertResult says which limits a start kept.
type assertResult struct {
	Kept   bool          `json:"kept"` // all limits
	Limits []assertLimit `json:"limits"`
}

type assertLimit struct {
	Name     string   `json:"name"` // of the flag
	Limit    float64  `json:"limit"`
	Value    float64  `json:"value"`
	Unit     string   `json:"unit"` // programs or ms
	Kept     bool     `json:"kept"`
	Programs []string `json:"programs,omitempty"` // that exceed it
}

func newAssert(o *options) *cobra.Command {
	var f assertFlags
	cmd := &cobra.Command{
		Use:                   "assert --trace FILE [--max-compiles N] [--max-first-result TIME]",
		DisableFlagsInUseLine: true,
		Short:                 "Fail when a start compiled too much or took too long",
		Long:                  assertUsage,
		Example:               assertExample,
		Args:                  cli.UsageArgs(cli.NoArguments),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.trace == "" {
				return cli.Usage(cmd, errors.New("name the trace of the start with --trace"))
			}
			return o.assert(cmd, f)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.trace, "trace", "", "trace of the start, in place of one of this command")
	flags.IntVar(&f.compiles, "max-compiles", 0, "programs that a start may compile")
	flags.DurationVar(&f.first, "max-first-result", 0, "time until the first program is ready, as in 50ms")
	flags.DurationVar(&f.all, "max-ready", 0, "time until all programs are ready")
	flags.DurationVar(&f.waits, "max-wait", 0, "time that callers wait for programs, summed up")
	flags.IntVar(&f.unused, "max-unused", 0, "programs that are preloaded and never used")
	for _, name := range []string{"max-compiles", "max-first-result", "max-ready", "max-wait", "max-unused"} {
		flags.Lookup(name).DefValue = ""
	}
	return cli.Without(o.WithResult(cmd, assertResult{}), cli.GPUFlags)
}

func (o *options) assert(cmd *cobra.Command, f assertFlags) error {
	start, err := readTrace(f.trace)
	if err != nil {
		return err
	}
	r := &assertResult{Kept: true}
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
	var compiled, waited, unused []string
	for _, p := range start.Programs {
		if p.Origin == "compiled" {
			compiled = append(compiled, p.Name)
		}
		if p.WaitedMillis > 0 {
			waited = append(waited, p.Name)
		}
		if p.Use == "never used" {
			unused = append(unused, p.Name)
		}
	}
	milliseconds := func(d time.Duration) float64 { return d.Seconds() * 1e3 }
	add("max-compiles", float64(f.compiles), float64(len(compiled)), "programs", compiled)
	add("max-first-result", milliseconds(f.first), start.FirstMillis, "ms", nil)
	add("max-ready", milliseconds(f.all), start.ReadyMillis, "ms", nil)
	add("max-wait", milliseconds(f.waits), start.WaitedMillis, "ms", waited)
	add("max-unused", float64(f.unused), float64(len(unused)), "programs", unused)
	if len(r.Limits) == 0 {
		return cli.Usage(cmd, errors.New("name at least one limit"))
	}
	if len(start.Programs) == 0 {
		return cli.Hint(errors.New("the trace has no program"), "is it of a process that asked for one?")
	}
	if err := o.Result(r, r.Print); err != nil || r.Kept {
		return err
	}
	return cli.Hint(errors.New("the start exceeds its limits"), "shadercache report --trace "+f.trace+" -o report.html")
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
