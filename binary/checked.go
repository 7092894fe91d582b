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

// PutChecked records that a blob, once loaded, gave the right answer: it writes the sum
// of the payload to checked/<key>. Another binary of the same program has another sum
// and is checked again.
func (s *Store) PutChecked(b *Blob) error {
	if err := s.writeInto(s.checkedPath(b.Key), payloadSumLine(b)); err != nil {
		return fmt.Errorf("binary: record a check: %w", err)
	}
	return nil
}

// Checked reports whether PutChecked recorded this binary.
func (s *Store) Checked(b *Blob) bool {
	data, _, err := readRegular(s.checkedPath(b.Key), 2*sha256.Size+1)
	return err == nil && string(data) == string(payloadSumLine(b))
}

func payloadSumLine(b *Blob) []byte {
	return []byte(shader.Digest(sha256.Sum256(b.Payload)).String() + "\n")
}

func (s *Store) checkedPath(key shader.Key) string {
	return filepath.Join(s.path, checkedName, key.String())
}

// staleChecks lists the records of blobs that are gone.
func (s *Store) staleChecks() (paths []string) {
	for _, e := range osfile.List(filepath.Join(s.path, checkedName)) {
		key, err := shader.ParseKey(e.Name())
		if err != nil || !e.Type().IsRegular() {
			continue
		}
		if _, err := os.Lstat(s.blobPath(key)); errors.Is(err, fs.ErrNotExist) {
			paths = append(paths, s.checkedPath(key))
		}
	}
	return paths
}
