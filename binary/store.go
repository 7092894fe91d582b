package binary

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/shadercache/shadercache/binary/internal/crashlog"
	"github.com/shadercache/shadercache/internal/osfile"
	"github.com/shadercache/shadercache/shader"
)

// Store keeps the program binaries of one driver:
//
//	<cache directory>/NVIDIA_H200-1f0c3a2b/
//	    fingerprint.json      the fingerprint in full
//	    blobs/5e/5e88...bin   one envelope a program, named by its key
//	    index.db, index.sum   last use, hits, timings: see index
//	    manifest.json         the same for people and scripts
//	    probe.json            what was found out about the driver
//	    aside/                blobs that were refused, with the reason
//	    inflight/             what drivers are working on: see Enter
//	    quarantine/           what they were working on when a process died
//	    tuning/               what was fastest for a problem: see Tuning
//
// Blobs are whole files that are renamed into place, so readers wait for
// nobody, and any number of stores in any number of processes share a
// directory. Opening a store and Get and Put cost the same however many
// programs there are: they neither list a directory nor open the index. The
// index may be busy, damaged or gone; only statistics depend on it.
//
// Methods may be called from any goroutine.
type Store struct {
	dir         *Dir
	fingerprint Fingerprint
	digest      shader.Digest
	name        string // directory below dir
	path        string

	upstream *Store // nil: none

	marks     crashlog.Log
	recording sync.Mutex // one goroutine at a time writes the index
	mu        struct {
		sync.Mutex
		rewritten map[shader.Key]struct{} // put since the index last learned of them
	}
}

// Store opens the store of one driver. Nothing is written until the first Put,
// Record or Enter. It fails, with ErrUnsafeDir, only where something that is not a
// safe directory stands in the place of the store, or of a directory in it.
func (d *Dir) Store(fingerprint Fingerprint) (*Store, error) {
	s := d.storeNamed(fingerprint.DirName())
	s.fingerprint, s.digest = fingerprint, fingerprint.Digest()
	if d.upstream != nil {
		// One that cannot be used is as good as none.
		s.upstream, _ = d.upstream.Store(fingerprint)
	}
	info, err := os.Lstat(s.path)
	if err == nil {
		err = d.check(s.path, info)
	}
	if err == nil {
		err = d.checkBelow(s.path, storeDirs...)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("binary: open store: %w", err)
	}
	return s, nil
}

func (d *Dir) storeNamed(name string) *Store {
	s := &Store{dir: d, name: name, path: filepath.Join(d.path, name)}
	s.marks.Dir, s.marks.Prepare = s.inFlightPath(), s.create
	s.mu.rewritten = map[shader.Key]struct{}{}
	return s
}

// Fingerprint says which driver's programs the store holds.
func (s *Store) Fingerprint() Fingerprint { return s.fingerprint }

// Path is the directory of the store. It may not exist yet.
func (s *Store) Path() string { return s.path }

// Get reads the blob of a key, from the upstream directory where there is none
// here. It returns ErrNotFound where there is none at all. A file that is
// damaged, or that belongs to another program or driver, is moved to aside/ and
// reported as a *DamagedError; the next Get looks upstream.
func (s *Store) Get(key shader.Key) (*Blob, error) {
	b, info, err := s.read(key)
	if errors.Is(err, fs.ErrNotExist) && s.upstream != nil {
		if b, _, err := s.upstream.read(key); err == nil {
			return b, nil
		}
	}
	switch bad, isBad := errors.AsType[*DamagedError](err); {
	case err == nil:
		return b, nil
	case errors.Is(err, fs.ErrNotExist):
		return nil, ErrNotFound
	case isBad:
		s.setAsideFile(key, info, bad.Reason)
		return nil, bad
	}
	return nil, fmt.Errorf("binary: get %s: %w", key.Short(), err)
}

// read reads a blob and checks every byte. A *DamagedError has the path, and
// comes with what describes the file.
func (s *Store) read(key shader.Key) (*Blob, fs.FileInfo, error) {
	path := s.blobPath(key)
	data, info, err := readRegular(path, maxBlobBytes)
	var b *Blob
	if err == nil {
		b, err = DecodeBlob(data)
	}
	if err == nil {
		err = s.owns(b, key)
	}
	if bad, ok := errors.AsType[*DamagedError](err); ok {
		bad.Path = path
	}
	return b, info, err
}

// owns checks that a sound blob is the one that its file name promises. A store
// whose fingerprint is lost owns any driver's.
func (s *Store) owns(b *Blob, key shader.Key) error {
	if b.Key != key {
		return damaged("holds program %s", b.Key.Short())
	}
	if b.Fingerprint != s.digest && s.digest != (shader.Digest{}) {
		return damaged("was made by driver %s, this is driver %s", b.Fingerprint.Short(), s.digest.Short())
	}
	return nil
}

// Put writes a blob, replacing any blob of the same key. Readers see the old
// file or the new one. Directories that are missing are made again. A blob
// with another fingerprint than the store's is a mistake of the caller, and
// Put panics.
func (s *Store) Put(b *Blob) error {
	if b.Fingerprint != s.digest {
		panic("binary: Put of a blob that another driver made")
	}
	data, err := b.Encode()
	if err != nil {
		return err
	}
	if err := s.writeInto(s.blobPath(b.Key), data); err != nil {
		return fmt.Errorf("binary: put %s: %w", b.Key.Short(), err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.rewritten[b.Key] = struct{}{}
	return nil
}

// Close releases the store. It records nothing and may be called more than
// once. A store that nobody closes costs an open file, if Enter was called.
func (s *Store) Close() error {
	s.marks.Close()
	return nil
}

// create makes the store's directory and dir below it, from the cache
// directory down, and says in it which driver it belongs to.
func (s *Store) create(dir string) error {
	if s.dir.readOnly {
		return ErrReadOnly
	}
	if err := s.dir.create(); err != nil {
		return err
	}
	if osfile.IsLink(filepath.Dir(dir)) {
		return unsafeDir(filepath.Dir(dir), "is a symbolic link", mendLink)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return s.writeFingerprint()
}

// readRegular reads a file of at most limit bytes. Anything else that has the
// name, such as a directory, a link or a larger file, is a *DamagedError.
func readRegular(path string, limit int64) ([]byte, fs.FileInfo, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return nil, nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, info, damaged("is not a regular file")
	}
	if info.Size() > limit {
		return nil, info, damaged("has %d bytes, at most %d are possible", info.Size(), limit)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, info, err
	}
	defer f.Close()
	data := make([]byte, info.Size())
	n, err := io.ReadFull(f, data)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil // shorter than it was: what was read decides
	}
	return data[:n], info, err
}
