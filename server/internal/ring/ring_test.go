//go:build linux

package ring_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"github.com/shadercache/shadercache/server/internal/ring"
	"github.com/shadercache/shadercache/server/internal/wire"
)

// pair returns both ends of a ring, the words that wake the client, and the memory.
func pair(t testing.TB, size int) (server, client *ring.Ring, woken chan struct{}, memory []byte) {
	t.Helper()
	memory, woken = make([]byte, ring.Bytes(size)+8), make(chan struct{}, 1)
	open := func(side ring.Side, wake func() error) *ring.Ring {
		return ring.New(side, memory, size, wake)
	}
	wakeClient := func() error {
		select {
		case woken <- struct{}{}:
		default:
		}
		return nil
	}
	server = open(ring.Server, wakeClient)
	return server, open(ring.Client, func() error { server.Wake(); return nil }), woken, memory
}

func frame(request uint64, data []byte) []byte {
	b, err := wire.AppendFrame(nil, wire.TypeStatus, request, &wire.Data{Data: data})
	if err != nil {
		panic(err)
	}
	return b
}

// TestFramesArriveInOrder echoes frames of many sizes, which wrap and wait for room.
func TestFramesArriveInOrder(t *testing.T) {
	server, client, woken, _ := pair(t, ring.MinSize)
	echoed := make(chan error, 1)
	go func() {
		for {
			h, body, err := server.Next()
			if err == nil {
				var m wire.Data
				if err = wire.Decode(body, &m); err == nil {
					err = server.WriteAll(frame(h.Request, m.Data), func(int) {})
				}
			}
			if err != nil {
				echoed <- err
				return
			}
		}
	}()
	const frames = 2000
	sizes := rand.New(rand.NewPCG(3, 4))
	data := make([][]byte, frames)
	for i := range data {
		data[i] = bytes.Repeat([]byte{byte(i)}, sizes.IntN(ring.MinSize-wire.HeaderSize-4+1))
	}
	sent := make(chan error, 1)
	go func() {
		for i, d := range data {
			if err := client.WriteAll(frame(uint64(i), d), func(int) {}); err != nil {
				sent <- err
				return
			}
			if i%100 == 0 {
				time.Sleep(time.Millisecond) // both sides fall asleep
			}
		}
		sent <- nil
	}()
	for i, d := range data {
		for client.Arm() {
			<-woken
		}
		h, body, err := client.Take()
		var m wire.Data
		if err = errors.Join(err, wire.Decode(body, &m)); err != nil || h.Request != uint64(i) || !bytes.Equal(m.Data, d) {
			t.Fatalf("frame %d: request %d, %d bytes, %v", i, h.Request, len(m.Data), err)
		}
	}
	if err := <-sent; err != nil {
		t.Error(err)
	}
	_ = server.Close()
	if err := <-echoed; !errors.Is(err, io.EOF) {
		t.Error(err)
	}
	if _, err := server.TryWrite(frame(1, nil)); !errors.Is(err, os.ErrClosed) {
		t.Error(err)
	}
}

func TestAFullRingWaits(t *testing.T) {
	server, client, _, _ := pair(t, ring.MinSize)
	big := frame(1, make([]byte, 3000))
	if err := client.WriteAll(big, func(int) {}); err != nil {
		t.Fatal(err)
	}
	if n, err := client.TryWrite(big); n != 0 || err != nil {
		t.Errorf("%d bytes, %v", n, err)
	}
	ended := make(chan error, 1)
	go func() { ended <- client.WriteAll(big, func(int) {}) }()
	time.Sleep(time.Millisecond) // it waits for room
	if _, _, err := server.Next(); err != nil {
		t.Error(err)
	}
	if err := <-ended; err != nil {
		t.Errorf("after a read: %v", err)
	}
	go func() { ended <- client.WriteAll(big, func(int) {}) }()
	time.Sleep(time.Millisecond)
	_ = client.Close()
	if err := <-ended; !errors.Is(err, os.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
	if client.Fits(ring.MinSize+1) || !client.Fits(ring.MinSize) {
		t.Error("Fits")
	}
}

func TestSizes(t *testing.T) {
	for _, size := range []int{0, 1, 4095, 5000, 2 << 20} {
		if ring.Check(size) == nil {
			t.Errorf("size %d", size)
		}
	}
}

// TestPositionsThatARingCannotHave: more bytes than the ring has, or fewer than the frame.
func TestPositionsThatARingCannotHave(t *testing.T) {
	for name, c := range map[string]struct {
		available uint64
		body      uint32
	}{
		"more than the ring": {ring.MinSize + 1, 0},
		"a whole circle":     {1 << 63, 2 * ring.MinSize},
		"no header":          {wire.HeaderSize - 1, 0},
		"a part of a frame":  {wire.HeaderSize + 7, 8},
	} {
		server, _, _, memory := pair(t, ring.MinSize)
		binary.LittleEndian.PutUint64(memory[64:], c.available)
		binary.LittleEndian.PutUint32(memory[4096:], c.body)
		memory[4100] = byte(wire.TypeStatus)
		if h, body, err := server.Take(); !errors.Is(err, wire.ErrMalformed) {
			t.Errorf("%s: %+v with %d bytes, %v", name, h, len(body), err)
		}
	}
	server, _, _, memory := pair(t, ring.MinSize)
	binary.LittleEndian.PutUint64(memory[320:], ring.MinSize+1)
	if n, err := server.TryWrite(frame(1, nil)); !errors.Is(err, wire.ErrMalformed) {
		t.Errorf("written to a ring with more than it has: %d bytes, %v", n, err)
	}
}

// FuzzPositions gives the server a ring that its client has destroyed: no panic, no wait,
// and nothing but a frame or ErrMalformed.
func FuzzPositions(f *testing.F) {
	f.Add(uint64(0), uint64(16), []byte{0, 0, 0, 0, 13, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0})
	f.Add(uint64(1), uint64(0), []byte{})
	f.Add(uint64(0), uint64(1)<<63, []byte{0xFF})
	f.Add(uint64(4090), uint64(4106), []byte{1})
	f.Fuzz(func(t *testing.T, head, tail uint64, data []byte) {
		server, _, _, memory := pair(t, ring.MinSize)
		binary.LittleEndian.PutUint64(memory[0:], head)
		binary.LittleEndian.PutUint64(memory[64:], tail)
		copy(memory[4096:4096+ring.MinSize], data)
		if !server.Ready() {
			return
		}
		if _, _, err := server.Next(); err != nil && !errors.Is(err, wire.ErrMalformed) {
			t.Error(err)
		}
		binary.LittleEndian.PutUint64(memory[256:], head)
		binary.LittleEndian.PutUint64(memory[320:], tail)
		if _, err := server.TryWrite(frame(1, nil)); err != nil && !errors.Is(err, wire.ErrMalformed) {
			t.Error(err)
		}
	})
}
