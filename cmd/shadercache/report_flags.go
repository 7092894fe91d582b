package main

import (
	"errors"
	"io"

	"github.com/spf13/cobra"

	"github.com/shadercache/shadercache/cmd/cli"
)

// reportFlags are the flags of preload and rebuild for what is printed.
type reportFlags struct{ failedOnly, quiet bool }

func (f *reportFlags) add(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.failedOnly, "failed-only", false, "list only the programs that failed")
	cmd.Flags().BoolVarP(&f.quiet, "quiet", "q", false, "print failures and nothing else")
}

func (f reportFlags) check(o *options) error {
	if f.quiet && (f.failedOnly || o.JSON) {
		return errors.New("--quiet prints no result, so --json and --failed-only mean nothing with it")
	}
	return nil
}

// reportPrograms prints a result, and after it the failures of programs, which may be
// nil.
func (o *options) reportPrograms(f reportFlags, programs *preloadResult, result any, print func(io.Writer)) error {
	if programs == nil {
		return o.Result(result, print)
	}
	failed := programs.failed()
	if f.failedOnly {
		programs.Programs = failed
	}
	if !f.quiet {
		if err := o.Result(result, print); err != nil {
			return err
		}
	}
	for _, p := range failed {
		o.PrintFailure(p.failure(), p.whole())
	}
	if programs.Failed > 0 {
		return cli.ErrReported
	}
	return nil
}
