package binary

import (
	"errors"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"

	"github.com/shadercache/shadercache/internal/osfile"
	"github.com/shadercache/shadercache/shader"
)

const (
	blobsName = "blobs"
	blobExt   = ".bin"
)

// blobsOf is the kind of the blobs of a driver; the zero digest accepts those of any.
func blobsOf(fingerprint shader.Digest) perKey[*Blob] {
	return perKey[*Blob]{folder: blobsName, ext: blobExt, sharded: true, limit: maxBlobBytes,
		decode: func(key shader.Key, data []byte) (*Blob, error) {
			b := &Blob{}
			err := b.Decode(data)
			switch {
			case err != nil:
				return nil, err
			case b.Key != key:
				return nil, damaged("holds program %s", b.Key.Short())
			case b.Fingerprint != fingerprint && fingerprint != shader.Digest{}:
				return nil, damaged("was made by driver %s, this is driver %s", b.Fingerprint.Short(), fingerprint.Short())
			}
			return b, nil
		}}
}

func (s *Store) blobPath(key shader.Key) string { return blobsOf(s.digest).path(s.path, key) }

// blobFiles yields the blobs in the store, in the order of their keys, without opening
// them.
func (s *Store) blobFiles() iter.Seq2[shader.Key, fs.DirEntry] {
	return blobsOf(s.digest).files(s.path)
}

// readHeader reads and checks the header of a key's blob, and does not read the payload.
// fileBytes is the size of the file.
func (s *Store) readHeader(key shader.Key) (h *header, fileBytes int64, err error) {
	f, info, err := openRegular(s.blobPath(key))
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
	if h.Fingerprint != s.digest && s.digest != (shader.Digest{}) {
		return nil, 0, damaged("was made by driver %s", h.Fingerprint.Short())
	}
	if h.Key != key || info.Size() != int64(h.size())+int64(h.storedBytes) {
		return nil, 0, damaged("header and file do not agree")
	}
	return h, info.Size(), nil
}

// openRegular opens a file to read it. It returns an error that matches ErrDamaged for anything
// that is not a regular file, such as a directory or a link.
func openRegular(path string) (*os.File, fs.FileInfo, error) {
	f, info, err := osfile.OpenRegular(path, os.Lstat, os.OpenFile)
	if err == nil && f == nil {
		err = damaged("is not a regular file")
	}
	return f, info, err
}

// openOrCreate opens a file to read and write it, and makes it where it is missing. Of anything
// else than a file, such as a FIFO, which might block, it returns an error that matches ErrDamaged.
func openOrCreate(path string, flags int) (*os.File, error) {
	if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() {
		return nil, damaged("is not a regular file")
	}
	return os.OpenFile(path, os.O_RDWR|os.O_CREATE|flags, 0o600)
}

// readRegular reads what openRegular opens, of at most limit bytes. It returns an error that
// matches ErrDamaged for a larger file.
func readRegular(path string, limit int64) ([]byte, fs.FileInfo, error) {
	f, info, err := openRegular(path)
	if err != nil {
		return nil, info, err
	}
	defer f.Close()
	if info.Size() > limit {
		return nil, info, damaged("has %d bytes, at most %d are possible", info.Size(), limit)
	}
	data := make([]byte, info.Size())
	n, err := io.ReadFull(f, data)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil // the file became shorter: the caller checks what was read
	}
	return data[:n], info, err
}

// writeInto writes a file of the store and makes the directories that are missing.
func (s *Store) writeInto(path string, data []byte) error {
	if s.dir.readOnly {
		return ErrReadOnly
	}
	return writeCreating(path, data, s.create)
}

// writeCreating writes a file, and calls create for its directory where that is missing.
func writeCreating(path string, data []byte, create func(dir string) error) error {
	err := writeBelow(path, data)
	if errors.Is(err, fs.ErrNotExist) {
		if err = create(filepath.Dir(path)); err == nil {
			err = writeBelow(path, data)
		}
	}
	return err
}

// writeJSON writes a file of the store, as writeInto does, with v as indented JSON.
func (s *Store) writeJSON(path string, v any) error {
	data, err := whole[any]{}.encode(v)
	if err != nil {
		return err
	}
	return s.writeInto(path, data)
}

// removeIfExists deletes a file. It returns nil where there is none.
func removeIfExists(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

const removeLinkHint = "shadercache verify --repair removes it"

// writeBelow writes a file unless one of the two directories above it is a link, which
// may have been made after the store was opened.
func writeBelow(path string, data []byte) error {
	if link := osfile.LinkAbove(path); link != "" {
		return unsafeDir(link, "is a symbolic link", removeLinkHint)
	}
	return osfile.WriteFile(path, data)
}
