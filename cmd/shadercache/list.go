package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/cmd/cli"
)

const listUsage = `List the programs on disk: key, size, number of hits, time to compile and to
load, time to the first result, the GPU's time for a dispatch and GFLOP/s in it,
last use, and name.

The key identifies a program; the name is a label. A process records the times
of what it compiled, loaded and ran when it ends. "first" is the time to get the
program and to finish its first dispatch, in the latest process that ran it.
"gpu" is the fastest of its first three dispatches there, and GFLOP/s are known
where the application gave the number of operations: conv2d does. Software
drivers measure no time of a GPU.

With --device, which may name several GPUs or all, it lists the programs of
their drivers only; without, those of every driver, and no OpenGL is needed.

With --tuning it lists tuned problems instead: for each problem and driver the
time of the fastest candidate, its error, and the number of correct candidates.`

// listResult is what list prints, a program at a time.
type listResult struct {
	Dir      string        `json:"dir"`      // the cache directory
	Programs []cli.Program `json:"programs"` // one for each program and driver
}

func (o *options) listCommand() cli.Command {
	var f struct {
		Tuning bool `flag:"tuning" help:"list tuned problems instead of programs"`
	}
	return cli.Command{
		Use:     "list [--tuning] [--device GPU]",
		Aliases: []string{"ls"},
		Short:   "List the programs on disk",
		Long:    listUsage,
		Example: "  shadercache list --json | jq -r '.programs[].name'",
		Flags:   &f, GPUs: cli.SeveralGPUs, Unused: "driver-cache",
		Result: listResult{}, FlagResult: map[string]any{"--tuning": tuningList{}},
		Check: func(cmd *cobra.Command, _ []string) error {
			return cli.RefuseUnused(cmd, o.Device != "", "--device", "api")
		},
		Run: func(*cobra.Command, []string) (cli.Result, error) {
			if f.Tuning {
				return o.listTunings()
			}
			return nil, o.list()
		},
	}
}

// chosenDriver returns whether the folder of a driver is one of --device; without the flag each is.
func (o *options) chosenDriver() (func(folder string) bool, error) {
	if o.Device == "" {
		return func(string) bool { return true }, nil
	}
	drivers, err := o.CurrentFingerprints()
	return func(folder string) bool {
		return slices.ContainsFunc(drivers, func(f binary.Fingerprint) bool { return f.DirName() == folder })
	}, err
}

// list writes a line for each program as it is read: a directory may have a hundred thousand. The
// programs of one driver are in memory at a time, to sort them.
func (o *options) list() error {
	path, dir, err := o.ReadDirectory()
	if err != nil {
		return err
	}
	isChosen, err := o.chosenDriver()
	if err != nil {
		return err
	}
	out := bufio.NewWriter(o.Stdout)
	table := &listTable{out: out, dir: path}
	add, end := table.add, table.end
	if o.JSON {
		list, err := cli.NewJSONList(out, "dir", path, "programs")
		if err != nil {
			return err
		}
		add, end = func(p cli.Program) error { return list.Append(p) }, list.Close
	}
	if dir != nil {
		err = o.ForStores(dir, func(driver string, store *binary.Store) error {
			if !isChosen(driver) {
				return nil
			}
			for e := range store.ByName() {
				if err := add(cli.NewProgram(driver, e)); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return errors.Join(err, end(), out.Flush())
}

// listTable writes a table for each driver. Its columns have fixed widths, so that
// lines can be written as they come.
type listTable struct {
	out    io.Writer
	dir    string
	driver string // of the table that is being written
}

const listRow = "  %-12s  %-9s  %-5s  %-10s  %-9s  %-9s  %-9s  %-8s  %-8s  %s\n"

func (l *listTable) add(p cli.Program) error {
	if p.Driver != l.driver {
		if l.driver != "" {
			fmt.Fprintln(l.out)
		}
		l.driver = p.Driver
		fmt.Fprintf(l.out, "%s\n"+listRow, cli.EscapeName(p.Driver), "key", "size", "hits", "compile", "load", "first", "gpu", "gflop/s", "last use", "name")
	}
	_, err := fmt.Fprintf(l.out, listRow, p.Key.Short(), cli.ReadableBytes(p.Bytes), strconv.FormatUint(p.Hits, 10),
		knownMillis(milliseconds(p.CompileNanos)), knownMillis(milliseconds(p.LoadNanos)), knownMillis(milliseconds(p.FirstResultNanos)),
		knownMillis(milliseconds(p.GPUNanos)), knownRate(p.GFLOPS), cli.ReadableAge(time.Since(p.LastUse)), cli.EscapeName(p.Name))
	return err
}

func (l *listTable) end() error {
	if l.driver != "" {
		return nil
	}
	_, err := fmt.Fprintf(l.out, "no programs in %s\n", cli.EscapeName(l.dir))
	return err
}

// knownRate returns a rate for a table, "-" for an unknown one.
func knownRate(gflops float64) string {
	if gflops == 0 {
		return "-"
	}
	return strconv.FormatFloat(gflops, 'f', 1, 64)
}

// knownMillis returns a time for a table, "-" for an unknown one.
func knownMillis(ms float64) string {
	if ms == 0 {
		return "-"
	}
	return fmt.Sprintf("%.2f ms", ms)
}
