package binary

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/shadercache/shadercache/binary/internal/crashlog"
	"github.com/shadercache/shadercache/internal/osfile"
)

func init() {
	// mark DIR ACTION:NUMBER... writes marks, removes those with a minus before them, and
	// ends as in a crash.
	children["mark"] = func(args []string) {
		s := childStore(args[0])
		for _, arg := range args[1:] {
			markOrUnmark(s, arg)
		}
		dieNow()
	}
}

// markOrUnmark calls Mark for ACTION:NUMBER, and Unmark for -ACTION:NUMBER.
func markOrUnmark(s *Store, arg string) {
	arg, unmark := strings.CutPrefix(arg, "-")
	action, number, _ := strings.Cut(arg, ":")
	var n int
	fmt.Sscan(number, &n)
	if unmark {
		s.Unmark(Action(action), testKey(n))
	} else {
		s.Mark(Action(action), testKey(n), fmt.Sprintf("program %d", n))
	}
}

// endProcess starts a process that writes marks and ends.
func endProcess(t *testing.T, s *Store, marks ...string) {
	t.Helper()
	if err := childCommand(t, "mark", append([]string{s.dir.path}, marks...)...).Run(); err == nil {
		t.Fatal("the child did not end by a signal")
	}
}

func recovered(t *testing.T, s *Store) Recovery {
	t.Helper()
	r, err := s.Recover()
	must(t, err)
	return r
}

func TestProcessEndsInTheDriver(t *testing.T) {
	for name, c := range map[string]struct {
		marks []string
		want  string // what Recover finds, with r for a refused source
		left  string // the blobs that are not rejected
	}{
		"none":              {[]string{"load:0", "-load:0"}, "", "0 1 2"},
		"one load":          {[]string{"load:0", "-load:0", "load:1"}, "load 1", "0 2"},
		"one compile":       {[]string{"compile:1"}, "compile 1", "0 1 2"},
		"several compiles":  {[]string{"compile:0", "compile:1", "compile:2", "-compile:1"}, "compile 0,compile 2", "0 1 2"},
		"load and compile":  {[]string{"load:0", "compile:1"}, "load 0,compile 1", "1 2"},
		"the same twice":    {[]string{"compile:1", "compile:1", "-compile:1"}, "compile 1", "0 1 2"},
		"after an idle one": {[]string{"compile:1", "-compile:1", "compile:2"}, "compile 2", "0 1 2"},
	} {
		t.Run(name, func(t *testing.T) {
			d := openTestDir(t)
			d.now = time.Now
			s := openTestStore(t, d, testFingerprint)
			putBlobs(t, s, testBlob(0), testBlob(1), testBlob(2))
			endProcess(t, s, c.marks...)
			var got []string
			for _, q := range recovered(t, s).Found {
				text := string(q.Action) + strings.TrimPrefix(q.Name, "program")
				if q.Refused() {
					text += " r"
				}
				got = append(got, text)
			}
			if strings.Join(got, ",") != c.want {
				t.Errorf("found %q, want %q", got, c.want)
			}
			var left []string
			for n := range 3 {
				if _, err := s.Get(testKey(n)); err == nil {
					left = append(left, fmt.Sprint(n))
				}
			}
			if strings.Join(left, " ") != c.left {
				t.Errorf("blobs %q are left, want %s", left, c.left)
			}
			if again := recovered(t, s); len(again.Found) != 0 {
				t.Errorf("found again: %+v", again.Found)
			}
			if files := osfile.List(s.inFlightPath()); len(files) != 0 {
				t.Errorf("left in flight: %v", files)
			}
		})
	}
}

func compileMark(n int) crashlog.Mark {
	return crashlog.Mark{Action: crashlog.Compile, Key: testKey(n)}
}

// leftBy returns what a process leaves that ended with a number of compiles in flight.
func leftBy(marks int, crash string) crashlog.Remains {
	left := crashlog.Remains{Marks: map[crashlog.Mark]string{}, Crash: crash}
	for n := range marks {
		left.Marks[compileMark(n+1)] = ""
	}
	return left
}

func TestClearMarksLeavesNoMark(t *testing.T) {
	d := openTestDir(t)
	s := openTestStore(t, d, testFingerprint)
	s.Mark(ActionCompile, testKey(1), "one")
	s.ClearMarks()
	s.Mark(ActionLoad, testKey(2), "two")
	s.Unmark(ActionCompile, testKey(1))
	if files := osfile.List(s.inFlightPath()); len(files) != 0 {
		t.Errorf("left in flight: %v", files)
	}
	must(t, s.Close())
}

// A source is refused after a second interruption, and not after one with other programs
// in flight, or long after the first.
func TestSecondInterruptionRefusesASource(t *testing.T) {
	d := openTestDir(t)
	s := openTestStore(t, d, testFingerprint)
	must(t, os.MkdirAll(s.path, 0o700))
	now := start
	d.now = func() time.Time { return now }
	refused := func(marks int) bool {
		q := s.classify(compileMark(1), "one", leftBy(marks, ""))
		must(t, s.quarantine(q))
		return q.Refused()
	}
	if refused(1) {
		t.Error("refused after one interruption, which may have been a Ctrl-C")
	}
	if refused(3) {
		t.Error("refused although others were in flight")
	}
	if !refused(1) {
		t.Error("not refused after a second interruption")
	}
	must(t, s.Lift(testKey(1)))
	refused(1)
	now = now.Add(QuarantineTime)
	if refused(1) {
		t.Error("refused for an interruption of long ago")
	}
}

func TestRunningProcessesAreLeftAlone(t *testing.T) {
	d := openTestDir(t)
	s, other := openTestStore(t, d, testFingerprint), openTestStore(t, d, testFingerprint)
	s.Mark(ActionCompile, testKey(1), "one")
	if r := recovered(t, other); len(r.Found)+len(r.Active) != 0 {
		t.Errorf("found %+v", r)
	}
	other.Mark(ActionLoad, testKey(2), "two")
	s.Unmark(ActionCompile, testKey(1))
	other.Unmark(ActionLoad, testKey(2))
	must(t, s.Close())
	must(t, other.Close())
	if files := osfile.List(s.inFlightPath()); len(files) != 0 {
		t.Errorf("left in flight: %v", files)
	}
}

func TestQuarantineEnds(t *testing.T) {
	d := openTestDir(t)
	s := openTestStore(t, d, testFingerprint)
	must(t, os.MkdirAll(s.path, 0o700))
	q := s.classify(compileMark(1), "one", leftBy(1, ""))
	must(t, s.quarantine(q))
	for after, want := range map[time.Duration]int{
		0: 1, QuarantineTime - 1: 1, QuarantineTime: 0,
		-time.Hour: 1, -QuarantineTime: 0, // the clock was set back
	} {
		d.now = func() time.Time { return start.Add(after) }
		if list := s.Quarantined(); len(list) != want {
			t.Errorf("after %v: %+v", after, list)
		}
	}
	d.now = func() time.Time { return start }
	err := error(&QuarantinedError{s.Quarantined()[0]})
	if !errors.Is(err, ErrQuarantined) || !strings.Contains(err.Error(), `"one"`) || !strings.Contains(err.Error(), "verify --repair") {
		t.Errorf("error %q", err)
	}
	for range 2 {
		must(t, s.Lift(q.Key))
	}
	if list := s.Quarantined(); len(list) != 0 {
		t.Errorf("after Lift: %+v", list)
	}
}

func TestDamagedNotesAreIgnored(t *testing.T) {
	d := openTestDir(t)
	s := openTestStore(t, d, testFingerprint)
	for n, text := range []string{"", "{", "{}", `{"key":"` + testKey(7).String() + `"}`, "null"} {
		writeTestFile(t, s.quarantinePath(testKey(n)), []byte(text), start)
	}
	if list := s.Quarantined(); len(list) != 0 {
		t.Errorf("got %+v", list)
	}
}

func BenchmarkMarkUnmark(b *testing.B) {
	s := openTestStore(b, openTestDir(b), testFingerprint)
	b.Cleanup(func() { s.Close() })
	key := testKey(1)
	for b.Loop() {
		s.Mark(ActionLoad, key, "conv2d_3x3")
		s.Unmark(ActionLoad, key)
	}
}
