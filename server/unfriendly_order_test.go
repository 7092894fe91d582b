//go:build linux

package server_test

import (
	"fmt"
	"testing"

	"github.com/shadercache/shadercache/server"
	"github.com/shadercache/shadercache/server/internal/wire"
)

func cancelOf(request uint64) request {
	return rawRequest(wire.TypeCancel, &wire.Cancel{Request: request})
}

func rawRequest(t wire.Type, m wire.Message) request { return request{t, m, nil} }

// TestNumbersOfRequests uses numbers twice, and none, and cancels what is answered, what is to
// come, and what another session has.
func TestNumbersOfRequests(t *testing.T) {
	f := serve(t, server.Options{})
	f.counter("counter")
	status := rawRequest(wire.TypeStatus, &wire.Empty{})
	for name, list := range map[string][]request{ // with the numbers 10 and 11
		"a cancel of what is answered":  {cancelOf(3)},
		"a cancel of what is to come":   {cancelOf(11), status},
		"a cancel of itself":            {cancelOf(10)},
		"a cancel of a cancel":          {cancelOf(99), cancelOf(10)},
		"a cancel of request 0":         {cancelOf(0)},
		"a cancel of the hello":         {cancelOf(1)},
		"a cancel of another session's": {cancelOf(500)},
	} {
		t.Run(name, func(t *testing.T) {
			f.t = t
			other, r := f.raw(), f.raw()
			other.openCounter()
			r.openCounter()
			unlock := f.LockBuffer("counter")
			other.pipeline(500, other.waiting())
			r.pipeline(10, list...)
			for n, a := range r.answers(len(list)) {
				if a.Code != 0 {
					t.Errorf("request %d: %v", n, a.Code)
				}
			}
			unlock()
			other.want(wire.TypeCopy|wire.ReplyBit, 500)
			r.Close()
			other.Close()
		})
	}
	for name, frames := range map[string][]byte{
		"request 0":                frame(wire.TypeStatus, 0, &wire.Empty{}),
		"a cancel that is 0":       frame(wire.TypeCancel, 0, &wire.Cancel{Request: 1}),
		"a number twice":           slicesConcat(frame(wire.TypeCopy, 10, f.waitingCopy()), frame(wire.TypeStatus, 10, &wire.Empty{})),
		"a cancel with its number": slicesConcat(frame(wire.TypeCopy, 10, f.waitingCopy()), frame(wire.TypeCancel, 10, &wire.Cancel{Request: 9})),
	} {
		t.Run(name, func(t *testing.T) {
			f.t = t
			r := f.raw()
			r.openCounter()
			unlock := f.LockBuffer("counter")
			defer unlock()
			r.send(frames)
			r.wantError(0, wire.CodeMalformed)
			r.wantEnd()
		})
	}
}

func (f *fixture) waitingCopy() *wire.Copy { return (*raw)(nil).waiting().Message.(*wire.Copy) }

// TestRequestsAfterTheLast sends requests behind one that ends the session: none has an effect.
func TestRequestsAfterTheLast(t *testing.T) {
	f := serve(t, server.Options{})
	good, b := f.counter("counter")
	plan, err := good.OpenPlan(t.Context(), "plan", false, "gemm:2x2x2")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := plan.SetWeights(t.Context(), 1, make([]float32, 4), nil); err != nil {
		t.Fatal(err)
	}
	for i := range 20 {
		_, version := read(t, b)
		r := f.raw()
		r.openCounter()
		r.pipeline(4, rawRequest(wire.TypePlan, &wire.Plan{ID: 1, Name: []byte("plan")}))
		r.want(wire.TypePlan|wire.ReplyBit, 4)
		unlock := f.LockBuffer("counter")
		r.send(
			frame(wire.TypeCopy, 10, f.waitingCopy()),
			frame(wire.TypeJob, 11, noDispatch), // malformed
			frame(wire.TypeWeights, 12, &wire.Weights{Plan: 1, Version: 99, Weights: wire.Operand{Place: wire.PlaceInline, Data: make([]byte, 16)}}),
			frame(wire.TypeCopy, 13, f.waitingCopy()),
			frame(wire.TypeJob, 14, rawCount(1, 1, 0)),
			frame(wire.TypeDelete, 15, &wire.Delete{Kind: wire.KindBuffer, Name: []byte("counter")}),
			frame(wire.TypeBuffer, 16, &wire.Buffer{ID: 9, Flags: wire.Create, Size: 4, Name: []byte(fmt.Sprint("late", i))}),
		)
		eventually(t, "the server has all", func() bool { return f.sessionOf(r).Requests == 10 })
		unlock()
		for err := error(nil); err == nil; {
			_, _, err = r.Next()
		}
		eventually(t, "the session ended", func() bool { return len(f.Status().Sessions) == 1 })
		if _, after := read(t, b); after != version+1 {
			t.Errorf("the buffer has version %d, not %d", after, version+1)
		}
		if _, err := good.OpenBuffer(t.Context(), "counter"); err != nil {
			t.Error(err)
		}
		if uploaded, err := plan.SetWeights(t.Context(), 99, make([]float32, 4), nil); err != nil || !uploaded {
			t.Fatalf("round %d: weights behind the last request are there: %v", i, err)
		}
		if _, err := plan.SetWeights(t.Context(), 1, make([]float32, 4), nil); err != nil {
			t.Error(err)
		}
	}
	if n := f.Status().NamedBuffers; n != 1 {
		t.Errorf("%d named buffers", n)
	}
}
