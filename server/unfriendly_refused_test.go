//go:build linux

package server_test

import (
	"math"
	"strings"
	"testing"

	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/job/texel"
	"github.com/shadercache/shadercache/server"
	"github.com/shadercache/shadercache/server/internal/wire"
)

// TestRequestsThatAreRefused are messages of the protocol that do not fit their objects or the
// device. Each is answered with an error that says what does not, and the session goes on.
func TestRequestsThatAreRefused(t *testing.T) {
	f := serve(t, server.Options{Limits: wire.Limits{Buffers: 1 << 50}})
	r := f.rawSession()
	r.share(100, 1, 4096)
	inline := wire.Operand{Place: wire.PlaceInline, Data: make([]byte, 16)}
	r.pipeline(2,
		rawRequest(wire.TypePlan, &wire.Plan{ID: 1, Flags: wire.Create, Name: []byte("plan"), Spec: []byte("gemm:2x2x2")}),
		rawRequest(wire.TypeWeights, &wire.Weights{Plan: 1, Version: 1, Weights: inline}),
		rawRequest(wire.TypeBuffer, &wire.Buffer{ID: 1, Flags: wire.Create, Size: 64}))
	nothing := func(change func(*wire.Job)) request {
		m := validJob(4, 1)
		change(m)
		return rawRequest(wire.TypeJob, m)
	}
	r.pipeline(5, rawRequest(wire.TypeProgram, &wire.Program{ID: 1, Form: wire.FormFinal, Name: []byte("affine"), Text: []byte(affine.Text())}))
	for request, a := range r.answers(4) {
		if a.Code != 0 {
			t.Fatalf("request %d: %v", request, a.Code)
		}
	}
	program := func(form wire.Form, text string, defines ...wire.Define) request {
		return rawRequest(wire.TypeProgram, &wire.Program{ID: 9, Form: form, Name: []byte("p"), Text: []byte(text), Defines: defines})
	}
	plan := func(flags wire.BufferFlags, name, spec string) request {
		return rawRequest(wire.TypePlan, &wire.Plan{ID: 9, Flags: flags, Name: []byte(name), Spec: []byte(spec)})
	}
	buffer := func(flags wire.BufferFlags, size uint64) request {
		return rawRequest(wire.TypeBuffer, &wire.Buffer{ID: 9, Flags: flags, Size: size})
	}
	run := func(in, out wire.Operand) request {
		return rawRequest(wire.TypeRun, &wire.Run{Plan: 1, Input: in, Output: out})
	}
	at := func(offset uint64) wire.Operand { return wire.Operand{Place: wire.PlaceBuffer, ID: 1, Offset: offset} }
	beyond := wire.Operand{Place: wire.PlaceBuffer, ID: 1, Offset: math.MaxUint64 - 3, Size: 64}
	memory := func(offset, size uint64) request {
		from := wire.Operand{Place: wire.PlaceMemory, ID: 1, Offset: offset, Size: size}
		return rawRequest(wire.TypeCopy, &wire.Copy{From: from, To: at(0)})
	}
	define := wire.Define{Name: []byte("A"), Value: []byte("1")}
	thin := texel.Shape{Dim: "2DArray", Format: "r8", Width: 1, Height: 16384, Depth: 2048, Levels: 1} // of 32 MiB
	for want, c := range map[string]struct {
		request
		wire.Code
	}{
		"weights need a version that is not 0":  {rawRequest(wire.TypeWeights, &wire.Weights{Plan: 1, Weights: inline}), wire.CodeInvalid},
		"contains a NUL byte":                   {program(wire.FormFinal, "#version 450\n\x00void main() {}"), wire.CodeInvalid},
		"defines are for programs by source":    {program(wire.FormFinal, affine.Text(), define), wire.CodeInvalid},
		"a program by name has no text":         {program(wire.FormName, "void main() {}"), wire.CodeInvalid},
		"the server has no program p":           {program(wire.FormName, ""), wire.CodeNotFound},
		"a multiple of 4 up to":                 {buffer(wire.Create, (uint64(f.gpu.Context.Info().MaxStorage)+4)&^3+4), wire.CodeInvalid},
		"a texture that takes 2147483648 bytes": {rawRequest(wire.TypeTexture, &wire.Texture{ID: 9, Shape: thin}), wire.CodeInvalid},
		"a buffer of 0 bytes":                   {buffer(wire.Create, 0), wire.CodeInvalid},
		"a buffer of 6 bytes":                   {buffer(wire.Create, 6), wire.CodeInvalid},
		"a buffer without a name can only":      {buffer(0, 64), wire.CodeInvalid},
		"a plan of 1025 layers":                 {plan(wire.Create, "", strings.Repeat("gemm:2x2x2\n", 1025)), wire.CodeInvalid},
		"a plan of 0 layers":                    {plan(wire.Create, "", "\n\n"), wire.CodeInvalid},
		"a plan without a name can only":        {plan(0, "", "gemm:2x2x2"), wire.CodeInvalid},
		`"plan" has other layers`:               {plan(wire.Create|wire.Exact, "plan", "gemm:2x2x2"), wire.CodeExists},
		`the named plan "plan" has other`:       {plan(wire.Exact, "plan", ""), wire.CodeExists},
		"a plan uses a buffer from its first":   {run(at(16), at(0)), wire.CodeInvalid},
		"a run needs an input and an output":    {run(wire.Operand{}, at(0)), wire.CodeInvalid},
		"the session has no memory 7":           {run(wire.Operand{Place: wire.PlaceMemory, ID: 7, Size: 16}, at(0)), wire.CodeNotFound},
		"16 bytes at 4088 of memory of 4096":    {memory(4088, 16), wire.CodeInvalid},
		"16 bytes at 4096 of memory of 4096":    {memory(4096, 16), wire.CodeInvalid},
		"16 bytes at 8192 of memory of 4096":    {memory(8192, 16), wire.CodeInvalid},
		"at 18446744073709551612 of memory":     {memory(math.MaxUint64-3, 16), wire.CodeInvalid},
		"at 18446744073709551612 of buffer":     {rawRequest(wire.TypeCopy, &wire.Copy{From: inline, To: beyond}), wire.CodeInvalid},
		"0 bytes at 64 of buffer 1 of 64":       {rawRequest(wire.TypeCopy, &wire.Copy{From: wire.Operand{Place: wire.PlaceInline}, To: at(64)}), wire.CodeInvalid},
		"has no version to check":               {rawRequest(wire.TypeCopy, &wire.Copy{From: at(0), To: wire.Operand{Place: wire.PlaceInline, Size: 64}, Check: true}), wire.CodeInvalid},
		"no version to check, or to set":        {rawRequest(wire.TypeCopy, &wire.Copy{From: at(0), To: wire.Operand{Place: wire.PlaceInline, Size: 64}, Version: 3}), wire.CodeInvalid},
		"input at binding 0: has neither":       {nothing(func(m *wire.Job) { m.In[0].Operand = wire.Operand{} }), wire.CodeInvalid},
		"output at binding 1: has neither":      {nothing(func(m *wire.Job) { m.Out[0].Operand = wire.Operand{} }), wire.CodeInvalid},
		"8 bytes in and 64 out":                 {run(wire.Operand{Place: wire.PlaceInline, Data: make([]byte, 8)}, at(0)), wire.CodeInvalid},
		"16 bytes in and 12 out":                {run(inline, bufferOperand(1, 12)), wire.CodeInvalid},
		"4 bytes in and 16 out":                 {run(bufferOperand(1, 4), wire.Operand{Place: wire.PlaceInline, Size: 16}), wire.CodeInvalid},
		"16 bytes of weights and 16 of bias":    {rawRequest(wire.TypeWeights, &wire.Weights{Plan: 1, Version: 2, Weights: inline, Bias: inline}), wire.CodeInvalid},
		"offset -4 is not a multiple": {nothing(func(m *wire.Job) {
			m.Buffers = []job.Bound{{Binding: 1, Buffer: numbered{id: 1}, Offset: -4, Size: 64}}
		}), wire.CodeInvalid},
	} {
		r.pipeline(10, c.request)
		a := r.answers(1)[10]
		if a.Code != c.Code || !strings.Contains(string(a.body), want) {
			t.Errorf("%v: %.100q, want %v, %s", a.Code, a.body, c.Code, want)
		}
	}
	for range 20 { // a reply has no bytes of the one before
		r.pipeline(11, run(inline, wire.Operand{Place: wire.PlaceInline, Size: 16}))
		if body := r.want(wire.TypeRun|wire.ReplyBit, 11); len(body) != 4+16 {
			t.Errorf("a run to the reply has %d bytes", len(body))
		}
		r.pipeline(12, run(inline, at(0)))
		if body := r.want(wire.TypeRun|wire.ReplyBit, 12); len(body) != 4 {
			t.Errorf("a run to a buffer has a reply of %d bytes", len(body))
		}
	}
}
