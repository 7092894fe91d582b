package top

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/cmd/cli"
	"github.com/shadercache/shadercache/shader"
)

var driver = binary.Fingerprint{
	Vendor: "Mesa", Renderer: "llvmpipe", Version: "4.5", GLSL: "4.50", Profile: 1, Formats: []uint32{0x875F}, PointerBits: 64,
}

func openDir(t *testing.T) *binary.Dir {
	t.Helper()
	dir, err := binary.OpenDir(filepath.Join(t.TempDir(), "cache"))
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// compile stores a program, as a process does that compiled it, and records a start.
func compile(t *testing.T, dir *binary.Dir, name string, created time.Time, counters binary.Counters) {
	t.Helper()
	store, err := dir.Store(driver)
	if err != nil {
		t.Fatal(err)
	}
	err = errors.Join(store.Put(&binary.Blob{
		Key: shader.MustSource(name, "void main() {} // "+name, nil).Key(), Fingerprint: driver.Digest(), Format: driver.Formats[0],
		Payload: []byte("binary"), Name: name, WorkGroup: [3]uint32{64, 1, 1}, CompileNanos: 12_500_000, Created: created,
	}), store.Record(nil, counters), store.Close())
	if err != nil {
		t.Fatal(err)
	}
}

func snapshot(t *testing.T, w *Watcher) *Snapshot {
	t.Helper()
	s, err := w.Snapshot(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestSnapshotsSeeCompiles(t *testing.T) {
	dir := openDir(t)
	w := NewWatcher(dir)
	if s := snapshot(t, w); s.Programs != 0 || len(s.Compiled)+len(s.Starts) != 0 || s.Hour != (cli.Figures{}) {
		t.Errorf("an empty directory: %+v", s)
	}
	now := time.Now()
	compile(t, dir, "first", now.Add(-time.Minute), binary.Counters{Starts: 1, Compiles: 1, CompileNanos: 12_500_000})
	compile(t, dir, "second", now, binary.Counters{Starts: 1, Compiles: 1, DiskHits: 3, ResidentHits: 6})
	s := snapshot(t, w)
	if len(s.Compiled) != 2 || s.Compiled[0].Name != "second" || s.Compiled[1].Name != "first" || s.Compiled[1].CompileNanos != 12_500_000 {
		t.Errorf("compiled: %+v", s.Compiled)
	}
	if s.Programs != 2 || s.ProgramBytes != s.Compiled[0].Bytes+s.Compiled[1].Bytes {
		t.Errorf("%d programs of %d bytes", s.Programs, s.ProgramBytes)
	}
	if h := s.Hour; h.Starts != 2 || h.Compiles != 2 || h.DiskHits != 3 || h.DiskRate != 0.6 || h.MadeMillis != 12.5 {
		t.Errorf("the hour: %+v", h)
	}
	if len(s.Starts) != 2 || s.Starts[0].Figures.DiskHits != 3 || s.Starts[1].Figures.DiskHits != 0 {
		t.Errorf("starts: %+v", s.Starts)
	}
	if again := snapshot(t, w); again.Programs != 2 || !slices.Equal(again.Compiled, s.Compiled) {
		t.Errorf("nothing happened: %+v", again)
	}
	if err := os.RemoveAll(filepath.Join(dir.Path(), driver.DirName(), "blobs")); err != nil {
		t.Fatal(err)
	}
	if s := snapshot(t, w); s.Programs != 0 || s.ProgramBytes != 0 {
		t.Errorf("after a clear: %+v", s)
	}
}

// TestProcessesAreSeen looks for a process that has a file of the directory open.
func TestProcessesAreSeen(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the system does not tell")
	}
	dir := openDir(t)
	compile(t, dir, "first", time.Now(), binary.Counters{})
	cmd := exec.Command("sh", "-c", `exec 3<"$1/README.md"; echo ready; read _ || true`, "sh", dir.Path())
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 16)); err != nil {
		t.Fatal(err)
	}
	s := snapshot(t, NewWatcher(dir))
	if len(s.Processes) != 1 || s.Processes[0].PID != cmd.Process.Pid || s.Processes[0].Name != "sh" {
		t.Errorf("%+v, want the shell %d", s.Processes, cmd.Process.Pid)
	}
	in.Close()
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	if s := snapshot(t, NewWatcher(dir)); len(s.Processes) != 0 {
		t.Errorf("after its end: %+v", s.Processes)
	}
}

// TestLinesFit writes a snapshot with hostile and long names for terminals of several sizes.
func TestLinesFit(t *testing.T) {
	s := &Snapshot{Time: time.Now(), Dir: "/home/user/" + strings.Repeat("long/", 30), Programs: 123456, ProgramBytes: 1 << 40, LimitBytes: 1 << 41,
		Processes: []Process{{4194304, strings.Repeat("p", 90), time.Now()}}}
	for range 20 {
		s.Compiled = append(s.Compiled, cli.Program{Driver: "driver", Entry: binary.Entry{Created: time.Now(), Name: "a\x1b[2J" + strings.Repeat("\u00e4", 90), CompileNanos: 123456.7e6, Bytes: 1 << 40}})
		s.Starts = append(s.Starts, Start{time.Now().Add(-48 * time.Hour), strings.Repeat("d", 90), cli.Figures{Compiles: 1e7, DiskHits: 1e7, ResidentHits: 1e7, DiskRate: 1}})
	}
	for _, size := range []Size{{80, 24}, {120, 50}, {40, 10}, {80, 0}, {}} {
		var b bytes.Buffer
		if err := s.Write(&b, size); err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
		if size.Lines > 0 && len(lines) > size.Lines || len(lines) < min(10, max(size.Lines, 10)) {
			t.Errorf("%v: %d lines", size, len(lines))
		}
		for _, line := range lines {
			if n := utf8.RuneCountInString(line); size.Columns > 0 && n > size.Columns {
				t.Errorf("%v: %d columns: %s", size, n, line)
			}
			if strings.ContainsRune(line, '\x1b') {
				t.Errorf("%v: a control character: %q", size, line)
			}
		}
	}
}
