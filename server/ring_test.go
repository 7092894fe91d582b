//go:build linux

package server_test

import (
	"encoding/binary"
	"errors"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/server"
	"github.com/shadercache/shadercache/server/client"
	"github.com/shadercache/shadercache/server/internal/ring"
	"github.com/shadercache/shadercache/server/internal/wire"
)

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
		r := f.rawSession()
		made := r.ring()
		destroy(made.memory)
		made.ringServer()
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
	for name, size := range map[string]uint32{
		"size":      5000,
		"too large": 64 << 10,
	} {
		r := f.rawSession()
		r.openRing(size)
		h, body, err := r.Next()
		var m wire.Error
		if err = errors.Join(err, wire.Decode(body, &m)); err != nil || h.Request != 2 || m.Code == wire.CodeMalformed {
			t.Errorf("%s: %v, %+v", name, err, m)
		}
	}
}

// TestRingsThatAreTooSmall has requests and replies that do not fit the ring: they go by the socket,
// and take effect in the order in which they were sent nevertheless.
func TestRingsThatAreTooSmall(t *testing.T) {
	f := serve(t, server.Options{})
	c := f.dialWith(client.Options{Ring: ring.MinSize})
	testSizes(t, c)
	p := program(t, c, slowCount)
	b, err := c.NewBuffer(t.Context(), 3*ring.MinSize)
	if err != nil {
		t.Fatal(err)
	}
	large := make([]byte, 3*ring.MinSize)
	for i := range 200 {
		count, err := c.Submit(t.Context(), countJob(p, b, uint32(i)))
		if err != nil {
			t.Fatal(err)
		}
		large[0] = byte(i)
		first, err := b.Write(t.Context(), 0, large)
		if err != nil {
			t.Fatal(err)
		}
		second, err := b.Read(t.Context(), 0, large)
		if err = errors.Join(err, count.Wait(t.Context())); err != nil || large[0] != byte(i) || first != second || first != uint64(2*i+2) {
			t.Fatalf("write %d: version %d, and then %d of version %d: %v", i, first, large[0], second, err)
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
					if !errors.Is(err, job.ErrClosed) {
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
