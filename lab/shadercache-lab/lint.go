package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/shadercache/shadercache/cmd/cli"
	"github.com/shadercache/shadercache/lab/lint"
	"github.com/shadercache/shadercache/shader"
	"github.com/shadercache/shadercache/shader/manifest"
)

const lintUsage = `Find mistakes in compute shaders that hang a GPU or leave most of it idle.

Each argument is a GLSL file, read with its includes, or a folder: every .comp
and .glsl file below it. #include searches as for shadercache preload. No GPU is
needed.

Rules:
  divergent-barrier      barrier() under a condition that differs between the
                         invocations of a group
  return-before-barrier  a return that only some invocations execute, and a
                         barrier() that the others reach
  divergent-loop         barrier() in a loop that some invocations leave, or
                         repeat, before the others
  shared-race            a shared variable that is a condition of the group is
                         written while others may still read it
  single-lane-loop       a loop that one lane runs while the others wait
  unbounded-loop         a loop without a counter that ends it
  marker                 a marker without a reason, or an unknown one
  unreadable             text that could not be parsed

A comment on the line of a finding, or on the line above, marks it as intended:
  // lint:leader REASON  one lane is meant to run this loop
  // lint:budget REASON  this loop ends, for the reason given

The lint analyses text by heuristics, see docs/lint.md.

Files that cannot be read are reported on standard error; the others are
checked. The exit code is 1 when there is a finding, or a file that cannot be
read.`

// lintResult is what lint prints.
type lintResult struct {
	Files    int            `json:"files"`
	Findings []lint.Finding `json:"findings"`

	failures []error // files that could not be read
}

func newLint(o *options) cli.Command {
	var f cli.SourceFlags
	return cli.Command{
		Use:     "lint FILE|DIR ... [-D NAME=VALUE] [-I DIR]",
		Short:   "Find mistakes in compute shaders",
		Long:    lintUsage,
		Example: "  shadercache-lab lint kernels/ blur.comp",
		Args:    cli.SomeArguments("name at least one file or folder"),
		Flags:   &f, Unused: cli.DirFlags + cli.GPUFlags, Result: lintResult{},
		Run: func(_ *cobra.Command, args []string) (cli.Result, error) { return lintFiles(args, f.Options()) },
	}
}

func lintFiles(args []string, options shader.FileOptions) (cli.Result, error) {
	r := &lintResult{Findings: []lint.Finding{}}
	for _, arg := range args {
		files, err := manifest.Files(arg, manifest.KernelExt, ".glsl")
		if err != nil {
			r.failures = append(r.failures, err)
		}
		for _, file := range files {
			if err := r.check(file, options); err != nil {
				r.failures = append(r.failures, err)
			}
		}
	}
	if r.Files == 0 {
		return nil, cli.Several(r.failures)
	}
	return r, nil
}

// Verdict returns what could not be read, else an error where there is a finding.
func (r *lintResult) Verdict() error {
	if len(r.failures) == 0 && len(r.Findings) > 0 {
		return cli.ErrReported
	}
	return cli.Several(r.failures)
}

func (r *lintResult) check(file string, options shader.FileOptions) error {
	source, err := shader.ReadFile(file, options)
	if err != nil {
		return err
	}
	r.Files++
	r.Findings = append(r.Findings, lint.CheckSource(source)...)
	return nil
}

func (r *lintResult) Print(w io.Writer) {
	for _, f := range r.Findings {
		fmt.Fprintf(w, "%s\n  hint: %s\n", cli.EscapeName(f.String()), cli.EscapeName(f.Hint))
	}
	fmt.Fprintf(w, "%s in %s\n", cli.Plural(len(r.Findings), "finding"), cli.Plural(r.Files, "file"))
}
