//go:build linux

package server_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/server"
	"github.com/shadercache/shadercache/server/client"
	"github.com/shadercache/shadercache/server/internal/socket"
	"github.com/shadercache/shadercache/server/internal/wire"
	"github.com/shadercache/shadercache/shader"
)

// serveInPlace starts a server that uses the memory of clients in place, or skips the test.
func serveInPlace(t testing.TB) *fixture {
	t.Helper()
	f := serve(t, server.Options{})
	if !f.gpu.Context.Info().PinnedMemory() {
		t.Skip("this driver has no GL_AMD_pinned_memory")
	}
	return f
}

// newMemory returns shared memory that the test releases.
func newMemory(t testing.TB, c *client.Client, size int) *client.Memory {
	t.Helper()
	m, err := c.NewMemory(t.Context(), size)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Release)
	return m
}

// affineInMemory runs affine on n words from in to out, which are offsets in m, and checks
// every word.
func affineInMemory(t testing.TB, c *client.Client, p job.Program, m *client.Memory, in, out, n int) {
	t.Helper()
	copy(m.Bytes()[out:], bytes.Repeat([]byte{0xA5}, 4*n))
	copy(m.Bytes()[in:], words(n, func(i uint32) uint32 { return i ^ 0x5555 }))
	j, _, _ := affineJob(p, n, 3, 7)
	j.Inputs = []job.Input{{Binding: 0, Data: m.Bytes()[in:][:4*n]}}
	j.Outputs = []job.Output{{Binding: 1, To: m.Bytes()[out:][:4*n]}}
	pending, err := c.Submit(t.Context(), j)
	if err == nil {
		err = pending.Wait(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	if want := words(n, func(i uint32) uint32 { return 3*(i^0x5555) + 7 }); !bytes.Equal(m.Bytes()[out:out+4*n], want) {
		t.Errorf("%d words from %d to %d are wrong", n, in, out)
	}
}

// wide computes 3*x + 7 of every word, 262,144 of them for each row of groups.
var wide = shader.MustSource("wide", `
layout(local_size_x = 256) in;
layout(std430, binding = 0) restrict readonly buffer In { uint x[]; };
layout(std430, binding = 1) restrict writeonly buffer Out { uint y[]; };
void main() {
    uint i = gl_GlobalInvocationID.y * 262144u + gl_GlobalInvocationID.x;
    if (i < x.length()) y[i] = 3u * x[i] + 7u;
}`, nil)

// wideJob returns a job over the first size bytes of m, whose output follows them.
func wideJob(p job.Program, m *client.Memory, size int) *job.Job {
	copy(m.Bytes(), words(size/4, func(i uint32) uint32 { return i ^ 0x5555 }))
	for i := range m.Bytes()[size:] {
		m.Bytes()[size+i] = 0xA5
	}
	return &job.Job{
		Dispatch: job.Dispatch{Program: p, Groups: [3]uint32{1024, uint32(size/4+262143) / 262144, 1}},
		Inputs:   []job.Input{{Binding: 0, Data: m.Bytes()[:size]}},
		Outputs:  []job.Output{{Binding: 1, To: m.Bytes()[size:][:size]}},
	}
}

func checkWide(t testing.TB, m *client.Memory, size int) {
	t.Helper()
	if want := words(size/4, func(i uint32) uint32 { return 3*(i^0x5555) + 7 }); !bytes.Equal(m.Bytes()[size:], want) {
		t.Error("the output is wrong")
	}
}

// TestLargeJobsCopyNothing has 64 MiB in and 64 MiB out.
func TestLargeJobsCopyNothing(t *testing.T) {
	f := serveInPlace(t)
	c := f.dial()
	if !c.Welcome().ZeroCopy || !f.Status().ZeroCopy {
		t.Error("it is not reported")
	}
	const size = 64 << 20
	m := newMemory(t, c, 2*size)
	pending, err := c.Submit(t.Context(), wideJob(program(t, c, wide), m, size))
	if err == nil {
		err = pending.Wait(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	checkWide(t, m, size)
	n := f.Status().Counters
	if n.BytesIn != size || n.BytesOut != size || n.BytesCopied != 0 {
		t.Errorf("%d bytes in, %d out, of them %d copied", n.BytesIn, n.BytesOut, n.BytesCopied)
	}
}

// TestOperandsThatAreCopied are those that could not be used in place without another
// result.
func TestOperandsThatAreCopied(t *testing.T) {
	f := serveInPlace(t)
	c := f.dial()
	p, m := program(t, c, affine), newMemory(t, c, 1<<20)
	const n = 1000
	for _, at := range []struct {
		in, out, copied int
	}{
		{0, 8192, 0},             // apart and aligned
		{0, 0, 8 * n},            // in place of its input
		{256, 0, 8 * n},          // an overlap
		{4, 8192, 4 * n},         // an input that is not aligned
		{0, 8192 + 4, 4 * n},     // an output that is not
		{1<<20 - 4*n, 0, 0},      // the end
		{1<<20 - 4096, 8192, 0},  // the last page
		{65536, 1<<20 - 4096, 0}, // likewise
	} {
		before := f.Status().Counters.BytesCopied
		affineInMemory(t, c, p, m, at.in, at.out, n)
		if copied := f.Status().Counters.BytesCopied - before; copied != uint64(at.copied) {
			t.Errorf("%+v: %d bytes were copied", at, copied)
		}
	}
}

// TestCopiesOfPinnedMemory copies between shared memory and buffers.
func TestCopiesOfPinnedMemory(t *testing.T) {
	f := serveInPlace(t)
	c := f.dial()
	const size = 3 << 20
	m := newMemory(t, c, 2*size)
	b, err := c.NewBuffer(t.Context(), size)
	if err != nil {
		t.Fatal(err)
	}
	copy(m.Bytes(), words(size/4, func(i uint32) uint32 { return i * 77 }))
	if _, err := b.Write(t.Context(), 0, m.Bytes()[:size]); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Read(t.Context(), 8, m.Bytes()[size+4:][:size-8]); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(m.Bytes()[size+4:2*size-4], m.Bytes()[8:size]) {
		t.Error("other bytes came back")
	}
	if n := f.Status().Counters; n.BytesCopied != 0 || n.BytesIn != size || n.BytesOut != size-8 {
		t.Errorf("%+v", n)
	}
}

// TestNetworksRunInPlace compares a run in shared memory with one through the socket.
func TestNetworksRunInPlace(t *testing.T) {
	f := serveInPlace(t)
	c := f.dial()
	p, err := c.OpenPlan(t.Context(), "", false, "conv2d:1x3x16x16-4,3x3,p1,relu")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.SetWeights(t.Context(), 1, testValues(p.Info().Weights), nil); err != nil {
		t.Fatal(err)
	}
	values := make([]float32, p.Info().Output)
	if err := p.Run(t.Context(), testValues(p.Info().Input), values); err != nil {
		t.Fatal(err)
	}
	input, want := bytesOf(testValues(p.Info().Input)), bytesOf(values)
	in, out := newMemory(t, c, len(input)), newMemory(t, c, len(want))
	for _, at := range []struct {
		in, out *client.Memory
		copied  int
	}{{in, out, 0}, {out, out, len(input) + len(want)}} {
		copy(out.Bytes(), bytes.Repeat([]byte{0xFF}, len(want)))
		copy(at.in.Bytes(), input)
		before := f.Status().Counters.BytesCopied
		pending, err := p.Submit(t.Context(), at.in.Floats()[:p.Info().Input], at.out.Floats()[:p.Info().Output])
		if err == nil {
			err = pending.Wait(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
		if copied := f.Status().Counters.BytesCopied - before; !bytes.Equal(out.Bytes(), want) || copied != uint64(at.copied) {
			t.Errorf("%d bytes were copied, or the output is wrong", copied)
		}
	}
}

func testValues(n int) []float32 {
	values := make([]float32, n)
	for i := range values {
		values[i] = float32(i%17)/8 - 1
	}
	return values
}

// mappings returns how often this process has mapped memory of a name.
func mappings(t testing.TB, name string) int {
	t.Helper()
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Fatal(err)
	}
	return strings.Count(string(maps), "/memfd:"+name+" ")
}

// TestAClientThatDiesWhileItsMemoryIsPinned has a job that takes a while in memory that the
// client truncates and punches holes into, before it disappears. The server's mapping ends
// after the job.
func TestAClientThatDiesWhileItsMemoryIsPinned(t *testing.T) {
	f := serveInPlace(t)
	good := f.dial()
	p := program(t, good, affine)
	const size = 1 << 20
	for range 5 {
		file, memory, err := socket.NewMemory("dying", size)
		if err != nil {
			t.Fatal(err)
		}
		_ = socket.Unmap(memory) // what is mapped is the server's
		r := f.raw()
		j := &wire.Job{
			Out: []wire.Binding{{Binding: 0, Operand: wire.Operand{Place: wire.PlaceMemory, ID: 1, Size: size}}},
			Job: job.Job{Dispatch: job.Dispatch{
				Program: rawProgram(1), Groups: [3]uint32{size / 256, 1, 1}, Uniforms: []job.Uniform{job.Uint("turns", 2000)},
			}},
		}
		err = errors.Join(
			r.Write(hello),
			r.Write(frame(wire.TypeMemory, 2, &wire.Memory{ID: 1, Size: size}), file),
			r.Write(frame(wire.TypeProgram, 3, &wire.Program{ID: 1, Form: wire.FormFinal, Name: []byte("slow"), Text: []byte(slow.Text())})),
			r.Write(frame(wire.TypeJob, 4, j)), r.Write(frame(wire.TypeJob, 5, j)),
		)
		if err != nil {
			t.Fatal(err)
		}
		r.want(wire.TypeHello|wire.ReplyBit, 1)
		r.want(wire.TypeMemory|wire.ReplyBit, 2)
		r.want(wire.TypeProgram|wire.ReplyBit, 3)
		if n := mappings(t, "dying"); n != 1 {
			t.Errorf("%d mappings", n)
		}
		if file.Truncate(0) == nil {
			t.Error("sealed memory could be truncated")
		}
		for range 20 {
			if err := unix.Fallocate(int(file.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, 0, size); err != nil {
				t.Fatal(err)
			}
			time.Sleep(200 * time.Microsecond)
		}
		file.Close()
		r.Close()
		eventually(t, "unmapped", func() bool { return mappings(t, "dying") == 0 })
	}
	if n := f.Status().Counters.BytesCopied; n != 0 {
		t.Errorf("%d bytes were copied", n)
	}
	if err := run(t.Context(), good, p, 1000, 3, 4); err != nil {
		t.Error(err)
	}
}

// TestMemoryOfAFailedJobIsNotUsedAgain has outputs that the client stages in shared memory:
// those of a job that is past its deadline must not be given to the next one, which would
// find the words of the first there.
func TestMemoryOfAFailedJobIsNotUsedAgain(t *testing.T) {
	f := serveInPlace(t)
	c := f.dial()
	p, fast := program(t, c, slow), program(t, c, affine)
	j := f.slowJob(p, 1024) // 256 KiB of output
	j.Uniforms = []job.Uniform{job.Uint("turns", 2000)}
	short, cancel := context.WithTimeout(t.Context(), 2*time.Millisecond)
	defer cancel()
	pending, err := c.Submit(short, j)
	if err == nil {
		err = pending.Wait(t.Context())
	}
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Logf("the job was fast: %v", err)
	}
	for range 5 {
		if err := run(t.Context(), c, fast, 64<<10, 5, 9); err != nil {
			t.Error(err)
		}
	}
}

// TestOneMemoryByTwoIds shares one memory twice: an output by one id is not used in place of an
// input by the other, nor is that of a run.
func TestOneMemoryByTwoIds(t *testing.T) {
	f := serveInPlace(t)
	r := f.rawSession()
	file, memory := r.share(2, 1, 8192)
	if err := r.Write(frame(wire.TypeMemory, 3, &wire.Memory{ID: 2, Size: 8192}), file); err != nil {
		t.Fatal(err)
	}
	r.pipeline(4,
		rawRequest(wire.TypeProgram, &wire.Program{ID: 1, Form: wire.FormFinal, Name: []byte("affine"), Text: []byte(affine.Text())}),
		rawRequest(wire.TypePlan, &wire.Plan{ID: 1, Flags: wire.Create, Spec: []byte("gemm:8x8x8")}),
		rawRequest(wire.TypeWeights, &wire.Weights{Plan: 1, Version: 1, Weights: wire.Operand{Place: wire.PlaceInline, Data: bytesOf(ones(64))}}))
	r.answers(4)
	of := func(id uint32, size uint64) wire.Operand {
		return wire.Operand{Place: wire.PlaceMemory, ID: id, Size: size}
	}

	copy(memory, words(2048, func(i uint32) uint32 { return i }))
	job := validJob(2048, 1)
	job.In[0].Operand, job.Out[0].Operand = of(1, 8192), of(2, 8192)
	r.pipeline(10, rawRequest(wire.TypeJob, job))
	r.want(wire.TypeJob|wire.ReplyBit, 10)
	if !bytes.Equal(memory, words(2048, func(i uint32) uint32 { return 3*i + 4 })) {
		t.Errorf("the job computed wrong: %x", memory[:32])
	}
	copy(memory, bytesOf(ones(64)))
	r.pipeline(11, rawRequest(wire.TypeRun, &wire.Run{Plan: 1, Input: of(1, 256), Output: of(2, 256)}))
	r.want(wire.TypeRun|wire.ReplyBit, 11)
	if eights := bytes.Repeat(bytesOf([]float32{8}), 64); !bytes.Equal(memory[:256], eights) {
		t.Errorf("the run computed wrong: %x", memory[:256])
	}
}

func ones(n int) []float32 {
	values := make([]float32, n)
	for i := range values {
		values[i] = 1
	}
	return values
}
