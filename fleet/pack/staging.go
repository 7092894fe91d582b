package pack

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"runtime"
	"strings"

	"golang.org/x/sync/errgroup"
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
// goroutines write them.
//
// One goroutine calls the methods. It calls finish in any case.
type staging struct {
	root    *os.Root
	current *batch      // is filled; nil: none
	free    chan *batch // neither filled nor written
	writers *errgroup.Group
	failed  context.Context // ends with the first error of a writer
}

// batch has small files of one folder.
type batch struct {
	folders openFolders // of what writes it
	folder  string
	names   []string
	ends    []int // of the files in data
	data    []byte
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
	batches := min(runtime.GOMAXPROCS(0), maxWriters) + 1 // one is filled meanwhile
	s := &staging{root: root, free: make(chan *batch, batches)}
	for range batches {
		s.free <- &batch{folders: openFolders{base: root}}
	}
	s.writers, s.failed = errgroup.WithContext(context.Background())
	return s, nil
}

// add returns the memory for the content of a file of at most batchBytes. The caller fills
// it before its next call. It may return an error of an earlier file.
func (s *staging) add(name string, size int) ([]byte, error) {
	folder, base := path.Dir(name), path.Base(name)
	if b := s.current; b != nil && (b.folder != folder || len(b.data)+size > batchBytes) {
		s.flush()
	}
	if s.current == nil {
		s.current = <-s.free
		s.current.folder = folder
	}
	return s.current.add(base, size), context.Cause(s.failed)
}

// flush has the current batch written, unless a write has failed.
func (s *staging) flush() {
	b := s.current
	if b == nil {
		return
	}
	s.current = nil
	s.writers.Go(func() (err error) {
		if s.failed.Err() == nil {
			err = b.write()
		}
		b.names, b.ends, b.data = b.names[:0], b.ends[:0], b.data[:0]
		s.free <- b
		return err
	})
}

// create creates a file that is too large for a batch.
func (s *staging) create(name string) (*os.File, error) {
	b := <-s.free
	defer func() { s.free <- b }()
	return b.folders.create(name)
}

// finish waits until what was added is written. It returns the first error of all files.
func (s *staging) finish() error {
	s.flush()
	err := s.writers.Wait()
	close(s.free)
	for b := range s.free {
		b.folders.closeFrom(0)
	}
	return errors.Join(err, s.root.Close())
}

// add returns the memory for the content of one more file.
func (b *batch) add(base string, size int) []byte {
	start := len(b.data)
	b.data = append(b.data, make([]byte, size)...)
	b.names, b.ends = append(b.names, base), append(b.ends, len(b.data))
	return b.data[start:]
}

// write creates the files.
func (b *batch) write() error {
	start := 0
	for i, base := range b.names {
		file, err := b.folders.create(path.Join(b.folder, base))
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
