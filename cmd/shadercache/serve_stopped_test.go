//go:build linux

package main

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/shadercache/shadercache/cmd/clitest"
	"github.com/shadercache/shadercache/conv2d/imaging"
)

// TestAStoppedServer stops the processes of a server with SIGSTOP: a command that was told to
// use it ends with an error that says what to do, and one that may compute itself does. With
// SIGCONT the server serves again.
func TestAStoppedServer(t *testing.T) {
	t.Parallel()
	s := serveProcess(t, nil)
	processes := append(clitest.ChildrenOf(t, s.cmd.Process.Pid), s.cmd.Process.Pid)
	if len(processes) != 2 {
		t.Fatalf("%d processes, not a supervisor and a worker", len(processes))
	}
	for _, pid := range processes {
		if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = syscall.Kill(pid, syscall.SIGCONT) }()
	}
	picture := filepath.Join(t.TempDir(), "small.png")
	if err := imaging.WritePNG(picture, clitest.SmallPicture()); err != nil {
		t.Fatal(err)
	}
	run := func(server string) (out string, took time.Duration, err error) {
		cmd := clitest.SelfAs(t, "shadercache", "run", "--server", server, "--image", picture, "--out", filepath.Join(t.TempDir(), "out.png"), "--dir", t.TempDir())
		cmd.Env = append(os.Environ(), "SHADERCACHE_SERVER="+s.path)
		start := time.Now()
		all, err := cmd.CombinedOutput()
		return string(all), time.Since(start), err
	}
	var both sync.WaitGroup
	both.Go(func() {
		out, took, err := run(s.path)
		if err == nil || !strings.Contains(out, "did not answer in 10s") || !strings.Contains(out, "end it and start it again") || took < 9*time.Second {
			t.Errorf("with its path, after %v: %v\n%s", took, err, out)
		}
	})
	both.Go(func() {
		out, _, err := run("auto")
		if err != nil || !strings.Contains(out, "no server is used") || !strings.Contains(out, "did not answer in 10s") {
			t.Errorf("with auto: %v\n%s", err, out)
		}
	})
	both.Wait()
	for _, pid := range processes {
		if err := syscall.Kill(pid, syscall.SIGCONT); err != nil {
			t.Fatal(err)
		}
	}
	if err := runJob(t.Context(), s.dial()); err != nil {
		t.Errorf("when it continues: %v", err)
	}
}
