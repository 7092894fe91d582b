package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/cmd/cli"
	"github.com/shadercache/shadercache/drivercache/mesa"
	"github.com/shadercache/shadercache/fleet/pack"
	"github.com/shadercache/shadercache/internal/osfile"
)

const verifyUsage = `Read every program, tuning and source on disk and check each byte.

It needs no OpenGL, reads one program at a time, and without --repair writes
nothing. Damage is harmless: a damaged program is compiled again when it is
needed.

--repair moves damaged programs, and what is in the place of a file or directory
of the cache, to rejected/. It deletes damaged sources and tunings, empty
entries of Mesa and leftovers of interrupted writes, rebuilds damaged indexes
and fingerprint.json, completes an import that was killed, and ends every
quarantine: the next start tries the programs again, in a process of their own.
Where the driver crashed of one its own cache is set aside, since that may have
been the cause. Unknown files are reported and not changed. A suspect, which the
driver had when a process ended, is healthy as far as is known, and the next
start tries it.

The exit code is 1 when something is damaged or in quarantine and was not
repaired.`

// verifyResult is what verify prints.
type verifyResult struct {
	Dir      string `json:"dir"`
	Repaired bool   `json:"repaired"` // something was repaired
	repair   bool
	binary.VerifyReport
}

func (o *options) verifyCommand() cli.Command {
	var f struct {
		Repair bool `flag:"repair" help:"reject what is damaged, and end every quarantine"`
	}
	return cli.Command{
		Use:     "verify [--repair]",
		Short:   "Check every byte on disk",
		Long:    verifyUsage,
		Example: "  shadercache verify || shadercache verify --repair",
		Flags:   &f, Unused: cli.GPUFlags, Result: verifyResult{},
		Run: func(*cobra.Command, []string) (cli.Result, error) { return o.verify(f.Repair) },
	}
}

func (o *options) verify(repair bool) (*verifyResult, error) {
	open, moved := o.ReadDirectory, []binary.Problem(nil)
	if repair {
		open = o.OpenDirectory
		path, err := o.Directory()
		if err == nil {
			moved, err = binary.Place{Dir: path}.Repair()
		}
		if err != nil {
			return nil, err
		}
	}
	path, dir, err := open()
	r := &verifyResult{Dir: path, repair: repair}
	if err == nil && dir != nil {
		bar := o.NewProgress(-1, "verifying")
		r.VerifyReport, err = dir.Verify(repair, func(binary.VerifyReport) { _ = bar.Add(1) })
		_ = bar.Finish()
	}
	if err == nil && dir != nil {
		verifyMesa(dir, r)
		err = o.verifyTunings(dir, r)
	}
	if err == nil && dir != nil && repair {
		err = pack.Recover(dir) // completes an import that was killed
	}
	r.Damaged += len(moved)
	r.Fixed += len(moved)
	r.Problems = append(moved, r.Problems...)
	if r.Problems == nil {
		r.Problems = []binary.Problem{}
	}
	r.Repaired = r.Fixed > 0
	return r, err
}

// deletable adds a damaged file, which a repair deletes.
func (r *verifyResult) deletable(path, reason string) {
	r.Problems = append(r.Problems, binary.Problem{Path: path, Reason: reason})
	r.Damaged++
	if r.repair && os.Remove(path) == nil {
		r.Fixed++
	}
}

// verifyMesa counts entries of Mesa's cache that are lost, and deletes them for a repair.
func verifyMesa(dir *binary.Dir, r *verifyResult) {
	for path := range osfile.Files(filepath.Join(dir.DriverDir(), mesa.Folder, mesa.ItemsFolder)) {
		if !mesa.IsEntryFile(filepath.Base(path)) {
			continue
		}
		if data, err := os.ReadFile(path); err == nil && mesa.IsLost(data) {
			r.deletable(path, "it has none of its bytes: Mesa compiles what it was made of at each start")
		}
	}
}

// Verdict returns an error where something is damaged or in quarantine.
func (r *verifyResult) Verdict() error {
	left := r.Damaged + r.Quarantined - r.Fixed
	switch {
	case left == 0:
		return nil
	case r.repair:
		return fmt.Errorf("%d of %d could not be repaired", left, r.Damaged+r.Quarantined)
	}
	return cli.Hint(
		fmt.Errorf("%d damaged, %d in quarantine", r.Damaged, r.Quarantined),
		"shadercache verify --repair",
	)
}

func (r *verifyResult) Print(w io.Writer) {
	fmt.Fprintf(w, "%s good (%s), %s, %s\n%d damaged, %d in quarantine, %s, %s, %s\n",
		cli.Plural(r.Good, "program"), cli.ReadableBytes(r.Bytes), cli.Plural(r.Sources, "source"), cli.Plural(r.Tunings, "tuning"),
		r.Damaged, r.Quarantined, cli.Plural(r.Suspects, "suspect"), cli.Plural(r.Leftovers, "leftover"), cli.Plural(r.Unknown, "unknown file"))
	for _, p := range r.Problems {
		fmt.Fprintf(w, "  %s: %s\n", cli.EscapeName(p.Path), cli.EscapeName(p.Reason))
	}
	if r.Fixed > 0 {
		fmt.Fprintf(w, "repaired %d\n", r.Fixed)
	}
	fmt.Fprintf(w, "in %s\n", cli.EscapeName(r.Dir))
}
