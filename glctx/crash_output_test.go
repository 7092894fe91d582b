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

// crashEnvironment has a child of a test crash, as NUMBER WHERE FILE.
const crashEnvironment = "GLCTX_TEST_CRASH"

// driverThread is a thread that the driver started: its name is not the process's.
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

// crash has a signal come on a thread of the driver's, or of Go's, and survives
// what Go survives before.
func crash(t *testing.T, c *glctx.Context, as string) {
	var number int
	var where, path string
	if _, err := fmt.Sscan(as, &number, &where, &path); err != nil {
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
	if where == "go" {
		tid, found = os.Getpid(), true
	}
	if !found {
		os.Exit(99)
	}
	_ = unix.Tgkill(os.Getpid(), tid, syscall.Signal(number))
	time.Sleep(time.Hour) // without a timer, Go may call this a deadlock before the signal comes
}

// TestCrashOnAThreadOfTheDrivers: what ends the process there is told; what comes
// on a thread of Go's is the runtime's business, and what it survives is nothing.
func TestCrashOnAThreadOfTheDrivers(t *testing.T) {
	c := gltest.Open(t)
	if as := os.Getenv(crashEnvironment); as != "" {
		crash(t, c, as)
	}
	executable, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		signal      syscall.Signal
		where, want string
	}{
		{syscall.SIGSEGV, "driver", "\nSIGSEGV: on a thread of the driver's own\n"},
		{syscall.SIGSEGV, "go", ""},
	} {
		path := filepath.Join(t.TempDir(), "told")
		// A driver may block signals on its threads; what it does itself comes.
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		cmd := exec.CommandContext(ctx, executable, "-test.run=^"+t.Name()+"$")
		cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d %s %s", crashEnvironment, test.signal, test.where, path))
		out, err := cmd.CombinedOutput()
		exit, ok := errors.AsType[*exec.ExitError](err)
		if !ok || exit.ExitCode() == 1 {
			t.Fatalf("%v, %s: %v\n%s", test.signal, test.where, err, out)
		}
		if exit.ExitCode() == 99 {
			t.Skip("this driver starts no threads")
		}
		told, err := os.ReadFile(path)
		if err != nil || string(told) != test.want {
			t.Errorf("%v, %s: told %q, %v", test.signal, test.where, told, err)
		}
		if status := exit.Sys().(syscall.WaitStatus); test.where == "driver" && status.Signal() != test.signal {
			t.Errorf("%v, %s: ended with %v", test.signal, test.where, exit)
		}
		if test.where == "go" && !strings.Contains(string(out), "SIGSEGV") {
			t.Errorf("%v, %s: the runtime says %s", test.signal, test.where, out)
		}
	}
}
