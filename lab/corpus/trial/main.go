// Command trial takes a corpus of shaders through what happens to a cache in its life:
// a cold preload, a restart, kills, pruning to half, export, and import into a directory
// that is in use. It prints a row for each step and fails where a healthy program is
// missing at the end of one. A trial that was interrupted continues with the next step.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"text/tabwriter"
	"time"

	"github.com/shadercache/shadercache/lab/corpus"
)

// trial is the state of a trial. It is kept in the file trial.json of its directory.
type trial struct {
	Corpus  corpus.Contents
	Healthy map[string]string // key to name, of the programs that compiled at first
	Kills   int               // so far
	Rows    []row

	dir, command, faults string
	kills                int
	options              corpus.Options
}

// row is the result of one step.
type row struct {
	Step    string
	Took    time.Duration
	Result  string
	Missing int // healthy programs that were not got
	Failed  string
}

// step is a part of a trial. Its error ends the trial and is tried again by the next.
type step struct {
	name string
	do   func(*trial) (row, error)
}

func main() {
	t := &trial{}
	flag.IntVar(&t.options.Programs, "programs", 1500, "programs that compile")
	flag.Uint64Var(&t.options.Seed, "seed", 1, "choice of the programs")
	flag.IntVar(&t.kills, "kills", 200, "preloads that are killed")
	flag.StringVar(&t.dir, "dir", "", "directory of the trial: continued where it exists")
	flag.StringVar(&t.command, "command", "", "the shadercache command")
	flag.StringVar(&t.faults, "faults", "", "folder of a libEGL.so.1 with faults: see internal/faultgl; default: without that step")
	flag.Parse()
	if t.dir == "" || t.command == "" {
		flag.Usage()
		os.Exit(2)
	}
	if err := t.run(); err != nil {
		fmt.Fprintln(os.Stderr, "trial:", err)
		os.Exit(1)
	}
}

func (t *trial) run() error {
	if err := os.MkdirAll(t.dir, 0o700); err != nil {
		return err
	}
	data, err := os.ReadFile(t.path("trial.json"))
	if err == nil {
		err = json.Unmarshal(data, t)
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	for _, s := range steps[len(t.Rows):] {
		fmt.Fprintf(os.Stderr, "%s: %s\n", time.Now().Format(time.TimeOnly), s.name)
		begin := time.Now()
		r, err := s.do(t)
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		r.Step, r.Took = s.name, time.Since(begin)
		t.Rows = append(t.Rows, r)
		if err := t.save(); err != nil {
			return err
		}
	}
	return t.print()
}

func (t *trial) path(name string) string { return filepath.Join(t.dir, name) }

func (t *trial) save() error {
	data, err := json.Marshal(t)
	if err != nil {
		return err
	}
	if err := os.WriteFile(t.path("trial.json.new"), data, 0o600); err != nil {
		return err
	}
	return os.Rename(t.path("trial.json.new"), t.path("trial.json"))
}

// print prints the table and returns an error where a step failed.
func (t *trial) print() error {
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "step\ttook\tmissing\tresult")
	missing, failed := 0, 0
	for _, r := range t.Rows {
		result := r.Result
		if r.Failed != "" {
			result += "; FAILED: " + r.Failed
			failed++
		}
		missing += r.Missing
		fmt.Fprintf(w, "%s\t%.1f s\t%d\t%s\n", r.Step, r.Took.Seconds(), r.Missing, result)
	}
	w.Flush()
	fmt.Printf("\n%d healthy programs, %d missing, %d steps failed\n", len(t.Healthy), missing, failed)
	if missing > 0 || failed > 0 {
		return errors.New("the trial failed")
	}
	return nil
}
