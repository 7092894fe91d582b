//go:build linux

package server_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/server"
	"github.com/shadercache/shadercache/server/internal/wire"
)

// TestOneMemoryAsManyOperands has jobs whose operands are one memory many times: the server makes
// no memory on the device for more than the session may share.
func TestOneMemoryAsManyOperands(t *testing.T) {
	const size = 1 << 20
	f := serve(t, server.Options{CopyMemory: true, Limits: wire.Limits{Memory: 2 * size}})
	r := f.rawSession()
	r.share(2, 1, 2*size)
	r.pipeline(3, rawRequest(wire.TypeProgram, &wire.Program{ID: 1, Form: wire.FormFinal, Name: []byte("affine"), Text: []byte(affine.Text())}))
	r.want(wire.TypeProgram|wire.ReplyBit, 3)
	operand := func(offset uint64) wire.Operand {
		return wire.Operand{Place: wire.PlaceMemory, ID: 1, Offset: offset, Size: size}
	}
	for i, many := range []int{1, 100} {
		job := validJob(size/4, 1)
		job.In = make([]wire.Binding, many)
		for k := range job.In {
			job.In[k] = wire.Binding{Binding: uint32(k * 2), Operand: operand(0)} // all but the first are of no block
		}
		job.Out[0].Operand = operand(size)
		r.pipeline(uint64(10+i), rawRequest(wire.TypeJob, job))
	}
	for request, a := range r.answers(2) {
		if want := map[uint64]wire.Code{11: wire.CodeQuota}[request]; a.Code != want {
			t.Errorf("request %d: %v, want %v", request, a.Code, want)
		}
	}
}

// TestLargeOperandsTogether has a job whose operands are copied, and one of many dispatches or
// uniforms, wait for memory, which is bounded for all sessions together: not one that is small.
func TestLargeOperandsTogether(t *testing.T) {
	const size = 4 << 20
	f := serve(t, server.Options{CopyMemory: true})
	large, many, named, small, gone := f.rawSession(), f.rawSession(), f.rawSession(), f.rawSession(), f.rawSession()
	for _, r := range []*raw{large, many, named, small, gone} {
		r.share(2, 1, 2*size)
		r.pipeline(3, rawRequest(wire.TypeProgram, &wire.Program{ID: 1, Form: wire.FormFinal, Name: []byte("affine"), Text: []byte(affine.Text())}))
		r.want(wire.TypeProgram|wire.ReplyBit, 3)
	}
	release, err := f.TakeLarge(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	j := validJob(size/4, 1)
	j.In[0].Operand = wire.Operand{Place: wire.PlaceMemory, ID: 1, Size: size}
	j.Out[0].Operand = wire.Operand{Place: wire.PlaceMemory, ID: 1, Offset: size, Size: size}
	large.pipeline(4, rawRequest(wire.TypeJob, j))
	gone.pipeline(4, rawRequest(wire.TypeJob, j))
	long, wide := validJob(16, 1), validJob(16, 1)
	long.Then = slices.Repeat([]job.Dispatch{long.Dispatch}, 3000)
	wide.Uniforms = append(slices.Repeat([]job.Uniform{job.Uint("", 0)}, 10000), wide.Uniforms...)
	many.pipeline(4, rawRequest(wire.TypeJob, long))
	named.pipeline(4, rawRequest(wire.TypeJob, wide))
	for request := uint64(10); request < 20; request++ {
		small.pipeline(request, rawRequest(wire.TypeJob, validJob(16, 1)))
		small.want(wire.TypeJob|wire.ReplyBit, request)
	}
	if n := f.Status().Counters.Jobs; n != 10 {
		t.Errorf("%d jobs were submitted, want the 10 small ones", n)
	}
	gone.Close()
	eventually(t, "the session whose job waits ended", func() bool { return len(f.Status().Sessions) == 4 })
	release()
	large.want(wire.TypeJob|wire.ReplyBit, 4)
	many.want(wire.TypeJob|wire.ReplyBit, 4)
	named.want(wire.TypeJob|wire.ReplyBit, 4)
	again, err := f.TakeLarge(t.Context()) // all of it is back
	if err != nil {
		t.Fatal(err)
	}
	again()
}

// TestLargeRunsAndWeights has a run whose input is copied beside a buffer, a run of many dispatches, and
// large weights, wait for memory as a job does: the run has none before, and other weights of its plan do
// not wait for it.
func TestLargeRunsAndWeights(t *testing.T) {
	const side = 1024
	f := serve(t, server.Options{CopyMemory: true})
	open := func(spec string) *raw {
		r := f.rawSession()
		r.share(2, 1, 4*side*side)
		r.pipeline(3, rawRequest(wire.TypePlan, &wire.Plan{ID: 1, Flags: wire.Create, Name: []byte(spec), Spec: []byte(spec)}),
			rawRequest(wire.TypeBuffer, &wire.Buffer{ID: 1, Flags: wire.Create, Size: 4 * side}))
		r.want(wire.TypePlan|wire.ReplyBit, 3)
		r.want(wire.TypeBuffer|wire.ReplyBit, 4)
		return r
	}
	weights := func(version uint64, bytes uint64) request {
		return rawRequest(wire.TypeWeights, &wire.Weights{Plan: 1, Version: version, Weights: wire.Operand{Place: wire.PlaceMemory, ID: 1, Size: bytes}})
	}
	const small, large = "gemm:1024x1x1024", "gemm:1x1024x1024" // their weights
	const steps = `gemm:1x1x6900000 {"algorithm":"gemm_tiled","params":{"depth":1,"local_y":1,"tile":4}}`
	runs, changes, uploads, many := open(small), open(small), open(large), open(steps)
	many.pipeline(5, rawRequest(wire.TypeBuffer, &wire.Buffer{ID: 2, Flags: wire.Create, Size: 4 * 6900000}))
	many.want(wire.TypeBuffer|wire.ReplyBit, 5)
	runs.pipeline(5, weights(1, 4*side))
	runs.want(wire.TypeWeights|wire.ReplyBit, 5)
	release, err := f.TakeLarge(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	before := f.gpu.Context.Counters().Buffers
	runs.pipeline(6, rawRequest(wire.TypeRun, &wire.Run{
		Plan: 1, Input: wire.Operand{Place: wire.PlaceMemory, ID: 1, Size: 4 * side * side}, Output: wire.Operand{Place: wire.PlaceBuffer, ID: 1},
	}))
	uploads.pipeline(6, weights(1, 4*side*side))
	many.pipeline(6, rawRequest(wire.TypeRun, &wire.Run{
		Plan: 1, Input: wire.Operand{Place: wire.PlaceBuffer, ID: 2}, Output: wire.Operand{Place: wire.PlaceBuffer, ID: 1},
	}))
	time.Sleep(100 * time.Millisecond) // until they wait, where they do
	if after := f.gpu.Context.Counters().Buffers; after != before || f.Status().Counters.Weights != 1 {
		t.Errorf("%d buffers were made before there was room, %d weights were set", after-before, f.Status().Counters.Weights-1)
	}
	many.pipeline(7, request{wire.TypeCancel, &wire.Cancel{Request: 6}, nil})
	many.wantError(6, wire.CodeCancelled)
	changes.pipeline(6, weights(2, 4*side))
	changes.want(wire.TypeWeights|wire.ReplyBit, 6)
	release()
	runs.want(wire.TypeRun|wire.ReplyBit, 6)
	uploads.want(wire.TypeWeights|wire.ReplyBit, 6)
}

// TestManyDescriptorsAtOnce sends as many as a message may have, where none and where one is
// expected, before and after the hello: all are closed.
func TestManyDescriptorsAtOnce(t *testing.T) {
	f := serve(t, server.Options{})
	good := f.dial()
	p := program(t, good, affine)
	memory, _ := rawMemory(t, 4096)
	many := make([]*os.File, 253)
	for i := range many {
		many[i] = memory
	}
	before := openFiles(t)
	for name, attack := range map[string]func(r *raw) error{
		"with the hello": func(r *raw) error { return r.Write(hello, many...) },
		"before it":      func(r *raw) error { return r.Write(hello[:1], many...) },
		"with memory": func(r *raw) error {
			return errors.Join(r.Write(hello), r.Write(frame(wire.TypeMemory, 2, &wire.Memory{ID: 1, Size: 4096}), many...))
		},
		"with a status": func(r *raw) error {
			return errors.Join(r.Write(hello), r.Write(frame(wire.TypeStatus, 2, &wire.Empty{}), many...))
		},
		"one at each byte": func(r *raw) (err error) {
			b := append(hello[:len(hello):len(hello)], frame(wire.TypeStatus, 2, &wire.Empty{})...)
			for i := range b {
				err = errors.Join(err, r.Write(b[i:i+1], many[0]))
			}
			return nil // the server has closed the connection meanwhile
		},
	} {
		for range 10 {
			r := f.raw()
			if err := attack(r); err != nil {
				t.Fatal(name, err)
			}
			for err := error(nil); err == nil; {
				_, _, err = r.Next()
				if errors.Is(err, os.ErrDeadlineExceeded) {
					t.Fatalf("%s: the connection does not end", name)
				}
			}
			r.Close()
		}
		eventually(t, "all are closed: "+name, func() bool { return openFiles(t) <= before })
	}
	if err := run(t.Context(), good, p, 100, 3, 4); err != nil {
		t.Error(err)
	}
}

// TestQuotasAreGivenBack has sessions that have as many objects and bytes as they may, and jobs and
// copies that wait, end at once: nothing is left, and later ones have as much.
func TestQuotasAreGivenBack(t *testing.T) {
	const objects, sessions = 8, 4
	f := serve(t, server.Options{
		Sessions: sessions + 1, NamedTime: time.Millisecond, Limits: wire.Limits{Objects: objects, Memory: objects * 4096, Buffers: objects * 4096, Named: 1 << 20},
	})
	_, b := f.counter("counter")
	memory, _ := rawMemory(t, 4096)
	fill := func() {
		var all []*raw
		for n := range sessions {
			r := f.raw()
			r.openCounter() // a program and a buffer with the id 1
			list := []request{
				{wire.TypePlan, &wire.Plan{ID: 1, Flags: wire.Create, Name: []byte("plan"), Spec: []byte("gemm:2x2x2")}, nil},
				{wire.TypeBuffer, &wire.Buffer{ID: 2, Flags: wire.Create, Size: 1 << 18, Name: fmt.Append(nil, "named", n%3)}, nil},
				{wire.TypeMemory, &wire.Memory{ID: 1, Size: 4096}, []*os.File{memory}},
				{wire.TypeMemory, &wire.Memory{ID: 2, Size: 4096}, []*os.File{memory}},
			}
			for id := uint32(3); id <= objects; id++ {
				list = append(list,
					request{wire.TypeProgram, &wire.Program{ID: id, Form: wire.FormName, Name: []byte("slow_count")}, nil},
					request{wire.TypeBuffer, &wire.Buffer{ID: id, Flags: wire.Create, Size: 4096}, nil},
					request{wire.TypeMemory, &wire.Memory{ID: id, Size: 4096}, []*os.File{memory}})
			}
			r.pipeline(100, list...)
			for n, a := range r.answers(len(list)) {
				if a.Code != 0 {
					t.Errorf("request %d: %v", n, a.Code)
				}
			}
			r.pipeline(200,
				request{wire.TypeMemory, &wire.Memory{ID: 99, Size: 4096}, []*os.File{memory}},
				request{wire.TypeBuffer, &wire.Buffer{ID: 99, Flags: wire.Create, Size: 4096}, nil})
			for n, a := range r.answers(2) {
				if a.Code != wire.CodeQuota {
					t.Errorf("request %d: %v", n, a.Code)
				}
			}
			all = append(all, r)
		}
		unlock := sync.OnceFunc(f.LockBuffer("counter"))
		t.Cleanup(unlock)
		for _, r := range all {
			r.pipeline(300, request{wire.TypeJob, rawCount(1, 1, 0), nil}, r.waiting(), request{wire.TypeJob, rawCount(1, 1, 0), nil})
		}
		r := f.raw()
		r.wantError(0, wire.CodeQuota)
		r.Close()
		for _, r := range all {
			r.Close()
		}
		unlock()
		eventually(t, "the sessions ended", func() bool { return len(f.Status().Sessions) == 1 })
		eventually(t, "no names but one", func() bool { s := f.Status(); return s.NamedBytes == 8 && s.NamedPlans == 0 })
	}
	fill()
	before := f.left()
	for range 3 {
		fill()
	}
	f.wantLeft(before)
	if value, version := read(t, b); uint64(value) > version {
		t.Errorf("%d in version %d", value, version)
	}
}

// TestWhatSessionsHaveTogether is bounded too: each of 256 sessions may have a part of it.
func TestWhatSessionsHaveTogether(t *testing.T) {
	f := serve(t, server.Options{Limits: wire.Limits{Buffers: 1 << 16}})
	f.LimitTogether(3 << 14)
	first, second := f.rawSession(), f.rawSession()
	make := func(r *raw, request uint64, size uint64) {
		r.send(frame(wire.TypeBuffer, request, &wire.Buffer{ID: uint32(request), Flags: wire.Create, Size: size}))
	}
	const ok = wire.TypeBuffer | wire.ReplyBit
	make(first, 2, 2<<14)
	first.want(ok, 2)
	make(second, 3, 2<<14)
	second.wantError(3, wire.CodeQuota)
	make(second, 4, 1<<14)
	second.want(ok, 4)
	first.Close()
	eventually(t, "the first session ended", func() bool { return len(f.Status().Sessions) == 1 })
	make(second, 5, 2<<14)
	second.want(ok, 5)
}

// TestMemoryThatIsReleasedWithAJob releases the memory of an output while the job runs: the
// server writes there when it is done, as nothing else is mapped there meanwhile.
func TestMemoryThatIsReleasedWithAJob(t *testing.T) {
	f := serve(t, server.Options{CopyMemory: true})
	r := f.rawSession()
	_, memory := r.share(2, 1, 4096)
	j := validJob(64, 1)
	j.Out[0].Operand = wire.Operand{Place: wire.PlaceMemory, ID: 1, Size: 256}
	first := rawCount(64, 60_000, 0)
	first.Buffers[0] = rawBuffer(2)
	r.pipeline(3,
		rawRequest(wire.TypeProgram, &wire.Program{ID: 1, Form: wire.FormFinal, Name: []byte("affine"), Text: []byte(affine.Text())}),
		rawRequest(wire.TypeProgram, &wire.Program{ID: 2, Form: wire.FormFinal, Name: []byte("slow"), Text: []byte(slowCount.Text())}),
		rawRequest(wire.TypeBuffer, &wire.Buffer{ID: 2, Flags: wire.Create, Size: 8}))
	r.answers(3)
	first.Program = rawProgram(2)
	release := rawRequest(wire.TypeRelease, &wire.Release{Kind: wire.KindMemory, ID: 1})
	r.pipeline(10, rawRequest(wire.TypeJob, first), rawRequest(wire.TypeJob, j), release)
	for request, a := range r.answers(3) {
		if a.Code != 0 {
			t.Errorf("request %d: %v", request, a.Code)
		}
	}
	if want := words(64, func(i uint32) uint32 { return 3*i + 4 }); !bytes.Equal(memory[:256], want) {
		t.Error("the output is not there")
	}
}

// TestJobsThatTheDriverWouldRefuse has a range of a buffer that no driver sets to zero, whose error
// would be that of all jobs of the batch, also of other sessions; and more inputs than are compared
// with the blocks of each dispatch. Neither runs.
func TestJobsThatTheDriverWouldRefuse(t *testing.T) {
	f := serve(t, server.Options{})
	_, b := f.counter("counter")
	r := f.rawSession()
	r.pipeline(2,
		rawRequest(wire.TypeProgram, &wire.Program{ID: 1, Form: wire.FormFinal, Name: []byte("fill_all"), Text: []byte(fillAll)}),
		rawRequest(wire.TypeBuffer, &wire.Buffer{ID: 1, Name: []byte("counter")}))
	r.answers(2)
	fill := func() *wire.Job {
		j := rawCount(1, 5, 0)
		j.Uniforms[0].Name = "value"
		return j
	}
	odd, many := fill(), fill()
	odd.Buffers[0].Size, odd.Buffers[0].Zero = 6, true
	many.In = make([]wire.Binding, 1025)
	for i := range many.In {
		many.In[i] = wire.Binding{Binding: 9, Operand: wire.Operand{Place: wire.PlaceInline, Data: make([]byte, 4)}} // of no block
	}
	r.pipeline(10, rawRequest(wire.TypeJob, odd), rawRequest(wire.TypeJob, many))
	for request, a := range r.answers(2) {
		if a.Code != wire.CodeInvalid {
			t.Errorf("request %d: %v, want %v", request, a.Code, wire.CodeInvalid)
		}
	}
	if value, version := read(t, b); value != 0 || version != 0 {
		t.Errorf("the buffer has %d, version %d", value, version)
	}
}
