package clitest

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// SelfAs returns a command that runs the test binary under another name.
func SelfAs(t *testing.T, name string, args ...string) *exec.Cmd {
	t.Helper()
	executable, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(executable, args...)
	cmd.Args[0] = name
	return cmd
}

// DeliverSignals makes child processes receive the signals of users, also where this
// process ignores them, as those that a shell starts in the background do: a child
// inherits what is ignored, not what is caught.
func DeliverSignals(t *testing.T) {
	caught := make(chan os.Signal, 1)
	signal.Notify(caught, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM)
	t.Cleanup(func() { signal.Stop(caught) })
}

// Eventually waits until something is done, for a minute at most.
func Eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	for begin := time.Now(); !done(); time.Sleep(10 * time.Millisecond) {
		if time.Since(begin) > time.Minute {
			t.Fatalf("not within a minute: %s", what)
		}
	}
}

// ChildrenOf returns the processes that a process started.
func ChildrenOf(t *testing.T, process int) (list []int) {
	t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range all {
		number, err := strconv.Atoi(filepath.Base(path))
		if parent, alive := ParentOf(number); err == nil && alive && parent == process {
			list = append(list, number)
		}
	}
	return list
}

// ParentOf returns the parent of a process, and whether it runs.
func ParentOf(process int) (parent int, alive bool) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", process))
	_, after, _ := strings.Cut(string(data), ") ")
	state := ""
	if _, scanErr := fmt.Sscan(after, &state, &parent); err != nil || scanErr != nil {
		return 0, false
	}
	return parent, state != "Z"
}

// EndsWith checks that the process of a GPU, which has an argument that its command has not,
// ends when that is killed.
func EndsWith(t *testing.T, cmd *exec.Cmd, argument string) {
	t.Helper()
	child := 0
	Eventually(t, "the process of a GPU is started", func() bool {
		for _, child = range ChildrenOf(t, cmd.Process.Pid) {
			line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", child))
			if err == nil && strings.Contains(string(line), argument) { // not one of package os
				return true
			}
		}
		return false
	})
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	Eventually(t, "it ends", func() bool { _, alive := ParentOf(child); return !alive })
}
