package binary

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/shadercache/shadercache/drivercache"
	"github.com/shadercache/shadercache/internal/osfile"
	"github.com/shadercache/shadercache/shader"
)

const (
	// temporaryAge is the age from which a temporary file counts as left by a process
	// that ended while it wrote. Writing one takes milliseconds.
	temporaryAge = time.Hour
	// partAge is the age from which no process is expected to continue the transfer of a pack.
	partAge = 7 * 24 * time.Hour
	// trimInterval is the time between two prunes by Trim: reading a whole directory
	// takes seconds where there are many files.
	trimInterval = 24 * time.Hour
)

// PruneOptions selects what Prune deletes. The zero value selects only what interrupted
// writes left, and files that were rejected a month ago.
type PruneOptions struct {
	// MaxAge deletes what was last used before that; 0 = no limit.
	MaxAge time.Duration
	// MaxBytes bounds the size of programs and driver files together: the least
	// recently used programs are deleted first, with their machine code; 0 = no limit.
	// Statistics do not count.
	MaxBytes int64
	// MaxFiles bounds the number of those files; 0 = no limit.
	MaxFiles int
	// OtherThan deletes the stores of all drivers but those of these fingerprints, for contexts
	// of whatever kind; without any it deletes none. Files in their directories that this
	// package did not make stay.
	OtherThan []Fingerprint
	// DryRun deletes nothing and reports what would be deleted.
	DryRun bool
	// Deleted is called by Prune with the path of each file that it deletes or, in a dry
	// run, would delete. It may be nil.
	Deleted func(path string)
	// Now is the time from which ages are counted; zero = the clock's.
	Now time.Time
}

// PruneReport lists what Prune deleted.
type PruneReport struct {
	Programs     int   `json:"programs"`     // deleted
	Bytes        int64 `json:"bytes"`        // of the programs' files
	DriverFiles  int   `json:"driver_files"` // of the driver's own cache, deleted
	DriverBytes  int64 `json:"driver_bytes"` // of files and entries
	Fingerprints int   `json:"fingerprints"` // whole directories
	Leftovers    int   `json:"leftovers"`    // temporary and rejected files, notes that have expired

	// DriverEntries are entries in files that hold others too: NVIDIA's slots.
	DriverEntries int `json:"driver_entries"`
	// DriverInUse reports that a process uses those files. The next process that starts
	// while none does deletes the entries.
	DriverInUse bool `json:"driver_in_use"`
}

// Add adds what was deleted in another directory.
func (r *PruneReport) Add(other PruneReport) {
	r.Programs += other.Programs
	r.Bytes += other.Bytes
	r.DriverFiles += other.DriverFiles
	r.DriverBytes += other.DriverBytes
	r.Fingerprints += other.Fingerprints
	r.Leftovers += other.Leftovers
	r.DriverEntries += other.DriverEntries
	r.DriverInUse = r.DriverInUse || other.DriverInUse
}

// Prune deletes programs of every fingerprint, and files of the driver's own cache, by
// age and size. A process that uses a program is not affected: it has read the file, and
// the next start compiles the program again. Prune continues after files that it cannot
// delete, and returns those errors with the report. Where the index of a store is busy for
// 5 s, or cannot be read, the last uses are not known: age and size delete nothing then, and
// Prune returns that error.
func (d *Dir) Prune(o PruneOptions) (PruneReport, error) {
	p, all, err := d.startDeleting(o)
	if err != nil {
		return PruneReport{}, err
	}
	chosen := all
	if len(p.OtherThan) > 0 {
		p.deleteOthers(all)
		chosen = slices.DeleteFunc(slices.Clone(all), p.isOther)
	}
	items := &pruneItems{}
	if o.isLimited() {
		items = d.pruneItems(chosen)
	}
	if items.err != nil {
		p.errs, items.list = append(p.errs, fmt.Errorf("last uses are not known: %w", items.err)), nil
	}
	for it := range p.selectItems(items) {
		p.deleteItem(it)
	}
	p.finishDriver(d.DriverDir())
	p.sweep(d, chosen)
	p.sweepSources(d, all)
	p.reconcile(chosen)
	return p.report, p.err()
}

// isLimited reports whether the options limit what stays.
func (o PruneOptions) isLimited() bool { return o.MaxBytes > 0 || o.MaxFiles > 0 || o.MaxAge > 0 }

var trims = whole[time.Time]{name: lastTrimName, limit: 64}

// Trim prunes the directory, for every driver, and reports true, unless it was trimmed
// within the last day, or there is no limit: then it does nothing and reports false. A
// limit of 0 is that of [Dir.Settings], else the default; a negative one is none. The file last_trim holds
// the time of the last trim; a time in the future is ignored. A volume that is too full for the file is
// pruned all the same.
func (d *Dir) Trim(o PruneOptions) (PruneReport, bool, error) {
	o = d.withLimits(o)
	if !o.isLimited() {
		return PruneReport{}, false, nil
	}
	if o.Now.IsZero() {
		o.Now = d.now()
	}
	last, err := trims.read(d.path)
	if age := o.Now.Sub(last); err == nil && age >= 0 && age < trimInterval {
		return PruneReport{}, false, nil
	}
	if d.readOnly {
		return PruneReport{}, false, ErrReadOnly
	}
	// Written first, so that of the processes that end together one trims.
	written := trims.write(d.path, o.Now.UTC())
	if written != nil && !osfile.IsNoSpace(written) {
		return PruneReport{}, false, wrap("trim", written)
	}
	report, err := d.Prune(o)
	if written != nil { // there may be room now
		err = errors.Join(err, wrap("trim", trims.write(d.path, o.Now.UTC())))
	}
	return report, true, err
}

// withLimits returns o with the limits that are stored, else the defaults, where it has none.
func (d *Dir) withLimits(o PruneOptions) PruneOptions {
	stored, _ := d.Settings() // config and doctor report the error
	stored = stored.WithDefaults()
	o.MaxBytes, o.MaxFiles = cmp.Or(o.MaxBytes, stored.MaxBytes), cmp.Or(o.MaxFiles, stored.MaxFiles)
	o.MaxAge = cmp.Or(o.MaxAge, stored.MaxAge)
	return o
}

// Trim calls Dir.Trim: limits apply to the whole directory.
func (s *Store) Trim(o PruneOptions) (PruneReport, bool, error) { return s.dir.Trim(o) }

// pruning is one call of Prune.
type pruning struct {
	PruneOptions
	all     bool // also what a pull or an import would complete
	report  PruneReport
	touched map[*Store]bool // those of deleteItem
	records []string        // of NVIDIA's slots, to delete
	gone    []string        // files that are there in a dry run alone
	errs    []error
}

func (p *pruning) err() error { return wrap("prune", errors.Join(p.errs...)) }

// isOther reports whether a store belongs to another driver than those of OtherThan.
func (p *pruning) isOther(s *Store) bool {
	return !slices.ContainsFunc(p.OtherThan, func(f Fingerprint) bool { return f.Digest() == s.digest || f.SameDriver(s.fingerprint) })
}

// deleteOthers deletes the stores of all fingerprints but OtherThan.
func (p *pruning) deleteOthers(all []*Store) {
	for _, s := range all {
		if p.isOther(s) {
			p.deleteStore(s)
		}
	}
}

// deleteStore deletes the files of a store, and then its empty directories. Files that
// this package did not make stay, and with them their directories.
func (p *pruning) deleteStore(s *Store) {
	dirs, unknown := s.dirs(), 0
	for _, dir := range dirs {
		for _, e := range osfile.List(dir.path) {
			path := filepath.Join(dir.path, e.Name())
			isDir := slices.ContainsFunc(dirs, func(d storeDir) bool { return d.path == path })
			switch isFile := e.Type().IsRegular(); {
			case isDir:
			case isFile && dir.blobs && blobForm(e.Name()):
				p.deleteBlob(path)
			case isFile && (dir.form(e.Name()) || dir.form.temporary(e.Name())):
				p.delete(path)
			default:
				unknown++
			}
		}
		if !p.DryRun && !osfile.IsLink(dir.path) {
			_ = os.Remove(dir.path) // stays while something is in it
		}
	}
	if _, err := os.Lstat(s.path); p.DryRun && unknown == 0 || errors.Is(err, fs.ErrNotExist) {
		p.report.Fingerprints++
	}
}

// deleteBlob deletes the file of a program and counts it.
func (p *pruning) deleteBlob(path string) bool {
	info, err := os.Lstat(path)
	if err != nil || !p.delete(path) {
		return false
	}
	p.report.Programs++
	p.report.Bytes += info.Size()
	return true
}

// deleteItem deletes one item and counts its files.
func (p *pruning) deleteItem(it pruneItem) {
	if it.store != nil {
		p.touched[it.store] = true
		if p.deleteBlob(it.store.blobPath(it.key)) {
			p.deleteCheck(it.store, it.key)
		}
	}
	for _, part := range it.driver {
		p.deleteDriverItem(part)
	}
}

// reconcile makes the indexes of stores agree with what deleteItem left.
func (p *pruning) reconcile(stores []*Store) {
	for _, s := range stores {
		if p.touched[s] && !p.DryRun && s.isIdentified() {
			_ = s.record(pendingRecord{}, true) // where the index is busy, the next Record reconciles it
		}
	}
}

// deleteCheck deletes the note that the binary of a deleted program was checked. It is
// part of the program and does not count. That a program is computed wrong stays, as in
// staleChecks: a process that did not know it, or a pack, had stored the binary.
func (p *pruning) deleteCheck(s *Store, key shader.Key) {
	if path := answers.path(s.path, key); isRegular(path) {
		if _, wrong := s.Wrong(key); !wrong {
			p.delete(path)
		}
	}
}

// deleteDriverItem deletes the files of an item of the driver, and notes a record for
// finishDriver.
func (p *pruning) deleteDriverItem(it *drivercache.Item) {
	if it.Paths == nil {
		p.records = append(p.records, it.Entry)
		p.report.DriverEntries++
		p.report.DriverBytes += it.Bytes
	}
	for _, path := range it.Paths {
		info, err := os.Lstat(path)
		if err != nil || !p.delete(path) {
			continue
		}
		p.report.DriverFiles++
		p.report.DriverBytes += osfile.DiskBytes(info)
	}
}

// finishDriver deletes the records of NVIDIA's slots that deleteDriverItem noted, and has Mesa know
// what was deleted.
func (p *pruning) finishDriver(driverDir string) {
	if p.DryRun {
		return
	}
	err := drivercache.Drop(driverDir, p.records)
	if errors.Is(err, drivercache.ErrInUse) {
		p.report.DriverInUse = true
	} else if err != nil {
		p.errs = append(p.errs, err)
	}
	drivercache.Recount(driverDir)
}

// sweep deletes leftovers of interrupted writes, imports and transfers, and files that were rejected
// a month ago.
func (p *pruning) sweep(d *Dir, stores []*Store) {
	p.sweepTemporary(d.path, dirForm)
	p.sweepImport(d)
	p.sweepRemotes(d)
	sources := filepath.Join(d.path, sourcesName)
	for _, shard := range shards(sources) {
		p.sweepTemporary(filepath.Join(sources, shard.Name()), sourceForm)
	}
	for _, s := range stores {
		for _, dir := range s.dirs() {
			p.sweepTemporary(dir.path, dir.form)
		}
		for _, path := range s.expiredRejected(maxRejected, p.Now.Add(-rejectedAge)) {
			p.deleteRejected(path)
		}
		for _, path := range s.staleChecks() {
			p.deleteLeftover(path)
		}
		p.sweepNotes(s)
	}
}

// What package fleet has in the folder of a remote, and in that of a driver there: parts of packs, and
// temporary files.
var (
	remoteFolder = "remote/" + strings.Repeat("[0-9a-f]", 8)
	digestName   = "/" + strings.Repeat("[0-9a-f]", 64)
	remoteForms  = map[string]time.Duration{
		remoteFolder + digestName + digestName + ".part": partAge,
		remoteFolder + digestName + "/.*[0-9]":           temporaryAge,
		remoteFolder + "/.*[0-9]":                        temporaryAge,
	}
)

// sweepRemotes deletes what package fleet keeps of packs whose transfer ended early long ago, and what
// processes left that ended while they wrote: the pull of another URL or driver does not.
func (p *pruning) sweepRemotes(d *Dir) {
	for file, info := range osfile.Files(filepath.Join(d.path, "remote")) {
		for form, age := range remoteForms {
			name, _ := filepath.Rel(d.path, file)
			if known, _ := path.Match(form, filepath.ToSlash(name)); known && (p.all || p.Now.Sub(info.ModTime()) >= age) {
				p.deleteLeftover(file)
			}
		}
	}
}

// deleteRejected deletes a rejected file and its note, which count as one.
func (p *pruning) deleteRejected(path string) {
	p.deleteLeftover(path)
	if _, err := os.Lstat(path + reasonExt); err == nil {
		p.delete(path + reasonExt)
	}
}

// sweepSources deletes sources that are older than MaxAge, or 30 days, and of which no driver has
// a program.
func (p *pruning) sweepSources(d *Dir, stores []*Store) {
	age, gone := cmp.Or(p.MaxAge, rejectedAge), slices.Sorted(slices.Values(p.gone))
	for key := range sources.files(d.path) {
		info, err := os.Lstat(sources.path(d.path, key))
		inUse := slices.ContainsFunc(stores, func(s *Store) bool {
			_, err := os.Lstat(s.blobPath(key))
			_, isGone := slices.BinarySearch(gone, s.blobPath(key))
			return err == nil && !isGone
		})
		if err == nil && info.Mode().IsRegular() && !inUse && p.Now.Sub(info.ModTime()) > age {
			p.deleteLeftover(sources.path(d.path, key))
		}
	}
}

// sweepNotes deletes the notes of quarantines that have ended, and of compile errors
// older than failureAge.
func (p *pruning) sweepNotes(s *Store) {
	for q, err := range notes.all(s.path) {
		if err == nil && !q.isActive(p.Now) {
			p.deleteLeftover(notes.path(s.path, q.Key))
		}
	}
	for key, e := range failures.files(s.path) {
		if e.Type().IsRegular() && p.Now.Sub(fileTime(e)) > failureAge {
			p.deleteLeftover(failures.path(s.path, key))
		}
	}
}

// sweepTemporary deletes the old temporary files of a directory whose files have this
// form of name.
func (p *pruning) sweepTemporary(dir string, form form) {
	for _, e := range osfile.List(dir) {
		if form.temporary(e.Name()) && e.Type().IsRegular() && p.Now.Sub(fileTime(e)) >= temporaryAge {
			p.deleteLeftover(filepath.Join(dir, e.Name()))
		}
	}
}

func (p *pruning) deleteLeftover(path string) {
	if p.delete(path) {
		p.report.Leftovers++
	}
}

// delete deletes a file unless this is a dry run. It reports whether it deleted the file,
// or would: false for one that another process has deleted.
func (p *pruning) delete(path string) bool {
	if p.DryRun {
		p.gone = append(p.gone, path)
	} else if err := os.Remove(path); err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			p.errs = append(p.errs, err)
		}
		return false
	}
	if p.Deleted != nil {
		p.Deleted(path)
	}
	return true
}
