package bundle

import (
	"crypto/sha256"
	"errors"
	"io"
	"io/fs"
	"os"

	"github.com/shadercache/shadercache/shader"
)

// spool keeps what goes into a bundle until its manifest is known: the manifest
// comes first and has the sum of everything, and the directory may change while
// it is read. Where the system lets it, the file has lost its name already, so
// that it goes with the process, whatever ends that.
type spool struct {
	file  *os.File
	size  int64
	files []File
}

func newSpool() (*spool, error) {
	file, err := os.CreateTemp("", "shadercache-export-")
	if err != nil {
		return nil, err
	}
	_ = os.Remove(file.Name())
	return &spool{file: file, files: []File{}}, nil
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
	f := File{Path: path, Kind: kind, Size: n, SHA256: shader.Digest(sum.Sum(nil)), place: start}
	if err := f.check(); err != nil {
		return err
	}
	s.files = append(s.files, f)
	return nil
}

// open gives out the content of a file that was added.
func (s *spool) open(f File) io.Reader {
	return io.NewSectionReader(s.file, f.place, f.Size)
}

// close deletes the spool.
func (s *spool) close() error {
	err := s.file.Close()
	if removed := os.Remove(s.file.Name()); !errors.Is(removed, fs.ErrNotExist) {
		err = errors.Join(err, removed)
	}
	return err
}
