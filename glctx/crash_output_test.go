//go:build linux

package glctx_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/glctx/gltest"
)

// crashEnvironment makes a child process of the test crash: SIGNAL THREAD FILE.
const crashEnvironment = "GLCTX_TEST_CRASH"

// driverThread returns a thread that the driver started: its name differs from the
// process's.
func driverThread() (tid int, found bool) {
	own, _ := os.ReadFile("/proc/self/comm")
	names, _ := filepath.Glob("/proc/self/task/*/comm")
	for _, path := range names {
		name, err := os.ReadFile(path)
		if err == nil && string(name) != string(own) {
			tid, err = strconv.Atoi(filepath.Base(filepath.Dir(path)))
			return tid, err == nil
		}
	}
	return 0, false
}

// crash sends a signal to a thread of the driver, or of Go, after a nil dereference
// from which Go recovers.
func crash(t *testing.T, c *glctx.Context, arguments string) {
	var number int
	var thread, path string
	if _, err := fmt.Sscan(arguments, &number, &thread, &path); err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(c.SetCrashOutput(f), c.SetCrashOutput(f), f.Close()); err != nil {
		t.Fatal(err)
	}
	func() {
		defer func() {
			if recover() == nil {
				t.Error("no panic")
			}
		}()
		var nothing *int
		*nothing = 1
	}()
	tid, found := driverThread()
	if thread == "go" {
		tid, found = os.Getpid(), true
	}
	if !found {
		os.Exit(99)
	}
	_ = unix.Tgkill(os.Getpid(), tid, syscall.Signal(number))
	time.Sleep(time.Hour) // without a timer, Go may report a deadlock before the signal arrives
}

// TestCrashOutput ends a process by a signal on a thread of the driver, which is
// written to the file, and on a thread of Go, which is not.
func TestCrashOutput(t *testing.T) {
	c := gltest.Open(t)
	if arguments := os.Getenv(crashEnvironment); arguments != "" {
		crash(t, c, arguments)
	}
	executable, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		signal       syscall.Signal
		thread, want string
	}{
		{syscall.SIGSEGV, "driver", "\nSIGSEGV: on a thread of the driver's own\n"},
		{syscall.SIGSEGV, "go", ""},
	} {
		path := filepath.Join(t.TempDir(), "output")
		// A driver may block signals on its threads, except those that it raises itself.
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		cmd := exec.CommandContext(ctx, executable, "-test.run=^"+t.Name()+"$")
		cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d %s %s", crashEnvironment, test.signal, test.thread, path))
		out, err := cmd.CombinedOutput()
		exit, ok := errors.AsType[*exec.ExitError](err)
		if !ok || exit.ExitCode() == 1 {
			t.Fatalf("%v, %s: %v\n%s", test.signal, test.thread, err, out)
		}
		if exit.ExitCode() == 99 {
			t.Skip("this driver starts no threads")
		}
		output, err := os.ReadFile(path)
		if err != nil || string(output) != test.want {
			t.Errorf("%v, %s: output %q, %v", test.signal, test.thread, output, err)
		}
		if status := exit.Sys().(syscall.WaitStatus); test.thread == "driver" && status.Signal() != test.signal {
			t.Errorf("%v, %s: ended with %v", test.signal, test.thread, exit)
		}
		if test.thread == "go" && !strings.Contains(string(out), "SIGSEGV") {
			t.Errorf("%v, %s: the runtime prints %s", test.signal, test.thread, out)
		}
	}
}
