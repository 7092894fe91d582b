//go:build unix

package binary

import (
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"
	"testing"
)

func init() {
	// crash DIR SIGNAL ACTION:NUMBER... sets the crash output, writes marks, and sends
	// itself the signal.
	children["crash"] = func(args []string) {
		s := childStore(args[0])
		s.SetCrashOutput(func(f *os.File) {
			if err := debug.SetCrashOutput(f, debug.CrashOptions{}); err != nil {
				panic(err)
			}
		})
		var signal int
		fmt.Sscan(args[1], &signal)
		for _, arg := range args[2:] {
			markOrUnmark(s, arg)
		}
		_ = syscall.Kill(os.Getpid(), syscall.Signal(signal))
		awaitSignal()
	}
}

// The runtime writes the signal that ended the process beside its marks, which is evidence
// if it is a driver's.
func TestCrashIsEvidence(t *testing.T) {
	// Children inherit ignored signals, which a shell sets for background processes, and
	// do not inherit caught ones.
	caught := make(chan os.Signal, 1)
	signal.Notify(caught, syscall.SIGINT, syscall.SIGQUIT)
	t.Cleanup(func() { signal.Stop(caught) })
	for name, c := range map[string]struct {
		signal   syscall.Signal
		marks    []string
		evidence bool
		reason   string
	}{
		"crash":               {syscall.SIGSEGV, []string{"compile:1"}, true, "crashed (SIGSEGV: segmentation violation)"},
		"abort":               {syscall.SIGABRT, []string{"compile:2", "-compile:2", "compile:1"}, true, "crashed (SIGABRT: abort)"},
		"crash among several": {syscall.SIGSEGV, []string{"compile:1", "compile:2"}, false, "crashed"},
		"full volume":         {syscall.SIGBUS, []string{"compile:1"}, false, "ended while"},
		"hung up":             {syscall.SIGHUP, []string{"compile:1"}, false, "ended while"},
		"terminated":          {syscall.SIGTERM, []string{"compile:1"}, false, "ended while"},
		"killed":              {syscall.SIGKILL, []string{"compile:1"}, false, "ended while"},
		"interrupted":         {syscall.SIGINT, []string{"compile:1"}, false, "ended while"},
		"asked for a trace":   {syscall.SIGQUIT, []string{"compile:1"}, false, "ended while"},
	} {
		t.Run(name, func(t *testing.T) {
			if signal.Ignored(c.signal) {
				t.Skipf("%s is ignored here, as below nohup, and a process passes that on", c.signal)
			}
			d := openTestDir(t)
			s := openTestStore(t, d, testFingerprint)
			cmd := childCommand(t, "crash", append([]string{d.path, fmt.Sprint(int(c.signal))}, c.marks...)...)
			cmd.Stderr = nil
			if err := cmd.Run(); err == nil {
				t.Fatal("the child did not end by a signal")
			}
			found := recovered(t, s).Found
			if len(found) == 0 {
				t.Fatal("nothing was found")
			}
			for _, q := range found {
				if q.Refused() || (q.Signal != "") != c.evidence || !strings.Contains(q.Reason, c.reason) {
					t.Errorf("%+v", q)
				}
			}
		})
	}
}

// Another process records the signal where the runtime could not.
func TestRecordCrash(t *testing.T) {
	for signal, evidence := range map[string]bool{segmentationFault: true, "SIGKILL: killed": false, "SIGBUS: bus error": false} {
		d := openTestDir(t)
		s := openTestStore(t, d, testFingerprint)
		cmd := childCommand(t, "mark", d.path, "compile:1")
		if err := cmd.Run(); err == nil {
			t.Fatal("the child did not end by a signal")
		}
		other := openTestStore(t, d, testFingerprint)
		other.Mark(ActionCompile, testKey(2), "of a process that runs")
		for _, pid := range []int{cmd.Process.Pid, os.Getpid(), cmd.Process.Pid * 10} {
			must(t, s.RecordCrash(pid, signal))
		}
		other.Unmark(ActionCompile, testKey(2))
		must(t, other.Close())
		found := recovered(t, s).Found
		if len(found) != 1 || found[0].Key != testKey(1) || found[0].Refused() || (found[0].Signal != "") != evidence {
			t.Errorf("%s: %+v", signal, found)
		}
	}
}

// The signal is evidence against a first job that crashes a second time, also where other programs
// wait for the driver each time: those are tried in a child, and are suspects no more.
func TestFirstJobBesideAPreload(t *testing.T) {
	d := openTestDir(t)
	s := openTestStore(t, d, testFingerprint)
	for start := range 2 {
		cmd := childCommand(t, "crash", d.path, fmt.Sprint(int(syscall.SIGSEGV)), "load:2", "dispatch:1")
		cmd.Stderr = nil
		if err := cmd.Run(); err == nil {
			t.Fatal("the child did not end by a signal")
		}
		for _, q := range recovered(t, s).Found {
			if q.Key == testKey(2) {
				must(t, s.Lift(q.Key)) // a child has loaded it
			} else if (q.Signal != "") != (start > 0) {
				t.Errorf("start %d: %+v", start, q)
			}
		}
	}
}
