package fleet_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shadercache/shadercache/fleet"
)

// NFS, where a home directory may be, locks a file alone only where it was opened to write.
func TestLocksAreOpenedToWrite(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	found := 0
	s.store.get = func(_ context.Context, name string, o *fleet.Object) (*fleet.Object, error) {
		if name != mesaHead {
			return o, nil
		}
		open, err := filepath.Glob("/proc/self/fd/*")
		must(t, err)
		for _, fd := range open {
			to, _ := os.Readlink(fd) // others may be closed meanwhile
			if !strings.HasPrefix(to, s.victim.Path()) || !strings.HasSuffix(to, "/pull.lock") {
				continue
			}
			found++
			about, err := os.ReadFile("/proc/self/fdinfo/" + filepath.Base(fd))
			must(t, err)
			if _, flags, _ := strings.Cut(string(about), "flags:\t"); !strings.HasSuffix(strings.Fields(flags)[0], "2") { // O_RDWR
				t.Errorf("%s:\n%s", to, about)
			}
		}
		return o, nil
	}
	pull(t, s.victim, reader(s.url), mesaDriver)
	if found != 1 {
		t.Errorf("the pull has %d files of its lock", found)
	}
}
