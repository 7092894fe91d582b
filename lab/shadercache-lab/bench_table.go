package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"github.com/shadercache/shadercache/cmd/cli"
	"github.com/shadercache/shadercache/lab/bench/bars"
)

const benchTableUsage = `Compare folders of logs, written by scripts/measure, with bars. Each row has the
figures of each folder, whether they meet their bars, and where they were
measured: GPU, driver, processor, date and revision.

The bars are a file as of --assert, whose bars have a row and the log of their
figure. A bar that is not for a folder's device, and a log or a figure that is
missing, are "-"; why is below the table.

A bar that is missed is no failure: for that, give --assert to a benchmark. The
exit code is 1 where a folder does not exist.`

// ownBars are those of this project, from the top of the repository.
const ownBars = "docs/bench/bars.json"

func newBenchTable(o *options) cli.Command {
	f := struct {
		Bars     string `flag:"bars" help:"FILE of bars" value:"FILE" files:"json"`
		Markdown bool   `flag:"markdown" help:"print a table for a page"`
	}{Bars: ownBars}
	return cli.Command{
		Use:     "table FOLDER... [--bars FILE] [--markdown]",
		Short:   "Compare logs of benchmarks with bars",
		Long:    benchTableUsage,
		Example: "  shadercache-lab bench table docs/logs/h200 docs/logs/h100",
		Args:    cobra.MinimumNArgs(1),
		Result:  bars.Table{},
		Flags:   &f, Unused: cli.DirFlags + cli.GPUFlags + assertFlag,
		Run: func(cmd *cobra.Command, folders []string) (cli.Result, error) {
			t, err := readTable(cmd, f.Bars, folders)
			if err != nil || !f.Markdown || o.JSON {
				return nil, o.Show(t, err)
			}
			fmt.Fprint(o.Stdout, t.Markdown())
			return nil, nil
		},
	}
}

// readTable compares folders with the bars of a file.
func readTable(cmd *cobra.Command, file string, folders []string) (*bars.Table, error) {
	list, err := bars.Read(file)
	if errors.Is(err, fs.ErrNotExist) {
		err = cli.Hint(err, "those of this project are "+ownBars+" in its repository: start there, or use --bars")
	}
	if err != nil {
		return nil, cli.Usage(cmd, err)
	}
	for _, folder := range folders {
		if _, err := os.ReadDir(folder); err != nil {
			return nil, err
		}
	}
	return bars.NewTable(list, folders), nil
}
