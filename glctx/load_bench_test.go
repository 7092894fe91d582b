//go:build linux && cgo

package glctx

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	gl45 "github.com/go-gl/gl/v4.5-core/gl"
	"github.com/shadercache/shadercache/drivercache"
	"github.com/shadercache/shadercache/shader"
)

// benchText is a kernel with a few resources, and with the number of its program in its code.
const benchText = `
layout(local_size_x = 64) in;
layout(std430, binding = 0) buffer Values { float value[]; };
layout(std430, binding = 1) readonly buffer Weights { float weight[]; };
layout(location = 0) uniform uint count;
layout(location = 1) uniform float scale;
shared float tile[64];
void main() {
    float sum = float(%d) + scale;
    for (uint i = 0u; i < count; i++) {
        tile[gl_LocalInvocationID.x] = weight[i * 64u + gl_LocalInvocationID.x];
        barrier();
        for (uint k = 0u; k < 64u; k++) sum = fma(tile[k], sum, 0.5);
        barrier();
    }
    value[gl_GlobalInvocationID.x] = sum;
}`

// loadBench is the time of each part of a load and of the dispatches after it.
type loadBench struct {
	gl     *GL
	buffer Buffer
	times  map[string][]time.Duration
	began  time.Time
	err    error // of the library's own prime
}

// benchPrograms opens a context and returns the binaries of 32 programs, whose machine code
// is in the driver's cache.
func benchPrograms(b *testing.B) (c *Context, format uint32, payloads [][]byte) {
	b.Helper()
	c, err := Open(Options{CacheDir: b.TempDir()})
	if err != nil {
		b.Skip(err)
	}
	b.Cleanup(func() {
		c.Close()
		drivercache.Flush()
	})
	var sources []*shader.Source
	for i := range 32 {
		sources = append(sources, shader.MustSource("bench", fmt.Sprintf(benchText, time.Now().UnixNano()%1e9+int64(i)), nil))
	}
	c.Compile(b.Context(), sources, func(_ int, p shader.Program, err error) {
		if err == nil {
			var payload []byte
			format, payload, err = c.Binary(b.Context(), p.ID)
			payloads = append(payloads, payload)
		}
		if err != nil {
			b.Fatal(err)
		}
	})
	return c, format, payloads
}

// BenchmarkLoad measures loading 32 programs from binaries, with the machine code in the
// driver's cache. The first context of a process sets where that is.
func BenchmarkLoad(b *testing.B) {
	c, format, payloads := benchPrograms(b)
	b.Run("parts", func(b *testing.B) { benchmarkParts(b, c, format, payloads) })
	b.Run("order", func(b *testing.B) { benchmarkOrder(b, c, format, payloads) })
}

// benchmarkParts measures the parts of a load, and dispatches after it: the first and the
// tenth, each until the GPU has finished, with several ways to prime before: "own" is
// that of a load. Those with "idle" wait for 2 ms before the first.
func benchmarkParts(b *testing.B, c *Context, format uint32, payloads [][]byte) {
	for _, primer := range []string{"own", "own, idle", "none", "indirect", "indirect, bound", "indirect, flush", "indirect, flush, idle", "indirect, idle", "indirect, finish", "bound, 1x0", "bound, 1x0, flush, idle"} {
		b.Run(primer, func(b *testing.B) {
			l := loadBench{times: map[string][]time.Duration{}}
			err := c.Do(func(gl *GL) (err error) {
				l.gl = gl
				if l.buffer, err = gl.NewBuffer(1<<16, make([]byte, 1<<16)); err != nil {
					return err
				}
				defer gl.DeleteBuffer(l.buffer)
				for b.Loop() {
					for _, payload := range payloads {
						l.load(format, payload, primer)
					}
				}
				return errors.Join(l.err, gl.Err())
			})
			if err != nil {
				b.Fatal(err)
			}
			for name, times := range l.times {
				slices.Sort(times)
				b.ReportMetric(float64(times[len(times)/2].Nanoseconds())/1e3, name+"-us")
			}
		})
	}
}

// benchmarkOrder measures loads one after the other, and with a part of all of them before
// the next part of any: a driver may work on several threads then.
func benchmarkOrder(b *testing.B, c *Context, format uint32, payloads [][]byte) {
	ids := make([]uint32, len(payloads))
	binary := func(_ *GL, i int) {
		ids[i] = gl45.CreateProgram()
		gl45.ProgramBinary(ids[i], format, gl45.Ptr(payloads[i]), int32(len(payloads[i])))
	}
	status := func(_ *GL, i int) {
		var linked int32
		if gl45.GetProgramiv(ids[i], gl45.LINK_STATUS, &linked); linked == 0 {
			b.Error("a binary was refused")
		}
	}
	prime := func(gl *GL, i int) {
		if err := gl.prime(&shader.Program{ID: ids[i]}); err != nil {
			b.Error(err)
		}
	}
	for name, passes := range map[string][][]func(*GL, int){
		"one by one":         {{binary, status, prime}},
		"binaries first":     {{binary}, {status, prime}},
		"each part together": {{binary}, {status}, {prime}},
	} {
		b.Run(name, func(b *testing.B) {
			err := c.Do(func(gl *GL) error {
				for b.Loop() {
					for _, parts := range passes {
						for i := range payloads {
							for _, part := range parts {
								part(gl, i)
							}
						}
					}
					gl.Finish()
					for _, id := range ids {
						gl45.DeleteProgram(id)
					}
				}
				return gl.Err()
			})
			if err != nil {
				b.Error(err)
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*len(payloads)), "us/program")
		})
	}
}

// part adds the time since the part before to a part.
func (l *loadBench) part(name string) {
	now := time.Now()
	l.times[name] = append(l.times[name], now.Sub(l.began))
	l.began = time.Now()
}

// load does what GL.load does, and dispatches the program.
func (l *loadBench) load(format uint32, payload []byte, primer string) {
	gl, p := l.gl, shader.Program{}
	gl.Finish()
	l.began = time.Now()
	p.ID = gl45.CreateProgram()
	gl45.ProgramBinary(p.ID, format, gl45.Ptr(payload), int32(len(payload)))
	l.part("binary")
	var status, size int32
	gl45.GetProgramiv(p.ID, gl45.LINK_STATUS, &status)
	l.part("status")
	gl45.GetProgramiv(p.ID, gl45.PROGRAM_BINARY_LENGTH, &size)
	l.part("length")
	p.Interface.WorkGroup = gl.workGroup(p.ID)
	for _, k := range resourceKinds {
		p.Interface.Resources = gl.resources(p.Interface.Resources, p.ID, k)
	}
	l.part("interface")
	l.prime(p.ID, primer)
	for i := range 10 {
		l.began = time.Now()
		l.dispatch(p.ID, 1, 1)
		gl.Finish()
		if i == 0 || i == 9 {
			l.part([]string{0: "first", 9: "tenth"}[i])
		}
	}
	gl45.DeleteProgram(p.ID)
}

func (l *loadBench) prime(program uint32, primer string) {
	primer, idle := strings.CutSuffix(primer, ", idle")
	primer, flush := strings.CutSuffix(primer, ", flush")
	defer func() {
		if flush {
			l.gl.Flush()
		}
		l.part("prime")
		if idle {
			time.Sleep(2 * time.Millisecond)
		}
		l.began = time.Now()
	}()
	switch primer {
	case "own":
		l.err = errors.Join(l.err, l.gl.prime(&shader.Program{ID: program}))
		return
	case "none":
		return
	case "bound, 1x0":
		l.dispatch(program, 1, 0)
		return
	case "indirect, bound":
		l.gl.BindStorage(0, l.buffer)
		l.gl.BindStorage(1, l.buffer)
	default:
		gl45.BindBufferBase(gl45.SHADER_STORAGE_BUFFER, 0, 0)
		gl45.BindBufferBase(gl45.SHADER_STORAGE_BUFFER, 1, 0)
	}
	gl45.UseProgram(program)
	gl45.BindBuffer(gl45.DISPATCH_INDIRECT_BUFFER, l.gl.zeros.ID)
	gl45.DispatchComputeIndirect(0)
	if primer == "indirect, finish" {
		l.gl.Finish()
	}
}

func (l *loadBench) dispatch(program uint32, x, y uint32) {
	l.gl.UseProgram(program)
	l.gl.BindStorage(0, l.buffer)
	l.gl.BindStorage(1, l.buffer)
	l.gl.SetUniform(0, 0x1405, []byte{1, 0, 0, 0})
	gl45.DispatchCompute(x, y, 1)
}
