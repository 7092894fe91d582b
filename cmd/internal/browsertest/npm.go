package browsertest

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// NPM returns the folder of a package of npm that is installed for tests, or ends the test.
// The versions are in npm/package-lock.json.
func NPM(t testing.TB, name string) string {
	t.Helper()
	_, file, _, _ := runtime.Caller(0)
	folder := filepath.Join(filepath.Dir(file), "npm", "node_modules", filepath.FromSlash(name))
	if _, err := os.Stat(folder); err != nil {
		Missing(t, "%s of npm is not installed (hint: scripts/deps browser)", name)
	}
	return folder
}
