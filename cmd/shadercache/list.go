package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/internal/cli"
	"github.com/shadercache/shadercache/shader"
)

const listUsage = `List the programs on disk: for each its key, size, how often it was used, what
compiling and loading it took, when it was last used, and its name.

The key identifies a program; the name is a label. Times are known once a
program was compiled or loaded by a process that has ended since.

With --tuning it lists what was tuned instead: for each problem and driver the time
of the fastest, its error, and how many right candidates it was compared with.`

// listResult is what list prints, see listJSON.
type listResult struct {
	Dir      string        `json:"dir"`
	Programs []programLine `json:"programs"`
}

type programLine struct {
	Name          string     `json:"name"`
	Key           shader.Key `json:"key"`
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
		Args:                  cli.UsageArgs(cli.NoArguments),
		RunE: func(*cobra.Command, []string) error {
			if tuning {
				r, err := o.listTunings()
				if err != nil {
					return err
				}
				return o.Result(r, r.Print)
			}
			return o.list(time.Now())
		},
	}
	cmd.Flags().BoolVar(&tuning, "tuning", false, "list what was tuned instead of programs")
	return o.WithFlagResult(o.WithResult(cmd, listResult{}), "--tuning", tuningList{})
}

// list has the programs of one driver in memory at a time, packed, to sort them.
// Lines are written one at a time.
func (o *options) list(now time.Time) error {
	path, dir, err := o.ReadDirectory()
	if err != nil {
		return err
	}
	out := bufio.NewWriter(o.Stdout)
	var list listWriter = &listTable{out: out, dir: path, now: now}
	if o.JSON {
		list = &listJSON{out: out, dir: path}
	}
	if dir != nil {
		err = o.ForStores(dir, func(driver string, store *binary.Store) error {
			for e := range store.ByName() {
				if err := list.add(newProgramLine(driver, e)); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return errors.Join(err, list.end(), out.Flush())
}

// listWriter writes a list whose programs come one at a time.
type listWriter interface {
	add(p programLine) error
	end() error
}

// listJSON writes what encoding a listResult would.
type listJSON struct {
	out  io.Writer
	dir  string
	some bool
}

func (l *listJSON) begin() error {
	dir, err := json.Marshal(l.dir)
	if err == nil {
		_, err = fmt.Fprintf(l.out, "{\n  \"dir\": %s,\n  \"programs\": [", dir)
	}
	return err
}

func (l *listJSON) add(p programLine) error {
	separator := ",\n    "
	if !l.some {
		if err := l.begin(); err != nil {
			return err
		}
		l.some, separator = true, "\n    "
	}
	line, err := json.MarshalIndent(p, "    ", "  ")
	if err != nil {
		return err
	}
	_, err = fmt.Fprint(l.out, separator, string(line))
	return err
}

func (l *listJSON) end() error {
	last := "\n  ]\n}\n"
	if !l.some {
		if err := l.begin(); err != nil {
			return err
		}
		last = "]\n}\n"
	}
	_, err := io.WriteString(l.out, last)
	return err
}

func newProgramLine(driver string, e binary.Entry) programLine {
	return programLine{
		Name:          e.Name,
		Key:           e.Key,
		Driver:        driver,
		Bytes:         e.Bytes,
		RawBytes:      e.RawBytes,
		Hits:          e.Hits,
		CompileMillis: cli.Milliseconds(time.Duration(e.CompileNanos)),
		LoadMillis:    cli.Milliseconds(time.Duration(e.LoadNanos)),
		Created:       e.Created,
		LastUse:       e.LastUse,
	}
}

// listTable writes a table for each driver. Its columns are as wide as what is
// usual, so that no line waits for the others.
type listTable struct {
	out    io.Writer
	dir    string
	now    time.Time
	driver string // of the table that has begun
}

const listRow = "  %-12s  %-9s  %-5s  %-10s  %-9s  %-8s  %s\n"

func (l *listTable) add(p programLine) error {
	if p.Driver != l.driver {
		if l.driver != "" {
			fmt.Fprintln(l.out)
		}
		l.driver = p.Driver
		fmt.Fprintf(l.out, "%s\n"+listRow, p.Driver, "key", "size", "hits", "compile", "load", "last use", "name")
	}
	_, err := fmt.Fprintf(l.out, listRow, p.Key.Short(), cli.ReadableBytes(p.Bytes), strconv.FormatUint(p.Hits, 10),
		knownMillis(p.CompileMillis), knownMillis(p.LoadMillis), cli.ReadableAge(l.now.Sub(p.LastUse)), cli.Shown(p.Name))
	return err
}

func (l *listTable) end() error {
	if l.driver != "" {
		return nil
	}
	_, err := fmt.Fprintf(l.out, "no programs in %s\n", l.dir)
	return err
}

// knownMillis is a time in a table, "-" where it is not known.
func knownMillis(ms float64) string {
	if ms == 0 {
		return "-"
	}
	return fmt.Sprintf("%.2f ms", ms)
}
