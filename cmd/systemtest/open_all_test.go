//go:build linux

package systemtest_test

import (
	"context"
	"errors"
	"testing"

	"github.com/shadercache/shadercache"
	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/glctx/gltest"
	"github.com/shadercache/shadercache/shader"
)

// Further GPUs are opened when the first has loaded its programs, or when one is waited
// for, and never if Close comes before.
func TestOpenAll(t *testing.T) {
	gltest.Open(t)
	ctx := context.Background()
	options := shadercache.Options{Dir: t.TempDir(), Devices: gltest.Devices(3), NoTrials: true, NoExecutor: true, Context: glctx.Options{DriverCacheOff: true}}
	all, err := shadercache.OpenAll(options)
	if err != nil {
		t.Fatal(err)
	}
	if all.Len() != 3 || all.Device(2) != options.Devices[2] {
		t.Errorf("%d GPUs, the last is %q", all.Len(), all.Device(2))
	}
	first, err := all.Wait(ctx, 0)
	if err != nil {
		t.Fatal(err)
	}
	source := shader.MustSource("one", "layout(local_size_x = 1) in;\nvoid main() {}\n", nil)
	h, err := first.Cache.Get(ctx, source)
	if err != nil {
		t.Fatal(err)
	}
	h.Release()
	<-all.Opened(1) // without being waited for
	for i := range all.Len() {
		gpu, err := all.Wait(ctx, i)
		if err != nil {
			t.Fatal(err)
		}
		if i > 0 && gpu == first {
			t.Errorf("GPU %d is the first one", i)
		}
		h, err := gpu.Cache.Get(ctx, source)
		if err != nil {
			t.Fatal(err)
		}
		h.Release()
		if stats := gpu.Cache.Stats(); i > 0 && stats.Compiles != 0 {
			t.Errorf("GPU %d compiled %d programs", i, stats.Compiles)
		}
	}
	if err := all.Close(); err != nil {
		t.Error(err)
	}
}

// A GPU that is waited for is opened before the first has loaded anything, and the errors of
// options and devices say what is wrong.
func TestOpenAllErrors(t *testing.T) {
	gltest.Open(t)
	options := shadercache.Options{NoTrials: true, NoExecutor: true, Context: glctx.Options{DriverCacheOff: true}}
	options.Devices = []string{gltest.Devices(1)[0], "99"}
	all, err := shadercache.OpenAll(options)
	if err != nil {
		t.Fatal(err)
	}
	defer all.Close()
	if _, err := all.Wait(context.Background(), 1); !errors.Is(err, glctx.ErrNoDevice) {
		t.Errorf("a device that is not there: %v", err)
	}
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	if gpu, err := all.Wait(cancelled, 0); err != nil || gpu == nil {
		t.Errorf("a GPU that is open: %v", err)
	}
	options.Device = "0"
	if _, err := shadercache.OpenAll(options); err == nil {
		t.Error("Device and Devices are accepted together")
	}
}
