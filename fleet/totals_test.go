package fleet

import (
	"path/filepath"
	"testing"

	"github.com/shadercache/shadercache/binary"
)

// The counters of all remotes of a directory are summed, and begin again together.
func TestCountersOfADirectory(t *testing.T) {
	t.Parallel()
	dir, err := binary.OpenDir(filepath.Join(t.TempDir(), "cache"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"first", "second"} {
		d := stateDir{filepath.Join(dir.Path(), Folder, name)}
		for range 2 {
			if _, err := d.appendCounters(Counters{Hits: 1, Bytes: 10, Errors: map[string]int64{"denied": 1}}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if c := DirCounters(dir); c.Hits != 4 || c.Bytes != 40 || c.Errors["denied"] != 4 {
		t.Errorf("%+v", c)
	}
	if err := ZeroCounters(dir); err != nil {
		t.Error(err)
	}
	if c := DirCounters(dir); c.Hits != 0 || len(c.Errors) != 0 {
		t.Errorf("after zero: %+v", c)
	}
	if err := ZeroCounters(dir); err != nil {
		t.Error(err)
	}
}
