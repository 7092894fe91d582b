package pack

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"runtime"
	"strings"
	"sync"
)

// The staging folders of an import, below the cache directory. The bundle is unpacked
// into new. The rename from new to ready commits the import.
const (
	stagingName  = ".import"
	stagingNew   = ".import/new"
	stagingReady = ".import/ready"
)

const (
	// batchBytes is the size of the files that are written together, and the limit of a
	// file that is.
	batchBytes = 256 << 10

	// maxWriters limits the goroutines that write: more wait for the same locks of the
	// file system.
	maxWriters = 4
)

// staging writes the files of a bundle into stagingNew. The system needs longer to create
// a file than the reader to unpack it, so small files are collected by folder, and other
// goroutines write them. With one CPU the reader writes them itself.
//
// One goroutine calls the methods. It calls finish when all files were added, and stop in
// any case.
type staging struct {
	folders openFolders // of the caller
	current *batch      // is filled; nil: none

	full    chan *batch // to the writers; nil: there are none
	free    chan *batch
	writers sync.WaitGroup

	mu struct {
		sync.Mutex
		failed error // the first error of a writer
	}
}

// batch has small files of one folder.
type batch struct {
	folder string
	names  []string
	ends   []int // of the files in data
	data   []byte
}

// newStaging makes stagingNew in a cache directory.
func newStaging(directory *os.Root) (*staging, error) {
	if err := directory.MkdirAll(stagingNew, 0o700); err != nil {
		return nil, err
	}
	root, err := directory.OpenRoot(stagingNew)
	if err != nil {
		return nil, err
	}
	s := &staging{folders: openFolders{base: root}}
	if writers := min(runtime.GOMAXPROCS(0), maxWriters); writers > 1 {
		s.startWriters(writers)
	}
	return s, nil
}

func (s *staging) startWriters(n int) {
	batches := 2 * n
	s.full, s.free = make(chan *batch, batches), make(chan *batch, batches)
	for range batches {
		s.free <- &batch{}
	}
	for range n {
		s.writers.Go(s.writeBatches)
	}
}

// writeBatches writes batches until there are no more. After an error of any writer it
// writes none.
func (s *staging) writeBatches() {
	folders := openFolders{base: s.folders.base}
	defer folders.closeFrom(0)
	for b := range s.full {
		if s.error() == nil {
			if err := b.write(&folders); err != nil {
				s.fail(err)
			}
		}
		s.free <- b
	}
}

func (s *staging) error() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mu.failed
}

func (s *staging) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.failed == nil {
		s.mu.failed = err
	}
}

// add returns the memory for the content of a file of at most batchBytes. The caller fills
// it before its next call. It may return an error of an earlier file.
func (s *staging) add(name string, size int) ([]byte, error) {
	folder, base := path.Split(name)
	folder = strings.TrimSuffix(folder, "/")
	if b := s.current; b != nil && (b.folder != folder || len(b.data)+size > batchBytes) {
		if err := s.flush(); err != nil {
			return nil, err
		}
	}
	if s.current == nil {
		s.current = s.freeBatch()
		s.current.folder = folder
	}
	return s.current.add(base, size), s.error()
}

// freeBatch waits for an empty batch.
func (s *staging) freeBatch() *batch {
	if s.free == nil {
		return &batch{}
	}
	b := <-s.free
	b.names, b.ends, b.data = b.names[:0], b.ends[:0], b.data[:0]
	return b
}

// flush writes the current batch, or passes it to the writers.
func (s *staging) flush() error {
	b := s.current
	s.current = nil
	switch {
	case b == nil:
		return nil
	case s.full == nil:
		return b.write(&s.folders)
	}
	s.full <- b
	return s.error()
}

// create creates a file that is too large for a batch.
func (s *staging) create(name string) (*os.File, error) {
	return s.folders.create(name)
}

// finish writes what was added. It returns the first error of all files.
func (s *staging) finish() error {
	if err := s.flush(); err != nil {
		return err
	}
	s.endWriters()
	return s.error()
}

// stop ends the writers and closes the folders. Files that were added and not finished may
// be missing.
func (s *staging) stop() {
	s.endWriters()
	s.folders.closeFrom(0)
	_ = s.folders.base.Close()
}

func (s *staging) endWriters() {
	if s.full != nil {
		close(s.full)
		s.writers.Wait()
		s.full = nil
	}
}

// add returns the memory for the content of one more file.
func (b *batch) add(base string, size int) []byte {
	start := len(b.data)
	b.data = append(b.data, make([]byte, size)...)
	b.names, b.ends = append(b.names, base), append(b.ends, len(b.data))
	return b.data[start:]
}

// write creates the files.
func (b *batch) write(folders *openFolders) error {
	start := 0
	for i, base := range b.names {
		file, err := folders.create(path.Join(b.folder, base))
		if err != nil {
			return err
		}
		_, err = file.Write(b.data[start:b.ends[i]])
		if err := errors.Join(err, file.Close()); err != nil {
			return err
		}
		start = b.ends[i]
	}
	return nil
}

// openFolders keeps the folders of the last path open: a path from the top costs two
// system calls for each of its folders.
type openFolders struct {
	base  *os.Root
	names []string
	inner []*os.Root // of the names, each in the one before
}

// create creates a file that does not exist, and the folders of its path.
func (o *openFolders) create(name string) (*os.File, error) {
	parts := strings.Split(name, "/")
	folders, base := parts[:len(parts)-1], parts[len(parts)-1]
	same := 0
	for same < min(len(folders), len(o.names)) && folders[same] == o.names[same] {
		same++
	}
	o.closeFrom(same)
	for _, folder := range folders[same:] {
		if err := o.enter(folder); err != nil {
			return nil, err
		}
	}
	return o.last().OpenFile(base, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
}

// last returns the innermost open folder.
func (o *openFolders) last() *os.Root {
	if len(o.inner) == 0 {
		return o.base
	}
	return o.inner[len(o.inner)-1]
}

// enter opens a folder in the innermost one, and makes it if it does not exist.
func (o *openFolders) enter(folder string) error {
	at := o.last()
	if err := at.Mkdir(folder, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	inner, err := at.OpenRoot(folder)
	if err != nil {
		return err
	}
	o.names, o.inner = append(o.names, folder), append(o.inner, inner)
	return nil
}

// closeFrom closes the open folders from the i-th on.
func (o *openFolders) closeFrom(i int) {
	for _, folder := range o.inner[i:] {
		_ = folder.Close()
	}
	o.names, o.inner = o.names[:i], o.inner[:i]
}
