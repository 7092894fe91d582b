package binary

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"

	"github.com/shadercache/shadercache/binary/internal/index"
	"github.com/shadercache/shadercache/shader"
)

// Record adds uses and counters to the index and rewrites manifest.json and
// cache_stats.json from it. It ignores uses of programs that have no blob. After an error
// nothing is recorded, and the caller may try again with the same values; the error
// matches ErrBusy when another process held the index. In an upstream directory Record
// does nothing.
//
// Record also reconciles the index with the blobs on disk: an index that is new, was
// lost, or lacks what another process wrote is complete afterwards.
func (s *Store) Record(uses []Use, counters Counters) error {
	if len(uses) == 0 && counters == (Counters{}) || s.dir.readOnly {
		return nil
	}
	if err := s.record(uses, counters); err != nil {
		return fmt.Errorf("binary: record: %w", err)
	}
	return nil
}

func (s *Store) record(uses []Use, counters Counters) error {
	s.recording.Lock()
	defer s.recording.Unlock()
	if err := s.create(s.path); err != nil {
		return err
	}
	x, known, err := s.openOrRebuild()
	if err != nil {
		return err
	}
	defer x.Close()

	rewritten := s.takeRewritten()
	changed, gone := s.reconcile(known, rewritten)
	for _, u := range uses {
		if e, ok := known.programs[u.Key]; ok {
			if e.apply(u) {
				known.programs[u.Key], changed[u.Key] = e, e
			}
		}
	}
	known.lifetime.Add(counters)
	// Views before the index: if one fails, nothing is recorded. Views that are newer
	// than the index until the next Record do no harm.
	err = s.writeViews(known, len(changed)+len(gone) > 0)
	if err == nil {
		err = saveIndex(x, known.lifetime, changed, gone)
	}
	if err != nil {
		s.putBackRewritten(rewritten)
		return err
	}
	s.recordStarts(counters)
	return nil
}

func (s *Store) writeViews(c *contents, programsChanged bool) error {
	if _, err := os.Lstat(s.manifestPath()); programsChanged || err != nil {
		if err := s.writeManifest(c); err != nil {
			return err
		}
	}
	return s.dir.writeStats(s.name, c.lifetime)
}

// openOrRebuild opens the index for writing. It rejects a damaged index and makes an
// empty one, whose counters start with those of cache_stats.json.
func (s *Store) openOrRebuild() (*index.File, *contents, error) {
	x, known, err := s.openForWriting()
	if errors.Is(err, ErrDamaged) {
		if err := s.rejectFile(filepath.Join(s.path, index.Name), err.Error()); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, nil, err
		}
		// No file can be renamed to the name of a directory.
		if sum := filepath.Join(s.path, index.SumName); isMisplaced(sum, false) {
			if err := s.rejectFile(sum, "is not a regular file"); err != nil {
				return nil, nil, err
			}
		}
		x, known, err = s.openForWriting()
	}
	if err != nil {
		return nil, nil, err
	}
	if x.Created() {
		known.lifetime = s.dir.readStats().Fingerprints[s.name]
	}
	return x, known, nil
}

func (s *Store) openForWriting() (*index.File, *contents, error) {
	x, err := index.Open(s.path, false)
	if err != nil {
		return nil, nil, indexError(err)
	}
	known, err := loadContents(x)
	if err != nil {
		return nil, nil, err
	}
	return x, known, nil
}

// reconcile makes known agree with the blobs on disk. It returns the programs that are
// new or were written again, and those that are gone. It leaves out a blob whose header
// cannot be read, which the next Get rejects.
func (s *Store) reconcile(known *contents, rewritten map[shader.Key]struct{}) (changed map[shader.Key]Entry, gone []shader.Key) {
	changed = map[shader.Key]Entry{}
	there := make(map[shader.Key]struct{}, len(known.programs))
	for key, file := range s.blobFiles() {
		there[key] = struct{}{}
		e, ok := known.programs[key]
		if _, again := rewritten[key]; ok && !again {
			continue
		}
		h, fileBytes, err := s.readHeader(key)
		if err != nil {
			continue
		}
		e.describe(h, fileBytes)
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

// takeRewritten returns and empties the set of keys that Put wrote since the last record.
func (s *Store) takeRewritten() map[shader.Key]struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	taken := s.mu.rewritten
	s.mu.rewritten = nil
	return taken
}

func (s *Store) putBackRewritten(keys map[shader.Key]struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.rewritten == nil {
		s.mu.rewritten = keys
		return
	}
	maps.Copy(s.mu.rewritten, keys)
}
