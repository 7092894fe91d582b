//go:build linux

package isolate

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/cache/cachetest"
	"github.com/shadercache/shadercache/shader"
)

// suspectsIn makes suspects of programs: the driver has all of them as a process ends.
func suspectsIn(t *testing.T, dir *binary.Dir, names ...string) []*shader.Source {
	t.Helper()
	store, err := dir.Store(cachetest.NewDevice().Fingerprint())
	if err != nil {
		t.Fatal(err)
	}
	list := sources(names...)
	inflight := filepath.Join(store.Path(), "inflight")
	if err := os.MkdirAll(inflight, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := store.Put(&binary.Blob{Key: sources("other")[0].Key(), Fingerprint: cachetest.NewDevice().Fingerprint().Digest(), Payload: []byte("x")}); err != nil {
		t.Fatal(err)
	}
	text := ""
	for _, s := range list {
		text += "+ compile " + s.Key().String() + " \"" + s.Name() + "\"\n"
	}
	if err := os.WriteFile(filepath.Join(inflight, "1-0"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if r, err := store.Recover(); err != nil || len(r.Active) != len(names) {
		t.Fatalf("%+v, %v", r, err)
	}
	return list
}

func trierFor(t *testing.T, dir *binary.Dir) *Trier {
	return &Trier{Dir: dir, Command: func() (*exec.Cmd, error) {
		command, err := ChildCommand()
		if err == nil {
			command.Env = append(command.Env, fakeDir+"="+dir.Path())
			command.Stderr = nil
		}
		return command, err
	}}
}

func TestTrier(t *testing.T) {
	t.Parallel()
	dir := openDir(t)
	list := suspectsIn(t, dir, "good", "crash", "broken", "hang")
	got := map[string]cache.Trial{}
	for limit, some := range map[time.Duration][]*shader.Source{time.Minute: list[:3], 300 * time.Millisecond: list[3:]} {
		trierFor(t, dir).Try(context.Background(), some, limit, func(i int, v cache.Trial) { got[some[i].Name()] = v })
	}
	want := map[string]cache.Verdict{"good": cache.Survived, "crash": cache.Crashed, "broken": cache.Survived, "hang": cache.Hung}
	for name, verdict := range want {
		if got[name].Verdict != verdict || got[name].Err != nil {
			t.Errorf("%s: %+v", name, got[name])
		}
	}
	if !binary.IsCrash(got["crash"].Signal) {
		t.Errorf("signal %q", got["crash"].Signal)
	}
	left := quarantined(t, dir)
	if len(left) != 2 || !left[0].Refused() || !left[1].Refused() {
		t.Errorf("in quarantine: %+v", left)
	}
}

// A driver that crashes of its own cache costs that cache, and no program.
func TestBadDriverCacheIsSetAside(t *testing.T) {
	t.Parallel()
	dir := openDir(t)
	list := suspectsIn(t, dir, "machine code", "good")
	bad := filepath.Join(dir.DriverDir(), "mesa", "bad")
	addBadMachineCode(t, dir)
	trier := trierFor(t, dir)
	try := func() map[string]cache.Verdict {
		got := map[string]cache.Verdict{}
		trier.Try(context.Background(), list, time.Minute, func(i int, v cache.Trial) { got[list[i].Name()] = v.Verdict })
		return got
	}
	if got := try(); got["machine code"] != cache.BadDriverCache || got["good"] != cache.Survived {
		t.Errorf("%v", got)
	}
	if _, err := os.Lstat(bad); !os.IsNotExist(err) {
		t.Errorf("not set aside: %v", err)
	}
	if left := quarantined(t, dir); len(left) != 0 {
		t.Errorf("in quarantine: %+v", left)
	}
	if got := try(); got["machine code"] != cache.Survived {
		t.Errorf("%v", got)
	}
}

// Where no child can be started nothing was tried.
func TestTrierWithoutProcesses(t *testing.T) {
	t.Parallel()
	dir := openDir(t)
	list := suspectsIn(t, dir, "good")
	calls := 0
	trier := &Trier{Dir: dir, Command: func() (*exec.Cmd, error) { return exec.Command("/nonexistent"), nil }}
	trier.Try(context.Background(), list, time.Minute, func(_ int, v cache.Trial) {
		calls++
		if v.Verdict != cache.Untried || v.Err == nil {
			t.Errorf("%+v", v)
		}
	})
	if calls != 1 {
		t.Errorf("%d calls", calls)
	}
}
