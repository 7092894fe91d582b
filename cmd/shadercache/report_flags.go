package main

import "github.com/shadercache/shadercache/cmd/cli"

// reportFlags are the flags of preload and rebuild for what is printed.
type reportFlags struct {
	FailedOnly bool `flag:"failed-only" help:"list only the programs that failed"`
	Quiet      bool `flag:"quiet,q" help:"print failures and nothing else" excludes:"json failed-only" because:"--quiet prints no result"`
}

// reportPrograms prints a result, and after it the failures of programs, which may be
// nil.
func (o *options) reportPrograms(f reportFlags, programs *preloadResult, result cli.Result) error {
	if programs == nil {
		return o.Show(result, nil)
	}
	failed := programs.failed()
	if f.FailedOnly {
		programs.Programs = failed
	}
	if !f.Quiet {
		if err := o.Show(result, nil); err != nil {
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
