package binary

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/shadercache/shadercache/internal/osfile"
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
