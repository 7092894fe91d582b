//go:build linux

package server_test

import (
	"errors"
	"sync"
	"testing"

	"github.com/shadercache/shadercache/conv2d"
	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/server"
	"github.com/shadercache/shadercache/server/client"
	"github.com/shadercache/shadercache/server/internal/wire"
)

// A version of weights or of a named buffer that the server has is not uploaded again, by
// its own count of bytes, whatever a client believes.
func TestSameVersionUploadsNothing(t *testing.T) {
	f := serve(t, server.Options{})
	bytesIn := func() uint64 { return f.Status().Counters.BytesIn }
	weights := conv2d.RandomValues(8*8, 1)
	data := glctx.Bytes(weights)
	first, second := f.dial(), f.dial()
	var plans []job.Plan // both opened before there were weights
	for _, c := range []*client.Client{first, second} {
		p, err := c.OpenPlan(t.Context(), "plan", false, "gemm:8x8x8")
		if err != nil {
			t.Fatal(err)
		}
		plans = append(plans, p)
	}
	for i, c := range []struct {
		plan    int
		version uint64
		bytes   uint64
	}{
		{0, 7, 256}, // uploaded
		{1, 7, 0},   // the server has it, and this client does not know
		{1, 7, 0},   // it knows
		{0, 7, 0},
		{1, 8, 256}, // a new version
		{0, 7, 256}, // the first client set it, and does not know of 8
		{1, 8, 256},
		{1, 8, 0},
	} {
		before := bytesIn()
		uploaded, err := plans[c.plan].SetWeights(t.Context(), c.version, weights, nil)
		if got := bytesIn() - before; err != nil || got != c.bytes || uploaded != (c.bytes > 0) {
			t.Errorf("step %d: %d bytes, uploaded %t, %v", i, got, uploaded, err)
		}
	}

	var buffers []job.Buffer
	for _, c := range []*client.Client{first, second} {
		b, err := c.NamedBuffer(t.Context(), "buffer", 256)
		if err != nil {
			t.Fatal(err)
		}
		buffers = append(buffers, b)
	}
	for i, c := range []struct {
		buffer int
		bytes  uint64
		want   error
	}{
		{0, 256, nil},           // 0 becomes 7
		{1, 0, job.ErrConflict}, // another client was first
		{0, 0, job.ErrConflict},
	} {
		before := bytesIn()
		_, err := buffers[c.buffer].Replace(t.Context(), 0, data, 0, 7)
		if got := bytesIn() - before; got != c.bytes || !errors.Is(err, c.want) {
			t.Errorf("buffer, step %d: %d bytes, %v", i, got, err)
		}
	}
	third := f.dial()
	b, err := third.OpenBuffer(t.Context(), "buffer")
	if err != nil || b.Version() != 7 {
		t.Errorf("version %d, %v", b.Version(), err)
	}
}

// TestMemoryThatIsKeptMakesRoom writes data of more sizes than a session may have memories: those
// that the client keeps for reuse are released where there is no other.
func TestMemoryThatIsKeptMakesRoom(t *testing.T) {
	f := serve(t, server.Options{Limits: wire.Limits{Objects: 3}})
	c := f.dial()
	b, err := c.NewBuffer(t.Context(), 8<<20)
	if err != nil {
		t.Fatal(err)
	}
	for size := 128 << 10; size <= 8<<20; size *= 2 {
		if _, err := b.Write(t.Context(), 0, make([]byte, size)); err != nil {
			t.Errorf("%d bytes: %v", size, err)
		}
	}
	if m, err := c.NewMemory(t.Context(), 4096); err != nil {
		t.Error(err)
	} else {
		m.Release()
	}
}

// TestKeptMemoryMakesRoomForAll has goroutines that meet the quota together: what one of them
// releases makes room for the others too.
func TestKeptMemoryMakesRoomForAll(t *testing.T) {
	f := serve(t, server.Options{Limits: wire.Limits{Objects: 16}})
	c := f.dial()
	b, err := c.NewBuffer(t.Context(), 2<<20)
	if err != nil {
		t.Fatal(err)
	}
	write := func(goroutines, size int) {
		var all sync.WaitGroup
		for range goroutines {
			all.Go(func() {
				if _, err := b.Write(t.Context(), 0, make([]byte, size)); err != nil {
					t.Errorf("%d bytes: %v", size, err)
				}
			})
		}
		all.Wait()
	}
	for range 5 {
		write(16, 128<<10)
		write(4, 1<<20)
		write(4, 2<<20)
	}
}
