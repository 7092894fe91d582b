package isolate

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/internal/osfile"
	"github.com/shadercache/shadercache/shader"
)

func dirAt(t *testing.T, path string) *binary.Dir {
	t.Helper()
	d, err := binary.OpenDir(path)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// claimUnknown is claimTogether for keys of which none becomes known, in a bubble.
func claimUnknown(d *binary.Dir, pauses *int, keys ...shader.Key) (held int, waited bool) {
	claims, waited := claimTogether(d, keys, func(shader.Key) bool { return false }, time.Minute, func() bool {
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
	first, second := dirAt(t, path), dirAt(t, path)
	low, high, own := shader.Key{1}, shader.Key{2}, shader.Key{3}
	synctest.Test(t, func(t *testing.T) {
		pauses := 0
		if held, waited := claimUnknown(first, &pauses, high, low); held != 2 || waited {
			t.Errorf("the first holds %d, waited %v", held, waited)
		}
		if held, waited := claimUnknown(second, &pauses, shader.Key{0, 1}, high); held != 1 || waited {
			t.Errorf("with another lowest key: %d, %v", held, waited)
		}
		began := time.Now()
		held, waited := claimUnknown(second, &pauses, own, low)
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
	first, second := dirAt(t, path), dirAt(t, path)
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
		held, waited := claimTogether(second, keys, func(key shader.Key) bool { return stored[key] }, time.Minute, func() bool {
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
	held, _ := claimTogether(second, []shader.Key{keys[0]}, func(shader.Key) bool { return false }, 0, func() bool { ended++; return false })
	if len(held) != 1 || ended != 0 {
		t.Error("what nobody holds is not claimed")
	}
}
