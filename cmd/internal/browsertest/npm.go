package browsertest

import (
	"os"
	"path/filepath"
	"testing"
)

// NPM returns the folder of a package of npm that is installed for this package's tests, or ends
// the test. The versions are in npm/package-lock.json.
func NPM(t testing.TB, name string) string {
	t.Helper()
	folder := filepath.Join("npm", "node_modules", filepath.FromSlash(name))
	if _, err := os.Stat(folder); err != nil {
		Missing(t, "%s of npm is not installed (hint: scripts/deps browser)", name)
	}
	return folder
}
