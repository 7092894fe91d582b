package binary

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/shadercache/shadercache/binary/internal/crashlog"
	"github.com/shadercache/shadercache/drivercache"
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
		want  string // what Recover finds, with r for what is not a suspect
		left  string // the blobs that are not rejected
	}{
		"none":              {[]string{"load:0", "-load:0"}, "", "0 1 2"},
		"one load":          {[]string{"load:0", "-load:0", "load:1"}, "load 1", "0 1 2"},
		"one compile":       {[]string{"compile:1"}, "compile 1", "0 1 2"},
		"several compiles":  {[]string{"compile:0", "compile:1", "compile:2", "-compile:1"}, "compile 0,compile 2", "0 1 2"},
		"load and compile":  {[]string{"load:0", "compile:1"}, "load 0,compile 1", "0 1 2"},
		"the same twice":    {[]string{"compile:1", "compile:1", "-compile:1"}, "compile 1", "0 1 2"},
		"a read":            {[]string{"read:1"}, "read 1", "0 1 2"},
		"a first job":       {[]string{"dispatch:1"}, "", "0 1 2"},
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
				if !q.Suspect {
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
			if files := osfile.List(s.marks.Dir); len(files) != 0 {
				t.Errorf("left in flight: %v", files)
			}
		})
	}
}

// A program that was read back during its first job has one note, that of the job: it says
// the same each time, and the read is no other program that takes the evidence away.
func TestOneProgramInSeveralActions(t *testing.T) {
	for range 8 { // maps have another order each time
		s := openTestStore(t, openTestDir(t), testFingerprint)
		s.dir.now = time.Now
		cmd := childCommand(t, "mark", s.dir.path, "read:1", "dispatch:1")
		if err := cmd.Run(); err == nil {
			t.Fatal("the child did not end by a signal")
		}
		must(t, s.RecordCrash(cmd.Process.Pid, segmentationFault))
		found := recovered(t, s).Found
		if len(found) != 1 || found[0].Action != ActionDispatch || found[0].Signal != segmentationFault || !found[0].Suspect {
			t.Fatalf("%+v", found)
		}
	}
}

func TestClearMarksLeavesNoMark(t *testing.T) {
	d := openTestDir(t)
	s := openTestStore(t, d, testFingerprint)
	s.Mark(ActionCompile, testKey(1), "one")
	s.ClearMarks()
	s.Mark(ActionLoad, testKey(2), "two")
	s.Unmark(ActionCompile, testKey(1))
	if files := osfile.List(s.marks.Dir); len(files) != 0 {
		t.Errorf("left in flight: %v", files)
	}
	must(t, s.Close())
}

// leave classifies what a process leaves that ended with a number of programs in flight,
// and writes the note of the first.
func leave(t *testing.T, s *Store, action string, marks int, signal string) Quarantined {
	t.Helper()
	left := crashlog.Remains{Marks: map[crashlog.Mark]string{}, Crash: signal}
	for n := range marks {
		left.Marks[crashlog.Mark{Action: action, Key: testKey(n + 1)}] = ""
	}
	q := s.classify(crashlog.Mark{Action: action, Key: testKey(1)}, "one", left)
	must(t, s.quarantine(q))
	return q
}

func TestMarksAloneRefuseNothing(t *testing.T) {
	s := openTestStore(t, openTestDir(t), testFingerprint)
	must(t, os.MkdirAll(s.path, 0o700))
	for range 5 {
		for _, action := range []string{crashlog.Load, crashlog.Compile, crashlog.Read} {
			for _, marks := range []int{1, 3} {
				if q := leave(t, s, action, marks, ""); !q.Suspect || q.Refused() || q.Signal != "" {
					t.Errorf("%s, %d in flight: %+v", action, marks, q)
				}
			}
		}
	}
}

const segmentationFault = "SIGSEGV: segmentation fault"

// A source is refused for a crash only when the driver's cache was set aside since the
// first one: the driver may have crashed of that.
func TestSourceIsRefusedAfterItsDriverCache(t *testing.T) {
	for _, action := range []string{crashlog.Compile, crashlog.Dispatch} {
		d := openTestDir(t)
		s := openTestStore(t, d, testFingerprint)
		must(t, os.MkdirAll(s.path, 0o700))
		now := time.Now()
		d.now = func() time.Time { return now }
		leave(t, s, action, 3, segmentationFault)
		if q, ok := s.Note(testKey(1)); !ok || q.Signal != "" {
			t.Errorf("%s, evidence against one of three: %+v", action, q)
		}
		for range 2 {
			if q := leave(t, s, action, 1, segmentationFault); q.Refused() || q.Signal != segmentationFault {
				t.Errorf("%s: %+v", action, q)
			}
			q, _ := s.Note(testKey(1))
			if cleared, err := s.SuspectDriverCache(q); cleared || err != nil {
				t.Errorf("cleared %v, %v", cleared, err)
			}
		}
		now = now.Add(-time.Minute)
		leave(t, s, action, 1, segmentationFault)
		must(t, drivercache.SetAside(d.DriverDir()))
		q, _ := s.Note(testKey(1))
		if cleared, err := s.SuspectDriverCache(q); !cleared || err != nil {
			t.Errorf("cleared %v, %v", cleared, err)
		}
		now = now.Add(2 * time.Minute)
		if q := leave(t, s, action, 1, ""); q.Refused() || q.Signal != segmentationFault {
			t.Errorf("%s, refused without evidence, or the evidence is lost: %+v", action, q)
		}
		must(t, drivercache.SetAside(d.DriverDir()))
		now = time.Now().Add(-time.Minute)
		leave(t, s, action, 1, "")
		now = time.Now().Add(time.Minute)
		if q := leave(t, s, action, 1, segmentationFault); !q.Refused() {
			t.Errorf("%s, not refused: %+v", action, q)
		}
		if q := leave(t, s, action, 3, ""); !q.Refused() {
			t.Errorf("%s, a refusal ended: %+v", action, q)
		}
		now = now.Add(quarantineTime)
		if q := leave(t, s, action, 1, segmentationFault); q.Refused() {
			t.Errorf("%s, refused for a crash of long ago: %+v", action, q)
		}
	}
}

// What the driver crashed of without a compile costs the stored binary, never the program.
func TestCrashOfALoadCostsTheBlob(t *testing.T) {
	for action, left := range map[string]bool{crashlog.Load: false, crashlog.Read: true} {
		d := openTestDir(t)
		s := openTestStore(t, d, testFingerprint)
		putBlobs(t, s, testBlob(1))
		if q := leave(t, s, action, 1, segmentationFault); q.Suspect || q.Refused() {
			t.Errorf("%s: %+v", action, q)
		}
		if _, err := s.Get(testKey(1)); (err == nil) != left {
			t.Errorf("%s: the blob: %v", action, err)
		}
	}
}

// The tuner leaves a candidate out after a second interruption.
func TestSecondInterruptionRefusesARun(t *testing.T) {
	s := openTestStore(t, openTestDir(t), testFingerprint)
	must(t, os.MkdirAll(s.path, 0o700))
	if leave(t, s, crashlog.Run, 1, "").Refused() || leave(t, s, crashlog.Run, 3, "").Refused() {
		t.Error("refused too early")
	}
	if !leave(t, s, crashlog.Run, 1, "").Refused() {
		t.Error("not refused")
	}
	must(t, s.Lift(testKey(1)))
	if !leave(t, s, crashlog.Run, 1, segmentationFault).Refused() {
		t.Error("not refused for a crash")
	}
}

// A program that hangs is refused for a time that grows, and is a suspect then.
func TestHangIsRefusedForAWhile(t *testing.T) {
	d := openTestDir(t)
	s := openTestStore(t, d, testFingerprint)
	must(t, os.MkdirAll(s.path, 0o700))
	now := start
	d.now = func() time.Time { return now }
	for hangs, want := range map[int]time.Duration{1: time.Minute, 2: 2 * time.Minute, 5: 16 * time.Minute, 100: time.Hour} {
		must(t, s.Refuse(Quarantined{Key: testKey(1), Name: "one", Action: ActionCompile, Hangs: hangs}))
		now = now.Add(want - 1)
		if list := s.Quarantined(); len(list) != 1 || !list[0].Refused() || list[0].Hangs != hangs {
			t.Errorf("%d hangs: %+v", hangs, list)
		}
		now = now.Add(1)
		if list := s.Quarantined(); len(list) != 1 || list[0].Refused() {
			t.Errorf("%d hangs, after %s: %+v", hangs, want, list)
		}
	}
	must(t, s.Refuse(Quarantined{Key: testKey(1), Name: "one", Action: ActionCompile, Hangs: 3}))
	now = now.Add(time.Hour)
	if q := leave(t, s, crashlog.Compile, 1, ""); !q.Suspect || q.Hangs != 3 {
		t.Errorf("the hangs are forgotten: %+v", q)
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
	if files := osfile.List(s.marks.Dir); len(files) != 0 {
		t.Errorf("left in flight: %v", files)
	}
}

func TestQuarantineEnds(t *testing.T) {
	d := openTestDir(t)
	s := openTestStore(t, d, testFingerprint)
	must(t, os.MkdirAll(s.path, 0o700))
	q := leave(t, s, crashlog.Compile, 1, "")
	for after, want := range map[time.Duration]int{
		0: 1, quarantineTime - 1: 1, quarantineTime: 0,
		-time.Hour: 1, -quarantineTime: 0, // the clock was set back
	} {
		d.now = func() time.Time { return start.Add(after) }
		if list := s.Quarantined(); len(list) != want {
			t.Errorf("after %v: %+v", after, list)
		}
	}
	d.now = func() time.Time { return start }
	err := error(&s.Quarantined()[0])
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
	other, err := json.Marshal(Quarantined{Key: testKey(7), Name: "other", Action: ActionCompile, Time: start})
	must(t, err)
	for n, text := range []string{"", "{", "{}", string(other), "null"} {
		writeTestFile(t, notes.path(s.path, testKey(n)), []byte(text), start)
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
