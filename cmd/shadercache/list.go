package main

import (
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/shadercache/shadercache/binary"
)

const listUsage = `List the programs on disk: for each its key, size, how often it was used, what
compiling and loading it took, when it was last used, and its name.

The key identifies a program; the name is a label. Times are known once a
program was compiled or loaded by a process that has ended since.

With --tuning it lists what was tuned instead: for each problem and driver the time
of the fastest, its error, and how many right candidates it was compared with.

JSON fields: dir, programs [{name, key, driver, bytes, raw_bytes, hits,
compile_ms, load_ms, created, last_use}]; with --tuning dir, tunings [{problem,
driver, choice {algorithm, params}, nanos, gflops, max_error, candidates,
created}].`

// listResult is what list prints.
type listResult struct {
	Dir      string        `json:"dir"`
	Programs []programLine `json:"programs"`
}

type programLine struct {
	Name          string     `json:"name"`
	Key           binary.Key `json:"key"`
	Driver        string     `json:"driver"` // folder in the cache directory
	Bytes         int64      `json:"bytes"`
	RawBytes      int64      `json:"raw_bytes"`
	Hits          uint64     `json:"hits"`
	CompileMillis float64    `json:"compile_ms"` // 0 = unknown
	LoadMillis    float64    `json:"load_ms"`    // 0 = unknown
	Created       time.Time  `json:"created"`
	LastUse       time.Time  `json:"last_use"`
}

func newList(o *options) *cobra.Command {
	tuning := false
	cmd := &cobra.Command{
		Use:                   "list [--tuning]",
		DisableFlagsInUseLine: true,
		Aliases:               []string{"ls"},
		Short:                 "List the programs on disk",
		Long:                  listUsage,
		Example:               "  shadercache list --json | jq -r '.programs[].name'",
		Args:                  usageArgs(noArguments),
		RunE: func(*cobra.Command, []string) error {
			if tuning {
				r, err := o.listTunings()
				if err != nil {
					return err
				}
				return o.result(r, r.print)
			}
			r, err := o.listPrograms()
			if err != nil {
				return err
			}
			return o.result(r, func(w io.Writer) { r.print(w, time.Now()) })
		},
	}
	cmd.Flags().BoolVar(&tuning, "tuning", false, "list what was tuned instead of programs")
	return cmd
}

func (o *options) listPrograms() (*listResult, error) {
	path, dir, err := o.openDirectory()
	r := &listResult{Dir: path, Programs: []programLine{}}
	if err != nil || dir == nil {
		return r, err
	}
	err = o.forStores(dir, func(driver string, store *binary.Store) error {
		entries, err := store.List()
		for _, e := range entries {
			r.Programs = append(r.Programs, newProgramLine(driver, e))
		}
		return err
	})
	return r, err
}

func newProgramLine(driver string, e binary.Entry) programLine {
	return programLine{
		Name:          e.Name,
		Key:           e.Key,
		Driver:        driver,
		Bytes:         e.Bytes,
		RawBytes:      e.RawBytes,
		Hits:          e.Hits,
		CompileMillis: milliseconds(time.Duration(e.CompileNanos)),
		LoadMillis:    milliseconds(time.Duration(e.LoadNanos)),
		Created:       e.Created,
		LastUse:       e.LastUse,
	}
}

func (r *listResult) print(w io.Writer, now time.Time) {
	if len(r.Programs) == 0 {
		fmt.Fprintf(w, "no programs in %s\n", r.Dir)
		return
	}
	driver := ""
	for _, p := range r.Programs {
		if p.Driver != driver {
			if driver != "" {
				fmt.Fprintln(w)
			}
			driver = p.Driver
			fmt.Fprintf(w, "%s\n", driver)
			fmt.Fprint(w, "  key\tsize\thits\tcompile\tload\tlast use\tname\n")
		}
		fmt.Fprintf(w, "  %s\t%s\t%d\t%s\t%s\t%s\t%s\n", p.Key.Short(), readableBytes(p.Bytes), p.Hits,
			knownMillis(p.CompileMillis), knownMillis(p.LoadMillis), readableAge(now.Sub(p.LastUse)), p.Name)
	}
}

// knownMillis is a time in a table, "-" where it is not known.
func knownMillis(ms float64) string {
	if ms == 0 {
		return "-"
	}
	return fmt.Sprintf("%.2f ms", ms)
}
