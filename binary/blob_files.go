package binary

import (
	"errors"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strings"

	"github.com/shadercache/shadercache/internal/osfile"
	"github.com/shadercache/shadercache/shader"
)

const (
	blobsName = "blobs"
	blobExt   = ".bin"
)

// blobPath is the file of a key. Two digits of it are a directory of their own,
// so that 10,000 programs make directories of 40.
func (s *Store) blobPath(key shader.Key) string {
	name := key.String()
	return filepath.Join(s.path, blobsName, name[:2], name+blobExt)
}

// blobFiles goes through the blobs in the store, in no order, without opening
// them. A directory that is missing or goes away meanwhile counts as empty.
func (s *Store) blobFiles() iter.Seq2[shader.Key, fs.DirEntry] {
	return func(yield func(shader.Key, fs.DirEntry) bool) {
		blobs := filepath.Join(s.path, blobsName)
		for _, shard := range osfile.List(blobs) {
			if !shard.IsDir() {
				continue
			}
			for _, file := range osfile.List(filepath.Join(blobs, shard.Name())) {
				key, ok := blobKey(shard.Name(), file.Name())
				if ok && !yield(key, file) {
					return
				}
			}
		}
	}
}

// blobKey is the key that a file name below blobs/ stands for.
func blobKey(shard, name string) (shader.Key, bool) { return fileKey(shard, name, blobExt) }

// fileKey is the key that the name of a file in a shard stands for.
func fileKey(shard, name, ext string) (shader.Key, bool) {
	digits, ok := strings.CutSuffix(name, ext)
	if !ok || !strings.HasPrefix(digits, shard) || digits != strings.ToLower(digits) {
		return shader.Key{}, false
	}
	key, err := shader.ParseKey(digits)
	return key, err == nil
}

// readHeader reads and checks the header of a key's blob, and leaves the
// payload alone. fileBytes is the length of the whole file.
func (s *Store) readHeader(key shader.Key) (h *header, fileBytes int64, err error) {
	path := s.blobPath(key)
	info, err := os.Lstat(path)
	if err != nil {
		return nil, 0, err
	}
	if !info.Mode().IsRegular() {
		return nil, 0, damaged("is not a regular file")
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, 0, err
	}
	defer f.Close()
	var buf [maxHeaderBytes]byte
	n, err := io.ReadFull(f, buf[:])
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return nil, 0, err
	}
	if h, err = parseHeader(buf[:n]); err != nil {
		return nil, 0, err
	}
	if h.fingerprint != s.digest && s.digest != (shader.Digest{}) {
		return nil, 0, damaged("was made by driver %s", h.fingerprint.Short())
	}
	if h.key != key || info.Size() != int64(h.size())+int64(h.storedBytes) {
		return nil, 0, damaged("header and file do not agree")
	}
	return h, info.Size(), nil
}
