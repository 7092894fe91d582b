package binary

import (
	"maps"
	"os"
	"strings"
	"testing"

	"github.com/shadercache/shadercache/shader"
)

func TestFailureIsStoredAndDeleted(t *testing.T) {
	s := openTestStore(t, openTestDir(t), testFingerprint)
	src, other := shader.MustSource("bad", "void main() { a; }", nil), shader.MustSource("bad", "void main() { b; }", nil)
	log := "0:1: " + strings.Repeat("x", maxLogBytes)
	must(t, s.PutFailure(src, log))
	got := s.Failure(src)
	if got == nil || got.Log != log[:maxLogBytes] || got.Name != "bad" || got.Source != src {
		t.Fatalf("got %.100v", got)
	}
	if got := s.Failure(other); got != nil {
		t.Errorf("another source: %v", got)
	}
	if got := openTestStore(t, s.dir, otherFingerprint).Failure(src); got != nil {
		t.Errorf("another driver: %v", got)
	}
	for range 2 {
		must(t, s.ForgetFailure(src.Key()))
	}
	if got := s.Failure(src); got != nil {
		t.Errorf("after ForgetFailure: %v", got)
	}
	writeTestFile(t, failures.path(s.path, src.Key()), []byte("{"), start)
	if got := s.Failure(src); got != nil {
		t.Errorf("a damaged file: %v", got)
	}
}

// Prune deletes compile errors and quarantines that have expired, and checks whose blob
// is gone.
func TestPruneDeletesExpiredNotes(t *testing.T) {
	s := openTestStore(t, openTestDir(t), testFingerprint)
	young, old := shader.MustSource("young", "a", nil), shader.MustSource("old", "b", nil)
	must(t, s.PutFailure(young, "no"))
	must(t, s.PutFailure(old, "no"))
	at := start.Add(-failureAge - day)
	must(t, os.Chtimes(failures.path(s.path, young.Key()), start, start))
	must(t, os.Chtimes(failures.path(s.path, old.Key()), at, at))
	putBlobs(t, s, testBlob(1))
	must(t, s.PutChecked(testBlob(1)))
	must(t, s.PutChecked(testBlob(2)))
	must(t, s.quarantine(Quarantined{Key: testKey(3), Action: ActionCompile, Time: start}))
	must(t, s.quarantine(Quarantined{Key: testKey(4), Action: ActionCompile, Time: start.Add(-quarantineTime)}))
	for _, dry := range []bool{true, false} {
		if r, err := s.Dir().Prune(PruneOptions{DryRun: dry}); err != nil || r != (PruneReport{Leftovers: 3}) {
			t.Errorf("dry %v: %+v, %v", dry, r, err)
		}
	}
	if s.Failure(young) == nil || s.Failure(old) != nil {
		t.Error("the wrong compile error was deleted")
	}
	if !s.Checked(testBlob(1)) || s.Checked(testBlob(2)) {
		t.Error("the wrong check was deleted")
	}
	if left := maps.Collect(notes.files(s.path)); len(left) != 1 || left[testKey(3)] == nil {
		t.Errorf("notes %v", left)
	}
}

// Prune keeps what a driver computes wrong, also with a binary, which another process that
// did not know it may store.
func TestPruneKeepsWhatIsWrong(t *testing.T) {
	s := openTestStore(t, openTestDir(t), testFingerprint)
	blob := testBlob(1)
	must(t, s.PutWrong(blob.Key, blob.Name, "got 3, want 4"))
	for range 2 {
		putBlobs(t, s, blob)
		if r, err := s.Dir().Prune(PruneOptions{MaxBytes: 1}); err != nil || r.Programs != 1 || r.Leftovers != 0 {
			t.Errorf("%+v, %v", r, err)
		}
		if reason, wrong := s.Wrong(blob.Key); !wrong || reason != "got 3, want 4" {
			t.Errorf("wrong %v: %q", wrong, reason)
		}
	}
}
