//go:build linux

package server_test

import (
	"encoding/binary"
	"errors"
	"os"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/shadercache/shadercache/server"
	"github.com/shadercache/shadercache/server/client"
	"github.com/shadercache/shadercache/server/ring"
	"github.com/shadercache/shadercache/server/socket"
	"github.com/shadercache/shadercache/server/wire"
)

// rawRing opens a ring by hand and returns its memory.
func rawRing(t *testing.T, r *raw, size uint32, wake, bell *os.File) []byte {
	t.Helper()
	file, memory, err := socket.NewMemory("test", ring.Bytes(ring.MinSize))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { file.Close(); _ = socket.Unmap(memory) })
	if err := errors.Join(r.Write(hello), r.Write(frame(wire.TypeRing, 2, &wire.Ring{Size: size}), file, wake, bell)); err != nil {
		t.Fatal(err)
	}
	r.want(wire.TypeHello|wire.ReplyBit, 1)
	return memory
}

func eventFD(t *testing.T) *os.File {
	t.Helper()
	f, err := ring.NewEventFD()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// TestRingsThatTheClientDestroys writes positions and frames that cannot be.
func TestRingsThatTheClientDestroys(t *testing.T) {
	f := serve(t, server.Options{})
	good := f.dial()
	p := program(t, good, affine)
	for name, destroy := range map[string]func(memory []byte){
		"a tail far ahead": func(m []byte) { binary.LittleEndian.PutUint64(m[64:], 1<<40) },
		"a tail behind":    func(m []byte) { binary.LittleEndian.PutUint64(m[0:], 100) },
		"half a header":    func(m []byte) { binary.LittleEndian.PutUint64(m[64:], 8) },
		"a frame of flags": func(m []byte) { m[4096+6] = 1; binary.LittleEndian.PutUint64(m[64:], 16) },
		"a frame with files": func(m []byte) {
			m[4096] = 12
			m[4096+4] = byte(wire.TypeMemory)
			m[4096+8] = 9
			binary.LittleEndian.PutUint64(m[64:], 28)
		},
		"a huge frame": func(m []byte) {
			binary.LittleEndian.PutUint32(m[4096:], 1<<30)
			binary.LittleEndian.PutUint64(m[64:], 64)
		},
	} {
		r := f.raw()
		bell := eventFD(t)
		memory := rawRing(t, r, ring.MinSize, bell, eventFD(t))
		r.want(wire.TypeRing|wire.ReplyBit, 2)
		destroy(memory)
		if _, err := bell.Write([]byte{1, 0, 0, 0, 0, 0, 0, 0}); err != nil {
			t.Fatal(err)
		}
		r.wantError(0, wire.CodeMalformed)
		r.wantEnd()
		if err := run(t.Context(), good, p, 100, 3, 4); err != nil {
			t.Errorf("after %s: %v", name, err)
		}
	}
	f.wantNothingLeft(good)
}

func TestRingsThatAreRefused(t *testing.T) {
	f := serve(t, server.Options{})
	null, err := os.OpenFile("/dev/null", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	for name, c := range map[string]struct {
		size       uint32
		wake, bell *os.File
	}{
		"no eventfd":        {ring.MinSize, null, eventFD(t)},
		"no eventfd either": {ring.MinSize, eventFD(t), null},
		"size":              {5000, eventFD(t), eventFD(t)},
		"too large":         {64 << 10, eventFD(t), eventFD(t)},
	} {
		r := f.raw()
		rawRing(t, r, c.size, c.wake, c.bell)
		h, body, err := r.Next()
		var m wire.Error
		if err = errors.Join(err, m.Decode(body)); err != nil || h.Request != 2 || m.Code == wire.CodeMalformed {
			t.Errorf("%s: %v, %+v", name, err, m)
		}
	}
}

// TestRingsThatAreSpunFor has goroutines of one client wait for replies by a ring at the same
// time, with CPUs to spin: one takes the replies of all. The client closes while they wait.
func TestRingsThatAreSpunFor(t *testing.T) {
	before := runtime.GOMAXPROCS(4)
	defer runtime.GOMAXPROCS(before)
	f := serve(t, server.Options{})
	c := f.dialWith(client.Options{Ring: ring.MinSize})
	testSizes(t, c)
	p := program(t, c, affine)
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			for range 50 {
				if err := run(t.Context(), c, p, 64, uint32(i), 1); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	for range 4 {
		all.Go(func() {
			for {
				if err := run(t.Context(), c, p, 64, 3, 1); err != nil {
					if !errors.Is(err, client.ErrClosed) {
						t.Error(err)
					}
					return
				}
			}
		})
	}
	time.Sleep(5 * time.Millisecond)
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	all.Wait()
}
