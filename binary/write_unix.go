//go:build unix

package binary

import (
	"path/filepath"

	"github.com/google/renameio/v2"
)

// writeFile puts data into a file that readers see whole or not at all. The
// temporary file lies beside it, with a name that starts with a dot.
func writeFile(path string, data []byte) error {
	return renameio.WriteFile(path, data, 0o600, renameio.WithTempDir(filepath.Dir(path)))
}
