package binary

import (
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shadercache/shadercache/internal/osfile"
	"github.com/shadercache/shadercache/shader"
)

func TestAClaimExcludesOtherStores(t *testing.T) {
	if !osfile.HasByteLocks {
		t.Skip("no locks on this system")
	}
	d := openTestDir(t)
	first, second := openTestStore(t, d, testFingerprint), openTestStore(t, d, testFingerprint)
	claim := func(s *Store, key int, want bool) func() {
		t.Helper()
		release, claimed := s.Claim(testKey(key))
		if claimed != want {
			t.Errorf("claimed: %v", claimed)
		}
		return release
	}
	release := claim(first, 1, true)
	claim(second, 1, false)()
	claim(second, 1, false)
	claim(second, 2, true)
	release()
	again := claim(second, 1, true)
	release() // for the second time
	claim(first, 1, false)
	again()
	claim(first, 1, true)
	must(t, first.Close())
	claim(second, 1, true)
}

func TestClaimsNeedNoFile(t *testing.T) {
	d := openTestDir(t)
	s := openTestStore(t, d, testFingerprint)
	must(t, os.MkdirAll(filepath.Join(s.Path(), claimsName), 0o700))
	if release, claimed := s.Claim(testKey(1)); !claimed {
		t.Error("a program cannot be compiled for lack of a file")
	} else {
		release()
	}
}

// claimTogether is ClaimTogether for keys of which none becomes known, in a bubble.
func claimTogether(d *Dir, pauses *int, keys ...shader.Key) (held int, waited bool) {
	claims, waited := ClaimTogether(d, keys, func(shader.Key) bool { return false }, time.Minute, func() bool {
		*pauses++
		time.Sleep(time.Second)
		return true
	})
	return len(claims), waited
}

// A process waits for the one that has the lowest of its keys, for a while only: that one may
// be stopped.
func TestClaimTogether(t *testing.T) {
	if !osfile.HasByteLocks {
		t.Skip("no locks on this system")
	}
	path := t.TempDir()
	first, second := newDir(path), newDir(path)
	low, high, own := shader.Key{1}, shader.Key{2}, shader.Key{3}
	synctest.Test(t, func(t *testing.T) {
		pauses := 0
		if held, waited := claimTogether(first, &pauses, high, low); held != 2 || waited {
			t.Errorf("the first holds %d, waited %v", held, waited)
		}
		if held, waited := claimTogether(second, &pauses, shader.Key{0, 1}, high); held != 1 || waited {
			t.Errorf("with another lowest key: %d, %v", held, waited)
		}
		began := time.Now()
		held, waited := claimTogether(second, &pauses, own, low)
		if took := time.Since(began); held != 1 || !waited || took < time.Minute || took > time.Minute+2*time.Second {
			t.Errorf("beside a process that is stopped: holds %d, waited %v for %v", held, waited, took)
		}
	})
}

// What became known while a process waited is not claimed, and the wait is as long as there
// is progress.
func TestClaimTogetherSeesProgress(t *testing.T) {
	if !osfile.HasByteLocks {
		t.Skip("no locks on this system")
	}
	path := t.TempDir()
	first, second := newDir(path), newDir(path)
	keys := make([]shader.Key, 10)
	stored := map[shader.Key]bool{}
	var releases []func()
	for i := range keys {
		keys[i] = shader.Key{byte(i + 1)}
		release, _ := first.Claim(keys[i])
		releases = append(releases, release)
	}
	synctest.Test(t, func(t *testing.T) {
		next := len(keys) - 1 // the lowest is the last
		held, waited := ClaimTogether(second, keys, func(key shader.Key) bool { return stored[key] }, time.Minute, func() bool {
			time.Sleep(40 * time.Second)
			stored[keys[next]] = true
			releases[next]()
			next--
			return true
		})
		if len(held) != 0 || !waited || next != -1 {
			t.Errorf("holds %d, waited %v, %d left", len(held), waited, next+1)
		}
	})
	ended := 0
	held, _ := ClaimTogether(second, []shader.Key{keys[0]}, func(shader.Key) bool { return false }, 0, func() bool { ended++; return false })
	if len(held) != 1 || ended != 0 {
		t.Error("what nobody holds is not claimed")
	}
}
