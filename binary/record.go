package binary

import (
	"errors"
	"io/fs"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/shadercache/shadercache/binary/internal/index"
	"github.com/shadercache/shadercache/shader"
)

// Record adds uses and counters to the statistics of the store. It ignores uses of
// programs that have no blob. After an error nothing is recorded, and the caller may try
// again with the same values. In an upstream directory Record does nothing.
//
// A process that put blobs, or that moved some there and has no counters, writes the index
// of up to some 3,000 programs, manifest.json and cache_stats.json at once, and reconciles
// them with the blobs on disk: an index that is new, was lost, or lacks what another process
// wrote is complete afterwards. In larger stores, where another process holds the index, and
// of a process that put none, the values are added to pending/, at a cost that does not
// depend on the number of programs; readers find them there.
func (s *Store) Record(uses []Use, counters Counters) error {
	if len(uses) == 0 && counters == (Counters{}) || s.dir.readOnly {
		return nil
	}
	if s.dir.upstream != nil {
		counters.UpstreamMisses = counters.Compiles + counters.CompileErrors
	}
	return wrap("record", s.record(pendingRecord{Uses: uses, Counters: counters}, false))
}

// record records, and with whole makes the index agree with the blobs on disk, however large
// it is.
func (s *Store) record(own pendingRecord, whole bool) error {
	s.recording.Lock()
	defer s.recording.Unlock()
	s.mu.Lock()
	own.Written = slices.Collect(maps.Keys(s.mu.rewritten))
	clear(s.mu.rewritten)
	s.mu.Unlock()
	info, err := os.Lstat(s.file(index.Name))
	isGood := err == nil && info.Mode().IsRegular()
	isLarge := isGood && info.Size() >= largeIndex
	isWarm := len(own.Written) == 0 && own.Counters != (Counters{})
	if isGood && !whole && (isWarm || isLarge) {
		err = s.recordLater(own, !isLarge)
	} else if err = s.create(s.path); err == nil {
		if err = s.merge(own, true); errors.Is(err, index.ErrBusy) {
			err = s.putPending(own)
		}
	}
	if err != nil {
		s.addRewritten(own.Written...)
		return err
	}
	s.recordStarts(own.Counters)
	s.recordRefusals(own.Counters)
	return nil
}

// recordLater adds a record to pending/. Now and then it merges all of them, see merge; while
// the index is busy, a later one does.
func (s *Store) recordLater(own pendingRecord, whole bool) error {
	if err := s.putPending(own); err != nil {
		return err
	}
	if len(s.pendingNames()) >= maxPending {
		_ = s.merge(pendingRecord{}, whole) // what fails stays pending
	}
	return nil
}

// merge writes a record and all that are pending to the index. With whole it reads the
// whole index, reconciles it with the blobs on disk, and writes the manifest; otherwise it
// handles the programs of the records only.
func (s *Store) merge(own pendingRecord, whole bool) error {
	x, known, err := s.openIndex(whole)
	if err != nil {
		return err
	}
	defer x.Close()
	whole = whole || x.Created
	names, records := s.readPending(known.merged) // once: what comes after it is for the next merge
	records = append(records, own)
	rewritten := map[shader.Key]struct{}{}
	for _, r := range records {
		for _, key := range r.Written {
			rewritten[key] = struct{}{}
		}
	}
	blobs := s.blobFiles()
	if !whole {
		blobs = s.find(x, known, records, rewritten)
	}
	changed, gone := s.reconcile(known, blobs, rewritten)
	known.apply(records, changed)
	known.merged = names
	// Views before the index: if one fails, nothing is recorded. Views that are newer
	// than the index until the next Record do no harm.
	_, missing := os.Lstat(s.file(manifestName))
	if whole && (len(changed)+len(gone) > 0 || missing != nil) {
		err = s.writeManifest(known)
	}
	if err == nil {
		err = s.dir.writeStats(s.name, known.lifetime)
	}
	if err == nil {
		err = known.save(x, changed, gone)
	}
	if err != nil {
		return err
	}
	for _, name := range names { // also damaged ones
		_ = os.Remove(filepath.Join(s.file(pendingName), name))
	}
	return nil
}

// apply adds records to the entries that are known. It adds those that changed to changed.
func (c *contents) apply(records []pendingRecord, changed map[shader.Key]Entry) {
	for _, r := range records {
		for _, u := range r.Uses {
			if e, ok := c.programs[u.Key]; ok && e.apply(u) {
				c.programs[u.Key], changed[u.Key] = e, e
			}
		}
		c.lifetime.Add(r.Counters)
	}
}

// find makes known the programs of records and those that were written again, and yields their
// blobs, as blobFiles does.
func (s *Store) find(x *index.File, known *contents, records []pendingRecord, rewritten map[shader.Key]struct{}) iter.Seq2[shader.Key, fs.DirEntry] {
	keys := maps.Clone(rewritten)
	for _, r := range records {
		for _, u := range r.Uses {
			keys[u.Key] = struct{}{}
		}
	}
	return func(yield func(shader.Key, fs.DirEntry) bool) {
		for key := range keys {
			if e, ok := findEntry(x, key); ok {
				known.programs[key] = e
			}
			info, err := os.Lstat(s.blobPath(key))
			if err == nil && !yield(key, fs.FileInfoToDirEntry(info)) {
				return
			}
		}
	}
}

// openIndex opens the index for writing and reads it; without whole, all but the programs. It
// rejects a damaged index and makes an empty one, whose counters start with those of
// cache_stats.json.
func (s *Store) openIndex(whole bool) (x *index.File, known *contents, err error) {
	open := func() error {
		known = &contents{}
		if x, err = index.Open(s.path, false, index.Wait); err != nil {
			return err
		}
		return known.load(x, whole)
	}
	if err = open(); errors.Is(err, ErrDamaged) {
		if err := s.rejectFile(s.file(index.Name), err.Error()); err != nil {
			return nil, nil, err
		}
		// No file can be renamed to the name of a directory.
		if isMisplaced(s.file(index.SumName), false) {
			if err := s.rejectFile(s.file(index.SumName), "is not a regular file"); err != nil {
				return nil, nil, err
			}
		}
		err = open()
	}
	if err == nil && x.Created {
		known.lifetime = s.dir.readStats().Fingerprints[s.name]
	}
	return x, known, err
}

// reconcile makes known agree with the blobs on disk, of the programs that are known. It returns
// those that are new or were written again, and those that are gone. It leaves out a blob whose header
// cannot be read, which the next Get rejects.
func (s *Store) reconcile(known *contents, blobs iter.Seq2[shader.Key, fs.DirEntry], rewritten map[shader.Key]struct{}) (changed map[shader.Key]Entry, gone []shader.Key) {
	changed = map[shader.Key]Entry{}
	there := make(map[shader.Key]struct{}, len(known.programs))
	for key, file := range blobs {
		there[key] = struct{}{}
		e, ok := known.programs[key]
		if _, again := rewritten[key]; ok && !again {
			continue
		}
		if s.describeEntry(&e, key) != nil {
			continue
		}
		e.usedBy(fileTime(file))
		known.programs[key], changed[key] = e, e
	}
	for key := range known.programs {
		if _, ok := there[key]; !ok {
			delete(known.programs, key)
			gone = append(gone, key)
		}
	}
	return changed, gone
}

// addRewritten notes blobs that were written since the last record.
func (s *Store) addRewritten(keys ...shader.Key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, key := range keys {
		s.mu.rewritten[key] = struct{}{}
	}
}
