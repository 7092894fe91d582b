package doctor

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/drivercache"
	"github.com/shadercache/shadercache/shader"
)

// wantFinding checks the last finding of an examination.
func wantFinding(t *testing.T, r *Report, level, detail, fix string) {
	t.Helper()
	if len(r.Findings) == 0 {
		t.Fatalf("nothing was found, not %q", detail)
	}
	f := r.Findings[len(r.Findings)-1]
	if f.Level != level || !strings.Contains(f.Detail, detail) || !strings.Contains(f.Fix, fix) || r.Good != (level != LevelWrong) {
		t.Errorf("found %+v, good %v; want %s, %q, %q", f, r.Good, level, detail, fix)
	}
}

func TestVolume(t *testing.T) {
	const elsewhere = "export SHADERCACHE_DIR=elsewhere"
	roomy := unix.Statfs_t{Type: unix.EXT4_SUPER_MAGIC, Bsize: 4096, Bavail: 1 << 20, Files: 1 << 20, Ffree: 1 << 19}
	for name, c := range map[string]struct {
		change      func(v *unix.Statfs_t)
		err         error
		detail, fix string
	}{
		"a disk":     {change: func(*unix.Statfs_t) {}},
		"NFS":        {change: func(v *unix.Statfs_t) { v.Type = unix.NFS_SUPER_MAGIC }, detail: "is on NFS", fix: elsewhere},
		"CIFS":       {change: func(v *unix.Statfs_t) { v.Type = 0xFF534D42 }, detail: "is on CIFS", fix: elsewhere},
		"read-only":  {change: func(v *unix.Statfs_t) { v.Flags |= unix.ST_RDONLY }, detail: "mounted read-only", fix: "SHADERCACHE_UPSTREAM="},
		"full":       {change: func(v *unix.Statfs_t) { v.Bavail = 100 }, detail: "left on its volume", fix: "prune --max-bytes"},
		"no inodes":  {change: func(v *unix.Statfs_t) { v.Ffree = 3 }, detail: "room for 3 files", fix: "prune --max-age"},
		"no inodes?": {change: func(v *unix.Statfs_t) { v.Files, v.Ffree = 0, 0 }}, // btrfs does not count them
		"no answer":  {err: errors.New("no answer"), detail: "no answer", fix: elsewhere},
	} {
		t.Run(name, func(t *testing.T) {
			r := &Report{Good: true}
			found := r.examineVolume(func(_ string, v *unix.Statfs_t) error {
				*v = roomy
				if c.change != nil {
					c.change(v)
				}
				return c.err
			}, t.TempDir(), elsewhere)
			if found != (c.detail != "") {
				t.Fatalf("found %v: %+v", found, r.Findings)
			}
			if found {
				wantFinding(t, r, LevelWrong, c.detail, c.fix)
			}
		})
	}
}

func TestDriverCacheStates(t *testing.T) {
	for _, c := range []struct {
		state              drivercache.State
		level, detail, fix string
	}{
		{drivercache.State{Managed: true, Dir: "/c/driver"}, LevelGood, "managed in /c/driver", ""},
		{drivercache.State{Reason: "libEGL_mesa.so.0 was loaded before the first context of ours"}, LevelWrong, "was loaded before", "unset LD_PRELOAD"},
		{drivercache.State{Reason: "permission denied"}, LevelWrong, "permission denied", "export SHADERCACHE_DIR="},
		{drivercache.State{Managed: true, Dir: "/c", Reason: "set by the user: A=1, B=2"}, LevelWrong, "set by the user", "unset A B"},
	} {
		r := &Report{Good: true}
		r.examineDriverCache(c.state, true, false)
		wantFinding(t, r, c.level, c.detail, c.fix)
	}
}

func TestSlotsThatCannotBeMerged(t *testing.T) {
	driver := t.TempDir()
	r := &Report{Good: true}
	if r.examineSlots(driver); len(r.Findings) != 0 {
		t.Fatalf("without a slot: %+v", r.Findings)
	}
	folder := filepath.Join(driver, "nvidia", "GLCache", strings.Repeat("0a", 16), strings.Repeat("0b", 8))
	if err := errors.Join(os.MkdirAll(folder, 0o700), os.WriteFile(filepath.Join(folder, "shadercache1.toc"), []byte("of a later driver"), 0o600)); err != nil {
		t.Fatal(err)
	}
	r.examineSlots(driver)
	wantFinding(t, r, LevelWrong, "shadercache1 cannot be merged", filepath.Join(folder, "shadercache1.bin"))
	command := strings.Fields(r.Findings[0].Fix)
	if out, err := exec.Command(command[0], command[1:]...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	r = &Report{Good: true}
	if r.examineSlots(driver); len(r.Findings) != 0 {
		t.Errorf("after the fix: %+v", r.Findings)
	}
}

// Every other check may pass on a cache that is filled and never hits.
func TestACacheThatNeverHits(t *testing.T) {
	type counters = binary.Counters
	compiles, hits := counters{Starts: 1, Compiles: 2}, counters{Starts: 1, DiskHits: 2}
	repeated := func(n int, c counters) []counters { return slices.Repeat([]counters{c}, n) }
	for name, c := range map[string]struct {
		starts      []counters
		level       string
		detail, fix string
	}{
		"filled only": {repeated(3, counters{Compiles: 9, StoreOnly: 9}), LevelNote, "no start was recorded", ""},
		"new":         {repeated(1, compiles), LevelNote, "1 start compiled 2 and found nothing on disk", ""},
		"well":        {append(repeated(1, compiles), repeated(4, hits)...), LevelGood, "the last 5 starts found 8 on disk and compiled 2", ""},
		"refused":     {repeated(2, counters{Starts: 1, Compiles: 4, DiskHits: 1, Rejected: 4}), LevelWrong, "refused 8 binary files and loaded 2", "selftest"},
		// Old hits do not hide what is wrong now.
		"hit before":   {append(repeated(40, hits), repeated(12, compiles)...), LevelWrong, "each of the last 10 starts compiled: 20 compiled, 0 found", "selftest"},
		"well again":   {append(repeated(40, compiles), repeated(10, hits)...), LevelGood, "the last 10 starts found 20 on disk", ""},
		"with times":   {repeated(2, counters{Starts: 1, DiskHits: 1, FirstNanos: 3_500_000}), LevelGood, "compiled 0; the first program was ready after 3.5 ms on average", ""},
		"some changed": {repeated(9, counters{Starts: 1, Compiles: 1, DiskHits: 40}), LevelGood, "found 360 on disk and compiled 9", ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := &Report{Good: true}
			r.examineHits(startsDir(t, c.starts, nil))
			wantFinding(t, r, c.level, c.detail, c.fix)
		})
	}
}

// Programs are found at each start, and their machine code is not.
func TestMachineCodeThatIsLost(t *testing.T) {
	lost := binary.Counters{Starts: 1, DiskHits: 3, MachineCodeMisses: 3}
	for name, c := range map[string]struct {
		starts []binary.Counters
		good   bool
	}{
		"lost":         {slices.Repeat([]binary.Counters{lost}, 3), false},
		"after import": {[]binary.Counters{lost, {Starts: 1, DiskHits: 3}, {Starts: 1, DiskHits: 3}}, true},
		"twice":        {slices.Repeat([]binary.Counters{lost}, 2), true},
	} {
		r := &Report{Good: true}
		r.good(driverCacheCheck, "managed")
		r.examineHits(startsDir(t, c.starts, nil))
		if r.Good != c.good {
			t.Errorf("%s: %+v", name, r.Findings)
		}
		if f := r.Findings[0]; !c.good && (f.Check != driverCacheCheck || !strings.Contains(f.Detail, "the machine code again: for 9 of 9")) {
			t.Errorf("%s: %+v", name, f)
		}
	}
}

// startsDir returns a directory in which processes did what counters say. source returns
// what the nth of them compiled, or nil.
func startsDir(t *testing.T, starts []binary.Counters, source func(n int) *shader.Source) *binary.Dir {
	t.Helper()
	dir, err := binary.OpenDir(filepath.Join(t.TempDir(), "cache"))
	if err != nil {
		t.Fatal(err)
	}
	for n, c := range starts {
		store, err := dir.Store(binary.Fingerprint{Vendor: "Test", Renderer: "Doctor"})
		if err == nil {
			err = store.Record(nil, c)
		}
		if err == nil && source != nil && source(n) != nil {
			err = store.PutCompiled([]*shader.Source{source(n)})
		}
		if err := errors.Join(err, store.Close()); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// A time stamp in one of many programs is named with its line.
func TestATextThatIsNewAtEachStart(t *testing.T) {
	starts := slices.Repeat([]binary.Counters{{Starts: 1, Compiles: 1, DiskHits: 40}}, 12)
	stamped := func(n int) *shader.Source {
		return shader.MustSource("blur", fmt.Sprintf("#version 450\n// \x1b[31m built at %d\nvoid main() {}", n), nil)
	}
	r := &Report{Good: true}
	r.examineHits(startsDir(t, starts, stamped))
	wantFinding(t, r, LevelWrong, `each of the last 12 starts compiled "blur" anew: its texts differ in line `, "the same from start to start")
	var out strings.Builder
	r.Print(&out)
	if text := out.String(); strings.Contains(text, "\x1b") || !strings.Contains(text, `\x1b[31m built at 11`) {
		t.Errorf("printed %q", text)
	}

	// An edited text, once mended, or now and then, is nothing to report.
	for name, source := range map[string]func(n int) *shader.Source{
		"mended": func(n int) *shader.Source { return stamped(min(n, 5)) },
		"edited": func(n int) *shader.Source {
			if n%4 != 3 {
				return nil
			}
			return stamped(n)
		},
	} {
		r := &Report{Good: true}
		if r.examineHits(startsDir(t, starts, source)); !r.Good {
			t.Errorf("%s: %+v", name, r.Findings)
		}
	}
}

// A check has one level.
func TestOneLevelForEachCheck(t *testing.T) {
	r := &Report{Good: true}
	r.good("a", "well")
	r.wrong("b", "fix", "first")
	r.note("a", "", "noted")
	r.wrong("b", "fix", "second")
	r.good("b", "well")
	r.good("a", "well")
	var levels []string
	for _, f := range r.Findings {
		levels = append(levels, f.Check+" "+f.Level+" "+f.Detail)
	}
	if got := strings.Join(levels, ", "); got != "b wrong first, a note noted, b wrong second" {
		t.Error(got)
	}
}
