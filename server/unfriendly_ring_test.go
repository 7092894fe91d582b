//go:build linux

package server_test

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/shadercache/shadercache/server"
	"github.com/shadercache/shadercache/server/internal/ring"
	"github.com/shadercache/shadercache/server/internal/wire"
)

// TestRepliesByARing reads replies as docs/protocol.md defines them: with a ring, requests go
// by both streams.
func TestRepliesByARing(t *testing.T) {
	f := serve(t, server.Options{})
	r := f.rawSession()
	made := r.ring()
	made.put(
		frame(wire.TypeProgram, 3, &wire.Program{ID: 1, Form: wire.FormFinal, Name: []byte("affine"), Text: []byte(affine.Text())}),
		frame(wire.TypeJob, 4, validJob(64, 1)),
	)
	made.want(wire.TypeProgram|wire.ReplyBit, 3)
	var outputs wire.Data
	if err := wire.Decode(made.want(wire.TypeJob|wire.ReplyBit, 4), &outputs); err != nil || !bytes.Equal(outputs.Data, words(64, func(i uint32) uint32 { return 3*i + 4 })) {
		t.Errorf("the job computed wrong: %v", err)
	}
	made.setWaiting(ringReplies, 1)
	made.put(frame(wire.TypeCancel, 4, &wire.Cancel{Request: 9}))
	made.want(wire.TypeCancel|wire.ReplyBit, 4)
	r.want(wire.TypeRing|wire.ReplyBit, 0) // it wakes a client that waits
	r.send(frame(wire.TypeStatus, 5, &wire.Empty{}), frame(wire.TypeStatus, 6, &wire.Empty{}))
	for request, a := range r.answers(2) {
		if a.Type != wire.TypeStatus|wire.ReplyBit {
			t.Errorf("request %d: %v", request, a)
		}
	}
}

// TestRingsThatBlock has clients that wake the server without end, and do not read what wakes
// them: no other client waits, and the session ends with its client.
func TestRingsThatBlock(t *testing.T) {
	f := serve(t, server.Options{ReadTime: time.Hour})
	good := f.dial()
	p := program(t, good, affine)
	for name, attack := range map[string]func(r *raw, made *rawRing){
		"wakes for nothing": func(r *raw, made *rawRing) {
			for range 10_000 {
				made.ringServer()
			}
		},
		"a socket that is not read": func(r *raw, made *rawRing) {
			for request := range uint64(1000) { // each wakes the client, by a socket that is full at last
				made.setWaiting(ringReplies, 1)
				made.put(frame(wire.TypeStatus, 3+request, &wire.Empty{}))
				made.want(wire.TypeStatus|wire.ReplyBit, 3+request)
			}
		},
	} {
		r := f.rawSession()
		made := r.ring()
		attack(r, made)
		if err := run(t.Context(), good, p, 100, 3, 4); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		r.Close()
		eventually(t, "the session ended after "+name, func() bool { return len(f.Status().Sessions) == 1 })
	}
}

// TestWakesThatAreNotRead has the server wake a client that does not read its socket: what waits
// there does not grow.
func TestWakesThatAreNotRead(t *testing.T) {
	f := serve(t, server.Options{})
	r := f.rawSession()
	made := r.ring()
	const requests = 5000
	for request := range uint64(requests) {
		made.setWaiting(ringReplies, 1)
		made.put(frame(wire.TypeStatus, 3+request, &wire.Empty{}))
		made.want(wire.TypeStatus|wire.ReplyBit, 3+request)
	}
	r.send(frame(wire.TypeStatus, 2*requests, &wire.Empty{}))
	wakes := 0
	for h := (wire.Header{}); h.Request == 0; wakes++ {
		var err error
		if h, _, err = r.Next(); err != nil {
			t.Fatal(err)
		}
	}
	if t.Logf("%d wakes", wakes); wakes >= requests {
		t.Errorf("%d wakes for %d requests", wakes, requests)
	}
}

// TestWakesWithoutARing wake nobody, and hold up no welcome. One with a body is malformed.
func TestWakesWithoutARing(t *testing.T) {
	f := serve(t, server.Options{})
	r := f.raw()
	wake := frame(wire.TypeWake, 0, &wire.Empty{})
	r.send(hello, wake)
	r.want(wire.TypeHello|wire.ReplyBit, 1)
	r.send(wake, frame(wire.TypeStatus, 2, &wire.Empty{}), wake)
	r.want(wire.TypeStatus|wire.ReplyBit, 2)
	r.send(frame(wire.TypeWake, 0, &wire.Data{Data: []byte{1}}))
	r.wantError(0, wire.CodeMalformed)
	r.wantEnd()
}

// TestMemoryOfRings sends rings in memory that could be taken away, too little of it, and a second
// ring, and seals and empties the memory of one that is open.
func TestMemoryOfRings(t *testing.T) {
	f := serve(t, server.Options{})
	memfd := func(size int64, flags, seals int) *os.File {
		fd, err := unix.MemfdCreate("test", flags)
		if err != nil {
			t.Skip(err) // no huge pages
		}
		file := os.NewFile(uintptr(fd), "memfd")
		t.Cleanup(func() { file.Close() })
		if err := file.Truncate(size); err != nil {
			t.Fatal(err)
		}
		_, _ = unix.FcntlInt(file.Fd(), unix.F_ADD_SEALS, seals)
		return file
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	size := int64(ring.Bytes(ring.MinSize))
	r := f.rawSession()
	send := func(request uint64, memory *os.File) {
		if err := r.Write(frame(wire.TypeRing, request, &wire.Ring{Size: ring.MinSize}), memory); err != nil {
			t.Fatal(err)
		}
	}
	for i, memory := range []*os.File{
		memfd(size, unix.MFD_ALLOW_SEALING, 0),
		memfd(size, unix.MFD_ALLOW_SEALING, unix.F_SEAL_GROW|unix.F_SEAL_SEAL),
		memfd(size, 0, unix.F_SEAL_SHRINK),
		memfd(size-1, unix.MFD_ALLOW_SEALING, unix.F_SEAL_SHRINK),
		memfd(0, unix.MFD_ALLOW_SEALING, unix.F_SEAL_SHRINK),
		memfd(size, unix.MFD_ALLOW_SEALING, unix.F_SEAL_SHRINK|unix.F_SEAL_WRITE),
		null,
	} {
		send(uint64(10+i), memory)
		r.wantError(uint64(10+i), wire.CodeInvalid)
	}
	file, memory := rawMemory(t, int(size))
	if err := r.Write(frame(wire.TypeRing, 30, &wire.Ring{Size: ring.MinSize}), file); err != nil {
		t.Fatal(err)
	}
	r.want(wire.TypeRing|wire.ReplyBit, 30)
	send(31, memfd(size, unix.MFD_ALLOW_SEALING, unix.F_SEAL_SHRINK))
	r.wantError(31, wire.CodeExists)
	made := &rawRing{memory, ring.MinSize, r, t}
	for request := range uint64(100) {
		for _, change := range []func() error{
			func() error { return file.Truncate(0) },
			func() error { return file.Truncate(2 * size) },
			func() error { _, err := unix.FcntlInt(file.Fd(), unix.F_ADD_SEALS, unix.F_SEAL_WRITE); return err },
		} {
			if change() == nil {
				t.Fatal("the memory was taken away")
			}
		}
		made.put(frame(wire.TypeCancel, 40+request, &wire.Cancel{Request: 1}))
		made.want(wire.TypeCancel|wire.ReplyBit, 40+request)
	}
	if err := unix.Fallocate(int(file.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, 0, size); err != nil {
		t.Fatal(err)
	}
	r.send(frame(wire.TypeStatus, 200, &wire.Empty{})) // the ring is as new
	r.want(wire.TypeStatus|wire.ReplyBit, 200)
	made.put(frame(wire.TypeCancel, 201, &wire.Cancel{Request: 1}))
	made.want(wire.TypeCancel|wire.ReplyBit, 201)
}

// TestRingsThatChange has every byte of a ring change while the server reads it: jobs whose sizes,
// offsets and counts are in bounds when they are checked and not later, and positions that leap.
func TestRingsThatChange(t *testing.T) {
	f := serve(t, server.Options{ReadTime: time.Second})
	good := f.dial()
	p := program(t, good, affine)
	random := rand.New(rand.NewPCG(5, 6))
	for round := range 40 {
		r := f.rawSession()
		made := r.ring()
		r.share(3, 1, 8192)
		r.pipeline(4, rawRequest(wire.TypeProgram, &wire.Program{ID: 1, Form: wire.FormFinal, Name: []byte("affine"), Text: []byte(affine.Text())}))
		r.want(wire.TypeProgram|wire.ReplyBit, 4)
		job := validJob(64, 1)
		job.In[0].Operand = wire.Operand{Place: wire.PlaceMemory, ID: 1, Size: 256}
		job.Out[0].Operand = wire.Operand{Place: wire.PlaceMemory, ID: 1, Offset: 4096, Size: 256}
		b := frame(wire.TypeJob, 10, job)
		for start, n := time.Now(), uint64(10); time.Since(start) < 20*time.Millisecond; n++ {
			binary.LittleEndian.PutUint64(b[8:], n)
			copy(made.memory[ringBytes:], b)
			made.setWord(ringHead, 0)
			made.setWord(ringTail, uint64(len(b)))
			made.setWord(ringReplies+ringHead, made.word(ringReplies+ringTail))
			made.ringServer()
			for range random.IntN(200) {
				at := random.IntN(len(b))
				if round%2 == 0 {
					at = []int{0, 1, 2, 3, 4, 26, 34, 35, 36, 37, 41, 42, 43, 44, 45}[random.IntN(15)]
				}
				made.memory[ringBytes+at] ^= 1 << random.IntN(8)
			}
			if round%4 == 3 {
				made.setWord([]int{ringHead, ringTail, ringReplies + ringHead, ringReplies + ringTail}[random.IntN(4)], random.Uint64()>>random.IntN(64))
			}
		}
		if err := run(t.Context(), good, p, 100, 3, 4); err != nil {
			t.Fatal(round, err)
		}
		r.Close()
	}
	f.wantNothingLeft(good)
	n := f.Status().Counters
	t.Logf("%d requests, %d jobs, %d failed", n.Requests, n.Jobs, n.Failed)
}
