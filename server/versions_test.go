//go:build linux

package server_test

import (
	"encoding/binary"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/shadercache/shadercache/executor"
	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/server"
	"github.com/shadercache/shadercache/server/client"
	"github.com/shadercache/shadercache/server/internal/wire"
	"github.com/shadercache/shadercache/shader"
)

// slowCount adds 1 to the first word, after a while.
var slowCount = shader.MustSource("slow_count", `
layout(local_size_x = 64) in;
layout(std430, binding = 0) restrict buffer Count { uint count; uint rest; };
uniform uint turns;
void main() {
    uint v = turns;
    for (uint i = 0u; i < turns; i++) v = v * 1664525u + 1013904223u;
    if (gl_GlobalInvocationID.x == 0u) {
        rest = v;
        count++;
    } else if (v == 1u) {
        rest = v;
    }
}`, nil)

// countJob returns a job of slowCount.
func countJob(p job.Program, b job.Buffer, turns uint32) *job.Job {
	return &job.Job{Dispatch: job.Dispatch{
		Program: p, Groups: [3]uint32{1, 1, 1}, Buffers: []job.Bound{{Buffer: b}}, Uniforms: []job.Uniform{job.Uint("turns", turns)},
	}}
}

// counter returns a client's view of a named buffer of two words.
func (f *fixture) counter(name string) (*client.Client, job.Buffer) {
	f.t.Helper()
	c := f.dial()
	b, err := c.NamedBuffer(f.t.Context(), name, 8)
	if err != nil {
		f.t.Fatal(err)
	}
	return c, b
}

// read returns the first word of a buffer and its version.
func read(t testing.TB, b job.Buffer) (value uint32, version uint64) {
	t.Helper()
	word := make([]byte, 4)
	version, err := b.Read(t.Context(), 0, word)
	if err != nil {
		t.Error(err)
	}
	return binary.LittleEndian.Uint32(word), version
}

// TestEveryAcceptedUpdateCounts has two clients that read, add 1 and write what nobody else
// has written since, and two whose jobs add 1, one of them to a second buffer too.
func TestEveryAcceptedUpdateCounts(t *testing.T) {
	f := serve(t, server.Options{})
	const updates = 150
	var accepted, refused atomic.Uint32
	var all sync.WaitGroup
	for range 2 {
		_, b := f.counter("counter")
		all.Go(func() {
			for done := 0; done < updates && !t.Failed(); {
				value, version := read(t, b)
				_, err := b.Replace(t.Context(), 0, binary.LittleEndian.AppendUint32(nil, value+1), version, 0)
				switch {
				case err == nil:
					accepted.Add(1)
					done++
				case errors.Is(err, job.ErrConflict):
					refused.Add(1)
				default:
					t.Error(err)
				}
			}
		})
	}
	for other := range 2 {
		c, b := f.counter("counter")
		p := program(t, c, slowCount)
		second, err := c.NamedBuffer(t.Context(), "second", 8)
		if err != nil {
			t.Fatal(err)
		}
		all.Go(func() {
			for i := range uint32(updates) {
				j := countJob(p, b, 1000*(i%7))
				if other == 1 {
					j.Then = []job.Dispatch{countJob(p, second, 100).Dispatch, countJob(p, second, 100).Dispatch}
				}
				if err := submitAndWait(t.Context(), c, j); err != nil {
					t.Error(err)
					return
				}
				accepted.Add(1)
			}
		})
	}
	all.Wait()
	_, b := f.counter("counter")
	value, version := read(t, b)
	if want := accepted.Load(); value != want || version != uint64(want) || b.Version() != version {
		t.Errorf("%d updates were accepted (%d not): the value is %d, the version %d", want, refused.Load(), value, version)
	}
	_, second := f.counter("second")
	if value, version := read(t, second); value != 2*updates || version != updates {
		t.Errorf("the second buffer: %d in version %d", value, version)
	}
}

// TestJobsThatDoNotRunChangeNothing refuses jobs, and a run, that write a named buffer.
func TestJobsThatDoNotRunChangeNothing(t *testing.T) {
	f := serve(t, server.Options{})
	c, b := f.counter("counter")
	p := program(t, c, slowCount)
	for name, change := range map[string]func(*job.Job){
		"no uniform":    func(j *job.Job) { j.Uniforms = nil },
		"many groups":   func(j *job.Job) { j.Groups[0] = 1 << 31 },
		"bound twice":   func(j *job.Job) { j.Buffers = append(j.Buffers, j.Buffers[0]) },
		"unused output": func(j *job.Job) { j.Outputs = []job.Output{{Binding: 9, To: make([]byte, 4)}} },
	} {
		j := countJob(p, b, 1)
		change(j)
		if err := submitAndWait(t.Context(), c, j); !errors.Is(err, job.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	r := f.raw()
	_ = r.Write(slicesConcat(hello,
		frame(wire.TypePlan, 2, &wire.Plan{ID: 1, Flags: wire.Create, Spec: []byte("gemm:2x2x2")}),
		frame(wire.TypeWeights, 3, &wire.Weights{Plan: 1, Version: 1, Weights: wire.Operand{Place: wire.PlaceInline, Data: make([]byte, 16)}}),
		frame(wire.TypeBuffer, 4, &wire.Buffer{ID: 1, Name: []byte("counter")}),
		frame(wire.TypeRun, 5, &wire.Run{Plan: 1, Input: wire.Operand{Place: wire.PlaceInline, Data: make([]byte, 16)}, Output: bufferOperand(1, 0)}),
	))
	for request, typ := range []wire.Type{wire.TypeHello, wire.TypePlan, wire.TypeWeights, wire.TypeBuffer} {
		r.want(typ|wire.ReplyBit, uint64(request+1))
	}
	r.wantError(5, wire.CodeInvalid) // the plan makes 16 bytes
	if value, version := read(t, b); value != 0 || version != 0 {
		t.Errorf("what was refused has changed the buffer: %d in version %d", value, version)
	}
}

// bufferOperand is the first n bytes of a buffer; 0: all.
func bufferOperand(id uint32, n uint64) wire.Operand {
	return wire.Operand{Place: wire.PlaceBuffer, ID: id, Size: n}
}

// openCounter opens a session with slowCount and the buffer "counter", both with the id 1.
func (r *raw) openCounter() {
	r.t.Helper()
	_ = r.Write(slicesConcat(hello,
		frame(wire.TypeProgram, 2, &wire.Program{ID: 1, Form: wire.FormFinal, Name: []byte("slow_count"), Text: []byte(slowCount.Text())}),
		frame(wire.TypeBuffer, 3, &wire.Buffer{ID: 1, Name: []byte("counter")}),
	))
	for request, typ := range []wire.Type{wire.TypeHello, wire.TypeProgram, wire.TypeBuffer} {
		r.want(typ|wire.ReplyBit, uint64(request+1))
	}
}

// rawCount is a job of slowCount after openCounter.
func rawCount(groups, turns uint32, deadline time.Duration) *wire.Job {
	return &wire.Job{Deadline: uint64(deadline), Job: job.Job{Dispatch: job.Dispatch{
		Program: rawProgram(1), Groups: [3]uint32{groups, 1, 1}, Uniforms: []job.Uniform{job.Uint("turns", turns)},
		Buffers: []job.Bound{rawBuffer(1)},
	}}}
}

// TestWaitingForABufferCanBeCancelled has requests that wait for another session's copy.
func TestWaitingForABufferCanBeCancelled(t *testing.T) {
	f := serve(t, server.Options{})
	_, b := f.counter("counter")
	first, second := f.raw(), f.raw()
	first.openCounter()
	second.openCounter()
	unlock := sync.OnceFunc(f.LockBuffer("counter"))
	t.Cleanup(unlock)
	_ = first.Write(slicesConcat(frame(wire.TypeJob, 10, rawCount(1, 1, 0)), frame(wire.TypeCancel, 11, &wire.Cancel{Request: 10})))
	first.wantError(10, wire.CodeCancelled)
	first.want(wire.TypeCancel|wire.ReplyBit, 11)
	_ = second.Write(frame(wire.TypeCopy, 10, &wire.Copy{
		Deadline: uint64(time.Millisecond), From: wire.Operand{Place: wire.PlaceInline, Data: []byte("abcd")}, To: bufferOperand(1, 4),
	}))
	second.wantError(10, wire.CodeDeadline)
	unlock()
	for _, r := range []*raw{first, second} { // their requests before are over
		_ = r.Write(frame(wire.TypeStatus, 12, &wire.Empty{}))
		r.want(wire.TypeStatus|wire.ReplyBit, 12)
	}
	if value, version := read(t, b); value != 0 || version != 0 {
		t.Errorf("%d in version %d", value, version)
	}
}

// TestWhatIsLateChangesNothing has jobs and copies behind slow jobs whose deadline passes, or
// which are cancelled, before it is their turn.
func TestWhatIsLateChangesNothing(t *testing.T) {
	f := serve(t, server.Options{})
	r := f.raw()
	_, b := f.counter("counter")
	upload := func(deadline time.Duration) *wire.Copy {
		return &wire.Copy{Deadline: uint64(deadline), From: wire.Operand{Place: wire.PlaceInline, Data: make([]byte, 4)}, To: bufferOperand(1, 4)}
	}
	r.openCounter()
	late := map[uint64]int{}
	for round := range uint64(4) {
		first := 100 * (round + 1)
		_ = r.Write(slicesConcat(
			frame(wire.TypeJob, first, rawCount(64, 60_000, 0)),
			frame(wire.TypeJob, first+1, rawCount(64, 60_000, 0)),
			frame(wire.TypeJob, first+2, rawCount(1, 1, time.Millisecond)),
			frame(wire.TypeCopy, first+3, upload(time.Millisecond)),
			frame(wire.TypeJob, first+4, rawCount(1, 1, 0)),
			frame(wire.TypeCopy, first+5, upload(0)),
			frame(wire.TypeCancel, first+6, &wire.Cancel{Request: first + 4}),
			frame(wire.TypeCancel, first+7, &wire.Cancel{Request: first + 5}),
		))
		for range 8 {
			h, _, err := r.Next()
			if err != nil {
				t.Fatal(err)
			}
			if h.Type == wire.TypeError {
				late[h.Request-first]++
			}
		}
		// The device may have had a job that was late, and then it counts. A copy that is
		// late does not.
		value, version := read(t, b)
		if late[3] != int(round+1) || late[5] != int(round+1) {
			t.Skip("a copy was not late")
		}
		if uint64(value) != version {
			t.Errorf("after round %d: %d jobs have added 1, and the version is %d", round, value, version)
		}
	}
	t.Logf("late: %v", late)
}

// TestRunsHaveTheWeightsOfOneVersion has a client that sets the weights of a plan of two layers
// while others run it. With all weights v, an output is 4 v².
func TestRunsHaveTheWeightsOfOneVersion(t *testing.T) {
	f := serveGPU(t, server.Options{}, executor.Options{Depth: 1, SlotJobs: 1, SlotBytes: 64 << 10}) // runs wait for a turn
	open := func() job.Plan {
		p, err := f.dial().OpenPlan(t.Context(), "plan", false, "gemm:2x2x2", "gemm:2x2x2")
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	set := func(p job.Plan, version uint64) {
		v := float32(1 + version%3)
		if _, err := p.SetWeights(t.Context(), version, []float32{v, v, v, v, v, v, v, v}, nil); err != nil {
			t.Error(err)
		}
	}
	setter := open()
	set(setter, 1)
	var running, setting sync.WaitGroup
	var stop atomic.Bool
	setting.Go(func() {
		for version := uint64(2); !stop.Load(); version++ {
			set(setter, version)
		}
	})
	for range 3 {
		p := open()
		running.Go(func() {
			output := make([]float32, 4)
			for range 150 {
				if err := p.Run(t.Context(), []float32{1, 1, 1, 1}, output); err != nil {
					t.Error(err)
					return
				}
				if got := output[0]; got != 4 && got != 16 && got != 36 {
					t.Errorf("a run with weights of two versions: %v", got)
				}
			}
		})
	}
	running.Wait()
	stop.Store(true)
	setting.Wait()
}

// TestWeightsOfAClientThatEnds has a client end while its weights are set: of those, nothing is
// used by the next client, whatever its version is.
func TestWeightsOfAClientThatEnds(t *testing.T) {
	f := serve(t, server.Options{})
	layers := []string{"gemm:1x1024x4096", "conv2d:1x4x16x16-4,3x3,p1" + winograd} // that needs the GPU to prepare its weights
	c := f.dial()
	p, err := c.OpenPlan(t.Context(), "plan", false, layers...)
	if err != nil {
		t.Fatal(err)
	}
	const n = 1024*4096 + 4*4*3*3
	set := func(version uint64) (uploaded bool) {
		if uploaded, err = p.SetWeights(t.Context(), version, slices.Repeat([]float32{1}, n), nil); err != nil {
			t.Fatal(err)
		}
		return uploaded
	}
	for i := range 3 {
		r := f.rawSession()
		_, memory := r.share(2, 1, 4*n)
		copy(memory, bytesOf(slices.Repeat([]float32{9}, n)))
		r.pipeline(3, rawRequest(wire.TypePlan, &wire.Plan{ID: 1, Name: []byte("plan")}))
		r.want(wire.TypePlan|wire.ReplyBit, 3)
		r.pipeline(4, rawRequest(wire.TypeWeights, &wire.Weights{Plan: 1, Version: 7, Weights: wire.Operand{Place: wire.PlaceMemory, ID: 1, Size: 4 * n}}))
		time.Sleep(time.Duration(3*i) * time.Millisecond)
		r.Close()
		eventually(t, "the client has ended", func() bool { return len(f.Status().Sessions) == 1 })
		output := make([]float32, 1024)
		if uploaded := set(7); !uploaded {
			continue // the client was faster
		}
		if err := p.Run(t.Context(), slices.Repeat([]float32{1}, 4096), output); err != nil || output[0] != 4096*16 {
			t.Errorf("%v: %v, want %v", err, output[0], 4096*16)
		}
		set(8)
	}
}
