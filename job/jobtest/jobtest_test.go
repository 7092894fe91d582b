//go:build linux

package jobtest_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/shadercache/shadercache"
	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/devices"
	"github.com/shadercache/shadercache/executor"
	"github.com/shadercache/shadercache/glctx/gltest"
	"github.com/shadercache/shadercache/internal/faultgl"
	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/job/jobtest"
	"github.com/shadercache/shadercache/server"
	"github.com/shadercache/shadercache/server/client"
	"github.com/shadercache/shadercache/shader"
)

func TestMain(m *testing.M) { gltest.Main(m) }

var all = []jobtest.Device{
	{Name: "own", Open: func(t *testing.T) job.Device { return own(t) }},
	{Name: "socket", Open: func(t *testing.T) job.Device { return served(t, 0) }},
	{Name: "ring", Open: func(t *testing.T) job.Device { return served(t, 64<<10) }},
	{Name: "group", Open: group},
}

func TestDevices(t *testing.T) { jobtest.Run(t, all...) }

// lossy is set in the process whose driver loses the context.
const lossy = "JOBTEST_LOST"

// TestLostDevices runs itself in a process with such a driver.
func TestLostDevices(t *testing.T) {
	if os.Getenv(lossy) != "" {
		jobtest.RunLost(t, all...)
		return
	}
	gltest.Open(t) // skips or fails without a driver
	child := exec.Command("/proc/self/exe", "-test.run=^TestLostDevices$", "-test.v")
	child.Env = append(os.Environ(), lossy+"=1")
	child.Env = append(child.Env, faultgl.Environment(t, faultgl.Fault{Mode: faultgl.Lost, At: "glDispatchCompute", Source: "victim"})...)
	out, err := child.CombinedOutput()
	if err != nil || !bytes.Contains(out, []byte("PASS: TestLostDevices/a-device-that-is-lost/group")) {
		t.Errorf("%v\n%s", err, out)
	}
}

func gpu(t *testing.T) *shadercache.GPU {
	t.Helper()
	o := shadercache.Options{Cache: cache.Options{MemoryOnly: true}, Executor: executor.Options{SlotBytes: 128 << 10}}
	var g *shadercache.GPU
	var err error
	if os.Getenv(lossy) == "" {
		g, err = shadercache.New(gltest.Open(t), o)
	} else { // buffers are left in a context that is lost
		o.Dir, o.NoTrials, o.Context.DriverCacheOff = t.TempDir(), true, true
		g, err = shadercache.Open(o)
	}
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// closed fails the test for an error of Close, but not where the context is lost.
func closed(t *testing.T, err error) {
	t.Helper()
	if err != nil && !(os.Getenv(lossy) != "" && errors.Is(err, shader.ErrContextLost)) {
		t.Error(err)
	}
}

// own returns a GPU of this process.
func own(t *testing.T) shadercache.Device {
	d := gpu(t).AsDevice()
	t.Cleanup(func() { closed(t, d.Close()) })
	return d
}

// group returns two GPUs of this process.
func group(t *testing.T) job.Device {
	g, err := devices.New(devices.Options{}, own(t), own(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closed(t, g.Close()) })
	return g
}

// served returns a client of a server of this process.
func served(t *testing.T, ring int) job.Device {
	g := gpu(t)
	dir, err := os.MkdirTemp("", "scs") // the path of a socket has to be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	path := filepath.Join(dir, "socket")
	l, err := server.Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- server.New(g.Context, g.Cache, g.Executor, server.Options{}).Serve(ctx, l) }()
	t.Cleanup(func() {
		stop()
		var lost *server.LostError
		if err := <-ended; err != nil && !(os.Getenv(lossy) != "" && errors.As(err, &lost)) {
			t.Error(err)
		}
		closed(t, g.Close())
	})
	c, err := client.Dial(t.Context(), client.Options{Path: path, Ring: ring})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}
