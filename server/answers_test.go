//go:build linux

package server_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/shadercache/shadercache/server"
	"github.com/shadercache/shadercache/server/internal/ring"
	"github.com/shadercache/shadercache/server/internal/wire"
	"github.com/shadercache/shadercache/shader"
)

// request is one request of a client made by hand.
type request struct {
	wire.Type
	wire.Message
	files []*os.File
}

// oneOfEach returns a request of each type but hello. Those that make an object give it id;
// timed ones have a deadline.
func oneOfEach(t testing.TB, id uint32, deadline time.Duration) []request {
	d := uint64(deadline)
	inline := wire.Operand{Place: wire.PlaceInline, Data: make([]byte, 16)}
	job := rawCount(1, 1, deadline)
	memory, _ := rawMemory(t, ring.Bytes(ring.MinSize))
	return []request{
		{wire.TypeProgram, &wire.Program{ID: id, Form: wire.FormFinal, Name: []byte("affine"), Text: []byte(affine.Text())}, nil},
		{wire.TypeMemory, &wire.Memory{ID: id, Size: 4096}, []*os.File{memory}},
		{wire.TypeBuffer, &wire.Buffer{ID: id, Flags: wire.Create, Size: 64}, nil},
		{wire.TypeCopy, &wire.Copy{Deadline: d, From: wire.Operand{Place: wire.PlaceBuffer, ID: 1, Size: 4}, To: wire.Operand{Place: wire.PlaceInline, Size: 4}}, nil},
		{wire.TypeJob, job, nil},
		{wire.TypePlan, &wire.Plan{ID: id, Flags: wire.Create, Spec: []byte("gemm:2x2x2")}, nil},
		{wire.TypeWeights, &wire.Weights{Plan: 1, Version: uint64(id), Deadline: d, Weights: inline}, nil},
		{wire.TypeRun, &wire.Run{Plan: 1, Deadline: d, Input: inline, Output: wire.Operand{Place: wire.PlaceInline, Size: 16}}, nil},
		{wire.TypeRelease, &wire.Release{Kind: wire.KindProgram, ID: id}, nil},
		{wire.TypeDelete, &wire.Delete{Kind: wire.KindBuffer, Name: []byte("another")}, nil},
		{wire.TypeCancel, &wire.Cancel{Request: 999}, nil},
		{wire.TypeStatus, &wire.Empty{}, nil},
		{wire.TypeRing, &wire.Ring{Size: ring.MinSize}, []*os.File{memory}},
	}
}

// pipeline sends requests, numbered from first, in as few writes as their descriptors allow.
func (r *raw) pipeline(first uint64, list ...request) {
	r.t.Helper()
	var frames [][]byte
	for i, each := range list {
		b := frame(each.Type, first+uint64(i), each.Message)
		if each.files == nil {
			frames = append(frames, b)
			continue
		}
		r.send(frames...)
		frames = nil
		if err := r.Write(b, each.files...); err != nil {
			r.t.Fatal(err)
		}
	}
	r.send(frames...)
}

// TestEveryRequestIsAnswered sends all pairs of requests behind one that waits for another
// session: as they are, with deadlines that pass meanwhile, and with cancels of both.
func TestEveryRequestIsAnswered(t *testing.T) {
	for name, pair := range map[string]func(r *raw, unlock func(), first, second request){
		"as they are": func(r *raw, unlock func(), first, second request) {
			r.pipeline(10, r.waiting(), first, second)
			unlock()
			r.answers(3)
		},
		"late": func(r *raw, unlock func(), first, second request) {
			r.pipeline(10, r.waiting(), first, second)
			late := 0
			for _, each := range []request{first, second} {
				switch each.Type {
				case wire.TypeCopy, wire.TypeJob, wire.TypeWeights, wire.TypeRun, wire.TypeCancel:
					late++ // cancels are answered at once
				}
			}
			r.answers(late)
			unlock()
			r.answers(3 - late)
		},
		"cancelled": func(r *raw, unlock func(), first, second request) {
			cancel := func(n uint64) request { return request{wire.TypeCancel, &wire.Cancel{Request: n}, nil} }
			r.pipeline(10, r.waiting(), first, second, cancel(11), cancel(12))
			r.answers(4)
			unlock()
			r.answers(1)
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := serve(t, server.Options{})
			f.counter("counter")
			deadline := time.Duration(0)
			if name == "late" {
				deadline = time.Nanosecond
			}
			for i := range oneOfEach(t, 2, deadline) {
				for k := range oneOfEach(t, 2, deadline) {
					first, second := oneOfEach(t, 2, deadline)[i], oneOfEach(t, 3, deadline)[k]
					t.Run(fmt.Sprintf("%v, %v", first.Type, second.Type), func(t *testing.T) {
						f.t = t
						r := f.raw()
						r.openCounter()
						r.pipeline(4, oneOfEach(t, 1, 0)[5])
						r.want(wire.TypePlan|wire.ReplyBit, 4)
						unlock := sync.OnceFunc(f.LockBuffer("counter"))
						defer unlock()
						pair(r, unlock, first, second)
						r.Close()
					})
				}
			}
		})
	}
}

// waiting is a request that waits while the buffer of openCounter is locked.
func (r *raw) waiting() request {
	return request{wire.TypeCopy, &wire.Copy{From: wire.Operand{Place: wire.PlaceInline, Data: make([]byte, 4)}, To: bufferOperand(1, 4)}, nil}
}

// TestRepliesOfBothStreams has a request by the ring behind one by the socket.
func TestRepliesOfBothStreams(t *testing.T) {
	f := serve(t, server.Options{})
	f.counter("counter")
	r := f.raw()
	r.openCounter()
	made := r.openRing(ring.MinSize)
	r.want(wire.TypeRing|wire.ReplyBit, 2)
	release := frame(wire.TypeRelease, 20, &wire.Release{Kind: wire.KindProgram, ID: 1})
	unlock := sync.OnceFunc(f.LockBuffer("counter"))
	t.Cleanup(unlock)
	r.pipeline(10, r.waiting(), request{wire.TypeStatus, &wire.Empty{}, nil})
	eventually(t, "the server has both", func() bool { return f.sessionOf(r).Requests == 5 })
	made.put(release)
	eventually(t, "and that of the ring", func() bool { return f.sessionOf(r).Requests == 6 })
	unlock()
	r.answers(2)
	made.want(wire.TypeRelease|wire.ReplyBit, 20)
}

// sessionOf returns the status of the session of r, the only one of its name.
func (f *fixture) sessionOf(r *raw) server.SessionStatus {
	for _, s := range f.Status().Sessions {
		if s.Client == "raw" {
			return s
		}
	}
	r.t.Fatal("the session has ended")
	return server.SessionStatus{}
}

// TestManyRepliesBeforeACopy has more replies than a client may leave unread put before a copy
// that has to have room for its own.
func TestManyRepliesBeforeACopy(t *testing.T) {
	f := serve(t, server.Options{})
	f.counter("counter")
	r := f.raw()
	r.openCounter()
	var list []request
	for range 20 { // the status has their messages
		list = append(list, request{wire.TypeProgram, &wire.Program{ID: 2, Form: wire.FormName, Name: bytes.Repeat([]byte("x"), wire.MaxText)}, nil})
	}
	r.pipeline(10, list...)
	r.answers(20)
	unlock := sync.OnceFunc(f.LockBuffer("counter"))
	t.Cleanup(unlock)
	list = []request{r.waiting()}
	for range 1000 {
		list = append(list, request{wire.TypeStatus, &wire.Empty{}, nil})
	}
	list = append(list, request{wire.TypeCopy, &wire.Copy{From: bufferOperand(1, 4), To: wire.Operand{Place: wire.PlaceInline, Size: 4}}, nil})
	r.pipeline(100, list...)
	eventually(t, "the server has all", func() bool { return f.sessionOf(r).Requests == 2+20+1002 })
	unlock()
	bytes := 0
	for _, a := range r.answers(1002) {
		bytes += len(a.body)
	}
	if bytes < 4<<20 {
		t.Errorf("only %d bytes of replies", bytes)
	}
}

// TestWhatIsCancelledMakesNothing cancels a request while it is performed.
func TestWhatIsCancelledMakesNothing(t *testing.T) {
	f := serve(t, server.Options{})
	f.counter("counter")
	r := f.raw()
	r.openCounter()
	unlock := sync.OnceFunc(f.LockBuffer("counter"))
	t.Cleanup(unlock)
	open := request{wire.TypeBuffer, &wire.Buffer{ID: 7, Name: []byte("counter")}, nil}
	objects := f.sessionOf(r).Objects
	r.pipeline(10, open)
	eventually(t, "the buffer is open", func() bool { return f.sessionOf(r).Objects > objects })
	r.pipeline(11, request{wire.TypeCancel, &wire.Cancel{Request: 10}, nil})
	r.wantError(10, wire.CodeCancelled)
	r.want(wire.TypeCancel|wire.ReplyBit, 11)
	unlock()
	r.pipeline(12, open)
	r.want(wire.TypeBuffer|wire.ReplyBit, 12)
	if n := f.sessionOf(r).Objects; n != objects+1 {
		t.Errorf("the session has %d objects more", n-objects)
	}
}

// TestCancelledProgramsHaveNoName cancels programs at any moment: what others get by their name
// is what was answered last.
func TestCancelledProgramsHaveNoName(t *testing.T) {
	f := serve(t, server.Options{})
	r := f.rawSession()
	number, cancelled := uint64(10), 0
	// key returns the key of a program that is made, and released, or false.
	key := func(form wire.Form, text string, then ...request) (key shader.Key, made bool) {
		list := append([]request{{wire.TypeProgram, &wire.Program{ID: 1, Form: form, Name: []byte("same"), Text: []byte(text)}, nil}}, then...)
		list = append(list, request{wire.TypeRelease, &wire.Release{Kind: wire.KindProgram, ID: 1}, nil})
		number += 10
		r.pipeline(number, list[0])
		for begin := time.Now(); len(then) > 0 && time.Since(begin) < time.Duration(number%8192)*25*time.Nanosecond; {
		}
		r.pipeline(number+1, list[1:]...)
		a := r.answers(len(list))[number]
		if a.Type != wire.TypeProgram|wire.ReplyBit {
			return key, false
		}
		var reply wire.ProgramReply
		if err := wire.Decode(a.body, &reply); err != nil {
			t.Fatal(err)
		}
		return shader.Key(reply.Key), true
	}
	var named shader.Key
	for i := range 6000 {
		text := fmt.Sprintf("#version 450 core\nlayout(local_size_x = %d) in;\nvoid main() { }\n", 1+i%2)
		var then []request
		if i > 1 { // both are resident
			then = []request{{wire.TypeCancel, &wire.Cancel{Request: number + 10}, nil}}
		}
		if now, made := key(wire.FormFinal, text, then...); made {
			named = now
		} else {
			cancelled++
		}
		if now, made := key(wire.FormName, ""); !made || now != named {
			t.Fatalf("after %d of %d were cancelled the name has the program of one of them", cancelled, i+1)
		}
	}
	t.Logf("%d of 6000 were cancelled", cancelled)
}

// TestRepliesThatCannotBeSent has requests whose replies are larger than the ring, or than a
// frame. They change nothing.
func TestRepliesThatCannotBeSent(t *testing.T) {
	f := serve(t, server.Options{})
	_, b := f.counter("counter")
	r := f.raw()
	r.openCounter()
	made := r.openRing(ring.MinSize)
	r.want(wire.TypeRing|wire.ReplyBit, 2)
	list := oneOfEach(t, 1, 0)
	affine := list[0].Message.(*wire.Program)
	affine.ID = 2
	r.pipeline(3, list[0], request{wire.TypeBuffer, &wire.Buffer{ID: 2, Flags: wire.Create, Size: 2 << 20}, nil})
	r.answers(2)

	job := rawCount(1, 1, 0)
	job.Out = validJob(2*ring.MinSize/4, 2).Out
	then := validJob(1, 2).Dispatch
	then.Buffers = append(then.Buffers, rawBuffer(1))
	then.Buffers[0].ReadOnly = true
	job.Then = append(job.Then, then)
	made.put(frame(wire.TypeJob, 10, job))
	if h, body := made.next(); h.Type != wire.TypeError {
		t.Errorf("a reply larger than the ring: %v, %d bytes", h.Type, len(body))
	}
	r.pipeline(11, request{wire.TypeCopy, &wire.Copy{From: bufferOperand(2, wire.MaxBody), To: wire.Operand{Place: wire.PlaceInline, Size: wire.MaxBody}}, nil})
	r.wantError(11, wire.CodeInvalid)

	// The reply has more of each uniform than the text.
	declared, sum := "", "0u"
	for i := range ring.MinSize / 36 {
		declared, sum = declared+fmt.Sprintf("uniform uint n%d;\n", i), sum+fmt.Sprint("+n", i)
	}
	many := fmt.Sprintf("#version 450 core\nlayout(local_size_x = 1) in;\n%svoid main() { if (%s == 1u) barrier(); }\n", declared, sum)
	r.pipeline(12, request{wire.TypeProgram, &wire.Program{ID: 3, Form: wire.FormFinal, Name: []byte("many"), Text: []byte(many)}, nil})
	r.want(wire.TypeProgram|wire.ReplyBit, 12)
	made.put(frame(wire.TypeProgram, 13, &wire.Program{ID: 4, Form: wire.FormFinal, Name: []byte("other"), Text: []byte(many)}))
	if h, _ := made.next(); h.Type != wire.TypeError {
		t.Errorf("a program whose reply is larger than the ring: %v", h.Type)
	}
	made.put(frame(wire.TypePlan, 14, &wire.Plan{ID: 4, Flags: wire.Create, Name: []byte("plan"), Spec: []byte(strings.Repeat("gemm:2x2x2\n", 200))}))
	if h, _ := made.next(); h.Type != wire.TypeError {
		t.Errorf("a plan whose reply is larger than the ring: %v", h.Type)
	}
	r.pipeline(15,
		rawRequest(wire.TypeRelease, &wire.Release{Kind: wire.KindProgram, ID: 4}), rawRequest(wire.TypeRelease, &wire.Release{Kind: wire.KindPlan, ID: 4}),
		rawRequest(wire.TypeProgram, &wire.Program{ID: 4, Form: wire.FormName, Name: []byte("other")}), rawRequest(wire.TypePlan, &wire.Plan{ID: 4, Name: []byte("plan")}))
	for request, a := range r.answers(4) {
		if a.Code != wire.CodeNotFound {
			t.Errorf("request %d finds what was not answered: %v", request, a.Code)
		}
	}
	if value, version := read(t, b); value != 0 || version != 0 {
		t.Errorf("the job that could not be answered was run: %d in version %d", value, version)
	}
}

// TestAnyRequestsInAnyOrder has clients send requests of every type at random, pipelined, with
// deadlines and cancels, on the same named buffer and plan. All are answered, once each.
func TestAnyRequestsInAnyOrder(t *testing.T) {
	f := serve(t, server.Options{})
	good, b := f.counter("counter")
	const rounds, each = 30, 25
	var all sync.WaitGroup
	for client := range uint64(4) {
		r := f.raw()
		r.openCounter()
		r.pipeline(4, request{wire.TypePlan, &wire.Plan{ID: 1, Flags: wire.Create, Name: []byte("plan"), Spec: []byte("gemm:2x2x2\ngemm:2x2x2")}, nil})
		r.want(wire.TypePlan|wire.ReplyBit, 4)
		random := rand.New(rand.NewPCG(client, 1))
		all.Go(func() {
			for round := range uint64(rounds) {
				var list []request
				first := 1000 * (round + 1)
				for i := range uint64(each) {
					deadline := []time.Duration{0, 0, 0, time.Nanosecond, time.Millisecond}[random.IntN(5)]
					of := oneOfEach(t, 2+random.Uint32N(4), deadline)
					next := of[random.IntN(len(of))]
					if weights, ok := next.Message.(*wire.Weights); ok {
						weights.Weights.Data = make([]byte, 32)
					}
					if next.Type == wire.TypeCancel {
						next.Message = &wire.Cancel{Request: first + i - min(i, random.Uint64N(5))}
					}
					list = append(list, next)
				}
				r.pipeline(first, list...)
				r.answers(each)
			}
		})
	}
	all.Wait()
	value, version := read(t, b)
	if uint64(value) != version {
		t.Errorf("%d jobs have added 1, and the version is %d", value, version)
	}
	if err := run(t.Context(), good, program(t, good, affine), 1000, 3, 4); err != nil {
		t.Error(err)
	}
}
