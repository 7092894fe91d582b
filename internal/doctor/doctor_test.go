package doctor

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
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
	for name, c := range map[string]struct {
		counters    binary.Counters
		level       string
		detail, fix string
	}{
		"never hits": {binary.Counters{Compiles: 9}, LevelWrong, "9 compiled for 2 programs on disk, and none was ever found", "selftest"},
		"refused":    {binary.Counters{Compiles: 9, DiskHits: 1, Rejected: 8}, LevelWrong, "refused 8 binary files and loaded 1", "selftest"},
		"new":        {binary.Counters{Compiles: 2}, LevelNote, "nothing was found on disk so far", "selftest"},
		"well":       {binary.Counters{Compiles: 2, DiskHits: 40}, LevelGood, "40 found on disk, 2 compiled", ""},
	} {
		t.Run(name, func(t *testing.T) {
			dir, err := binary.OpenDir(filepath.Join(t.TempDir(), "cache"))
			if err != nil {
				t.Fatal(err)
			}
			fillStore(t, dir, 2, c.counters)
			r := &Report{Good: true}
			r.examineHits(dir)
			wantFinding(t, r, c.level, c.detail, c.fix)
		})
	}
}

// fillStore puts programs of a driver that does not exist into a directory.
func fillStore(t *testing.T, dir *binary.Dir, programs int, counters binary.Counters) {
	t.Helper()
	driver := binary.Fingerprint{Vendor: "Test", Renderer: "Doctor", Version: "1", Formats: []uint32{1}, PointerBits: 64}
	store, err := dir.Store(driver)
	if err != nil {
		t.Fatal(err)
	}
	for n := range programs {
		blob := &binary.Blob{
			Key: shader.Key{byte(n)}, Fingerprint: driver.Digest(), Format: 1,
			Payload: []byte("MAD.F32"), Name: "program", WorkGroup: [3]uint32{1, 1, 1},
		}
		if err := store.Put(blob); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(store.Record(nil, counters), store.Close()); err != nil {
		t.Fatal(err)
	}
}
