package fleet_test

import (
	"context"
	"os"
	"runtime"
	"runtime/debug"
	"sync/atomic"
	"testing"
	"time"

	"github.com/shadercache/shadercache/fleet"
)

// The memory of a pull does not grow with its pack: a pack takes less than 3 times its size,
// for what is not its content as well. With SHADERCACHE_SOAK=1 it has 1,500 programs.
func TestMemoryOfAPull(t *testing.T) {
	url, from, to := fileURL(t), openDir(t), openDir(t)
	programs := 600
	if os.Getenv("SHADERCACHE_SOAK") != "" {
		programs = 1500
	}
	fill(t, from, mesaDriver, programs)
	size := push(t, from, writer(url)).Bytes
	r := open(t, to, reader(url))
	defer debug.SetGCPercent(debug.SetGCPercent(10)) // what is in use, and not what is garbage
	runtime.GC()
	var before runtime.MemStats
	runtime.ReadMemStats(&before)
	var peak atomic.Uint64
	done := make(chan struct{})
	go func() {
		defer close(done)
		for peak.Load() != ^uint64(0) {
			var now runtime.MemStats
			runtime.ReadMemStats(&now)
			if used := now.HeapInuse; used > peak.Load() {
				peak.CompareAndSwap(peak.Load(), used)
			}
			time.Sleep(5 * time.Millisecond)
		}
	}()
	report, err := r.Pull(context.Background(), fleet.PullOptions{Current: &mesaDriver})
	used := int64(peak.Swap(^uint64(0))) - int64(before.HeapInuse)
	<-done
	if err != nil || report.Programs != programs {
		t.Fatalf("got %+v, %v", report, err)
	}
	t.Logf("pack %d KiB, memory %d KiB", size>>10, used>>10)
	if used > 3*size {
		t.Errorf("a pull of %d KiB took %d KiB of memory", size>>10, used>>10)
	}
}
