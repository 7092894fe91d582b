package binary

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/shadercache/shadercache/binary/internal/index"
	"github.com/shadercache/shadercache/internal/osfile"
	"github.com/shadercache/shadercache/shader"
)

// maxProblems bounds what a VerifyReport names.
const maxProblems = 100

// VerifyReport says what is in a directory and what is wrong with it.
type VerifyReport struct {
	Good        int       `json:"good"`        // programs: every byte is as it was written
	Bytes       int64     `json:"bytes"`       // of their files
	Sources     int       `json:"sources"`     // sound ones
	Tunings     int       `json:"tunings"`     // sound ones
	Damaged     int       `json:"damaged"`     // programs, sources, tunings and indexes
	Foreign     int       `json:"foreign"`     // files that are not ours; never touched
	Leftovers   int       `json:"leftovers"`   // of writes that were interrupted, and set aside long ago
	Quarantined int       `json:"quarantined"` // programs
	Problems    []Problem `json:"problems"`    // the first 100
}

// Problem is one thing that is wrong.
type Problem struct {
	Path   string `json:"path"`
	Reason string `json:"reason"`
}

// OK reports whether nothing is wrong: leftovers and foreign files harm nobody.
func (r VerifyReport) OK() bool { return r.Damaged == 0 && r.Quarantined == 0 }

// verifying is one run of Verify.
type verifying struct {
	VerifyReport
	repair   bool
	progress func(VerifyReport)
	errs     []error
}

// Verify reads every program and tuning of every driver, and every source, and checks each
// byte, with one of them in memory at a time. With repair it sets damaged
// programs aside, deletes damaged sources, tunings and leftovers, makes damaged indexes
// again, and lifts every quarantine. progress, which may be nil, gets the
// report so far after each program, on the calling goroutine; it must not keep
// Problems. An upstream directory is never repaired. Damage is no error: an error says what could not be repaired.
func (d *Dir) Verify(repair bool, progress func(VerifyReport)) (VerifyReport, error) {
	stores, err := d.stores()
	if err != nil {
		return VerifyReport{}, err
	}
	v := &verifying{repair: repair && !d.readOnly, progress: progress}
	for _, s := range stores {
		v.store(s)
	}
	v.sources(d)
	v.leftovers(d, stores)
	return v.VerifyReport, v.err()
}

// Verify does what Dir.Verify does, for one driver.
func (s *Store) Verify(repair bool, progress func(VerifyReport)) (VerifyReport, error) {
	v := &verifying{repair: repair && !s.dir.readOnly, progress: progress}
	v.store(s)
	v.leftovers(s.dir, []*Store{s})
	return v.VerifyReport, v.err()
}

func (v *verifying) err() error {
	if len(v.errs) == 0 {
		return nil
	}
	return fmt.Errorf("binary: verify: %w", errors.Join(v.errs...))
}

func (v *verifying) store(s *Store) {
	for key := range s.blobFiles() {
		v.blob(s, key)
	}
	v.tunings(s)
	v.index(s)
	v.quarantine(s)
	v.foreign(s)
}

func (v *verifying) blob(s *Store, key shader.Key) {
	path := s.blobPath(key)
	_, info, err := s.read(key)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return // deleted meanwhile
	case errors.Is(err, ErrDamaged):
		bad, _ := errors.AsType[*DamagedError](err)
		v.damaged(path, bad.Reason)
		if v.repair {
			s.setAsideFile(key, info, bad.Reason)
		}
	case err != nil:
		v.damaged(path, err.Error())
	default:
		v.Good++
		v.Bytes += info.Size()
	}
	if v.progress != nil {
		v.progress(v.VerifyReport)
	}
}

func (v *verifying) index(s *Store) {
	x, err := index.Open(s.path, true)
	if err == nil {
		defer x.Close()
	}
	err = indexError(err)
	if !errors.Is(err, ErrDamaged) {
		return
	}
	v.damaged(filepath.Join(s.path, index.Name), err.Error())
	if v.repair && s.digest != (shader.Digest{}) {
		v.try(s.record(nil, Counters{}))
	}
}

func (v *verifying) quarantine(s *Store) {
	if v.repair {
		_, err := s.Recover()
		v.try(err)
	}
	for _, q := range s.Quarantined() {
		v.Quarantined++
		v.problem(s.quarantinePath(q.Key), fmt.Sprintf("%s is in quarantine: %s", q.Name, q.Reason))
		if v.repair {
			v.try(s.Lift(q.Key))
		}
	}
}

func (v *verifying) sources(d *Dir) {
	for src, err := range d.Sources() {
		if err == nil {
			v.Sources++
			_ = src
			continue
		}
		bad, ok := errors.AsType[*DamagedError](err)
		if !ok {
			v.damaged(filepath.Join(d.path, sourcesName), err.Error())
			continue
		}
		v.damaged(bad.Path, bad.Reason)
		if v.repair {
			v.try(os.RemoveAll(bad.Path))
		}
	}
}

// storeFiles and storeDirs are what belongs into the directory of a store.
var (
	storeFiles = []string{fingerprintName, probeName, index.Name, index.SumName, manifestName}
	storeDirs  = []string{blobsName, asideName, inFlightName, quarantineName, failedName, checkedName, tuningName}
)

// foreign counts files that this package did not make. Files whose names start
// with a dot are temporary ones.
func (v *verifying) foreign(s *Store) {
	for _, e := range osfile.List(s.path) {
		isOurs := slices.Contains(storeFiles, e.Name()) || slices.Contains(storeDirs, e.Name())
		if isOurs && e.Type()&fs.ModeSymlink != 0 {
			v.link(filepath.Join(s.path, e.Name()))
			continue
		}
		v.stranger(isOurs, s.path, e)
	}
	blobs := filepath.Join(s.path, blobsName)
	for _, shard := range osfile.List(blobs) {
		if shard.Type()&fs.ModeSymlink != 0 && len(shard.Name()) == 2 {
			v.link(filepath.Join(blobs, shard.Name()))
			continue
		}
		v.stranger(shard.IsDir() && len(shard.Name()) == 2, blobs, shard)
		for _, file := range osfile.List(filepath.Join(blobs, shard.Name())) {
			_, ours := blobKey(shard.Name(), file.Name())
			v.stranger(ours, filepath.Join(blobs, shard.Name()), file)
		}
	}
}

// link reports a link in the place of a file or directory of ours. A repair takes
// the link away, and nothing that is behind it.
func (v *verifying) link(path string) {
	v.damaged(path, "is a symbolic link")
	if v.repair {
		v.try(os.Remove(path))
	}
}

func (v *verifying) stranger(ours bool, dir string, e fs.DirEntry) {
	if !ours && !strings.HasPrefix(e.Name(), ".") {
		v.Foreign++
		v.problem(filepath.Join(dir, e.Name()), "is not ours")
	}
}

func (v *verifying) leftovers(d *Dir, stores []*Store) {
	p := &pruning{PruneOptions: PruneOptions{DryRun: !v.repair, Now: d.now()}}
	p.sweep(d, stores)
	v.Leftovers = p.report.Leftovers
	v.errs = append(v.errs, p.errs...)
}

func (v *verifying) damaged(path, reason string) {
	v.Damaged++
	v.problem(path, reason)
}

func (v *verifying) problem(path, reason string) {
	if len(v.Problems) < maxProblems {
		v.Problems = append(v.Problems, Problem{path, reason})
	}
}

func (v *verifying) try(err error) {
	if err != nil {
		v.errs = append(v.errs, err)
	}
}
