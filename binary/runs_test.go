package binary

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/shadercache/shadercache/drivercache"
	"github.com/shadercache/shadercache/internal/osfile"
)

func TestRuns(t *testing.T) {
	dir, err := OpenDir(filepath.Join(t.TempDir(), "cache"))
	if err != nil {
		t.Fatal(err)
	}
	if got := dir.Runs(time.Time{}); got != nil {
		t.Errorf("in a new directory: %v", got)
	}
	first := Run{Time: time.Now().Add(-time.Hour).UTC().Round(0), Program: "/usr/bin/app", Activity: drivercache.Activity{Read: 4, Added: 2, Bytes: 99}, Millis: 1.5}
	second := first
	second.Time = second.Time.Add(time.Minute)
	for _, r := range []Run{first, second} {
		if err := dir.AppendRun(r); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(dir.Path(), runs.name)
	if err := os.WriteFile(path, append([]byte("not JSON\n"), mustRead(t, path)...), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := dir.Runs(time.Time{}); len(got) != 2 || got[0] != first {
		t.Errorf("%+v", got)
	}
	if got := dir.Runs(second.Time); len(got) != 1 || got[0] != second {
		t.Errorf("%+v", got)
	}
	long := first
	long.Program = strings.Repeat("x", int(runs.above)/8)
	for range 20 {
		if err := dir.AppendRun(long); err != nil {
			t.Fatal(err)
		}
	}
	if n := int64(len(mustRead(t, path))); n > runs.above+runs.above/4 {
		t.Errorf("the file has %d bytes", n)
	}
	if report, err := dir.Verify(false, nil); err != nil || report.Unknown != 0 || !report.OK() {
		t.Errorf("%+v, %v", report, err)
	}
	if _, err := dir.Clear(PruneOptions{}); err != nil || len(dir.Runs(time.Time{})) > 0 {
		t.Errorf("after a clear: %v", err)
	}
}

func mustRead(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// A line that was cut, as by a kill within a large write or on a full volume, takes no other
// record with it.
func TestCutLine(t *testing.T) {
	d := openTestDir(t)
	for n, program := range []string{"cut", "next", "and one"} {
		must(t, d.AppendRun(Run{Time: start, Program: program}))
		if n == 0 {
			must(t, os.Truncate(runs.path(d), int64(len(mustRead(t, runs.path(d))))-5))
		}
	}
	if all := d.Runs(time.Time{}); len(all) != 2 || all[0].Program != "next" || all[1].Program != "and one" {
		t.Errorf("%+v, want the two that were not cut", all)
	}
}

// A file that another process shortens is not shortened: what that one writes would be lost.
func TestNobodyElseShortens(t *testing.T) {
	d := openTestDir(t)
	long := Run{Time: start, Program: strings.Repeat("x", int(runs.above)/2)}
	must(t, d.AppendRun(long))
	f, err := os.OpenFile(runs.path(d), os.O_RDWR, 0)
	must(t, err)
	defer f.Close()
	must(t, osfile.TryLock(f, true))
	for range 4 {
		must(t, d.AppendRun(long))
	}
	if n := len(d.Runs(time.Time{})); n != 5 && osfile.HasLocks {
		t.Errorf("%d runs are left of 5", n)
	}
}
