package binary

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/shadercache/shadercache/binary/internal/crashlog"
	"github.com/shadercache/shadercache/internal/osfile"
	"github.com/shadercache/shadercache/shader"
)

// Store keeps the program binaries of one driver:
//
//	<cache directory>/NVIDIA_H200-1f0c3a2b/
//	    fingerprint.json      the fingerprint in full
//	    blobs/5e/5e88...bin   one envelope a program, named by its key
//	    index.db, index.sum   last use, hits, timings: see package index
//	    pending/              what the index does not have yet: see Record
//	    manifest.json         the same for people and scripts
//	    probe.json            measured properties of the driver: see PutProbe
//	    refusals.json         binaries that the driver refused of late: see SourceOnly
//	    rejected/             blobs that were damaged or refused, with the reason
//	    claims                locks on programs that are being compiled: see Claim
//	    inflight/             programs that a driver works on: see Mark
//	    quarantine/           programs that were in flight when a process ended
//	    failed/               sources that do not compile: see PutFailure
//	    checked/              blobs that gave the right answer: see PutChecked
//	    tuning/               the fastest choice for each problem: see Tuning
//
// Blobs are whole files that are renamed into place: readers do not wait, and any number
// of stores in any number of processes share a directory. The cost of opening a store,
// of Get and of Put does not depend on the number of programs: they neither list a
// directory nor open the index. The index may be busy, damaged or missing; only
// statistics depend on it, and what a prune deletes.
//
// Methods may be called from any goroutine.
type Store struct {
	dir         *Dir
	fingerprint Fingerprint
	digest      shader.Digest
	name        string // of the directory below dir
	path        string

	upstream *Store // nil: none

	marks     crashlog.Log
	names     nameSync
	claims    claims
	recording sync.Mutex // held while the index is written
	started   bool       // see recordStarts
	compiled  sync.Map   // names that were passed to PutCompiled
	mu        struct {
		sync.Mutex
		rewritten map[shader.Key]struct{} // keys of Put since the last record
	}
}

// Store opens the store of one driver. It writes nothing: the first Put, Record or Mark
// makes the directory. It returns an error that matches ErrUnsafeDir where the path of
// the store, or of a directory in it, is something else than a safe directory.
func (d *Dir) Store(fingerprint Fingerprint) (*Store, error) {
	s := d.storeNamed(fingerprint.DirName())
	s.fingerprint, s.digest = fingerprint, fingerprint.Digest()
	if d.upstream != nil {
		// An upstream store that cannot be used counts as missing.
		s.upstream, _ = d.upstream.Store(fingerprint)
	}
	err := d.checkBelow(d.path, s.name)
	if err == nil {
		err = d.checkBelow(s.path, storeDirs...)
	}
	if err != nil {
		return nil, wrap("open store", err)
	}
	return s, nil
}

func (d *Dir) storeNamed(name string) *Store {
	s := &Store{dir: d, name: name, path: filepath.Join(d.path, name)}
	s.marks.Dir, s.marks.Make = s.file(inFlightName), s.create
	s.mu.rewritten = map[shader.Key]struct{}{}
	if d.readOnly {
		s.marks.ClearMarks()
	}
	return s
}

// Fingerprint returns the fingerprint of the store's driver.
func (s *Store) Fingerprint() Fingerprint { return s.fingerprint }

// Dir returns the cache directory that the store is in.
func (s *Store) Dir() *Dir { return s.dir }

func (s *Store) file(name string) string { return filepath.Join(s.path, name) }

// Path returns the directory of the store, which may not exist yet.
func (s *Store) Path() string { return s.path }

// Has reports whether there is a blob of a key, here or in the upstream directory. It
// does not open it.
func (s *Store) Has(key shader.Key) bool {
	if _, err := os.Lstat(s.blobPath(key)); err == nil {
		return true
	}
	return s.upstream != nil && s.upstream.Has(key)
}

// Get reads the blob of a key, from the upstream directory where this one has none. It
// returns ErrNotFound where neither has one. A file that is damaged, or that belongs to
// another program or driver, is moved to rejected/ and reported as an error that matches
// ErrDamaged; the next Get reads the upstream directory.
func (s *Store) Get(key shader.Key) (*Blob, error) {
	b, info, err := s.read(key)
	if s.upstream != nil && errors.Is(err, fs.ErrNotExist) {
		if b := s.upstreamBlob(key); b != nil {
			return b, nil
		}
	}
	switch bad, isBad := errors.AsType[*damagedError](err); {
	case err == nil:
		return b, nil
	case errors.Is(err, fs.ErrNotExist):
		return nil, ErrNotFound
	case isBad:
		// The caller reports the damage, and the next reader tries again.
		_ = s.rejectDamaged(key, info, bad.Reason)
		return nil, bad
	}
	return nil, wrap("get "+key.Short(), err)
}

// upstreamBlob reads the blob of a key from the first upstream directory that has a good
// one. It returns nil where none has.
func (s *Store) upstreamBlob(key shader.Key) *Blob {
	for level := s.upstream; level != nil; level = level.upstream {
		if b, _, err := level.read(key); err == nil {
			b.Upstream = true
			return b
		}
	}
	return nil
}

// read reads a blob and checks every byte. With a *damagedError, which has the path, it
// returns the file's description. A store whose fingerprint is lost accepts every driver's
// blobs. A file that another user can change is damaged: a blob is code that the driver runs.
func (s *Store) read(key shader.Key) (*Blob, fs.FileInfo, error) {
	b, info, err := blobsOf(s.digest).read(s.path, key)
	if err == nil && osfile.OthersCanChange(info) {
		return nil, info, &damagedError{Path: s.blobPath(key), Reason: "belongs to another user, or can be written by others"}
	}
	return b, info, err
}

// Put writes a blob, and replaces a blob of the same key. Readers see the old file or the
// new one. Directories that are missing are made. Put panics for a blob with another
// fingerprint than the store's.
func (s *Store) Put(b *Blob) error {
	if b.Fingerprint != s.digest {
		panic("binary: Put of a blob that another driver made")
	}
	data, err := b.Encode()
	if err != nil {
		return err
	}
	if err := s.writeInto(s.blobPath(b.Key), data); err != nil {
		return wrap("put "+b.Key.Short(), err)
	}
	s.names.add(s.blobPath(b.Key))
	s.addRewritten(b.Key)
	return nil
}

// Close removes the marks, closes their file, and has the names of new blobs reach the
// disk. It records nothing. Further calls do nothing. A store that is not closed keeps a
// file open if Mark was called, and one if Claim was.
func (s *Store) Close() error {
	s.marks.Close()
	s.claims.close()
	s.names.flush()
	return nil
}

// create makes the cache directory, the store's directory in it and dir below that, as
// far as they are missing, and writes fingerprint.json.
func (s *Store) create(dir string) error {
	if s.dir.readOnly {
		return ErrReadOnly
	}
	if err := s.dir.create(); err != nil {
		return err
	}
	if osfile.IsLink(filepath.Dir(dir)) {
		return unsafeDir(filepath.Dir(dir), "is a symbolic link", removeLinkHint)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return s.writeFingerprint(fingerprints)
}

// nameSyncDelay is how long the name of a new blob may take to reach the disk.
const nameSyncDelay = 500 * time.Millisecond

// nameSync has the names of new files reach the disk. Put syncs what a blob contains, and
// not its name: with many blobs that would cost a second sync for each. Without nameSync
// the name follows when the file system writes its journal, up to 30 s later.
type nameSync struct {
	mu    sync.Mutex
	dirs  map[string]struct{}
	timer *time.Timer // nil: none is running
}

// add has the name of a file reach the disk in nameSyncDelay.
func (n *nameSync) add(path string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.dirs == nil {
		n.dirs = map[string]struct{}{}
	}
	n.dirs[filepath.Dir(path)] = struct{}{}
	if n.timer == nil {
		n.timer = time.AfterFunc(nameSyncDelay, n.flush)
	}
}

// flush syncs at once. A directory that is gone needs no sync, and after another failure
// the names reach the disk later.
func (n *nameSync) flush() {
	n.mu.Lock()
	dirs := n.dirs
	n.dirs = nil
	if n.timer != nil {
		n.timer.Stop()
		n.timer = nil
	}
	n.mu.Unlock()
	for dir := range dirs {
		_ = osfile.SyncDir(dir)
	}
}
