package binary

import (
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"

	"github.com/shadercache/shadercache/binary/internal/index"
	"github.com/shadercache/shadercache/drivercache"
	"github.com/shadercache/shadercache/shader"
)

// maxProblems bounds what a VerifyReport names.
const maxProblems = 100

// VerifyReport counts what is in a directory and what is wrong with it.
type VerifyReport struct {
	Good        int       `json:"good"`        // programs of which every byte is as written
	Bytes       int64     `json:"bytes"`       // of their files
	Sources     int       `json:"sources"`     // that are not damaged
	Tunings     int       `json:"tunings"`     // that are not damaged
	Damaged     int       `json:"damaged"`     // programs, sources, tunings, indexes, fingerprints and entries of Mesa
	Unknown     int       `json:"unknown"`     // files that this package did not make; never changed
	Leftovers   int       `json:"leftovers"`   // of interrupted writes, and files rejected a month ago
	Quarantined int       `json:"quarantined"` // programs that crashed or hung the driver
	Suspects    int       `json:"suspects"`    // programs to be tried: a process ended while the driver had them
	Fixed       int       `json:"fixed"`       // of Damaged and Quarantined, by a repair
	Problems    []Problem `json:"problems"`    // the first 100
}

// Problem is one file or directory that is wrong.
type Problem struct {
	Path   string `json:"path"`
	Reason string `json:"reason"`
}

// OK reports whether nothing is damaged or in quarantine. Suspects, leftovers and unknown
// files do no harm.
func (r VerifyReport) OK() bool { return r.Damaged == 0 && r.Quarantined == 0 }

// verifying is one call of Verify.
type verifying struct {
	VerifyReport
	repair   bool
	progress func(VerifyReport)
	errs     []error
}

// Verify reads every program and tuning of every driver, and every source, and checks
// each byte. It has one of them in memory at a time. With repair it rejects damaged
// programs, deletes damaged sources, tunings and leftovers, makes damaged indexes again,
// and ends every quarantine: the programs are suspects then, and where the driver crashed
// of one its own cache is set aside. An upstream directory is never repaired. It calls progress,
// unless nil, with the report so far after each program, on the calling goroutine;
// progress must not keep Problems. Damage is in the report and is not an error. The error
// lists what could not be read or repaired.
func (d *Dir) Verify(repair bool, progress func(VerifyReport)) (VerifyReport, error) {
	stores, err := d.stores()
	if err != nil {
		return VerifyReport{}, err
	}
	v := &verifying{repair: repair && !d.readOnly, progress: progress}
	for _, s := range stores {
		v.store(s)
	}
	for _, path := range d.unproven() {
		v.damaged(path, "holds programs of a driver that no file in it proves; they stay", nil)
	}
	v.misplacedInDir(d)
	v.Sources = countGood(v, filepath.Join(d.path, sourcesName), d.Sources())
	v.leftovers(d, stores)
	return v.VerifyReport, wrap("verify", errors.Join(v.errs...))
}

func (v *verifying) store(s *Store) {
	v.fingerprint(s)
	v.names(s)
	for key := range s.blobFiles() {
		v.blob(s, key)
	}
	v.Tunings += countGood(v, filepath.Join(s.path, tuningName), s.Tunings())
	v.index(s)
	v.quarantine(s)
}

// fingerprint checks fingerprint.json. A repair writes it again where the fingerprint is
// known from another file.
func (v *verifying) fingerprint(s *Store) {
	if s.dir.storeNamed(s.name).readFingerprint() {
		return
	}
	if _, err := os.Lstat(s.path); errors.Is(err, fs.ErrNotExist) {
		return // nothing was written yet
	}
	reason := "is damaged"
	_, err := os.Lstat(s.file(fingerprintName))
	if errors.Is(err, fs.ErrNotExist) {
		reason = "is missing"
	}
	mend := func() error { return s.repairFingerprint(reason) }
	if !s.isIdentified() {
		reason += ", and no other file names the driver; the programs stay, and the driver writes it when it runs here"
		mend = nil
	}
	v.damaged(s.file(fingerprintName), reason, mend)
}

// repairFingerprint rejects the file in the place of fingerprint.json and writes it again.
func (s *Store) repairFingerprint(reason string) error {
	if err := s.rejectFile(s.file(fingerprintName), reason); err != nil {
		return err
	}
	return s.writeFingerprint(fingerprints)
}

func (v *verifying) blob(s *Store, key shader.Key) {
	path := s.blobPath(key)
	_, info, err := s.read(key)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return // deleted meanwhile
	case errors.Is(err, ErrDamaged):
		bad, _ := errors.AsType[*damagedError](err)
		v.damaged(path, bad.Reason, func() error { return s.rejectDamaged(key, info, bad.Reason) })
	case err != nil:
		v.damaged(path, err.Error(), nil)
	default:
		v.Good++
		v.Bytes += info.Size()
	}
	if v.progress != nil {
		v.progress(v.VerifyReport)
	}
}

// countGood counts the records of a kind in a folder that can be read, each of which can be
// made again. A repair deletes the others.
func countGood[T any](v *verifying, folder string, records iter.Seq2[T, error]) (good int) {
	for _, err := range records {
		bad, isBad := errors.AsType[*damagedError](err)
		switch {
		case err == nil:
			good++
		case isBad:
			v.damaged(bad.Path, bad.Reason, func() error { return os.RemoveAll(bad.Path) })
		default:
			v.damaged(folder, err.Error(), nil)
		}
	}
	return good
}

func (v *verifying) index(s *Store) {
	x, err := index.Open(s.path, true, index.Wait)
	if err == nil {
		defer x.Close()
	}
	if !errors.Is(err, ErrDamaged) {
		return
	}
	mend := func() error { return s.record(pendingRecord{}, true) }
	if !s.isIdentified() {
		mend = nil
	}
	v.damaged(filepath.Join(s.path, index.Name), err.Error(), mend)
}

func (v *verifying) quarantine(s *Store) {
	if v.repair {
		_, err := s.Recover()
		v.try(err)
	}
	crashed := false
	for _, q := range s.Quarantined() {
		crashed = crashed || q.Signal != ""
		if q.Suspect {
			v.Suspects++
			continue
		}
		v.Quarantined++
		v.problem(notes.path(s.path, q.Key), fmt.Sprintf("%s is in quarantine: %s", q.Name, q.Reason))
		if v.repair {
			v.fixed(s.release(q))
		}
	}
	if crashed && v.repair {
		v.try(drivercache.SetAside(s.dir.DriverDir()))
	}
}

// release ends a quarantine: the program is a suspect. Its blob is gone where that was the
// cause.
func (s *Store) release(q Quarantined) error {
	if !q.Refused() {
		return s.Lift(q.Key)
	}
	q.Suspect = true
	return s.Refuse(q)
}

// link reports a link in the place of a file or directory of the store. A repair removes
// the link, and nothing behind it.
func (v *verifying) link(path string) {
	v.damaged(path, "is a symbolic link", func() error { return os.Remove(path) })
}

func (v *verifying) leftovers(d *Dir, stores []*Store) {
	p := &pruning{PruneOptions: PruneOptions{DryRun: !v.repair, Now: d.now()}}
	p.sweep(d, stores)
	v.Leftovers = p.report.Leftovers
	v.errs = append(v.errs, p.errs...)
}

// damaged counts what is damaged. A repair calls mend, unless it is nil.
func (v *verifying) damaged(path, reason string, mend func() error) {
	v.Damaged++
	v.problem(path, reason)
	if v.repair && mend != nil {
		v.fixed(mend())
	}
}

func (v *verifying) problem(path, reason string) {
	if len(v.Problems) < maxProblems {
		v.Problems = append(v.Problems, Problem{path, reason})
	}
}

// fixed counts a repair that returned err.
func (v *verifying) fixed(err error) {
	if err == nil {
		v.Fixed++
	}
	v.try(err)
}

func (v *verifying) try(err error) {
	if err != nil {
		v.errs = append(v.errs, err)
	}
}
