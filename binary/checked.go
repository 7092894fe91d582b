package binary

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/shadercache/shadercache/internal/osfile"
	"github.com/shadercache/shadercache/shader"
)

const checkedName = "checked"

// PutChecked remembers that a blob, once loaded, gave the right answer: the sum
// of its payload goes into checked/<key>. Another binary of the same program
// has another sum and is checked again.
func (s *Store) PutChecked(b *Blob) error {
	sum := shader.Digest(sha256.Sum256(b.Payload))
	if err := s.writeInto(s.checkedPath(b.Key), []byte(sum.String()+"\n")); err != nil {
		return fmt.Errorf("binary: remember a check: %w", err)
	}
	return nil
}

// Checked reports whether PutChecked remembered this very binary.
func (s *Store) Checked(b *Blob) bool {
	data, _, err := readRegular(s.checkedPath(b.Key), 2*sha256.Size+1)
	sum := shader.Digest(sha256.Sum256(b.Payload))
	return err == nil && string(data) == sum.String()+"\n"
}

func (s *Store) checkedPath(key shader.Key) string {
	return filepath.Join(s.path, checkedName, key.String())
}

// writeInto writes a file of the store and makes the directories that it misses.
func (s *Store) writeInto(path string, data []byte) error {
	if s.dir.readOnly {
		return ErrReadOnly
	}
	err := writeBelow(path, data)
	if errors.Is(err, fs.ErrNotExist) {
		if err = s.create(filepath.Dir(path)); err == nil {
			err = writeBelow(path, data)
		}
	}
	return err
}

const mendLink = "shadercache verify --repair takes it away"

// writeBelow is writeFile into a directory that may have become a link since the
// store was opened.
func writeBelow(path string, data []byte) error {
	shard := filepath.Dir(path)
	for _, dir := range []string{filepath.Dir(shard), shard} {
		if osfile.IsLink(dir) {
			return unsafeDir(dir, "is a symbolic link", mendLink)
		}
	}
	return osfile.WriteFile(path, data)
}

// forgetChecks deletes what was remembered of blobs that are gone. It returns
// their number.
func (s *Store) forgetChecks(dryRun bool) (gone int) {
	for _, e := range osfile.List(filepath.Join(s.path, checkedName)) {
		key, err := shader.ParseKey(e.Name())
		if err != nil {
			continue
		}
		if _, err := os.Lstat(s.blobPath(key)); !errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if dryRun || os.Remove(s.checkedPath(key)) == nil {
			gone++
		}
	}
	return gone
}
