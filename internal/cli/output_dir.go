package cli

import (
	"fmt"
	"os"
)

// MakeFolder makes a folder for results, and those above it. Call it before the work, so
// that a failure comes first.
func MakeFolder(path string) error {
	if err := os.MkdirAll(path, 0o755); err != nil {
		return Hint(fmt.Errorf("there is no folder to write to: %w", err), "name a folder that you may write to")
	}
	return nil
}
