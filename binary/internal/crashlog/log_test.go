package crashlog

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/shadercache/shadercache/internal/osfile"
)

func newLog(t *testing.T) *Log {
	t.Helper()
	l := &Log{Dir: filepath.Join(t.TempDir(), "inflight"), Make: func(dir string) error { return os.MkdirAll(dir, 0o700) }}
	t.Cleanup(l.Close)
	return l
}

// fileOf returns the path and the text of the log's file, and "" without one.
func fileOf(t *testing.T, l *Log) (path, text string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(l.Dir, "*"))
	if err != nil || len(files) > 1 {
		t.Fatalf("files %q, %v", files, err)
	}
	if len(files) == 0 {
		return "", ""
	}
	data, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	return files[0], string(data)
}

func TestLogFileHasOpenMarks(t *testing.T) {
	l := newLog(t)
	var crashOutput string
	l.SetCrashOutput(func(f *os.File) { crashOutput = f.Name() })
	load, compile := Mark{Load, testKey(1)}, Mark{Compile, testKey(2)}
	l.Mark(load, "one")
	l.Mark(compile, "two \"quoted\"\n")
	l.Unmark(load)
	path, text := fileOf(t, l)
	if marks := parseMarks(text); len(marks) != 1 || marks[compile] != "two \"quoted\"\n" {
		t.Errorf("marks %v", marks)
	}
	if crashOutput != path {
		t.Errorf("crash output %q, want %q", crashOutput, path)
	}
	l.Close()
	if path, _ := fileOf(t, l); path != "" {
		t.Errorf("left behind: %s", path)
	}
}

func TestLongLogFileIsEmptied(t *testing.T) {
	l := newLog(t)
	m := Mark{Run, testKey(1)}
	for range emptyAbove / 100 {
		l.Mark(m, "candidate")
		l.Unmark(m)
		if _, text := fileOf(t, l); len(text) > emptyAbove+1000 {
			t.Fatalf("%d bytes", len(text))
		}
	}
	l.Mark(m, "candidate")
	if _, text := fileOf(t, l); len(parseMarks(text)) != 1 || len(text) > emptyAbove {
		t.Errorf("%d bytes after it was emptied", len(text))
	}
}

func TestLogWithoutADirectory(t *testing.T) {
	l := newLog(t)
	l.Make = func(string) error { return errors.New("read-only") }
	l.Mark(Mark{Load, testKey(1)}, "one")
	l.Unmark(Mark{Load, testKey(1)})
	if path, _ := fileOf(t, l); path != "" {
		t.Errorf("wrote %s", path)
	}
	defer func() {
		if recover() == nil {
			t.Error("Unmark without Mark did not panic")
		}
	}()
	l.Unmark(Mark{Load, testKey(1)})
}

// A volume whose locks fail has no marks, and keeps no file of them.
func TestMarkOnAVolumeWithoutLocks(t *testing.T) {
	defer func() { tryLock = osfile.TryLock }()
	tryLock = func(*os.File, bool) error { return syscall.ENOSYS }
	l := newLog(t)
	l.Mark(Mark{Load, testKey(1)}, "of this process")
	if files, err := os.ReadDir(l.Dir); err != nil || len(files) > 0 {
		t.Errorf("%d files, %v", len(files), err)
	}
	// A file that is there goes by its age.
	for name, age := range map[string]time.Duration{"1-0": time.Minute, "2-0": 2 * time.Hour} {
		path := filepath.Join(l.Dir, name)
		if err := errors.Join(os.WriteFile(path, nil, 0o600), os.Chtimes(path, time.Time{}, time.Now().Add(-age))); err != nil {
			t.Fatal(err)
		}
	}
	recovered := 0
	err := Recover(l.Dir, time.Now(), func(Remains) error { recovered++; return nil })
	if _, there := os.Stat(filepath.Join(l.Dir, "1-0")); err != nil || there != nil || recovered != 1 {
		t.Errorf("%d files were recovered, %v, %v", recovered, there, err)
	}
}

// Files of processes that run are neither read nor changed; those of processes that have
// ended are handled until a call succeeds.
func TestRecoverHandlesAbandonedFiles(t *testing.T) {
	if !osfile.HasLocks {
		t.Skip("without locks the age of a file decides")
	}
	l := newLog(t)
	l.Mark(Mark{Load, testKey(1)}, "of this process")
	abandoned := filepath.Join(l.Dir, "1234-0")
	line := "+ compile " + testKey(2).String() + " \"two\"\n"
	if err := os.WriteFile(abandoned, []byte(line), 0o600); err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	for _, process := range []int{1234, 123, os.Getpid()} {
		if err := RecordCrash(l.Dir, process, "SIGFPE: floating point exception", now); err != nil {
			t.Error(err)
		}
	}
	failure := errors.New("not handled")
	var calls int
	for _, want := range []error{failure, nil, nil} {
		err := Recover(l.Dir, now, func(left Remains) error {
			calls++
			if len(left.Marks) != 1 || left.Marks[Mark{Compile, testKey(2)}] != "two" || left.Crash != "SIGFPE: floating point exception" {
				t.Errorf("got %+v", left)
			}
			return want
		})
		if !errors.Is(err, want) {
			t.Errorf("got %v, want %v", err, want)
		}
	}
	if calls != 2 {
		t.Errorf("%d calls, want 2", calls)
	}
	if _, text := fileOf(t, l); len(parseMarks(text)) != 1 || parseCrash(text) != "" {
		t.Errorf("the file of this process has %q", text)
	}
}

func TestRemainsOfAFileThatIsTooLarge(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "1234-0")
	if err := errors.Join(os.WriteFile(path, []byte("+ load "+testKey(1).String()+" \"\"\n"), 0o600), os.Truncate(path, maxFileBytes+1)); err != nil {
		t.Fatal(err)
	}
	err := Recover(dir, time.Now().Add(2*time.Hour), func(left Remains) error {
		if len(left.Marks) != 0 {
			t.Errorf("marks %v", left.Marks)
		}
		return nil
	})
	if _, stat := os.Stat(path); err != nil || !errors.Is(stat, os.ErrNotExist) {
		t.Errorf("%v, %v", err, stat)
	}
}
