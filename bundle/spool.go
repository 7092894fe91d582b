package bundle

import (
	"crypto/sha256"
	"errors"
	"io"
	"os"

	"github.com/shadercache/shadercache/binary"
)

// spool keeps what goes into a bundle until its manifest is known: the manifest
// comes first and has the sum of everything, and the directory may change while
// it is read.
type spool struct {
	file   *os.File
	size   int64
	places map[string]int64 // offset by path
	files  []File
}

func newSpool() (*spool, error) {
	file, err := os.CreateTemp("", "shadercache-export-")
	if err != nil {
		return nil, err
	}
	return &spool{file: file, places: map[string]int64{}}, nil
}

// add takes a file over.
func (s *spool) add(path string, kind Kind, content io.Reader) error {
	sum := sha256.New()
	n, err := io.Copy(io.MultiWriter(s.file, sum), content)
	start := s.size
	s.size += n
	if err != nil {
		return err
	}
	f := File{Path: path, Kind: kind, Size: n, SHA256: binary.Digest(sum.Sum(nil))}
	if err := f.check(); err != nil {
		return err
	}
	s.places[path], s.files = start, append(s.files, f)
	return nil
}

// open gives out the content of a file that was added.
func (s *spool) open(f File) io.Reader {
	return io.NewSectionReader(s.file, s.places[f.Path], f.Size)
}

// close deletes the spool.
func (s *spool) close() error {
	return errors.Join(s.file.Close(), os.Remove(s.file.Name()))
}
