//go:build linux

package executor_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"testing"

	"github.com/shadercache/shadercache"
	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/executor"
	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/glctx/gltest"
	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/job/texel"
	"github.com/shadercache/shadercache/shader"
)

// bindingVariable is the cache directory of a process that runs a program with images, a
// sampler, counters and blocks.
const bindingVariable = "EXECUTOR_TEST_BINDINGS"

// It runs in place of the tests.
func init() {
	dir := os.Getenv(bindingVariable)
	if dir == "" {
		return
	}
	r, err := runBindings(dir)
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(r)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

type bindingRun struct {
	GL     glctx.Counters
	Cache  binary.Counters
	Checks int
	Result []byte
}

const bindingText = `
layout(local_size_x = 4, local_size_y = 4) in;
layout(rgba8) uniform restrict writeonly image2D to;
uniform sampler2D from;
uniform usampler2D ids;
layout(std140, binding = 0) uniform A { vec4 a; };
layout(std140, binding = 1) uniform B { vec4 b; };
layout(binding = 0) uniform atomic_uint count;
uniform mat2 turn;
void main() {
    ivec2 at = ivec2(gl_GlobalInvocationID.xy);
    atomicCounterIncrement(count);
    imageStore(to, at, texelFetch(from, at, 0) * a + b + vec4(turn * vec2(texelFetch(ids, at, 0).rg), 0, 0));
}`

// runBindings gets the program, whose known-answer check uses textures, and runs a job.
func runBindings(dir string) (r bindingRun, err error) {
	gpu, err := shadercache.Open(shadercache.Options{Dir: dir})
	if err != nil {
		return r, err
	}
	ctx := context.Background()
	source := shader.MustSource("bindings", bindingText, nil).WithCheck(func(_ context.Context, program uint32) error {
		r.Checks++
		return gpu.Context.Do(func(gl *glctx.GL) error { return checkBindings(gl, program) })
	})
	h, err := gpu.Cache.Get(ctx, source)
	if err != nil {
		return r, err
	}
	shape := texel.Shape{Format: "rgba8", Width: 4, Height: 4}
	from, err := gpu.Executor.NewTexture(shape)
	if err != nil {
		return r, err
	}
	to, err := gpu.Executor.NewTexture(shape)
	if err != nil {
		return r, err
	}
	shape.Format = "rg8ui"
	ids, err := gpu.Executor.NewTexture(shape)
	if err != nil {
		return r, err
	}
	in := make([]byte, 64)
	for i := range in {
		in[i] = byte(3 * i)
	}
	r.Result = bytes.Repeat([]byte{0xd5}, 64)
	var counted [1]uint32
	pending, err := gpu.Executor.Submit(ctx, job.Job{
		Dispatch: job.Dispatch{
			Program: h, Groups: [3]uint32{1, 1, 1},
			Textures: []executor.Sampled{{Name: "from", Texture: from}, {Name: "ids", Texture: ids}},
			Images:   []executor.Image{{Name: "to", Texture: to, Access: "writeonly"}},
			Blocks:   []executor.Block{{Binding: 0, Data: glctx.Bytes([]float32{1, 1, 1, 1})}, {Binding: 1, Data: glctx.Bytes([]float32{1. / 255, 0, 0, 0})}},
			Uniforms: []job.Uniform{job.Floats("turn", 1, 0, 0, 1)},
		},
		Counters:       []executor.Counter{{Binding: 0, To: counted[:]}},
		TextureInputs:  []executor.TextureInput{{Texture: from, Texels: in}, {Texture: ids, Texels: make([]byte, 32)}},
		TextureOutputs: []executor.TextureOutput{{Texture: to, To: r.Result}},
	})
	if err != nil {
		return r, err
	}
	if err := pending.Wait(ctx); err != nil {
		return r, err
	}
	for i, v := range in {
		if i%4 == 0 {
			v++
		}
		if r.Result[i] != v || counted[0] != 16 {
			return r, fmt.Errorf("byte %d is %d, want %d; %d counted", i, r.Result[i], v, counted[0])
		}
	}
	for _, t := range []*executor.Texture{from, to, ids} {
		t.Release()
	}
	h.Release()
	if err := errors.Join(gpu.Cache.Flush(), gpu.Context.Do(func(*glctx.GL) error { return nil })); err != nil { // after the textures are deleted
		return r, err
	}
	r.GL, r.Cache = gpu.Context.Counters(), gpu.Cache.Stats().Counters
	return r, gpu.Close()
}

// checkBindings is a known-answer check with textures: zeros and the constant of a block.
func checkBindings(gl *glctx.GL, program uint32) error {
	shape := texel.Shape{Format: "rgba8", Width: 4, Height: 4}
	from, err := gl.NewTexture(shape)
	if err != nil {
		return err
	}
	defer gl.DeleteTexture(from)
	to, err := gl.NewTexture(shape)
	if err != nil {
		return err
	}
	defer gl.DeleteTexture(to)
	shape.Format = "rg8ui"
	ids, err := gl.NewTexture(shape)
	if err != nil {
		return err
	}
	defer gl.DeleteTexture(ids)
	block, err := gl.NewBuffer(16, glctx.Bytes([]float32{0.2, 0.4, 0.6, 1}))
	if err != nil {
		return err
	}
	defer gl.DeleteBuffer(block)
	counter, err := gl.NewBuffer(4, make([]byte, 4))
	if err != nil {
		return err
	}
	defer gl.DeleteBuffer(counter)
	for _, t := range []glctx.Texture{from, to, ids} {
		if err := gl.ClearTexture(t, texel.Region{}, make([]byte, t.Format.Bytes())); err != nil {
			return err
		}
	}
	gl.UseProgram(program)
	gl.SetUniform(gl.UniformLocation(program, "turn"), gl.UniformType(program, "turn"), glctx.Bytes(make([]float32, 4)))
	gl.BindTexture(0, from, glctx.Sampler{}) // units in the order of names
	gl.BindTexture(1, ids, glctx.Sampler{})
	gl.BindImage(0, to, 0, texel.AllLayers, "writeonly", "rgba8")
	gl.BindUniformsRange(0, block, 0, block.Size)
	gl.BindUniformsRange(1, block, 0, block.Size)
	gl.BindCounters(0, counter, 0, 4)
	gl.Dispatch(1, 1, 1)
	gl.MemoryBarrier(glctx.BarrierTextureUpdate)
	got := make([]byte, 64)
	if err := gl.DownloadTexture(to, texel.Region{}, got); err != nil {
		return err
	}
	if want := bytes.Repeat([]byte{51, 102, 153, 255}, 16); !bytes.Equal(got, want) {
		return fmt.Errorf("the texels are %d", got)
	}
	return gl.Err()
}

// TestBindingsInTheNextProcess starts three processes: the first compiles, the second
// loads, checks and makes no machine code, the third neither compiles nor checks.
func TestBindingsInTheNextProcess(t *testing.T) {
	gltest.Open(t)
	dir := t.TempDir()
	for start, want := range []struct {
		compiles, loads uint64
		checks          int
	}{{1, 0, 0}, {0, 1, 1}, {0, 1, 0}} {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), bindingVariable+"="+dir)
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("start %d: %v\n%s", start, err, &stderr)
		}
		var r bindingRun
		if err := json.Unmarshal(out, &r); err != nil {
			t.Fatal(err)
		}
		if r.GL.Compiles != want.compiles || r.GL.BinaryLoads != want.loads || r.Checks != want.checks || r.GL.Primes != 1 {
			t.Errorf("start %d: %d compiles, %d loads, %d checks, %d primes, want %+v", start, r.GL.Compiles, r.GL.BinaryLoads, r.Checks, r.GL.Primes, want)
		}
		if r.Cache.MachineCodeMisses != 0 || r.Cache.Rejected != 0 || r.GL.Textures != 0 {
			t.Errorf("start %d: %+v, %d textures left", start, r.Cache, r.GL.Textures)
		}
	}
}
