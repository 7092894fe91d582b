//go:build linux

package server_test

import (
	"testing"

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
