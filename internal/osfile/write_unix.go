//go:build unix

package osfile

import (
	"path/filepath"

	"github.com/google/renameio/v2"
)

// WriteFile replaces the file at path with data and syncs it. Readers see the old file
// or the new one, whole, also after a power cut. The temporary file is beside path and
// its name starts with a dot. Only the user may read and write the new file.
func WriteFile(path string, data []byte) error {
	return renameio.WriteFile(path, data, 0o600, renameio.WithTempDir(filepath.Dir(path)))
}
