package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/cmd/bench"
	"github.com/shadercache/shadercache/cmd/cli"
	"github.com/shadercache/shadercache/fleet"
)

const clearUsage = `Delete everything in the cache: programs of every driver, the drivers' machine
code, stored texts, tunings and statistics, and the same of the benchmarks, in
bench/. Files that shadercache did not make are kept, and so are the settings of
config.

It asks first; --yes answers, and is needed where standard input is no terminal.
Processes that use the cache go on. It needs no OpenGL.`

func (o *options) clearCommand() cli.Command {
	var f struct {
		Yes    bool `flag:"yes" help:"do not ask" excludes:"dry-run"`
		DryRun bool `flag:"dry-run" help:"list what would be deleted and delete nothing"`
	}
	return cli.Command{
		Use:     "clear [--yes] [--dry-run]",
		Short:   "Delete everything in the cache",
		Long:    clearUsage,
		Example: "  shadercache clear --yes",
		Flags:   &f, Unused: cli.GPUFlags, Result: pruneResult{},
		Run: func(cmd *cobra.Command, _ []string) (cli.Result, error) {
			return o.clear(cmd.InOrStdin(), f.Yes, f.DryRun)
		},
	}
}

func (o *options) clear(in io.Reader, yes, dryRun bool) (*pruneResult, error) {
	path, dir, err := o.OpenDirectory()
	r := &pruneResult{Dir: path, DryRun: dryRun}
	if err != nil || dir == nil {
		return r, err
	}
	if !yes && !dryRun {
		would := pruneResult{Dir: path, DryRun: true}
		would.PruneReport, _ = clearAll(dir, would.listing(binary.PruneOptions{})) // the error comes again
		if err := o.confirm(in, fmt.Sprintf("delete %s (%s) and %s of drivers' machine code in %s?",
			cli.Plural(would.Programs, "program"), cli.ReadableBytes(would.Bytes), cli.ReadableBytes(would.DriverBytes), path)); err != nil {
			return nil, err
		}
	}
	if !dryRun { // before: a clear may be killed, and the next pull brings what is gone
		_ = fleet.ForgetPacks(dir)
	}
	r.PruneReport, err = clearAll(dir, r.listing(binary.PruneOptions{}))
	if !dryRun { // and after: there may have been no room, or a pull beside
		err = errors.Join(err, fleet.ForgetPacks(dir))
	}
	return r, err
}

// clearAll clears a cache directory and that of the benchmarks in it.
func clearAll(dir *binary.Dir, po binary.PruneOptions) (binary.PruneReport, error) {
	report, err := dir.Clear(po)
	path := bench.Dir(dir.Path())
	if info, statErr := os.Lstat(path); statErr != nil || !info.IsDir() {
		return report, err
	}
	own, openErr := binary.OpenDir(path)
	if openErr != nil {
		return report, errors.Join(err, openErr)
	}
	more, moreErr := own.Clear(po)
	report.Add(more)
	return report, errors.Join(err, moreErr)
}

// confirm asks on a terminal. It returns an error unless the answer is yes.
func (o *options) confirm(in io.Reader, question string) error {
	if file, ok := in.(*os.File); !ok || !term.IsTerminal(int(file.Fd())) {
		return cli.Hint(errors.New("nothing was deleted: there is no terminal to ask"), "--yes deletes without a question")
	}
	fmt.Fprintf(o.Stderr, "shadercache: %s [y/N] ", cli.EscapeText(question))
	answer, err := bufio.NewReader(in).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
		return nil
	}
	return errors.New("nothing was deleted")
}
