package crashlog

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/shadercache/shadercache/internal/osfile"
	"github.com/shadercache/shadercache/shader"
)

func testKey(n int) shader.Key {
	return shader.MustSource("", "// "+strings.Repeat("x", n), nil).Key()
}

// A panic of the application is not a crash of the driver.
func TestPanicIsNoCrash(t *testing.T) {
	for text, want := range map[string]string{
		"panic: runtime error: invalid memory address\n[signal SIGSEGV: segmentation violation code=0x1]\n": "",
		"fatal error: all goroutines are asleep - deadlock!\n":                                              "",
		"+ compile x \"SIGSEGV: in a name\"\n":                                                              "",
		"+ compile x \"a\"\nSIGILL: illegal instruction\nPC=0x1\n":                                          "SIGILL: illegal instruction",
		// Not of the driver: a full volume, a user, a supervisor, no memory, a sandbox.
		"SIGBUS: bus error\nPC=0x1\n": "", "SIGQUIT: quit\n": "", "SIGHUP: hangup\n": "", "SIGTERM: terminated\n": "",
		"SIGINT: interrupt\n": "", "SIGKILL: killed\n": "", "SIGSYS: bad system call\n": "",
	} {
		if got := parseCrash(text); got != want {
			t.Errorf("%q: %q", text, got)
		}
	}
}

func TestMalformedMarks(t *testing.T) {
	key := testKey(1).String()
	good := "+ load " + key + " \"a b\"\n"
	for text, want := range map[string]int{
		good:                          1,
		good[:len(good)-1]:            0, // cut short
		good + "- load " + key:        1,
		good + "- load " + key + "\n": 0,
		"- load " + key + "\n" + good: 1,
		"+ dance " + key + " \"\"\n":  0,
		"+ load 12 \"\"\n":            0,
		"\n\n \n+\n+ load\n":          0,
		"\x00\xff\n" + good:           1,
	} {
		if left := parseMarks(text); len(left) != want {
			t.Errorf("%q: %v, want %d", text, left, want)
		}
	}
	if name := parseMarks(good)[Mark{Load, testKey(1)}]; name != "a b" {
		t.Errorf("name %q", name)
	}
}

// Of processes that recover at once each finds what the others have not.
func TestRemainsAreFoundOnce(t *testing.T) {
	dir, files := t.TempDir(), 100
	for n := range files {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%d-0", n)), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var found atomic.Int64
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			err := Recover(dir, time.Now(), func(Remains) error { found.Add(1); return nil })
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if int(found.Load()) != files {
		t.Errorf("%d files were found %d times", files, found.Load())
	}
}

// What a process left is what all of its files say: each store has one, and the signal is in one.
func TestFilesOfOneProcess(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"12-0":     "+ load " + testKey(3).String() + " \"three\"\n",
		"123-7000": "+ load " + testKey(3).String() + " \"another container's\"\n",
		"123-0":    "+ dispatch " + testKey(1).String() + " \"one\"\n",
		"123-1":    "+ compile " + testKey(2).String() + " \"two\"\nSIGSEGV: segmentation violation\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var all []string
	if err := Recover(dir, time.Now(), func(left Remains) error {
		all = append(all, fmt.Sprintln(slices.Sorted(maps.Values(left.Marks)), left.Crash))
		return nil
	}); err != nil {
		t.Error(err)
	}
	if slices.Sort(all); !slices.Equal(all, []string{"[another container's] \n", "[one two] SIGSEGV: segmentation violation\n", "[three] \n"}) {
		t.Errorf("found %q", all)
	}
	if list, _ := os.ReadDir(dir); len(list) != 0 {
		t.Errorf("%d files are left", len(list))
	}
}

// Of processes that recover at once one has all files of a process that ended.
func TestOneRecoversAProcess(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"12-0", "123-7000", "123-7001"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("+ load "+testKey(1).String()+" \""+name+"\"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	first, err := os.Open(filepath.Join(dir, "123-7000"))
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	if err := osfile.TryLock(first, true); err != nil { // as another one that has come as far
		t.Fatal(err)
	}
	var all []string
	err = Recover(dir, time.Now(), func(left Remains) error {
		all = slices.AppendSeq(all, maps.Values(left.Marks))
		return nil
	})
	if err != nil || !slices.Equal(all, []string{"12-0"}) {
		t.Errorf("found %q, %v", all, err)
	}
}

func FuzzParseMarks(f *testing.F) {
	f.Add("+ load " + testKey(1).String() + " \"a\"\n- load " + testKey(1).String() + "\n")
	f.Fuzz(func(t *testing.T, text string) {
		for m, name := range parseMarks(text) {
			if !slices.Contains(Actions, m.Action) || len(name) > len(text) {
				t.Errorf("%v %q", m, name)
			}
		}
	})
}
