package pack

import (
	"crypto/sha256"
	"io"
	"os"

	"github.com/shadercache/shadercache/internal/osfile"
	"github.com/shadercache/shadercache/shader"
)

// spool is a temporary copy of the files of a bundle. The manifest comes first in the
// bundle and has the checksums of all files, and the directory may change meanwhile.
// On systems that allow it the temporary file has no name, so that the system frees it
// at the end of the process.
type spool struct {
	file  *os.File
	size  int64
	files []File
}

func newSpool() (*spool, error) {
	file, err := osfile.CreateUnnamed("shadercache-export-*")
	return &spool{file: file, files: []File{}}, err
}

// addFile copies a file into the spool.
func (s *spool) addFile(path string, kind Kind, content io.Reader) error {
	sum := sha256.New()
	n, err := io.Copy(io.MultiWriter(s.file, sum), content)
	start := s.size
	s.size += n
	if err != nil {
		return err
	}
	f := File{Path: path, Kind: kind, Size: n, SHA256: shader.Digest(sum.Sum(nil)), offset: start}
	if err := f.validate(); err != nil {
		return err
	}
	s.files = append(s.files, f)
	return nil
}

// open returns the content of an added file.
func (s *spool) open(f File) io.Reader {
	return io.NewSectionReader(s.file, f.offset, f.Size)
}
