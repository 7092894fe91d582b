//go:build linux

package server_test

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"time"

	"github.com/shadercache/shadercache/server"
	"github.com/shadercache/shadercache/server/internal/wire"
)

// A copy whose operands do not fit is an error of the client, and the session goes on.
func TestCopiesThatDoNotFit(t *testing.T) {
	r := serve(t, server.Options{}).raw()
	buffer := func(id uint32, offset, size uint64) wire.Operand {
		return wire.Operand{Place: wire.PlaceBuffer, ID: id, Offset: offset, Size: size}
	}
	inline := wire.Operand{Place: wire.PlaceInline, Data: make([]byte, 64)}
	stream := slicesConcat(hello,
		frame(wire.TypeBuffer, 2, &wire.Buffer{ID: 1, Flags: wire.Create, Size: 1024}),
		frame(wire.TypeBuffer, 3, &wire.Buffer{ID: 2, Flags: wire.Create, Size: 256}),
		frame(wire.TypeBuffer, 4, &wire.Buffer{ID: 3, Flags: wire.Create, Size: 10}))
	copies := []struct {
		from, to wire.Operand
		code     wire.Code // 0 = it is copied
	}{
		{buffer(1, 0, 0), buffer(2, 0, 256), 0}, // to the end of a buffer, or of the other one
		{buffer(2, 0, 0), buffer(1, 512, 0), 0},
		{inline, buffer(2, 192, 0), 0},
		{buffer(1, 0, 128), buffer(2, 0, 256), wire.CodeInvalid},
		{buffer(2, 0, 0), buffer(1, 0, 1024), wire.CodeInvalid},
		{buffer(1, 1000, 0), buffer(2, 0, 256), wire.CodeInvalid},
		{inline, buffer(2, 0, 128), wire.CodeInvalid},
		{buffer(1, 0, 64), buffer(1, 512, 64), wire.CodeInvalid},
		{buffer(1, 0, 64), buffer(2, 256, 0), wire.CodeInvalid},
		{inline, buffer(2, 224, 64), wire.CodeInvalid}, // beyond the end
		{buffer(1, 992, 64), buffer(2, 0, 64), wire.CodeInvalid},
		{inline, inline, wire.CodeInvalid},
		{buffer(1, 0, 64), wire.Operand{}, wire.CodeInvalid},
		{wire.Operand{}, buffer(1, 0, 64), wire.CodeInvalid},
		{buffer(1, 0, 0), wire.Operand{}, wire.CodeInvalid},
		{wire.Operand{}, wire.Operand{}, wire.CodeInvalid},
		{buffer(1, 0, 64), buffer(2, 0, 64), 0},
	}
	for i, c := range copies {
		stream = append(stream, frame(wire.TypeCopy, uint64(10+i), &wire.Copy{From: c.from, To: c.to})...)
	}
	if err := r.Write(stream); err != nil {
		t.Fatal(err)
	}
	for request, typ := range []wire.Type{wire.TypeHello, wire.TypeBuffer, wire.TypeBuffer} {
		r.want(typ|wire.ReplyBit, uint64(1+request))
	}
	r.wantError(4, wire.CodeInvalid) // no whole words
	for i, c := range copies {
		if request := uint64(10 + i); c.code == 0 {
			r.want(wire.TypeCopy|wire.ReplyBit, request)
		} else {
			r.wantError(request, c.code)
		}
	}
}

// TestAWriteThatEndsLate ends the wait for a copy that the server has begun: the memory of its
// bytes has those of no later request until then.
func TestAWriteThatEndsLate(t *testing.T) {
	f := serve(t, server.Options{})
	busy, c := f.dial(), f.dial()
	counted, err1 := busy.NewBuffer(t.Context(), 8)
	late, err2 := c.NewBuffer(t.Context(), 256<<10)
	next, err3 := c.NewBuffer(t.Context(), 256<<10)
	if err := errors.Join(err1, err2, err3); err != nil {
		t.Fatal(err)
	}
	p := program(t, busy, slowCount)
	ended := 0
	for range 10 {
		before, count := f.Status().Counters.Jobs, countJob(p, counted, 60_000)
		count.Groups[0] = 300
		work, err := busy.Submit(t.Context(), count)
		if err != nil {
			t.Fatal(err)
		}
		eventually(t, "the device has the job", func() bool { return f.Status().Counters.Jobs > before })
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
		if _, err := late.Write(ctx, 0, bytes.Repeat([]byte{1}, 256<<10)); err != nil {
			ended++
		}
		cancel()
		if _, err := next.Write(t.Context(), 0, bytes.Repeat([]byte{2}, 256<<10)); err != nil {
			t.Fatal(err)
		}
		got := make([]byte, 256<<10)
		if _, err := late.Read(t.Context(), 0, got); err != nil || bytes.IndexByte(got, 2) >= 0 {
			t.Fatalf("a buffer has the bytes of another one: %v", err)
		}
		work.Release()
	}
	if ended == 0 {
		t.Log("no write ended before its answer: this device is fast")
	}
}
