//go:build linux

package server_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/shadercache/shadercache/executor"
	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/job/texel"
	"github.com/shadercache/shadercache/server"
	"github.com/shadercache/shadercache/server/internal/wire"
	"github.com/shadercache/shadercache/shader"
)

// busyThread has the GPU's thread wait until release, at most to the end of the test.
func (f *fixture) busyThread() (release func()) {
	busy, free := make(chan struct{}), make(chan struct{})
	release = sync.OnceFunc(func() { close(free) })
	f.t.Cleanup(release)
	f.gpu.Context.Post(func(*glctx.GL) { close(busy); <-free })
	<-busy
	return release
}

// While the GPU's thread compiles for another session, or runs a kernel in a call, requests are
// answered at their deadline, cancels are read, and what is behind such a request does not wait.
func TestDeadlinesWhileTheThreadIsBusy(t *testing.T) {
	const size = 150 << 10 // what a slot of 256 KiB has no room for
	f := serve(t, server.Options{})
	f.counter("counter")
	inline := func(n int) wire.Operand {
		return wire.Operand{Place: wire.PlaceInline, Size: uint64(n), Data: make([]byte, n)}
	}
	out := func(n int) wire.Operand { return wire.Operand{Place: wire.PlaceInline, Size: uint64(n)} }
	other := f.raw()
	other.openCounter()
	var sessions []*raw // of one request each, for which the next would wait
	for range 6 {
		r := f.raw()
		r.openCounter()
		r.share(4, 1, 2*size+4)
		r.pipeline(5,
			rawRequest(wire.TypePlan, &wire.Plan{ID: 1, Flags: wire.Create, Spec: []byte("gemm:2x2x2")}),
			rawRequest(wire.TypeBuffer, &wire.Buffer{ID: 2, Flags: wire.Create, Size: 16}),
			rawRequest(wire.TypeWeights, &wire.Weights{Plan: 1, Version: 1, Weights: inline(16)}),
			rawRequest(wire.TypeProgram, &wire.Program{ID: 2, Form: wire.FormFinal, Name: []byte("affine"), Text: []byte(affine.Text())}))
		r.answers(4)
		sessions = append(sessions, r)
	}

	release := f.busyThread()
	other.pipeline(10, rawRequest(wire.TypeJob, rawCount(1, 1, 0)), other.waiting())
	eventually(t, "the GPU has a job", func() bool { return f.gpu.Executor.Queued() > 0 })
	d := uint64(20 * time.Millisecond)
	large := validJob(size/4, 1)
	large.Program, large.Deadline = rawProgram(2), d
	large.In[0].Operand = wire.Operand{Place: wire.PlaceMemory, ID: 1, Offset: 4, Size: size}
	large.Out[0].Operand = wire.Operand{Place: wire.PlaceMemory, ID: 1, Offset: size + 4, Size: size}
	for i, each := range []request{
		rawRequest(wire.TypeCopy, &wire.Copy{Deadline: d, From: inline(16), To: bufferOperand(2, 16)}),
		rawRequest(wire.TypeCopy, &wire.Copy{Deadline: d, From: bufferOperand(2, 16), To: out(16)}),
		rawRequest(wire.TypeWeights, &wire.Weights{Plan: 1, Version: 2, Deadline: d, Weights: inline(16)}),
		rawRequest(wire.TypeRun, &wire.Run{Plan: 1, Deadline: d, Input: inline(16), Output: bufferOperand(2, 16)}),
		rawRequest(wire.TypeJob, large),
		rawRequest(wire.TypeCopy, &wire.Copy{Deadline: d, From: inline(4), To: bufferOperand(1, 4)}), // behind the other's
	} {
		r := sessions[i]
		r.pipeline(10, each, rawRequest(wire.TypeCancel, &wire.Cancel{Request: 999}))
		if got := r.answers(2); got[10].Code != wire.CodeDeadline || got[11].Type != wire.TypeCancel|wire.ReplyBit {
			t.Errorf("%v: %v, cancel: %v", each.Type, got[10].Code, got[11].Type)
		}
	}
	for _, r := range sessions {
		r.pipeline(20, rawRequest(wire.TypeStatus, &wire.Empty{}))
		r.want(wire.TypeStatus|wire.ReplyBit, 20)
	}
	release()
	other.answers(2)
}

// Jobs that were answered, and are on the GPU still, hold up no request behind those that wait for
// them and were answered, too.
func TestRequestsBehindJobsThatEnded(t *testing.T) {
	f := serve(t, server.Options{})
	r := f.rawSession()
	r.affine(2, 1)
	f.busyThread()
	const jobs = 4 // more than a new session may have there
	for i := range uint64(jobs) {
		j := validJob(16, 1)
		j.Deadline = uint64(20 * time.Millisecond)
		r.pipeline(10+i, rawRequest(wire.TypeJob, j))
		r.wantError(10+i, wire.CodeDeadline)
	}
	r.pipeline(20, rawRequest(wire.TypeStatus, &wire.Empty{}))
	r.want(wire.TypeStatus|wire.ReplyBit, 20)
}

// A job that has to wait for other sessions' turns does not hold up what is behind it.
func TestRequestsBehindATurn(t *testing.T) {
	f := serve(t, server.Options{})
	r := f.rawSession()
	r.affine(2, 1)
	release, err := f.TakeTurns(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	release = sync.OnceFunc(release)
	t.Cleanup(release)
	r.pipeline(10, rawRequest(wire.TypeJob, validJob(4<<10, 1)), rawRequest(wire.TypeCancel, &wire.Cancel{Request: 999}))
	r.want(wire.TypeCancel|wire.ReplyBit, 11)
	release()
	r.want(wire.TypeJob|wire.ReplyBit, 10)
}

// affine makes the program affine in a session, with an id.
func (r *raw) affine(request uint64, id uint32) {
	r.t.Helper()
	r.pipeline(request, rawRequest(wire.TypeProgram, &wire.Program{ID: id, Form: wire.FormFinal, Name: []byte("affine"), Text: []byte(affine.Text())}))
	r.want(wire.TypeProgram|wire.ReplyBit, request)
}

// What a job may use counts until it is done, also when it was released: the next one that has no room
// beside it waits, before an idle one of another session makes room.
func TestReleasedObjectsCountUntilJobsAreDone(t *testing.T) {
	for _, name := range []string{"", "a name"} {
		f := serve(t, server.Options{Limits: wire.Limits{Buffers: 4096, Named: 6144}})
		r, other := f.rawSession(), f.rawSession()
		r.affine(2, 1)
		other.pipeline(2, rawRequest(wire.TypeBuffer, &wire.Buffer{ID: 1, Flags: wire.Create, Name: []byte("idle"), Size: 2048}))
		other.want(wire.TypeBuffer|wire.ReplyBit, 2)
		other.Close()
		eventually(t, "the other session ended", func() bool { return len(f.Status().Sessions) == 1 })
		buffer := func(size uint64) request {
			return rawRequest(wire.TypeBuffer, &wire.Buffer{ID: 1, Flags: wire.Create, Name: []byte(name), Size: size})
		}
		r.pipeline(3, buffer(4096))
		r.want(wire.TypeBuffer|wire.ReplyBit, 3)
		free := f.busyThread()
		r.pipeline(4, rawRequest(wire.TypeJob, validJob(16, 1)), rawRequest(wire.TypeRelease, &wire.Release{Kind: wire.KindBuffer, ID: 1}))
		r.want(wire.TypeRelease|wire.ReplyBit, 5)
		if name != "" {
			r.pipeline(6, rawRequest(wire.TypeDelete, &wire.Delete{Kind: wire.KindBuffer, Name: []byte(name)}))
			r.want(wire.TypeDelete|wire.ReplyBit, 6)
		}
		if s := f.Status(); s.Sessions[0].Bytes+s.NamedBytes != 6144 {
			t.Errorf("%q: %d bytes of the session, %d of names", name, s.Sessions[0].Bytes, s.NamedBytes)
		}
		r.pipeline(7, buffer(2048))
		free()
		for request, a := range r.answers(2) {
			if a.Code != 0 {
				t.Errorf("%q: request %d: %v", name, request, a)
			}
		}
		if s := f.Status(); s.Sessions[0].Bytes+s.NamedBytes != 4096 {
			t.Errorf("%q, afterwards: %d bytes of the session, %d of names", name, s.Sessions[0].Bytes, s.NamedBytes)
		}
	}
}

// What a session without a job releases counts until the GPU is done with the jobs of others, behind which
// is what made it zero.
func TestLargeObjectsCountUntilJobsOfOthersAreDone(t *testing.T) {
	const large = 16 << 20
	buffer := func(id uint32, size uint64, name string) request {
		return rawRequest(wire.TypeBuffer, &wire.Buffer{ID: id, Flags: wire.Create, Size: size, Name: []byte(name)})
	}
	for what, c := range map[string]struct {
		request
		kind   wire.Kind
		counts bool
	}{
		"a buffer":       {buffer(1, large, ""), wire.KindBuffer, true},
		"a named buffer": {buffer(1, large, "large"), wire.KindBuffer, true},
		"a small buffer": {buffer(1, large-8, ""), wire.KindBuffer, false},
		"small buffers":  {buffer(1, large-4, ""), wire.KindBuffer, true}, // with the other one
		"a texture":      {rawRequest(wire.TypeTexture, &wire.Texture{ID: 1, Shape: texel.Shape{Format: "rgba32f", Width: 1024, Height: 1024}}), wire.KindTexture, true},
		"a plan":         {rawRequest(wire.TypePlan, &wire.Plan{ID: 1, Flags: wire.Create, Spec: []byte("conv2d:1x64x128x128-1,3x3,p1" + winograd)}), wire.KindPlan, true},
	} {
		f := serve(t, server.Options{})
		bytes := func() int64 {
			s := f.Status()
			return s.NamedBytes + s.Sessions[0].Bytes + s.Sessions[1].Bytes
		}
		r, other := f.rawSession(), f.rawSession()
		other.affine(2, 1)
		r.pipeline(2, c.request)
		r.want(c.Type|wire.ReplyBit, 2)
		want := map[bool]int64{true: bytes()}[c.counts]
		r.pipeline(3, buffer(2, 4, ""), rawRequest(wire.TypeRelease, &wire.Release{Kind: wire.KindBuffer, ID: 2}))
		r.answers(2)
		free := f.busyThread()
		other.pipeline(3, rawRequest(wire.TypeJob, validJob(16, 1)))
		eventually(t, "the GPU has a job", func() bool { return f.gpu.Executor.Queued() == 1 })
		r.pipeline(5, rawRequest(wire.TypeRelease, &wire.Release{Kind: c.kind, ID: 1}), rawRequest(wire.TypeDelete, &wire.Delete{Kind: wire.KindBuffer, Name: []byte("large")}))
		r.want(wire.TypeRelease|wire.ReplyBit, 5)
		r.answers(1)
		if n := bytes(); n != want {
			t.Errorf("%s: %d bytes count beside a job, want %d", what, n, want)
		}
		free()
		other.want(wire.TypeJob|wire.ReplyBit, 3)
		eventually(t, "nothing is left of "+what, func() bool { return bytes() == 0 })
	}
}

// The same of what a session has at its end.
func TestObjectsOfASessionThatEnded(t *testing.T) {
	f := serve(t, server.Options{CopyMemory: true}) // memory that is used in place waits for the thread
	buffer := rawRequest(wire.TypeBuffer, &wire.Buffer{ID: 1, Flags: wire.Create, Size: 4 << 10})
	r, other, next := f.rawSession(), f.rawSession(), f.rawSession()
	other.affine(2, 1)
	r.pipeline(2, buffer)
	r.want(wire.TypeBuffer|wire.ReplyBit, 2)
	before := mappings(t, "test")
	r.share(3, 1, 4096)
	f.LimitTogether(0)
	free := f.busyThread()
	other.pipeline(3, rawRequest(wire.TypeJob, validJob(16, 1)))
	eventually(t, "the GPU has a job", func() bool { return f.gpu.Executor.Queued() == 1 })
	r.Close()
	eventually(t, "the session ended", func() bool { return len(f.Status().Sessions) == 2 })
	if n := mappings(t, "test"); n > before+1 { // one is the client's
		t.Errorf("%d mappings are left, %d were before", n, before)
	}
	next.pipeline(2, buffer)
	next.wantError(2, wire.CodeQuota)
	free()
	other.want(wire.TypeJob|wire.ReplyBit, 3)
	request := uint64(2)
	eventually(t, "there is room", func() bool {
		request++
		next.pipeline(request, buffer)
		return next.answers(1)[request].Type == wire.TypeBuffer|wire.ReplyBit
	})
}

// A program that is cancelled, or whose session ends, leaves no compile in the queue of the GPU's thread
// beside that of its session.
func TestCancelledProgramsDoNotPileUp(t *testing.T) {
	f := serve(t, server.Options{})
	r := f.rawSession()
	before := f.gpu.Context.Counters().Compiles
	free := f.busyThread()
	const programs = 20
	for i := range uint64(programs) {
		text := fmt.Sprintf("%s\n// %d", affine.Text(), i)
		r.pipeline(10+2*i, rawRequest(wire.TypeProgram, &wire.Program{ID: 1, Form: wire.FormFinal, Name: []byte("affine"), Text: []byte(text)}))
		time.Sleep(2 * time.Millisecond) // the compile begins, where it does
		r.pipeline(11+2*i, rawRequest(wire.TypeCancel, &wire.Cancel{Request: 10 + 2*i}))
		for request, a := range r.answers(2) {
			if want := map[bool]wire.Code{true: wire.CodeCancelled}[request%2 == 0]; a.Code != want {
				t.Errorf("request %d: %v, want %v", request, a.Code, want)
			}
		}
	}
	free()
	r.affine(100, 1)
	if n := f.gpu.Context.Counters().Compiles - before; n > 3 {
		t.Errorf("%d programs were compiled of %d that were cancelled", n, programs)
	}
}

// All who wait for the GPU's thread share what looks at it: nothing of a request that is answered stays.
func TestWaitersShareALook(t *testing.T) {
	f := serve(t, server.Options{})
	free := f.busyThread()
	look, done := f.Look()
	if again, _ := f.Look(); again != look {
		t.Error("a second look waits for the thread")
	}
	free()
	<-done
	if again, _ := f.Look(); again == look {
		t.Error("a look that is over is taken again")
	}
}

// A job that is done, whose large outputs wait for the GPU's thread, has no turn any more.
func TestOutputsWaitWithoutATurn(t *testing.T) {
	f := serve(t, server.Options{})
	r := f.rawSession()
	r.affine(2, 1)
	var stop atomic.Bool
	var again func(*glctx.GL)
	again = func(*glctx.GL) {
		time.Sleep(5 * time.Millisecond)
		if !stop.Load() {
			f.gpu.Context.Post(again)
		}
	}
	for range 100 {
		f.gpu.Context.Post(again)
	}
	defer stop.Store(true)
	r.pipeline(3, rawRequest(wire.TypeJob, validJob(140_000, 1)))
	eventually(t, "the job is submitted", func() bool { return f.Status().Counters.Jobs == 1 })
	free := make(chan struct{})
	f.gpu.Context.Post(func(*glctx.GL) { <-free }) // behind the others, and before the outputs
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	release, err := f.TakeTurns(ctx)
	close(free)
	if err != nil {
		t.Fatal("the turn is not given back: ", err)
	}
	release()
	r.want(wire.TypeJob|wire.ReplyBit, 3)
}

// A copy waits for the GPU's thread, which compiles for others, before it has its turn, for which others
// wait, and not again for several of their programs.
func TestACopyWaitsWithoutItsTurn(t *testing.T) {
	const size = 16 << 10 // more than one small turn
	f := serve(t, server.Options{})
	if !f.gpu.Context.Info().ParallelCompile {
		t.Skip("the thread has one program at a time")
	}
	r := f.rawSession()
	r.pipeline(2, rawRequest(wire.TypeBuffer, &wire.Buffer{ID: 2, Flags: wire.Create, Size: size}))
	r.want(wire.TypeBuffer|wire.ReplyBit, 2)
	release, err := f.TakeTurns(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	release = sync.OnceFunc(release)
	t.Cleanup(release)
	done, begun := make(chan struct{}), make(chan struct{}, 2)
	compile := sync.OnceFunc(func() { close(done) })
	var compiling sync.WaitGroup
	defer compiling.Wait()
	defer compile()
	compiling.Go(func() {
		f.gpu.Context.Compile(t.Context(), []*shader.Source{affine, slow}, func(_ int, p shader.Program, err error) {
			begun <- struct{}{}
			<-done // the second one compiles meanwhile
			if err == nil {
				f.gpu.Context.Delete(p.ID)
			}
		})
	})
	<-begun
	r.pipeline(10, rawRequest(wire.TypeCopy, &wire.Copy{From: bufferOperand(2, size), To: wire.Operand{Place: wire.PlaceInline, Size: size}}))
	const before = 4 // looks
	eventually(t, "the copy waits for its turn", func() bool { return f.Looks() >= before })
	release()
	r.want(wire.TypeCopy|wire.ReplyBit, 10)
	if n := f.Looks() - before; n > 1 {
		t.Errorf("it looked at the thread %d times with its turn", n)
	}
}

// A job that waits for a buffer that it writes has no turn.
func TestAJobWaitsForBuffersWithoutATurn(t *testing.T) {
	f := serve(t, server.Options{})
	f.counter("counter")
	r := f.raw()
	r.openCounter()
	r.affine(4, 2)
	unlock := sync.OnceFunc(f.LockBuffer("counter"))
	defer unlock()
	j := validJob(4<<10, 2) // needs more than is left of the turns
	j.Job.Then = append(j.Job.Then, rawCount(1, 1, 0).Dispatch)
	r.pipeline(10, rawRequest(wire.TypeJob, j), rawRequest(wire.TypeCancel, &wire.Cancel{Request: 999}))
	r.want(wire.TypeCancel|wire.ReplyBit, 11)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for range 50 { // the job waits after some of them
		time.Sleep(2 * time.Millisecond)
		release, err := f.TakeTurns(ctx)
		if err != nil {
			t.Fatal("the job has a turn: ", err)
		}
		release()
	}
	unlock()
	r.want(wire.TypeJob|wire.ReplyBit, 10)
}

// Replies do not wait for a request behind them that waits for the GPU's thread.
func TestRepliesBeforeARequestThatWaits(t *testing.T) {
	f := serve(t, server.Options{})
	r := f.rawSession()
	r.affine(3, 1)
	f.busyThread()
	made := rawRequest(wire.TypeBuffer, &wire.Buffer{ID: 2, Flags: wire.Create, Size: 16})
	r.pipeline(10, rawRequest(wire.TypeStatus, &wire.Empty{}), rawRequest(wire.TypeRelease, &wire.Release{Kind: wire.KindProgram, ID: 1}), made)
	r.want(wire.TypeStatus|wire.ReplyBit, 10)
	r.want(wire.TypeRelease|wire.ReplyBit, 11)
	first := f.raw()
	first.send(hello, frame(made.Type, 2, made.Message))
	first.want(wire.TypeHello|wire.ReplyBit, 1)
}

// A job whose reply has no room beside those of others, which are answered and on the GPU still, holds
// up nothing behind it.
func TestJobsWithoutRoomForTheirReply(t *testing.T) {
	f := serveGPU(t, server.Options{}, executor.Options{})
	r := f.rawSession()
	r.affine(2, 1)
	for i := range uint64(300) { // which shows that they are short
		r.pipeline(1000+i, rawRequest(wire.TypeJob, validJob(16, 1)))
		r.want(wire.TypeJob|wire.ReplyBit, 1000+i)
	}
	j := validJob(16, 1)
	j.Out[0].Operand.Size = 520_000
	r.pipeline(9, rawRequest(wire.TypeJob, j)) // the first large one makes a program on some drivers
	r.want(wire.TypeJob|wire.ReplyBit, 9)
	f.busyThread()
	const jobs = 9 // of which 8 have room
	j.Deadline = uint64(300 * time.Millisecond)
	for i := range uint64(jobs) {
		r.pipeline(10+i, rawRequest(wire.TypeJob, j))
	}
	for request, a := range r.answers(jobs) {
		if a.Code != wire.CodeDeadline {
			t.Errorf("%d: %v %v", request, a.Type, a.Code)
		}
	}
	r.pipeline(30, rawRequest(wire.TypeCancel, &wire.Cancel{Request: 999}), rawRequest(wire.TypeStatus, &wire.Empty{}))
	if got := r.answers(2); got[30].Type != wire.TypeCancel|wire.ReplyBit || got[31].Type != wire.TypeStatus|wire.ReplyBit {
		t.Errorf("behind them: %v", got)
	}
}

// Where the jobs of others leave no room in a slot, a job holds up neither what is behind it nor, once it
// was answered, who opens the buffer that it writes; and it does not run then.
func TestJobsWithoutRoomInASlot(t *testing.T) {
	f := serve(t, server.Options{})
	f.counter("counter")
	var others []*raw
	for range 5 {
		r := f.rawSession()
		r.affine(3, 1)
		others = append(others, r)
	}
	r, opens := f.raw(), f.rawSession()
	r.openCounter()
	release := f.busyThread()
	large := validJob(16, 1)
	large.Out[0].Operand.Size = 90_000
	for i := range 9 { // two in each slot, and one without room
		others[i/2].pipeline(20+uint64(i), rawRequest(wire.TypeJob, large))
	}
	eventually(t, "the slots are full", func() bool { return f.gpu.Executor.Queued() == 8 && f.gpu.Executor.Stats().Blocked > 0 })
	r.pipeline(10, rawRequest(wire.TypeJob, rawCount(1, 1, 100*time.Millisecond)), rawRequest(wire.TypeCancel, &wire.Cancel{Request: 999}))
	if got := r.answers(2); got[10].Code != wire.CodeDeadline || got[11].Type != wire.TypeCancel|wire.ReplyBit {
		t.Errorf("a job without room: %v, a cancel behind it: %v", got[10].Code, got[11].Type)
	}
	opens.pipeline(10, rawRequest(wire.TypeBuffer, &wire.Buffer{ID: 1, Name: []byte("counter")}))
	opens.want(wire.TypeBuffer|wire.ReplyBit, 10)
	release()
	opens.pipeline(11, rawRequest(wire.TypeCopy, &wire.Copy{From: bufferOperand(1, 4), To: wire.Operand{Place: wire.PlaceInline, Size: 4}}))
	var m wire.CopyReply
	if err := wire.Decode(opens.want(wire.TypeCopy|wire.ReplyBit, 11), &m); err != nil || m.Version != 0 || m.Data[0] != 0 {
		t.Errorf("after a job that was answered before it began: version %d, %v, %v", m.Version, m.Data, err)
	}
}

// A job that waits for its turn has no buffer locked.
func TestBuffersOfAJobThatWaitsForItsTurn(t *testing.T) {
	f := serve(t, server.Options{})
	f.counter("counter")
	r, copies := f.raw(), f.raw()
	r.openCounter()
	r.affine(4, 2)
	copies.openCounter()
	release, err := f.TakeTurns(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	release = sync.OnceFunc(release)
	t.Cleanup(release)
	j := validJob(4<<10, 2) // needs more than is left
	j.Job.Then = append(j.Job.Then, rawCount(1, 1, 0).Dispatch)
	r.pipeline(10, rawRequest(wire.TypeJob, j), rawRequest(wire.TypeCancel, &wire.Cancel{Request: 999}))
	r.want(wire.TypeCancel|wire.ReplyBit, 11)
	request := uint64(10)
	eventually(t, "the job is first to get a turn", func() bool { // before, copies are made
		request += 2
		copies.pipeline(request, rawRequest(wire.TypeCopy, &wire.Copy{
			Deadline: uint64(50 * time.Millisecond), From: bufferOperand(1, 4), To: wire.Operand{Place: wire.PlaceInline, Size: 4},
		}), rawRequest(wire.TypeStatus, &wire.Empty{}))
		got := copies.answers(2)
		return got[request].Code == wire.CodeDeadline && got[request+1].Type == wire.TypeStatus|wire.ReplyBit
	})
	opens := f.rawSession()
	opens.pipeline(10, rawRequest(wire.TypeBuffer, &wire.Buffer{ID: 1, Name: []byte("counter")}))
	opens.want(wire.TypeBuffer|wire.ReplyBit, 10)
	release()
	r.want(wire.TypeJob|wire.ReplyBit, 10)
}

// A run that waits for its turn holds up nobody beyond their deadlines who uses the plan, too.
func TestPlanOfARunThatWaitsForItsTurn(t *testing.T) {
	f := serve(t, server.Options{})
	inline := func(n int) wire.Operand {
		return wire.Operand{Place: wire.PlaceInline, Size: uint64(n), Data: make([]byte, n)}
	}
	const n = 64 // whose input needs more than one small turn
	open := func() *raw {
		r := f.rawSession()
		r.pipeline(2, rawRequest(wire.TypePlan, &wire.Plan{ID: 1, Name: []byte("p"), Flags: wire.Create, Spec: fmt.Appendf(nil, "gemm:%dx%dx%d", n, n, n)}))
		r.want(wire.TypePlan|wire.ReplyBit, 2)
		return r
	}
	runs, weights := open(), open()
	runs.pipeline(3, rawRequest(wire.TypeWeights, &wire.Weights{Plan: 1, Version: 1, Weights: inline(4 * n * n)}))
	runs.want(wire.TypeWeights|wire.ReplyBit, 3)
	release, err := f.TakeTurns(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	release = sync.OnceFunc(release)
	t.Cleanup(release)
	runs.pipeline(10, rawRequest(wire.TypeRun, &wire.Run{Plan: 1, Input: inline(4 * n * n), Output: wire.Operand{Place: wire.PlaceInline, Size: 4 * n * n}}),
		rawRequest(wire.TypeCancel, &wire.Cancel{Request: 999}))
	runs.want(wire.TypeCancel|wire.ReplyBit, 11)
	request := uint64(10)
	eventually(t, "the run has the plan", func() bool { // before, weights are set
		request += 2
		weights.pipeline(request, rawRequest(wire.TypeWeights, &wire.Weights{Plan: 1, Version: request, Deadline: uint64(50 * time.Millisecond), Weights: inline(4 * n * n)}),
			rawRequest(wire.TypeStatus, &wire.Empty{}))
		got := weights.answers(2)
		return got[request].Code == wire.CodeDeadline && got[request+1].Type == wire.TypeStatus|wire.ReplyBit
	})
	release()
	runs.want(wire.TypeRun|wire.ReplyBit, 10)
}

// A session that has ended leaves its place to others, whatever its jobs wait for.
func TestPlacesOfSessionsThatEnded(t *testing.T) {
	f := serve(t, server.Options{Sessions: 2})
	stays := f.rawSession()
	stays.affine(3, 1) // which is resident from then on
	release := f.busyThread()
	for i := range 5 {
		var r *raw
		eventually(t, "there is a place", func() bool {
			r = f.raw()
			_ = r.Write(hello) // it may be refused before
			h, _, err := r.Next()
			return err == nil && h.Type == wire.TypeHello|wire.ReplyBit
		})
		r.affine(3, 1)
		r.pipeline(10, rawRequest(wire.TypeJob, validJob(16, 1)))
		eventually(t, "the GPU has the job", func() bool { return f.gpu.Executor.Queued() > i })
		r.Close()
	}
	release()
	stays.pipeline(2, rawRequest(wire.TypeStatus, &wire.Empty{}))
	stays.want(wire.TypeStatus|wire.ReplyBit, 2)
}

// What a session that has ended had given the GPU's thread, and the GPU has not begun, is not done: one
// client that comes again and again would have all others wait.
func TestJobsOfSessionsThatEnded(t *testing.T) {
	const sessions = 5
	f := serve(t, server.Options{Sessions: 1 + 2*sessions})
	c, b := f.counter("counter")
	var ends []*raw
	for range 2 * sessions {
		r := f.raw()
		r.openCounter()
		ends = append(ends, r)
	}
	release := f.busyThread()
	for i, r := range ends {
		r.pipeline(10, rawRequest(wire.TypeJob, rawCount(1, 1, 0)))
		eventually(t, "the GPU has the job", func() bool { return f.gpu.Executor.Queued() > i })
	}
	for _, r := range ends[:sessions] {
		r.Close()
	}
	for range sessions { // each has the place of one that has ended
		eventually(t, "there is a place", func() bool {
			r := f.raw()
			_ = r.Write(hello) // it may be refused before
			h, _, err := r.Next()
			return err == nil && h.Type == wire.TypeHello|wire.ReplyBit
		})
	}
	release()
	for _, r := range ends[sessions:] {
		r.want(wire.TypeJob|wire.ReplyBit, 10)
	}
	p := program(t, c, slowCount)
	if err := c.Run(t.Context(), countJob(p, b, 1)); err != nil {
		t.Error(err)
	}
	if value, version := read(t, b); value != sessions+1 || version < 2*sessions+1 {
		t.Errorf("%d jobs were done, in version %d", value, version)
	}
}

// A client that is busy reads the replies later, as many as the outbox has room for.
func TestRepliesThatAreReadLate(t *testing.T) {
	const replies = 40 // of 64 KiB: more than a socket takes, less than an outbox
	f := serve(t, server.Options{ReadTime: 50 * time.Millisecond})
	r := f.rawSession()
	r.affine(2, 1)
	for i := range uint64(replies) {
		r.pipeline(10+i, rawRequest(wire.TypeJob, validJob(16<<10, 1)))
	}
	eventually(t, "all are answered", func() bool { s := f.sessionOf(r); return s.Requests == 1+replies && s.Unanswered == 0 })
	time.Sleep(200 * time.Millisecond) // the client's own work
	for request, a := range r.answers(replies) {
		if a.Type != wire.TypeJob|wire.ReplyBit {
			t.Errorf("request %d: %v", request, a.Type)
		}
	}
}

// A server that shuts down waits for those that read their replies, as long as it does for jobs.
func TestRepliesThatAreReadAfterTheEnd(t *testing.T) {
	const replies = 40
	f := serve(t, server.Options{})
	r := f.rawSession()
	r.affine(2, 1)
	for i := range uint64(replies) {
		r.pipeline(10+i, rawRequest(wire.TypeJob, validJob(16<<10, 1)))
	}
	eventually(t, "all are answered", func() bool { s := f.sessionOf(r); return s.Requests == 1+replies && s.Unanswered == 0 })
	f.stop()
	time.Sleep(1500 * time.Millisecond) // the client's own work
	for request, a := range r.answers(replies) {
		if a.Type != wire.TypeJob|wire.ReplyBit {
			t.Errorf("request %d: %v", request, a.Type)
		}
	}
	r.wantError(0, wire.CodeDraining)
	r.wantEnd()
}

// The same of a ring, which has room for less.
func TestRepliesThatAreReadLateFromARing(t *testing.T) {
	const replies = 200
	f := serve(t, server.Options{ReadTime: 50 * time.Millisecond})
	r := f.rawSession()
	made := r.ring()
	for request := range uint64(replies) {
		made.put(frame(wire.TypeStatus, 3+request, &wire.Empty{}))
	}
	eventually(t, "all are answered", func() bool { s := f.sessionOf(r); return s.Requests == 1+replies && s.Unanswered == 0 })
	time.Sleep(200 * time.Millisecond) // the client's own work
	for request := range uint64(replies) {
		made.want(wire.TypeStatus|wire.ReplyBit, 3+request)
	}
}

// Jobs that run for long, and whose replies leave no room for others, are no fault of the client.
func TestRoomForRepliesOfLongJobs(t *testing.T) {
	f := serveGPU(t, server.Options{ReadTime: time.Second}, executor.Options{SlotBytes: 2 << 20})
	r := f.rawSession()
	r.affine(2, 1)
	for i := range uint64(200) { // short ones, so that many may be on the GPU
		r.pipeline(1000+i, rawRequest(wire.TypeJob, validJob(16, 1)))
		r.want(wire.TypeJob|wire.ReplyBit, 1000+i)
	}
	release := f.busyThread()
	const jobs = 8 // of 900 KB: more than an outbox has room for
	j := validJob(16, 1)
	j.Out[0].Operand.Size = 900_000
	for i := range uint64(jobs) {
		r.pipeline(10+i, rawRequest(wire.TypeJob, j))
	}
	r.pipeline(30, rawRequest(wire.TypeStatus, &wire.Empty{}))
	time.Sleep(1200 * time.Millisecond) // the time of the jobs: above ReadTime, which is for this client
	release()
	for request, a := range r.answers(jobs + 1) {
		if a.Type == wire.TypeError {
			t.Errorf("request %d: %v", request, a.Code)
		}
	}
}

// A job that is done, and whose outputs have to be copied on the GPU's thread, is answered at its
// deadline while that is busy.
func TestDeadlineOfAJobThatIsDone(t *testing.T) {
	const size = 150 << 10 // what a slot of 256 KiB has no room for
	f := serve(t, server.Options{})
	r := f.rawSession()
	r.share(2, 1, 2*size+4)
	r.pipeline(3, rawRequest(wire.TypeProgram, &wire.Program{ID: 1, Form: wire.FormFinal, Name: []byte("affine"), Text: []byte(affine.Text())}))
	r.want(wire.TypeProgram|wire.ReplyBit, 3)
	j := validJob(size/4, 1)
	j.Deadline = uint64(300 * time.Millisecond)
	j.In[0].Operand = wire.Operand{Place: wire.PlaceMemory, ID: 1, Offset: 4, Size: size}
	j.Out[0].Operand = wire.Operand{Place: wire.PlaceMemory, ID: 1, Offset: size + 4, Size: size}
	free := make(chan struct{})
	release := sync.OnceFunc(func() { close(free) })
	t.Cleanup(release)
	var busy func(*glctx.GL)
	busy = func(*glctx.GL) { // from the moment in which the job is done
		if f.gpu.Executor.Stats().Jobs == 1 && f.gpu.Executor.Queued() == 0 {
			<-free
			return
		}
		f.gpu.Context.Post(busy)
	}
	f.gpu.Context.Post(busy)
	r.pipeline(10, rawRequest(wire.TypeJob, j))
	r.wantError(10, wire.CodeDeadline)
	eventually(t, "only its outputs are watched", func() bool { return f.Working() == [...]int{0, 1, 0} })
	release()
	r.pipeline(20, rawRequest(wire.TypeStatus, &wire.Empty{}))
	r.want(wire.TypeStatus|wire.ReplyBit, 20)
	eventually(t, "nothing is watched", func() bool { return f.Working() == [...]int{0, 0, 0} })
}

// A copy that has begun is ended by no deadline; its client hears that the server goes on.
func TestACopyThatTakesLong(t *testing.T) {
	f := serve(t, server.Options{})
	r := f.rawSession()
	r.pipeline(2, rawRequest(wire.TypeBuffer, &wire.Buffer{ID: 2, Flags: wire.Create, Size: 16}))
	r.want(wire.TypeBuffer|wire.ReplyBit, 2)
	release := f.busyThread()
	r.pipeline(10, rawRequest(wire.TypeCopy, &wire.Copy{
		Deadline: uint64(20 * time.Millisecond), From: bufferOperand(2, 16), To: wire.Operand{Place: wire.PlaceInline, Size: 16},
	}))
	for range 2 {
		r.want(wire.TypeWake, 0)
	}
	release()
	r.want(wire.TypeCopy|wire.ReplyBit, 10)
}
