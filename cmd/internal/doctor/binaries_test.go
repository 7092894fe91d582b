package doctor

import (
	"testing"

	"github.com/shadercache/shadercache/binary"
)

func TestBinariesThatAreLeftOut(t *testing.T) {
	dir, err := binary.OpenDir(t.TempDir() + "/cache")
	if err != nil {
		t.Fatal(err)
	}
	driver := &binary.Fingerprint{Vendor: "v", Renderer: "GPU", Version: "1", Formats: []uint32{1}}
	examine := func(want bool, level, detail, fix string) {
		t.Helper()
		r := &Report{Good: true}
		if unused := r.examineBinaries(dir, driver); unused != want {
			t.Errorf("unused: %v", unused)
		}
		wantFinding(t, r, level, detail, fix)
	}
	examine(false, LevelGood, "are used", "")
	store, err := dir.Store(*driver)
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Record(nil, binary.Counters{Starts: 1, Rejected: 20, DiskHits: 1}); err != nil {
		t.Fatal(err)
	}
	examine(true, LevelNote, "refused 20 of 21", "SHADERCACHE_BINARIES=always")
	t.Setenv("SHADERCACHE_BINARIES", "never")
	examine(true, LevelNote, "is never", "unset SHADERCACHE_BINARIES")
	t.Setenv("SHADERCACHE_BINARIES", "sometimes")
	examine(false, LevelWrong, `is "sometimes", and not auto, always or never`, "unset SHADERCACHE_BINARIES")
	t.Setenv("SHADERCACHE_BINARIES", "always")
	if r := (&Report{Good: true}); r.examineBinaries(dir, driver) || len(r.Findings) != 0 {
		t.Errorf("%+v", r.Findings)
	}
}
