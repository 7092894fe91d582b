package binary

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func recordOutcomes(t *testing.T, d *Dir, loaded, refused uint64) (reason string) {
	t.Helper()
	s := openTestStore(t, d, testFingerprint)
	must(t, s.Record(nil, Counters{Starts: 1, DiskHits: loaded, Rejected: refused}))
	return s.SourceOnly()
}

func TestADriverThatRefusesMostIsGivenUpForATime(t *testing.T) {
	d := openTestDir(t)
	path := filepath.Join(openTestStore(t, d, testFingerprint).Path(), refusalsName)
	if reason := recordOutcomes(t, d, 100, 0); reason != "" {
		t.Errorf("a driver that works: %s", reason)
	}
	if _, err := os.Lstat(path); err == nil {
		t.Error("a driver that works has a file")
	}
	for range 3 {
		if reason := recordOutcomes(t, d, 3, 2); reason != "" {
			t.Errorf("given up for a few: %s", reason)
		}
	}
	if reason := recordOutcomes(t, d, 1, 6); !strings.Contains(reason, "refused 12 of 22") {
		t.Errorf("reason %q", reason)
	}
	other := testFingerprint
	other.Version += " newer"
	if reason := openTestStore(t, d, other).SourceOnly(); reason != "" {
		t.Errorf("after an update: %s", reason)
	}
	now := d.now()
	d.now = func() time.Time { return now.Add(refusalAge + time.Hour) }
	if reason := openTestStore(t, d, testFingerprint).SourceOnly(); reason != "" {
		t.Errorf("after 30 days: %s", reason)
	}
	if reason := recordOutcomes(t, d, 0, 1); reason != "" {
		t.Errorf("counts of before are used: %s", reason)
	}
}

// Binaries upstream say nothing about those of the store, whatever becomes of them.
func TestRefusalsUpstreamAreNotCounted(t *testing.T) {
	d := openTestDir(t)
	s := openTestStore(t, d, testFingerprint)
	for _, c := range []Counters{
		{DiskHits: 4, Rejected: minRefused - 1, WrongAnswers: 1, UpstreamRejected: minRefused},
		{DiskHits: 1, Rejected: minRefused / 2},
		{DiskHits: 100, UpstreamHits: 100},
	} {
		must(t, s.Record(nil, c))
		if reason := s.SourceOnly(); reason != "" {
			t.Errorf("%+v: %s", c, reason)
		}
	}
	if reason := recordOutcomes(t, d, 0, minRefused/2); !strings.Contains(reason, "refused 8 of 9") {
		t.Errorf("after refusals of its own: %q", reason)
	}
}

// A driver that loaded thousands and refuses now is given up as well: old counts fade.
func TestLongSuccessDoesNotHideRefusals(t *testing.T) {
	d := openTestDir(t)
	recordOutcomes(t, d, 0, 1)
	recordOutcomes(t, d, 100_000, 0)
	for starts := 1; recordOutcomes(t, d, 0, 10) == ""; starts++ {
		if starts > 20 {
			t.Fatal("the driver is never given up")
		}
	}
}

func TestRefusalsOfAnotherFormAreIgnored(t *testing.T) {
	d := openTestDir(t)
	s := openTestStore(t, d, testFingerprint)
	recordOutcomes(t, d, 0, 20)
	path := filepath.Join(s.Path(), refusalsName)
	good, err := os.ReadFile(path)
	must(t, err)
	for _, bad := range []string{"", "{", strings.Replace(string(good), `"schema": 1`, `"schema": 2`, 1),
		strings.Replace(string(good), testFingerprint.Digest().String(), strings.Repeat("0", 64), 1)} {
		must(t, os.WriteFile(path, []byte(bad), 0o600))
		if bad == string(good) || s.SourceOnly() != "" {
			t.Errorf("%q is taken for good", bad)
		}
	}
	must(t, os.WriteFile(path, good, 0o600))
	if s.SourceOnly() == "" {
		t.Error("the good file is not")
	}
}

func TestDeniedDrivers(t *testing.T) {
	for renderer, want := range map[string]bool{
		"Adreno (TM) 540": true, "Vivante GC4000": true, "PowerVR Rogue GE8320": true,
		"Adreno (TM) 640": false, "NVIDIA H200/PCIe/SSE2": false, "llvmpipe (LLVM 15.0.6, 256 bits)": false, "": false,
	} {
		f := testFingerprint
		f.Renderer = renderer
		if reason := openTestStore(t, openTestDir(t), f).SourceOnly(); f.denied() != want || (reason != "") != want {
			t.Errorf("%q: denied %v, %q", renderer, f.denied(), reason)
		}
	}
}
