package drivercache

import (
	"os"
	"path/filepath"
	"testing"
)

func TestStateIsInADirectory(t *testing.T) {
	dir := t.TempDir()
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Skip(err)
	}
	missing := filepath.Join(dir, "missing")
	for _, test := range []struct {
		driver, dir string
		want        bool
	}{
		{dir, dir, true}, {dir, dir + "/.", true}, {dir, link, true}, {link, dir, true}, {missing, missing, true},
		{dir, t.TempDir(), false}, {dir, missing, false}, {missing, dir, false},
	} {
		if got := (State{Dir: test.driver}).IsIn(test.dir); got != test.want {
			t.Errorf("%s is in %s: %v", test.driver, test.dir, got)
		}
	}
}
