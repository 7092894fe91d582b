package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"github.com/shadercache/shadercache"
	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/cache/cachetest"
	"github.com/shadercache/shadercache/cmd/cli"
	"github.com/shadercache/shadercache/cmd/clitest"
	"github.com/shadercache/shadercache/shader"
)

// stuckName is a program that the test binary is under this name, with a fake driver:
// DIR [work]. It compiles without end, as interruptible work or not.
const stuckName = "stuck"

// fakeGPU opens a cache over a fake driver as the command does.
func fakeGPU(dev *cachetest.Device, dir string, recordCrashes bool) *cli.GPU {
	c, err := cache.New(dev, cache.Options{Dir: dir, RecordCrashes: recordCrashes})
	if err != nil {
		panic(err)
	}
	cli.ClearMarksOnInterrupt(c)
	return &cli.GPU{GPU: &shadercache.GPU{Cache: c}}
}

func fakeSource(index int) *shader.Source {
	return shader.MustSource(fmt.Sprintf("program %d", index), fmt.Sprintf("void main() { %d; }", index), nil)
}

func stuckMain() {
	dev := cachetest.NewDevice()
	dev.OnCompile = func(context.Context, *shader.Source) error {
		fmt.Println("compiling")
		select {}
	}
	g := fakeGPU(dev, os.Args[1], true)
	if len(os.Args) > 2 {
		ctx, stop := cli.Interruptible()
		defer stop()
		context.AfterFunc(ctx, func() { fmt.Println("cancelled") })
	}
	_, _ = g.Cache.Get(context.Background(), fakeSource(0))
}

// fakeStore opens the store of the fake driver.
func fakeStore(t *testing.T, path string) *binary.Store {
	t.Helper()
	dir, err := binary.OpenDir(path)
	if err != nil {
		t.Fatal(err)
	}
	store, err := dir.Store(cachetest.NewDevice().Fingerprint())
	if err != nil {
		t.Fatal(err)
	}
	return store
}

// An interrupt during a compile leaves no crash mark, whether the work can be cancelled
// or not; a process that is killed leaves one.
func TestInterruptClearsMarks(t *testing.T) {
	clitest.DeliverSignals(t)
	for name, c := range map[string]struct {
		args    []string
		signals []syscall.Signal
		found   int
	}{
		"interrupted":                 {nil, []syscall.Signal{syscall.SIGINT}, 0},
		"terminated":                  {nil, []syscall.Signal{syscall.SIGTERM}, 0},
		"cancelled, then interrupted": {[]string{"work"}, []syscall.Signal{syscall.SIGINT, syscall.SIGINT}, 0},
		"killed":                      {nil, []syscall.Signal{syscall.SIGKILL}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			cmd := clitest.SelfAs(t, stuckName, append([]string{dir}, c.args...)...)
			out, err := cmd.StdoutPipe()
			if err == nil {
				err = cmd.Start()
			}
			if err != nil {
				t.Fatal(err)
			}
			lines := bufio.NewReader(out)
			for _, signal := range c.signals {
				if _, err := lines.ReadString('\n'); err != nil {
					t.Fatal(err)
				}
				if err := cmd.Process.Signal(signal); err != nil {
					t.Fatal(err)
				}
			}
			exit, ok := errors.AsType[*exec.ExitError](cmd.Wait())
			if !ok {
				t.Fatal("the process ended without an error")
			}
			last := c.signals[len(c.signals)-1]
			if status, ok := exit.Sys().(syscall.WaitStatus); !ok || status.Signal() != last {
				t.Errorf("the process ended with %v, not with %v", exit, last)
			}
			r, err := fakeStore(t, dir).Recover()
			if err != nil || len(r.Found) != c.found {
				t.Errorf("found %+v, %v", r.Found, err)
			}
		})
	}
}
