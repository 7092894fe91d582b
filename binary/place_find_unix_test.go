//go:build unix

package binary

import (
	"path/filepath"
	"testing"
)

// Find of a directory that is missing and can be made returns it, and no private place.
func TestFindOfAMissingDirectory(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "above", "cache")
	l := Place{Dir: path, Filled: true}.Find()
	if l.Private() || l.Err != nil || l.Dir == nil || l.Dir.Path() != path {
		t.Errorf("found %+v", l)
	}
}
