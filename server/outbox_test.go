//go:build linux

package server

import (
	"context"
	"errors"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shadercache/shadercache/server/internal/wire"
)

// slowStream takes 64 KiB after each pace, and nothing where that is 0.
type slowStream struct {
	pace   time.Duration
	closed chan struct{}
}

func (s slowStream) TryWrite([]byte) (int, error) { return 0, nil }
func (s slowStream) Fits(int) bool                { return true }
func (s slowStream) Close() error                 { close(s.closed); return nil }

func (s slowStream) WriteAll(frames []byte, took func(n int)) error {
	for left := len(frames); left > 0; {
		var next <-chan time.Time
		if s.pace > 0 {
			next = time.After(s.pace)
		}
		select {
		case <-s.closed:
			return os.ErrClosed
		case <-next:
		}
		n := min(left, 64<<10)
		left -= n
		took(n)
	}
	return nil
}

// A client that reads slowly keeps its session, whatever waits for it; one that reads nothing does not.
func TestOutboxOfASlowClient(t *testing.T) {
	for pace, ends := range map[time.Duration]bool{0: true, 8 * time.Second: false, 12 * time.Second: true} {
		synctest.Test(t, func(t *testing.T) {
			var failed error
			o := newOutbox(slowStream{pace, make(chan struct{})}, 10*time.Second, func(err error) { failed = err })
			go o.write()
			defer o.close()
			began := time.Now()
			for range 40 {
				o.put(wire.TypeJob, 1, &wire.Data{Data: make([]byte, 150<<10)})
				o.flush()
			}
			got := o.expect(1<<20, context.Background)
			o.mu.Lock()
			defer o.mu.Unlock()
			if took := time.Since(began); got == ends || ends != errors.Is(failed, os.ErrDeadlineExceeded) || ends && took != 10*time.Second {
				t.Errorf("64 KiB each %v: room %v after %v, %v", pace, got, took, failed)
			}
		})
	}
}

// The time of a client begins when more is unread than there is room for, not when a request begins to wait
// for the replies of those before.
func TestOutboxOfALateReply(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOutbox(slowStream{0, make(chan struct{})}, 10*time.Second, func(error) {})
		go o.write()
		defer o.close()
		began := time.Now()
		for range 26 {
			o.put(wire.TypeJob, 1, &wire.Data{Data: make([]byte, 150<<10)})
		}
		o.flush()
		o.expect(300<<10, context.Background)
		go func() {
			time.Sleep(12 * time.Second)
			o.put(wire.TypeJob, 2, &wire.Data{Data: make([]byte, 300<<10)})
			o.unexpect(300 << 10)
		}()
		if got, took := o.expect(1, context.Background), time.Since(began); got || took != 22*time.Second {
			t.Errorf("room %v after %v", got, took)
		}
	})
}

// A session that had many replies does not keep the memory of them.
func TestOutboxAfterManyReplies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOutbox(slowStream{time.Millisecond, make(chan struct{})}, 10*time.Second, func(error) {})
		go o.write()
		defer o.close()
		for range 20 {
			o.put(wire.TypeJob, 1, &wire.Data{Data: make([]byte, 150<<10)})
			o.flush()
		}
		synctest.Wait()
		time.Sleep(time.Second)
		o.mu.Lock()
		defer o.mu.Unlock()
		if kept := cap(o.mu.pending) + cap(o.mu.spare); o.unwritten() != 0 || kept > maxKeptReplies {
			t.Errorf("%d bytes are kept, %d unwritten", kept, o.unwritten())
		}
	})
}

// A server that shuts down waits for those that read, and not long for those that do not.
func TestDrainOfAnOutbox(t *testing.T) {
	for pace, want := range map[time.Duration]time.Duration{0: 10 * time.Second, 2 * time.Second: 6 * time.Second, 8 * time.Second: 20 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			o := newOutbox(slowStream{pace, make(chan struct{})}, 10*time.Second, func(error) {})
			go o.write()
			o.put(wire.TypeJob, 1, &wire.Data{Data: make([]byte, 150<<10)})
			began := time.Now()
			o.drain(20 * time.Second)
			if took := time.Since(began); took != want {
				t.Errorf("64 KiB each %v: %v", pace, took)
			}
		})
	}
}
