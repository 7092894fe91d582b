package binary

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/shadercache/shadercache/binary/internal/index"
	"github.com/shadercache/shadercache/drivercache"
	"github.com/shadercache/shadercache/internal/osfile"
	"github.com/shadercache/shadercache/shader"
)

const (
	// temporaryAge is when a file that was to be renamed counts as left behind
	// by a process that died. Writing one takes milliseconds.
	temporaryAge = time.Hour
	// asideAge is how long what was set aside is kept to be looked at.
	asideAge = 30 * 24 * time.Hour
)

// PruneOptions say what to delete. The zero value deletes only what interrupted
// writes left behind and what was set aside a month ago.
type PruneOptions struct {
	// MaxAge deletes what was not used for longer; 0 = no limit.
	MaxAge time.Duration
	// MaxBytes bounds programs and driver files together: the least recently
	// used go first; 0 = no limit. What the driver needs whole, and statistics,
	// do not count.
	MaxBytes int64
	// OtherThan deletes every fingerprint but this one, whole; nil = keep all.
	OtherThan *shader.Digest
	// DryRun deletes nothing and reports what would be deleted.
	DryRun bool
	// Now is the time that ages are counted from; zero = the clock's.
	Now time.Time
}

// PruneReport says what was deleted.
type PruneReport struct {
	Programs     int   `json:"programs"`
	Bytes        int64 `json:"bytes"` // of the programs' files
	DriverFiles  int   `json:"driver_files"`
	DriverBytes  int64 `json:"driver_bytes"`
	Fingerprints int   `json:"fingerprints"` // whole directories
	Leftovers    int   `json:"leftovers"`    // temporary files and files set aside
}

// Prune deletes programs of every fingerprint, and files of the driver's own
// cache, by age and size. Programs in use are not harmed: a process has read
// what it needs, and the next start compiles again. It goes on past what it
// cannot delete and returns those errors with the report.
func (d *Dir) Prune(o PruneOptions) (PruneReport, error) {
	stores, err := d.stores()
	if err != nil {
		return PruneReport{}, err
	}
	return d.prune(o, stores, stores)
}

// Prune deletes programs of this store and files of the driver's own cache, as
// Dir.Prune does. Other fingerprints keep their programs, unless OtherThan asks
// for their end.
func (s *Store) Prune(o PruneOptions) (PruneReport, error) {
	stores, err := s.dir.stores()
	if err != nil {
		return PruneReport{}, err
	}
	return s.dir.prune(o, stores, []*Store{s})
}

// pruning is one run of prune.
type pruning struct {
	PruneOptions
	report PruneReport
	errs   []error
}

// pruneItem is what is deleted together: a blob, or an item of the driver. There may be
// very many, so a path is made when it is needed.
type pruneItem struct {
	lastUse int64 // nanoseconds since 1970
	bytes   int64
	store   *Store // of a blob
	key     shader.Key
	driver  *drivercache.Item // nil for a blob
}

func (it *pruneItem) paths() []string {
	if it.driver != nil {
		return it.driver.Paths
	}
	return []string{it.store.blobPath(it.key)}
}

// compare puts what was used least recently first.
func (it *pruneItem) compare(other *pruneItem) int {
	if byUse := cmp.Compare(it.lastUse, other.lastUse); byUse != 0 {
		return byUse
	}
	return slices.Compare(it.paths(), other.paths())
}

func (d *Dir) prune(o PruneOptions, all, chosen []*Store) (PruneReport, error) {
	if d.readOnly {
		return PruneReport{}, ErrReadOnly
	}
	p := &pruning{PruneOptions: o}
	if p.Now.IsZero() {
		p.Now = d.now()
	}
	if p.OtherThan != nil {
		p.dropOthers(all)
		chosen = slices.DeleteFunc(slices.Clone(chosen), p.isOther)
	}
	items := d.pruneItems(chosen)
	touched := map[*Store]bool{}
	for _, it := range p.choose(items) {
		p.remove(it)
		touched[it.store] = true
	}
	p.sweep(d, chosen)
	p.sweepSources(d, all)
	if !p.DryRun {
		for _, s := range chosen {
			if touched[s] && s.digest != (shader.Digest{}) {
				// An index that is busy now is reconciled by the next Record.
				_ = s.record(nil, Counters{})
			}
		}
	}
	return p.report, p.err()
}

func (p *pruning) err() error {
	if len(p.errs) == 0 {
		return nil
	}
	return fmt.Errorf("binary: prune: %w", errors.Join(p.errs...))
}

// isOther tells by the directory's name, which ends in digits of the digest: a
// directory whose fingerprint.json is lost can be judged too.
func (p *pruning) isOther(s *Store) bool {
	return !strings.HasSuffix(s.name, "-"+p.OtherThan.Short())
}

// dropOthers deletes the directories of all fingerprints but OtherThan.
func (p *pruning) dropOthers(all []*Store) {
	for _, s := range all {
		if !p.isOther(s) {
			continue
		}
		programs, bytes := 0, int64(0)
		for _, file := range s.blobFiles() {
			if info, err := file.Info(); err == nil {
				programs++
				bytes += info.Size()
			}
		}
		if !p.delete(os.RemoveAll, s.path) {
			continue
		}
		p.report.Fingerprints++
		p.report.Programs += programs
		p.report.Bytes += bytes
	}
}

// pruneItems lists what may be deleted, least recently used first.
func (d *Dir) pruneItems(stores []*Store) []pruneItem {
	var items []pruneItem
	for _, it := range drivercache.Items(d.DriverDir()) {
		items = append(items, pruneItem{lastUse: it.LastUse.UnixNano(), bytes: it.Bytes, driver: &it})
	}
	for _, s := range stores {
		items = s.appendPruneItems(items)
	}
	slices.SortFunc(items, func(a, b pruneItem) int { return a.compare(&b) })
	return items
}

func (s *Store) appendPruneItems(items []pruneItem) []pruneItem {
	known := index.OpenCopy(s.path)
	defer known.Close()
	for key, file := range s.blobFiles() {
		info, err := file.Info()
		if err != nil {
			continue
		}
		e := findEntry(known, key)
		e.usedBy(info.ModTime())
		items = append(items, pruneItem{lastUse: e.LastUse.UnixNano(), bytes: info.Size(), store: s, key: key})
	}
	return items
}

// choose picks the items, least recently used first, that age and size
// condemn.
func (p *pruning) choose(items []pruneItem) []pruneItem {
	var total int64
	for _, it := range items {
		total += it.bytes
	}
	limit := p.MaxBytes
	if limit <= 0 {
		limit = math.MaxInt64
	}
	for i, it := range items {
		tooOld := p.MaxAge > 0 && p.Now.Sub(time.Unix(0, it.lastUse)) > p.MaxAge
		if !tooOld && total <= limit {
			return items[:i]
		}
		total -= it.bytes
	}
	return items
}

// remove deletes one item and counts what went.
func (p *pruning) remove(it pruneItem) {
	for _, path := range it.paths() {
		info, err := os.Lstat(path)
		if err != nil || !p.delete(os.Remove, path) {
			continue
		}
		if it.driver == nil {
			p.report.Programs++
			p.report.Bytes += info.Size()
		} else {
			p.report.DriverFiles++
			p.report.DriverBytes += info.Size()
		}
	}
}

// sweep deletes what interrupted writes left and what was set aside long ago.
func (p *pruning) sweep(d *Dir, stores []*Store) {
	// The cache directory may be one that people keep other things in.
	p.sweepTemporary(d.path, "."+statsName, "."+lastTrimName, ".README.md", ".CACHEDIR.TAG")
	p.sweepShards(filepath.Join(d.path, sourcesName))
	for _, s := range stores {
		p.sweepTemporary(s.path, ".")
		for _, name := range []string{asideName, quarantineName, failedName, checkedName, tuningName} {
			p.sweepTemporary(filepath.Join(s.path, name), ".")
		}
		p.sweepShards(filepath.Join(s.path, blobsName))
		p.report.Leftovers += s.trimAside(asideKept, p.Now.Add(-asideAge), p.DryRun)
		p.report.Leftovers += s.forgetChecks(p.DryRun)
		p.sweepNotes(s)
	}
}

func (p *pruning) sweepShards(dir string) {
	for _, shard := range osfile.List(dir) {
		p.sweepTemporary(filepath.Join(dir, shard.Name()), ".")
	}
}

// sweepSources deletes sources that were kept for longer than MaxAge and that no
// driver has compiled any more.
func (p *pruning) sweepSources(d *Dir, stores []*Store) {
	if p.MaxAge <= 0 {
		return
	}
	for key := range d.sourceKeys() {
		info, err := os.Lstat(d.sourcePath(key))
		inUse := slices.ContainsFunc(stores, func(s *Store) bool {
			_, err := os.Lstat(s.blobPath(key))
			return err == nil
		})
		if err == nil && !inUse && p.Now.Sub(info.ModTime()) > p.MaxAge && p.delete(os.Remove, d.sourcePath(key)) {
			p.report.Leftovers++
		}
	}
}

// sweepNotes deletes notes that say nothing any more: of quarantines that have
// ended, and of sources that failed to compile long ago.
func (p *pruning) sweepNotes(s *Store) {
	for _, q := range s.quarantineNotes() {
		if !q.stands(p.Now) && p.delete(os.Remove, s.quarantinePath(q.Key)) {
			p.report.Leftovers++
		}
	}
	failed := filepath.Join(s.path, failedName)
	for _, e := range osfile.List(failed) {
		old := strings.HasSuffix(e.Name(), failedExt) && p.Now.Sub(fileTime(e)) > failureAge
		if old && p.delete(os.Remove, filepath.Join(failed, e.Name())) {
			p.report.Leftovers++
		}
	}
}

// sweepTemporary deletes old files of a directory whose names have one of the
// prefixes, which only temporary files have.
func (p *pruning) sweepTemporary(dir string, prefixes ...string) {
	for _, e := range osfile.List(dir) {
		temporary := slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(e.Name(), prefix) })
		if !temporary || !e.Type().IsRegular() || p.Now.Sub(fileTime(e)) < temporaryAge {
			continue
		}
		if p.delete(os.Remove, filepath.Join(dir, e.Name())) {
			p.report.Leftovers++
		}
	}
}

// delete deletes a path unless this is a dry run, and reports whether it is
// gone or would be. What another process deleted first is not counted.
func (p *pruning) delete(remove func(string) error, path string) bool {
	if p.DryRun {
		return true
	}
	err := remove(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		p.errs = append(p.errs, err)
	}
	return err == nil
}
