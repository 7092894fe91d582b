package cli

import (
	"fmt"
	"os"
)

// MakeFolder makes a folder that files will be written to, and those above it. It
// belongs before the work, so that nobody waits for a result that has no place.
func MakeFolder(path string) error {
	if err := os.MkdirAll(path, 0o755); err != nil {
		return Hint(fmt.Errorf("there is no folder to write to: %w", err), "name a folder that you may write to")
	}
	return nil
}
