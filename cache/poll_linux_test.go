package cache_test

import (
	"context"
	"runtime"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/cache/cachetest"
	"github.com/shadercache/shadercache/shader"
)

// polledDevice works on the thread that made it, like an adopted context, while
// that thread polls.
type polledDevice struct {
	*cachetest.Device
	thread int
	work   chan struct{}
	turns  chan func()
	busy   chan struct{} // closed once a turn is waited for
	once   sync.Once
}

// newPolledDevice makes a device of this thread, on which each compile of a source
// with that name takes one turn.
func newPolledDevice(t *testing.T, name string) *polledDevice {
	runtime.LockOSThread()
	t.Cleanup(runtime.UnlockOSThread)
	d := &polledDevice{Device: cachetest.NewDevice(), thread: syscall.Gettid(),
		work: make(chan struct{}, 1), turns: make(chan func(), 8), busy: make(chan struct{})}
	d.OnCompile = func(_ context.Context, src *shader.Source) error {
		if src.Name() == name {
			d.turn()
		}
		return nil
	}
	return d
}

// turn waits until the device's thread has polled.
func (d *polledDevice) turn() {
	done := make(chan struct{})
	d.turns <- func() { close(done) }
	select {
	case d.work <- struct{}{}:
	default:
	}
	d.once.Do(func() { close(d.busy) })
	<-done
}

func (d *polledDevice) Pending() <-chan struct{} {
	if syscall.Gettid() != d.thread {
		return nil
	}
	return d.work
}

func (d *polledDevice) PollWhile(wait func()) {
	if d.Pending() == nil {
		wait()
		return
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		wait()
	}()
	for {
		select {
		case <-done:
			return
		case <-d.work:
			d.poll()
		}
	}
}

// poll runs all turns that are queued.
func (d *polledDevice) poll() {
	for {
		select {
		case f := <-d.turns:
			f()
		default:
			return
		}
	}
}

var _ cache.Device = (*polledDevice)(nil)

// inTime fails when wait, which runs on this goroutine, does not end.
func inTime(t *testing.T, wait func()) {
	t.Helper()
	watchdog := time.AfterFunc(20*time.Second, func() { panic(t.Name() + " waits for its own thread") })
	defer watchdog.Stop()
	wait()
}

// The holder of a lock may wait for the device's thread while that waits for the
// lock.
func TestFlushOnTheDevicesThread(t *testing.T) {
	inTime(t, func() { synctest.Test(t, flushOnTheDevicesThread) })
}

func flushOnTheDevicesThread(t *testing.T) {
	dev := newPolledDevice(t, "")
	dev.OnBinary = func(context.Context, uint32) error { dev.turn(); return nil }
	c, err := cache.New(dev, cache.Options{Dir: t.TempDir()})
	must(t, err)
	ended := make(chan error)
	go func() {
		h, err := c.Get(context.Background(), source("a"))
		if err == nil {
			h.Release()
			err = c.Flush()
		}
		ended <- err
	}()
	<-dev.busy
	synctest.Wait() // the other goroutine is in Flush, which holds a lock
	must(t, c.Flush())
	must(t, <-ended)
	must(t, c.Close())
}

func TestCrashGuardOnTheDevicesThread(t *testing.T) {
	dir := t.TempDir()
	if !runCrash(t, dir, "bad", "bad") {
		t.Fatal("the process lived")
	}
	dev := newPolledDevice(t, "bad")
	c, err := cache.New(dev, cache.Options{Dir: dir})
	must(t, err)
	ended := make(chan error)
	go func() {
		h, err := c.Get(context.Background(), source("bad")) // a suspect: alone
		if err == nil {
			h.Release()
		}
		ended <- err
	}()
	<-dev.busy
	inTime(t, func() {
		must(t, c.CrashGuard().Run("work", func() error { return nil }))
		must(t, <-ended)
		must(t, c.Close())
	})
}
