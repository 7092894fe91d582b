package cli

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/cache/cachetest"
	"github.com/shadercache/shadercache/shader"
)

func TestDirectories(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cache")
	o := Options{Dir: path, Stderr: io.Discard}
	if got, dir, err := o.OpenDirectory(); got != path || dir != nil || err != nil {
		t.Errorf("missing: %s, %v, %v", got, dir, err)
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("a missing directory was made")
	}
	if _, err := binary.OpenDir(path); err != nil {
		t.Fatal(err)
	}
	for name, open := range map[string]func() (string, *binary.Dir, error){"open": o.OpenDirectory, "read": o.ReadDirectory} {
		if got, dir, err := open(); got != path || dir == nil || err != nil {
			t.Errorf("%s: %s, %v, %v", name, got, dir, err)
		}
	}
	t.Setenv("SHADERCACHE_DIR", filepath.Join(path, "env"))
	if got, err := (&Options{}).Directory(); got != filepath.Join(path, "env") || err != nil {
		t.Errorf("%s, %v", got, err)
	}
}

func TestUpstream(t *testing.T) {
	var messages strings.Builder
	o := Options{Dir: t.TempDir(), Stderr: &messages}
	t.Setenv("SHADERCACHE_UPSTREAM", "")
	dir, err := binary.OpenDir(o.Dir)
	if err != nil || o.Upstream() != nil || o.WithUpstream(dir) != dir {
		t.Errorf("an upstream directory without a variable, %v", err)
	}
	t.Setenv("SHADERCACHE_UPSTREAM", filepath.Join(o.Dir, "missing"))
	if o.Upstream() != nil || !strings.Contains(messages.String(), "upstream directory is left out") {
		t.Errorf("%q", messages.String())
	}
	upstream, err := binary.OpenDir(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("SHADERCACHE_UPSTREAM", upstream.Path())
	if o.Upstream() == nil || o.WithUpstream(dir) == dir {
		t.Error("the upstream directory was not opened")
	}
}

func TestForStoresLeavesOutUnknownDrivers(t *testing.T) {
	var messages strings.Builder
	o := Options{Dir: t.TempDir(), Stderr: &messages}
	dir, err := binary.OpenDir(o.Dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, renderer := range []string{"A", "B"} {
		store, err := dir.Store(binary.Fingerprint{Vendor: "Test", Renderer: renderer, Version: "1", Formats: []uint32{1}})
		if err != nil {
			t.Fatal(err)
		}
		blob := &binary.Blob{Key: shader.Key{1}, Fingerprint: store.Fingerprint().Digest(), Payload: []byte("program"), Created: time.Now()}
		if err := errors.Join(store.Put(blob), store.Record(nil, binary.Counters{Compiles: 1})); err != nil {
			t.Fatal(err)
		}
		names = append(names, filepath.Base(store.Path()))
	}
	// A store without a fingerprint in any file counts where it has programs.
	lost := filepath.Join(o.Dir, names[1])
	for _, file := range []string{"fingerprint.json", "manifest.json"} {
		if err := os.Remove(filepath.Join(lost, file)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
	}
	var visited []string
	err = o.ForStores(dir, func(name string, store *binary.Store) error {
		visited = append(visited, name)
		return nil
	})
	if err != nil || !slices.Equal(visited, names[:1]) || !strings.Contains(messages.String(), names[1]) {
		t.Errorf("%q, %v, %q", visited, err, messages.String())
	}
}

// TestChildOfARemovedFile is of a process whose file was removed, as by an upgrade: its children are
// of its own build.
func TestChildOfARemovedFile(t *testing.T) {
	if os.Getenv("REMOVED") == "" {
		removed := filepath.Join(t.TempDir(), "removed")
		own, err := os.ReadFile("/proc/self/exe")
		if err != nil {
			t.Skip("only Linux has the file of a process")
		}
		if err := os.WriteFile(removed, own, 0o700); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(removed, "-test.run", "^TestChildOfARemovedFile$")
		cmd.Env = append(os.Environ(), "REMOVED="+removed)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
		return
	}
	if err := os.Remove(os.Getenv("REMOVED")); err != nil {
		t.Fatal(err)
	}
	child, err := (&Options{}).ChildCommand(t.Context(), "", []string{"-test.run=^$"})
	if err != nil {
		t.Fatal(err)
	}
	child.Args = child.Args[:2]
	if out, err := child.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

// The kernel ends a process without a message, as where there is no memory.
func TestChildThatIsKilled(t *testing.T) {
	err := ReadChild(t.Context(), exec.Command("sh", "-c", "kill -9 $$"), nil)
	if err == nil || errors.Is(err, ErrReported) || !strings.Contains(err.Error(), "killed") {
		t.Error(err)
	}
}

func TestChildCommandHasTheFlags(t *testing.T) {
	o := Options{Device: "1", DriverCache: true, JSON: true, Stderr: io.Discard}
	child, err := o.ChildCommand(context.Background(), "/dir", []string{"bench"}, "--x")
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(child.Args[1:], " "); got != "bench --device 1 --api gl --driver-cache on --log-level info --json=true --dir /dir --x" {
		t.Errorf("%s", got)
	}
}

// With --json everything on standard error is JSON, also what the driver of a child prints.
func TestChildrenPrintJSON(t *testing.T) {
	var out strings.Builder
	o := Options{JSON: true, Stderr: &out}
	child, err := o.ChildCommand(context.Background(), "/dir", nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"a \"dri", "ver\"\n" + `{"schema":1,"level":"error","message":"x"}` + "\n{}\n"} {
		if n, err := io.WriteString(child.Stderr, text); n != len(text) || err != nil {
			t.Error(n, err)
		}
	}
	want := `{"schema":1,"level":"warning","message":"a \"driver\""}
{"schema":1,"level":"error","message":"x"}
{"schema":1,"level":"warning","message":"{}"}
`
	if out.String() != want {
		t.Errorf("%s", out.String())
	}
}

// The log of a driver is cut in JSON too.
func TestLogsInJSONAreCut(t *testing.T) {
	for _, log := range []string{strings.Repeat("x", 1<<20), strings.Repeat("x\n", 1<<19)} {
		m := newJSONError(&shader.CompileError{Name: "a", Log: log, Source: shader.MustSource("a", "void main() {}", nil)})
		if len(m.Log) > maxJSONLog+1000 || !strings.Contains(m.Log, "the log is longer") {
			t.Errorf("%d bytes", len(m.Log))
		}
	}
}

// Work that has ended is not cancelled any more; a cache that is in use is known.
func TestInterruptibleEnds(t *testing.T) {
	ctx, stop := Interruptible()
	stop()
	c, err := cache.New(cachetest.NewDevice(), cache.Options{MemoryOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ClearMarksOnInterrupt(c)
	interruptions.Lock()
	defer interruptions.Unlock()
	known := interruptions.caches[len(interruptions.caches)-1].Value()
	if ctx.Err() == nil || len(interruptions.work) != 0 || known != c {
		t.Errorf("%v, %d, %p for %p", ctx.Err(), len(interruptions.work), known, c)
	}
}
