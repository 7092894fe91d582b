package cache_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/cache/cachetest"
	"github.com/shadercache/shadercache/job"
)

const workEnvironment = "CACHE_TEST_WORK"

// workOnOneDirectory is one of many processes that use a directory at once. It
// prints a line with what went wrong, if anything did, and the median and the
// longest time of a Get from disk. That no Get waits for a lock is what
// TestGetWaitsForNoLock shows; these times depend on how busy the machine is.
func workOnOneDirectory(dir string, seed uint64) {
	dev := cachetest.NewDevice()
	c, err := cache.New(dev, cache.Options{Dir: dir, MaxPrograms: 20, KeepEvictedBytes: -1})
	if err != nil {
		panic(err)
	}
	random := rand.New(rand.NewPCG(seed, 5))
	list := sources(500)
	var times []time.Duration
	rounds := 1500
	if os.Getenv("SHADERCACHE_SOAK") == "1" {
		rounds = 50_000
	}
	for n := range rounds {
		src := list[random.IntN(len(list))]
		begin := time.Now()
		h, err := c.Get(context.Background(), src)
		if err != nil {
			fmt.Println("Get:", err)
			return
		}
		if h.Origin() == job.Disk {
			times = append(times, time.Since(begin))
		}
		dev.Use(h.Program(), src.Key())
		h.Release()
		switch {
		case n%100 == 50:
			if err := c.Flush(); err != nil {
				fmt.Println("Flush:", err)
			}
		case n%500 == 250 && seed%4 == 0:
			if _, err := prune(c, binary.PruneOptions{MaxBytes: 100_000}); err != nil {
				fmt.Println("Prune:", err)
			}
		}
	}
	s := c.Stats()
	if s.Damaged+s.Rejected+s.Quarantined+s.StoreFailures > 0 {
		fmt.Printf("counters: %+v\n", s.Counters)
	}
	if err := c.Close(); err != nil {
		fmt.Println("Close:", err)
	}
	for _, fault := range dev.Faults() {
		fmt.Println("fault:", fault)
	}
	slices.Sort(times)
	fmt.Printf("ok: %d from disk, median %v, longest %v\n", len(times), times[len(times)/2], times[len(times)-1])
}

func TestManyProcessesOneDirectory(t *testing.T) {
	dir := t.TempDir()
	program, err := os.Executable()
	must(t, err)
	var wg sync.WaitGroup
	for n := range 8 {
		wg.Go(func() {
			cmd := exec.Command(program)
			cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s %d", workEnvironment, dir, n))
			out, err := cmd.CombinedOutput()
			text := strings.TrimSpace(string(out))
			if err != nil || !strings.HasPrefix(text, "ok:") {
				t.Errorf("process %d: %v\n%s", n, err, text)
			}
			t.Logf("process %d: %s", n, text)
		})
	}
	wg.Wait()
	f := openStart(t, dir, cache.Options{MaxPrograms: 500})
	for _, src := range sources(500) {
		f.get(src).Release()
	}
	f.close()
	list := slices.Collect(realStore(t, dir).ByName())
	if len(list) != 500 {
		t.Errorf("%d programs are listed", len(list))
	}
	d, err := binary.OpenDir(dir)
	must(t, err)
	if r, err := d.Verify(false, nil); err != nil || !r.OK() || r.Good != 500 {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestDirectoryDeletedWhileRunning(t *testing.T) {
	dir := t.TempDir()
	f := openStart(t, dir, cache.Options{MaxPrograms: 1, KeepEvictedBytes: -1, KeepSources: true})
	f.wantOrigin(source("a"), job.Compiled)
	f.flush()
	must(t, os.RemoveAll(dir))
	f.wantOrigin(source("b"), job.Compiled)
	f.wantOrigin(source("a"), job.Compiled)
	f.flush()
	f.wantOrigin(source("b"), job.Disk)
	f.wantOrigin(source("a"), job.Disk)
	f.wantCounts(binary.Counters{Compiles: 3, DiskHits: 2, Stored: 3, Evictions: 4})
}

// fillAndRelease runs programs while nothing can be written, and again after
// the fault is gone. It returns what is wrong, or "".
func fillAndRelease(dir string, fill, release func() error) string {
	var log bytes.Buffer
	dev := cachetest.NewDevice()
	c, err := cache.New(dev, cache.Options{Dir: dir, Logger: slog.New(slog.NewTextHandler(&log, nil)), KeepEvictedBytes: -1})
	if err != nil {
		return err.Error()
	}
	get := func(name string) {
		h, err := c.Get(context.Background(), source(name))
		if err != nil {
			fmt.Println("Get:", err)
			return
		}
		dev.Use(h.Program(), source(name).Key())
		h.Release()
		_ = c.Flush()
	}
	get("before")
	if err := fill(); err != nil {
		return "fill: " + err.Error()
	}
	for _, name := range []string{"a", "b", "c"} {
		get(name)
	}
	failures := c.Stats().StoreFailures
	messages := strings.Count(log.String(), "doing=writing")
	if err := release(); err != nil {
		return "release: " + err.Error()
	}
	get("after")
	s := c.Stats()
	closeErr := c.Close()
	if failures < 3 || messages != 1 || s.Stored != 2 || closeErr != nil || len(dev.Faults()) > 0 {
		return fmt.Sprintf("%d failures, %d messages, %+v, Close: %v, %q\n%s", failures, messages, s, closeErr, dev.Faults(), log.String())
	}
	return ""
}
