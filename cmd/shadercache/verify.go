package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/internal/cli"
)

const verifyUsage = `Read every program, tuning and source on disk and check each byte.

It needs no OpenGL, reads one program at a time, and without --repair writes nothing.
Damage is harmless: a damaged program is compiled again when it is needed.

--repair rejects damaged programs, deletes damaged sources, tunings and leftovers of
interrupted writes, rebuilds damaged indexes, and ends every quarantine, so that
programs which a process died of are tried again. Unknown files are reported and not
changed.

The exit code is 1 when something is damaged or in quarantine and was not
repaired.`

const verifyExample = `  shadercache verify || shadercache verify --repair`

// verifyResult is what verify prints.
type verifyResult struct {
	Dir      string `json:"dir"`
	Repaired bool   `json:"repaired"`
	binary.VerifyReport
}

func newVerify(o *options) *cobra.Command {
	var repair bool
	cmd := &cobra.Command{
		Use:                   "verify [--repair]",
		DisableFlagsInUseLine: true,
		Short:                 "Check every byte on disk",
		Long:                  verifyUsage,
		Example:               verifyExample,
		Args:                  cli.UsageArgs(cli.NoArguments),
		RunE: func(*cobra.Command, []string) error {
			r, err := o.verify(repair)
			if err != nil {
				return err
			}
			if err := o.Result(r, r.Print); err != nil {
				return err
			}
			return r.failure()
		},
	}
	cmd.Flags().BoolVar(&repair, "repair", false, "reject what is damaged, and end every quarantine")
	return o.WithResult(cmd, verifyResult{})
}

func (o *options) verify(repair bool) (*verifyResult, error) {
	open := o.ReadDirectory
	if repair {
		open = o.OpenDirectory
	}
	path, dir, err := open()
	r := &verifyResult{Dir: path}
	if err == nil && dir != nil {
		bar := o.NewProgress(-1, "verifying")
		r.VerifyReport, err = dir.Verify(repair, func(binary.VerifyReport) { _ = bar.Add(1) })
		_ = bar.Finish()
	}
	if r.Problems == nil {
		r.Problems = []binary.Problem{}
	}
	r.Repaired = repair && err == nil
	return r, err
}

// failure returns an error where something is damaged or in quarantine.
func (r *verifyResult) failure() error {
	if r.OK() || r.Repaired {
		return nil
	}
	return cli.Hint(
		fmt.Errorf("%d damaged, %d in quarantine", r.Damaged, r.Quarantined),
		"shadercache verify --repair",
	)
}

func (r *verifyResult) Print(w io.Writer) {
	fmt.Fprintf(w, "%s good (%s), %s, %s\n%d damaged, %d in quarantine, %s, %s\n",
		cli.Plural(r.Good, "program"), cli.ReadableBytes(r.Bytes), cli.Plural(r.Sources, "source"), cli.Plural(r.Tunings, "tuning"),
		r.Damaged, r.Quarantined, cli.Plural(r.Leftovers, "leftover"), cli.Plural(r.Unknown, "unknown file"))
	for _, p := range r.Problems {
		fmt.Fprintf(w, "  %s: %s\n", cli.EscapeName(p.Path), cli.EscapeName(p.Reason))
	}
	if r.Repaired && !r.OK() {
		fmt.Fprint(w, "repaired\n")
	}
	fmt.Fprintf(w, "in %s\n", r.Dir)
}
