//go:build linux && cgo

package glctx_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/glctx/gltest"
	"github.com/shadercache/shadercache/shader"
)

func TestMain(m *testing.M) {
	for _, child := range []string{childDir, machineCodeChild, fullVolumeChild, frameChild, readOnlyChild, compilerChild} {
		if os.Getenv(child) != "" {
			os.Exit(m.Run()) // keeps its environment, which is tested
		}
	}
	gltest.Main(m)
}

func TestDoRunsInOrderOnOneThread(t *testing.T) {
	c := gltest.Open(t)
	var order []int
	for i := range 100 {
		c.Post(func(*glctx.GL) { order = append(order, i) })
	}
	if err := c.Do(func(*glctx.GL) error { order = append(order, 100); return nil }); err != nil {
		t.Fatal(err)
	}
	for i, v := range order {
		if i != v {
			t.Fatalf("callback %d ran as number %d", v, i)
		}
	}
	if len(order) != 101 {
		t.Errorf("%d callbacks ran, want 101", len(order))
	}
}

func TestDoReturnsTheErrorOfItsCallback(t *testing.T) {
	c := gltest.Open(t)
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			want := errors.New("error of this goroutine")
			for range 50 {
				if err := c.Do(func(*glctx.GL) error { return want }); !errors.Is(err, want) {
					t.Errorf("got %v", err)
				}
			}
		})
	}
	wg.Wait()
}

func TestDoInsideACallbackPanics(t *testing.T) {
	c := gltest.Open(t)
	defer func() {
		if r := recover(); r == nil || !strings.Contains(r.(string), "wait for itself") {
			t.Errorf("recovered %v", r)
		}
		if err := c.Do(func(*glctx.GL) error { return nil }); err != nil {
			t.Errorf("the context does not work after a panic: %v", err)
		}
	}()
	c.Do(func(*glctx.GL) error {
		return c.Do(func(*glctx.GL) error { return nil })
	})
	t.Error("Do inside Do returned")
}

func TestClosedContext(t *testing.T) {
	before := runtime.NumGoroutine()
	c, err := glctx.Open(glctx.Options{CacheDir: t.TempDir()})
	if err != nil {
		gltest.Open(t) // skips or fails as the environment says
		t.Fatal(err)
	}
	ran := false
	c.Post(func(*glctx.GL) { ran = true })
	if err := errors.Join(c.Close(), c.Close()); err != nil {
		t.Fatal(err)
	}
	if !ran {
		t.Error("Close did not wait for the posted callback")
	}
	if err := c.Do(func(*glctx.GL) error { return nil }); !errors.Is(err, shader.ErrClosed) {
		t.Errorf("Do after Close: %v", err)
	}
	c.Post(func(*glctx.GL) { t.Error("a callback ran after Close") })
	c.Delete(1)
	deadline := time.Now().Add(time.Minute) // goroutines may end some time after Close
	for runtime.NumGoroutine() > before && time.Now().Before(deadline) {
		time.Sleep(time.Millisecond)
	}
	if n := runtime.NumGoroutine(); n > before {
		t.Errorf("%d goroutines, %d before", n, before)
	}
}

func TestDebugContextReportsTheCall(t *testing.T) {
	c := gltest.OpenWith(t, glctx.Options{Debug: true})
	err := c.Do(func(gl *glctx.GL) error {
		gl.UseProgram(0xffff)
		return nil
	})
	if err == nil || !strings.Contains(err.Error(), "glUseProgram: GL_INVALID_VALUE") {
		t.Errorf("got %v, want the call and the error", err)
	}
	if c.Fingerprint().Digest() == gltest.Open(t).Fingerprint().Digest() {
		t.Error("a debug context has the fingerprint of a plain one")
	}
}

func TestInfoIsPlausible(t *testing.T) {
	i := gltest.Open(t).Info()
	if i.Major != 4 || i.Minor < 5 || i.MaxInvocations < 1024 || i.MaxSharedBytes < 32<<10 ||
		i.MaxGroups[0] < 65535 || i.MaxBindings < 8 || i.MaxStorage < 1<<24 {
		t.Errorf("below what OpenGL 4.5 guarantees: %+v", i)
	}
	f := i.Fingerprint
	if f.Vendor == "" || f.Renderer != i.GPU || f.Version == "" || f.GLSL == "" || f.Profile != 1 || len(f.Formats) == 0 {
		t.Errorf("fingerprint %+v", f)
	}
}

func TestNoSuchDevice(t *testing.T) {
	gltest.Open(t)
	for _, device := range []string{"63", "not-a-device", "GPU-00000000-0000-0000-0000-000000000000"} {
		if _, err := glctx.Open(glctx.Options{Device: device, CacheDir: t.TempDir()}); !errors.Is(err, glctx.ErrNoDevice) {
			t.Errorf("device %q: %v", device, err)
		}
	}
}

func TestBufferRoundTrip(t *testing.T) {
	c := gltest.Open(t)
	want := []float32{1, 2, 3, 4}
	got := make([]float32, 4)
	err := c.Do(func(gl *glctx.GL) error {
		a, err := gl.NewBuffer(32, glctx.Bytes(want))
		if err != nil {
			return err
		}
		defer gl.DeleteBuffer(a)
		b, err := gl.NewBuffer(16, nil)
		if err != nil {
			return err
		}
		defer gl.DeleteBuffer(b)
		gl.Fill(b, 0x7fc0dead)
		gl.Copy(a, 0, b, 0, 16)
		gl.Download(b, 0, glctx.Bytes(got))
		return gl.Err()
	})
	if err != nil {
		t.Fatal(err)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("element %d is %v, want %v", i, got[i], want[i])
		}
	}
}

// TestUploadAfterFill uploads right after a fill, in sizes for which drivers use
// different paths, and compares every byte.
func TestUploadAfterFill(t *testing.T) {
	c := gltest.Open(t)
	data := make([]byte, 8<<20)
	for i := range data {
		data[i] = byte(i*7 + i>>9 + 1)
	}
	got := make([]byte, 32<<20)
	check := func(gl *glctx.GL, size, uploaded int) error {
		b, err := gl.NewBuffer(size, nil)
		if err != nil {
			return err
		}
		defer gl.DeleteBuffer(b)
		gl.Fill(b, 0x5a5a5a5a)
		gl.Upload(b, 0, data[:uploaded])
		gl.Download(b, 0, got[:size])
		if at := firstDifference(got[:uploaded], data[:uploaded]); at < uploaded {
			t.Errorf("buffer of %d, upload of %d: byte %d is %#x, not %#x", size, uploaded, at, got[at], data[at])
		}
		if rest := bytes.Trim(got[uploaded:size], "\x5a"); len(rest) > 0 {
			t.Errorf("buffer of %d, upload of %d: %d bytes after it are not filled", size, uploaded, len(rest))
		}
		return gl.Err()
	}
	err := c.Do(func(gl *glctx.GL) (err error) {
		for _, size := range []int{4, 8, 4 << 10, 1 << 20, 32 << 20} {
			for _, uploaded := range []int{4, 4 << 10, 64 << 10, 640_000, 8 << 20} {
				if uploaded <= size {
					err = errors.Join(err, check(gl, size, uploaded))
				}
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// firstDifference returns the first index at which two slices of one length differ, or
// their length.
func firstDifference(a, b []byte) int {
	for i := range a {
		if a[i] != b[i] {
			return i
		}
	}
	return len(a)
}

func TestInvalidBufferArguments(t *testing.T) {
	c := gltest.Open(t)
	c.Do(func(gl *glctx.GL) error {
		if _, err := gl.NewBuffer(0, nil); err == nil {
			t.Error("a buffer of no bytes was made")
		}
		b, err := gl.NewBuffer(8, nil)
		if err != nil {
			return err
		}
		defer gl.DeleteBuffer(b)
		for name, f := range map[string]func(){
			"upload":   func() { gl.Upload(b, 4, make([]byte, 8)) },
			"download": func() { gl.Download(b, -1, make([]byte, 4)) },
		} {
			func() {
				defer func() {
					if recover() == nil {
						t.Errorf("%s outside the buffer did not panic", name)
					}
				}()
				f()
			}()
		}
		return gl.Err()
	})
}

func TestFenceIsSignalled(t *testing.T) {
	c := gltest.Open(t)
	err := c.Do(func(gl *glctx.GL) error {
		f := gl.NewFence()
		defer gl.DeleteFence(f)
		signalled, err := gl.WaitFence(f, 10*time.Second)
		if err != nil || !signalled {
			t.Errorf("signalled %v, %v", signalled, err)
		}
		return gl.Err()
	})
	if err != nil {
		t.Fatal(err)
	}
	if n := c.Counters().Waits; n != 1 {
		t.Errorf("%d blocking waits were counted, want 1", n)
	}
}

// doubler multiplies a buffer by FACTOR and adds offset.
const doubler = `layout(local_size_x = 32) in;
layout(std430, binding = 3) buffer Data { float data[]; };
uniform float offset;
void main() { data[gl_GlobalInvocationID.x] = data[gl_GlobalInvocationID.x] * FACTOR + offset; }
`

func compile(t *testing.T, c *glctx.Context, sources ...*shader.Source) []shader.Program {
	t.Helper()
	programs := make([]shader.Program, len(sources))
	calls := 0
	c.Compile(context.Background(), sources, func(i int, p shader.Program, err error) {
		if err != nil {
			t.Fatal(err)
		}
		calls++
		programs[i] = p
	})
	if calls != len(sources) {
		t.Fatalf("done was called %d times for %d sources", calls, len(sources))
	}
	t.Cleanup(func() {
		for _, p := range programs {
			c.Delete(p.ID)
		}
		c.Do(func(*glctx.GL) error { return nil })
		if n := c.Counters().Programs; n != 0 {
			t.Errorf("%d programs were left", n)
		}
	})
	return programs
}

// run runs a doubler and returns all elements.
func run(t *testing.T, c *glctx.Context, program uint32) []float32 {
	t.Helper()
	data := make([]float32, 64)
	for i := range data {
		data[i] = float32(i)
	}
	err := c.Do(func(gl *glctx.GL) error {
		b, err := gl.NewBuffer(4*len(data), glctx.Bytes(data))
		if err != nil {
			return err
		}
		defer gl.DeleteBuffer(b)
		gl.UseProgram(program)
		gl.BindStorage(3, b)
		gl.SetFloat(gl.UniformLocation(program, "offset"), 0.5)
		gl.Dispatch(2, 1, 1)
		gl.MemoryBarrier(glctx.BarrierUpdate)
		gl.Download(b, 0, glctx.Bytes(data))
		return gl.Err()
	})
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func wantTimes(t *testing.T, got []float32, factor float32) {
	t.Helper()
	if os.Getenv(gltest.NoResults) != "" {
		return
	}
	for i, v := range got {
		if want := float32(i)*factor + 0.5; v != want {
			t.Fatalf("element %d is %v, want %v", i, v, want)
		}
	}
}

func TestCompileManyThenLoadEach(t *testing.T) {
	c := gltest.Open(t)
	var sources []*shader.Source
	for _, factor := range []string{"2.0", "3.0", "4.0", "5.0"} {
		sources = append(sources, shader.MustSource("x"+factor, doubler, shader.Defines{"FACTOR": factor}))
	}
	programs := compile(t, c, sources...)
	for i, p := range programs {
		wantTimes(t, run(t, c, p.ID), float32(i+2))
		if p.Interface.WorkGroup != [3]uint32{32, 1, 1} || p.Bytes == 0 || p.CompileNanos <= 0 || p.PrimeNanos <= 0 {
			t.Errorf("program %d: %+v", i, p)
		}
		format, payload, err := c.Binary(context.Background(), p.ID)
		if err != nil || len(payload) != p.Bytes {
			t.Fatalf("binary of %d bytes, want %d: %v", len(payload), p.Bytes, err)
		}
		loaded, err := c.Load(context.Background(), format, payload)
		if err != nil {
			t.Fatal(err)
		}
		if loaded.Interface.Digest() != p.Interface.Digest() {
			t.Errorf("the loaded program has %+v, the compiled one %+v", loaded.Interface, p.Interface)
		}
		wantTimes(t, run(t, c, loaded.ID), float32(i+2))
		c.Delete(loaded.ID)
	}
	if n := c.Counters(); n.Compiles != 4 || n.Links != 4 || n.BinaryLoads != 4 || n.Primes != 8 {
		t.Errorf("counters %+v", n)
	}
}

func TestInterfaceListsUsedResources(t *testing.T) {
	c := gltest.Open(t)
	p := compile(t, c, shader.MustSource("two", doubler, shader.Defines{"FACTOR": "2.0"}))[0]
	var buffer, uniform bool
	for _, r := range p.Interface.Resources {
		buffer = buffer || r.Kind == shader.StorageBuffer && r.Name == "Data" && r.Binding == 3
		uniform = uniform || r.Kind == shader.Uniform && r.Name == "offset" && r.Binding >= 0
	}
	if !buffer || !uniform || len(p.Interface.Resources) != 2 {
		t.Errorf("resources %+v", p.Interface.Resources)
	}
}

// TestInterfaceOfLongNamesAndArrays: names are whole, and each block of an array declares what its
// first does, which alone has variables.
func TestInterfaceOfLongNamesAndArrays(t *testing.T) {
	c := gltest.Open(t)
	long := strings.Repeat("n", 300)
	p := compile(t, c, shader.MustSource("names", `layout(local_size_x = 1) in;
layout(std430, binding = 0) buffer Blocks { uvec4 head; uvec2 list[]; } b[2];
layout(std430, binding = 2) buffer Out { float x; };
uniform float `+long+`1;
uniform float `+long+`2;
void main() { x = `+long+`1 - 2.0 * `+long+`2 + float(b[0].list[0].x + b[1].list[0].x); }
`, nil))[0]
	blocks, uniforms := 0, 0
	for _, r := range p.Interface.Resources {
		switch {
		case strings.HasPrefix(r.Name, "Blocks["):
			if blocks++; r.Declared < 16 || r.Stride != 8 || r.Offset != 16 {
				t.Errorf("%+v", r)
			}
		case r.Name == long+"1" || r.Name == long+"2":
			uniforms++
		}
	}
	if blocks != 2 || uniforms != 2 {
		t.Errorf("%d blocks and %d uniforms: %+v", blocks, uniforms, p.Interface.Resources)
	}
}

// TestDeclaredSizes: what a block declares ends where its last variable does, without what drivers round up.
func TestDeclaredSizes(t *testing.T) {
	c := gltest.Open(t)
	type block struct {
		layout, block, use string
		declared           int32 // 0 = no more than the driver says
		offset, stride     int32
	}
	blocks := []block{
		{layout: "std430", block: "float x[3];", use: "x[2]", declared: 12},
		{layout: "std430", block: "vec3 x;", use: "x.z", declared: 12},
		{layout: "std430", block: "mat3 x;", use: "x[2][2]", declared: 44},
		{layout: "std430", block: "mat3 x[2];", use: "x[1][2][2]", declared: 92},
		{layout: "std430", block: "mat3 x[];", use: "x[0][2][2]", declared: 48, stride: 48},
		{layout: "std430", block: "uint a; mat2x3 x;", use: "x[1][2]", declared: 44},
		{layout: "std430", block: "layout(row_major) mat3x2 x;", use: "x[2][1]", declared: 28},
		{layout: "std430", block: "layout(row_major) mat2x3 x[2];", use: "x[1][1][2]", declared: 48},
		{layout: "std140", block: "mat2 x;", use: "x[1][1]", declared: 24},
		{layout: "std140", block: "mat4x2 x;", use: "x[3][1]", declared: 56},
		{layout: "std430", block: "dmat2 x;", use: "x[1][1]", declared: 32},
		{layout: "std430", block: "Matrix x[2];", use: "x[1].m[2][2]", declared: 92},
		{layout: "std430", block: "Matrix x[];", use: "x[0].m[2][2]", declared: 48, stride: 48},
		{layout: "std430", block: "One x[2];", use: "x[1].m[0]", declared: 8},
		{layout: "std430", block: "S3 x[3]; S4 y[2]; uint z[];", use: "y[1].m1.w", offset: -1}, // that of Mesa is too large
		{layout: "std430", block: "float x[];", use: "x[3]", declared: 4, stride: 4},
		{layout: "std140", block: "float x[];", use: "x[3]", declared: 16, stride: 16},
		{layout: "std430", block: "uint n; vec3 x[];", use: "x[3].z", declared: 32, offset: 16, stride: 16},
		{layout: "std430", block: "uint n; float x[][3];", use: "x[3][1]", declared: 16, offset: 4, stride: 12},
		{layout: "std430", block: "uint n; S4 x[];", use: "x[3].m1.w", declared: 48, offset: 16, stride: 32},
		{layout: "std430", block: "uint n; S5 x[];", use: "x[3].m1", declared: 48, offset: 16, stride: 32},
		{layout: "std140", block: "uint n; S5 x[];", use: "x[3].m1", declared: 48, offset: 16, stride: 32},
		{layout: "std430", block: "S6 x[];", use: "x[3].m1[1].m1", declared: 112, stride: 112},
	}
	if c.Info().Has("GL_ARB_gpu_shader_int64") {
		blocks = append(blocks, block{layout: "std430", block: "uint a; uint64_t x[3];", use: "x[2]", declared: 32}, block{layout: "std430", block: "i64vec3 x;", use: "x.z", declared: 24},
			block{layout: "std430", block: "uint64_t y; u64vec2 x[];", use: "x[0].y", declared: 32, offset: 16, stride: 16})
	}
	var sources []*shader.Source
	for _, b := range blocks {
		text := "#extension GL_ARB_gpu_shader_int64 : enable\nlayout(local_size_x = 1) in;\nstruct Matrix { mat3 m; };\nstruct One { float m[1]; };\n" +
			"struct S3 { vec4 m0; dvec2 m1[1]; float m2; };\nstruct S4 { uint m0; ivec4 m1; };\nstruct S5 { vec4 m0; float m1; };\n" +
			"struct S6 { vec3 m0; S5 m1[3]; };\n" +
			"layout(" + b.layout + ", binding = 0) buffer Block { " + b.block + " };\nvoid main() { " + b.use + " += 1; }\n"
		sources = append(sources, shader.MustSource("declared", text, nil))
	}
	for i, p := range compile(t, c, sources...) {
		b := blocks[i]
		r := p.Interface.Resources[0]
		if r.Declared > max(r.Bytes, r.Offset+r.Stride) || b.declared > 0 && r.Declared != b.declared {
			t.Errorf("%s { %s }: %d bytes, not %d; the driver says %d", b.layout, b.block, r.Declared, b.declared, r.Bytes)
		}
		if b.offset >= 0 && (r.Offset != b.offset || r.Stride != b.stride) {
			t.Errorf("%s { %s }: elements of %d bytes from %d on, not of %d from %d on", b.layout, b.block, r.Stride, r.Offset, b.stride, b.offset)
		}
	}
}

// A program whose list of variables is longer than what is read of it has no interface in part: what is
// not listed, such as its images, would not be checked.
func TestInterfaceOfTooManyVariables(t *testing.T) {
	c := gltest.Open(t)
	blocks, sum := "", ""
	for i := range 5 {
		blocks += fmt.Sprintf("layout(std140, binding = %d) uniform B%d { S s%d[4096]; };\n", i, i, i)
		sum += fmt.Sprintf(" + s%d[i].a", i)
	}
	many := shader.MustSource("many", `layout(local_size_x = 1) in;
struct S { float a, b, c, d; };
layout(std430, binding = 0) buffer Out { float x; };
`+blocks+`
void main() { uint i = gl_WorkGroupID.x; x = 0.0`+sum+`; }
`, nil)
	c.Compile(t.Context(), []*shader.Source{many}, func(_ int, p shader.Program, err error) {
		if err == nil || !strings.Contains(err.Error(), "at most 65536 are possible") {
			t.Errorf("%d resources, %v", len(p.Interface.Resources), err)
		}
	})
}

func TestCompileErrorCostsOneSource(t *testing.T) {
	c := gltest.Open(t)
	sources := []*shader.Source{
		shader.MustSource("good", doubler, shader.Defines{"FACTOR": "2.0"}),
		shader.MustSource("bad", "layout(local_size_x = 1) in;\nvoid main() {\n  undeclared = 1;\n}\n", nil),
		shader.MustSource("good too", doubler, shader.Defines{"FACTOR": "3.0"}),
	}
	var failed *shader.CompileError
	good := 0
	c.Compile(context.Background(), sources, func(i int, p shader.Program, err error) {
		switch {
		case err == nil:
			good++
			c.Delete(p.ID)
		case !errors.As(err, &failed) || i != 1:
			t.Errorf("source %d: %v", i, err)
		}
	})
	if good != 2 || failed == nil {
		t.Fatalf("%d compiled, error %v", good, failed)
	}
	if failed.Name != "bad" || !strings.Contains(failed.Log, "undeclared") {
		t.Errorf("error %+v", failed)
	}
	c.Do(func(*glctx.GL) error { return nil })
	if n := c.Counters().Programs; n != 0 {
		t.Errorf("%d programs were left", n)
	}
}

func TestLoadRejectsInvalidBinaries(t *testing.T) {
	c := gltest.Open(t)
	p := compile(t, c, shader.MustSource("two", doubler, shader.Defines{"FACTOR": "2.0"}))[0]
	format, payload, err := c.Binary(context.Background(), p.ID)
	if err != nil {
		t.Fatal(err)
	}
	for name, try := range map[string]struct {
		format  uint32
		payload []byte
	}{
		"empty":        {format, nil},
		"one byte":     {format, payload[:1]},
		"half":         {format, payload[:len(payload)/2]},
		"noise":        {format, []byte(strings.Repeat("noise", 100))},
		"other format": {0x1234, payload},
	} {
		if _, err := c.Load(context.Background(), try.format, try.payload); !errors.Is(err, shader.ErrRejected) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if n := c.Counters().Programs; n != 1 {
		t.Errorf("%d programs, want the compiled one", n)
	}
	wantTimes(t, run(t, c, p.ID), 2)
}

func TestCompileStopsAtTheEndOfTheContext(t *testing.T) {
	c := gltest.Open(t)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	sources := []*shader.Source{shader.MustSource("two", doubler, shader.Defines{"FACTOR": "2.0"})}
	c.Compile(ctx, sources, func(_ int, _ shader.Program, err error) {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	})
	if n := c.Counters().Compiles; n != 0 {
		t.Errorf("%d compiles with an ended context", n)
	}
}

func BenchmarkDo(b *testing.B) {
	c := gltest.Open(b)
	for b.Loop() {
		c.Do(func(*glctx.GL) error { return nil })
	}
}

func BenchmarkPost(b *testing.B) {
	c := gltest.Open(b)
	b.ReportAllocs()
	for b.Loop() {
		c.Post(func(*glctx.GL) {})
	}
}
