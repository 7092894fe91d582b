package systemtest_test

import (
	"context"
	"testing"
	"time"

	"github.com/shadercache/shadercache"
	"github.com/shadercache/shadercache/glctx/gltest"
	"github.com/shadercache/shadercache/job"
)

// TestFromHistory opens a GPU twice: the second time the program that was asked for becomes
// resident without a request.
func TestFromHistory(t *testing.T) {
	gltest.Open(t) // skips or fails where there is no driver
	dir := t.TempDir()
	open := func() *shadercache.GPU {
		gpu, err := shadercache.Open(shadercache.Options{Dir: dir, NoExecutor: true, FromHistory: time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		return gpu
	}
	ask := func(gpu *shadercache.GPU, want job.Origin) {
		t.Helper()
		h, err := gpu.Cache.Get(context.Background(), traced)
		if err != nil || h.Origin() != want {
			t.Errorf("%v, %v, want %v", h.Origin(), err, want)
		}
		h.Release()
	}
	gpu := open()
	ask(gpu, job.Compiled)
	if err := gpu.Close(); err != nil {
		t.Fatal(err)
	}
	gpu = open()
	for deadline := time.Now().Add(2 * time.Minute); gpu.Stats().Cache.Resident == 0 && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond)
	}
	ask(gpu, job.Resident)
	if s := gpu.Stats().Cache; s.Compiles != 0 || s.DiskHits != 1 {
		t.Errorf("%+v", s.Counters)
	}
	if err := gpu.Close(); err != nil {
		t.Fatal(err)
	}
	gpu = open()
	if err := gpu.Close(); err != nil { // at once: it waits for the preload
		t.Fatal(err)
	}
}
