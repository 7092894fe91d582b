//go:build linux

package glctx_test

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/glctx/gltest"
)

// inPlaceKernels read each word of the input once, or each 32 of them in every invocation,
// or add to each word of the output 8 times.
var inPlaceKernels = map[string]string{
	"once": "y[i] = x[i] + seed;",
	"many": "uint s = 0u; for (uint k = 0u; k < x.length(); k += 32u) { s += x[k]; } y[i] = x[i] + s + seed;",
	"adds": "y[i] = x[i]; memoryBarrierBuffer(); for (uint k = 0u; k < 8u; k++) { atomicAdd(y[i], seed); }",
}

// BenchmarkInPlace measures a job on the GL thread until a poll sees its fence: input copied to
// the device and output copied back, or one of them, or both, used by the kernel where they are
// mapped. "inline" is an input that glBufferSubData takes, "window" one in memory that may be
// the GPU's. Every word is compared.
func BenchmarkInPlace(b *testing.B) {
	for _, kernel := range []string{"once", "many", "adds"} {
		c := gltest.Open(b)
		program := benchProgram(b, c, `
layout(local_size_x = 64) in;
layout(std430, binding = 0) readonly buffer In { uint x[]; };
layout(std430, binding = 1) buffer Out { uint y[]; };
uniform uint seed;
void main() { uint i = gl_GlobalInvocationID.x; `+inPlaceKernels[kernel]+` }`)
		for _, size := range []int{256, 4 << 10, 16 << 10, 64 << 10} {
			for _, how := range []string{"copies", "input", "output", "both", "inline", "inline+output", "window", "window+output"} {
				b.Run(fmt.Sprintf("%s/%d/%s", kernel, size, how), func(b *testing.B) {
					p := &inPlace{b: b, program: program, kernel: kernel, size: size, how: how}
					if err := c.Do(p.run); err != nil {
						b.Fatal(err)
					}
				})
			}
		}
	}
}

type inPlace struct {
	b           *testing.B
	program     uint32
	kernel, how string
	size        int
	up, down    glctx.Staging
	in, out     glctx.Buffer
	window      glctx.MappedBuffer
	data        []byte
}

func (p *inPlace) run(gl *glctx.GL) (err error) {
	for _, s := range []struct {
		staging   *glctx.Staging
		device    *glctx.Buffer
		direction glctx.Direction
	}{{&p.up, &p.in, glctx.Upload}, {&p.down, &p.out, glctx.Download}} {
		if *s.staging, err = gl.NewStaging(p.size, s.direction); err != nil {
			return err
		}
		defer gl.DeleteStaging(*s.staging)
		if *s.device, err = gl.NewBuffer(p.size, nil); err != nil {
			return err
		}
		defer gl.DeleteBuffer(*s.device)
	}
	if p.window, err = gl.NewMapped(p.size/4, glctx.MapOptions{ServerStorage: true, WriteOnly: true}); err != nil {
		return err
	}
	defer gl.DeleteMapped(p.window)
	p.data = make([]byte, p.size)
	for i := range p.size / 4 {
		binary.NativeEndian.PutUint32(p.data[4*i:], uint32(i)*2654435761)
	}
	gl.UseProgram(p.program)
	seed := gl.UniformLocation(p.program, "seed")
	var times []time.Duration
	for n := uint32(1); p.b.Loop(); n++ {
		began := time.Now()
		gl.SetUint(seed, n)
		if err := p.job(gl); err != nil {
			return err
		}
		times = append(times, time.Since(began))
		p.compare(n)
	}
	slices.Sort(times)
	p.b.ReportMetric(float64(times[len(times)/2].Nanoseconds())/1e3, "us/median")
	return gl.Err()
}

func (p *inPlace) job(gl *glctx.GL) error {
	in, out := p.in, p.out
	switch p.how {
	case "input", "both":
		copy(p.up.Data, p.data)
		in = p.up.Buffer
	case "window", "window+output":
		copy(glctx.Bytes(p.window.Words), p.data)
		in = p.window.Buffer
	case "inline", "inline+output":
		gl.Upload(in, 0, p.data)
	default:
		copy(p.up.Data, p.data)
		gl.Copy(p.up.Buffer, 0, in, 0, p.size)
	}
	if p.how == "both" || strings.HasSuffix(p.how, "output") {
		out = p.down.Buffer
	}
	gl.BindStorage(0, in)
	gl.BindStorage(1, out)
	gl.Dispatch(uint32(p.size/4/64), 1, 1)
	gl.MemoryBarrier(glctx.BarrierAllKinds)
	if out == p.out {
		gl.Copy(out, 0, p.down.Buffer, 0, p.size)
	}
	fence := gl.NewFence()
	defer gl.DeleteFence(fence)
	gl.Flush()
	for {
		if done, err := gl.WaitFence(fence, 0); done || err != nil {
			return err
		}
	}
}

// compare compares every word with what the kernel computes.
func (p *inPlace) compare(seed uint32) {
	words := p.size / 4
	sum := uint32(0)
	for k := 0; k < words; k += 32 {
		sum += uint32(k) * 2654435761
	}
	for i := range words {
		want := uint32(i) * 2654435761
		switch p.kernel {
		case "once":
			want += seed
		case "many":
			want += sum + seed
		case "adds":
			want += 8 * seed
		}
		if got := binary.NativeEndian.Uint32(p.down.Data[4*i:]); got != want {
			p.b.Fatalf("%s: word %d of job %d is %#x, not %#x", p.how, i, seed, got, want)
		}
	}
}
