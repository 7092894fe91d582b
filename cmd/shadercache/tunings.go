package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/cmd/cli"
	"github.com/shadercache/shadercache/conv2d"
)

// tuningLine is the tuning of one problem for one driver.
type tuningLine struct {
	binary.Tuning
	Driver string `json:"driver"` // folder in the cache directory
}

// tunings returns the tunings of a driver for one problem, or for all with "". It leaves
// out damaged ones, which verify reports.
func tunings(driver string, store *binary.Store, problem string) []tuningLine {
	lines := []tuningLine{}
	for t, err := range store.Tunings() {
		if err == nil && (problem == "" || t.Problem == problem) {
			lines = append(lines, tuningLine{t, driver})
		}
	}
	return lines
}

// algorithm returns the choice as text.
func (t tuningLine) algorithm() string {
	var c conv2d.Choice
	if err := json.Unmarshal(t.Choice, &c); err != nil {
		return string(t.Choice)
	}
	return c.String()
}

// verifyTunings adds the tunings that no plan can read, which a store cannot tell, to the
// problems. A repair deletes them.
func (o *options) verifyTunings(dir *binary.Dir, r *verifyResult) error {
	return o.ForStores(dir, func(_ string, store *binary.Store) error {
		for t, err := range store.Tunings() {
			if err != nil {
				continue // Verify has it
			}
			if bad := conv2d.CheckTuning(t); bad != nil {
				r.deletable(store.TuningPath(t.Problem), "the tuning of "+t.Problem+": "+bad.Error())
				r.Tunings--
			}
		}
		return nil
	})
}

func printTunings(w io.Writer, lines []tuningLine) {
	driver := ""
	for _, t := range lines {
		if t.Driver != driver {
			if driver != "" {
				fmt.Fprintln(w)
			}
			driver = t.Driver
			fmt.Fprintf(w, "%s\n", cli.EscapeName(driver))
			fmt.Fprint(w, "  problem\tms\tGFLOP/s\terror\tcandidates\ttuned\talgorithm\n")
		}
		fmt.Fprintf(w, "  %s\t%.4f\t%.1f\t%.1e\t%d\t%s\t%s\n", t.Problem, t.Nanos/1e6, t.GFLOPS, t.MaxError,
			t.Candidates, t.Created.Local().Format(time.DateTime), t.algorithm())
	}
}

// tuningList is what list --tuning prints.
type tuningList struct {
	Dir     string       `json:"dir"`     // the cache directory
	Tunings []tuningLine `json:"tunings"` // one for each problem and driver
}

func (o *options) listTunings() (*tuningList, error) {
	path, dir, err := o.ReadDirectory()
	r := &tuningList{Dir: path, Tunings: []tuningLine{}}
	if err != nil || dir == nil {
		return r, err
	}
	isChosen, err := o.chosenDriver()
	if err != nil {
		return nil, err
	}
	err = o.ForStores(dir, func(driver string, store *binary.Store) error {
		if !isChosen(driver) {
			return nil
		}
		lines := tunings(driver, store, "")
		slices.SortFunc(lines, func(a, b tuningLine) int { return cmp.Compare(a.Problem, b.Problem) })
		r.Tunings = append(r.Tunings, lines...)
		return nil
	})
	return r, err
}

func (r *tuningList) Print(w io.Writer) {
	if len(r.Tunings) == 0 {
		fmt.Fprintf(w, "no tunings in %s\n", cli.EscapeName(r.Dir))
	}
	printTunings(w, r.Tunings)
}
