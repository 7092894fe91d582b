//go:build linux

package server_test

import (
	"encoding/binary"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/server"
	"github.com/shadercache/shadercache/server/client"
	"github.com/shadercache/shadercache/server/internal/wire"
)

// fillAll sets all words of a buffer to the first one, plus 1, so that a copy of a part is seen.
var fillAll = "#version 450 core\n" + `layout(local_size_x = 64) in;
layout(std430, binding = 0) restrict buffer All { uint all[]; };
uniform uint value;
void main() { uint i = gl_GlobalInvocationID.x; if (i < all.length()) all[i] = value; }`

// TestCopiesBothWays has sessions copy X to Y and Y to X, by two ids of each, while jobs and
// uploads write whole values to both. None waits for another without end, each accepted change is
// one version, and no reader finds parts of two values.
func TestCopiesBothWays(t *testing.T) {
	f := serve(t, server.Options{})
	const words, rounds = 16 << 10, 60
	watcher := f.dial()
	var buffers []*client.Buffer
	for _, name := range []string{"x", "y"} {
		b, err := watcher.NamedBuffer(t.Context(), name, 4*words)
		if err != nil {
			t.Fatal(err)
		}
		buffers = append(buffers, b.(*client.Buffer))
	}
	var writes [2]atomic.Uint64
	var all sync.WaitGroup
	for n := range 4 {
		r := f.rawSession()
		r.pipeline(2, rawRequest(wire.TypeProgram, &wire.Program{ID: 1, Form: wire.FormFinal, Name: []byte("fill_all"), Text: []byte(fillAll)}))
		r.want(wire.TypeProgram|wire.ReplyBit, 2)
		for i, name := range []string{"x", "x", "y", "y"} { // the ids 1 and 2, 3 and 4
			r.pipeline(uint64(3+i), rawRequest(wire.TypeBuffer, &wire.Buffer{ID: uint32(1 + i), Name: []byte(name)}))
			r.want(wire.TypeBuffer|wire.ReplyBit, uint64(3+i))
		}
		all.Go(func() {
			for round := range rounds {
				from, to := uint32(1+n%2), uint32(3+n%2)
				if n >= 2 {
					from, to = to, from
				}
				job := rawCount(words/64, uint32(1000*n+round), 0)
				job.Uniforms[0].Name = "value"
				job.Buffers[0] = rawBuffer(to)
				r.pipeline(100,
					rawRequest(wire.TypeCopy, &wire.Copy{From: bufferOperand(from, 0), To: bufferOperand(to, 0)}),
					rawRequest(wire.TypeJob, job),
					rawRequest(wire.TypeCopy, &wire.Copy{From: bufferOperand(to, 0), To: bufferOperand(from, 0), Check: true, Expect: 1 << 60}),
					rawRequest(wire.TypeCopy, &wire.Copy{From: bufferOperand(to, 4*words), To: bufferOperand((to-1)^1+1, 0)}))
				for request, a := range r.answers(4) {
					want := map[uint64]wire.Code{102: wire.CodeConflict, 103: wire.CodeInvalid}[request]
					if a.Code != want {
						t.Errorf("request %d: %v, want %v", request, a.Code, want)
					}
				}
				writes[(to-1)/2].Add(2)
			}
		})
	}
	var stop atomic.Bool
	var watching sync.WaitGroup
	watching.Go(func() {
		got := make([]byte, 4*words)
		for i := 0; !stop.Load() && !t.Failed(); i++ {
			if _, err := buffers[i%2].Read(t.Context(), 0, got); err != nil {
				t.Error(err)
			}
			for at := 4; at < len(got); at += 4 {
				if a, b := binary.LittleEndian.Uint32(got), binary.LittleEndian.Uint32(got[at:]); a != b {
					t.Errorf("word %d is %d, the first is %d", at/4, b, a)
					break
				}
			}
		}
	})
	all.Wait()
	stop.Store(true)
	watching.Wait()
	for i, b := range buffers {
		if _, version := read(t, b); version != writes[i].Load() {
			t.Errorf("buffer %d has version %d after %d writes", i, version, writes[i].Load())
		}
	}
}

// TestExpectedVersionsOfTwoBuffers has two clients exchange two buffers, each by copies that expect
// the versions that it saw: of those that were accepted none was lost.
func TestExpectedVersionsOfTwoBuffers(t *testing.T) {
	f := serve(t, server.Options{})
	var accepted [2]atomic.Uint64
	var all sync.WaitGroup
	for n := range 2 {
		c := f.dial()
		var pair [2]*client.Buffer
		for i, name := range []string{"x", "y"} {
			b, err := c.NamedBuffer(t.Context(), name, 8)
			if err != nil {
				t.Fatal(err)
			}
			pair[i] = b.(*client.Buffer)
		}
		all.Go(func() {
			for start := time.Now(); time.Since(start) < 300*time.Millisecond; {
				to := pair[n]
				value, version := read(t, to)
				_, err := to.Replace(t.Context(), 0, binary.LittleEndian.AppendUint32(nil, value+1), version, 0)
				if err == nil {
					accepted[n].Add(1)
				} else if !errors.Is(err, job.ErrConflict) {
					t.Error(err)
				}
				n = 1 - n
			}
		})
	}
	all.Wait()
	for i, name := range []string{"x", "y"} {
		_, b := f.counter(name)
		if value, version := read(t, b); uint64(value) != accepted[i].Load() || version != uint64(value) {
			t.Errorf("%s: %d in version %d after %d", name, value, version, accepted[i].Load())
		}
	}
}

// TestCancelledCopyThatWaitsForAKernel has a copy to a buffer that a kernel of another session
// writes: when it is cancelled, the requests behind it do not wait for the kernel.
func TestCancelledCopyThatWaitsForAKernel(t *testing.T) {
	f := serve(t, server.Options{HangTime: time.Minute})
	c, b := f.counter("counter")
	r := f.raw()
	r.openCounter()
	work := countJob(program(t, c, slowCount), b, 60_000)
	work.Groups[0] = 2000
	pending, err := c.Submit(t.Context(), work)
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the device has the job", func() bool { return f.Status().Counters.Jobs > 0 })
	r.send(frame(wire.TypeCopy, 10, f.waitingCopy()))
	eventually(t, "the server has the copy", func() bool { return f.sessionOf(r).Requests == 3 })
	time.Sleep(20 * time.Millisecond) // it waits for the kernel
	start := time.Now()
	r.send(frame(wire.TypeCancel, 11, &wire.Cancel{Request: 10}), frame(wire.TypeRelease, 12, &wire.Release{Kind: wire.KindProgram, ID: 1}))
	r.answers(3)
	answered := time.Since(start)
	if err := pending.Wait(t.Context()); err != nil {
		t.Error(err)
	}
	if kernel := time.Since(start); answered > kernel/2 {
		t.Errorf("the request behind was answered after %v, the kernel ended after %v", answered, kernel)
	}
}
