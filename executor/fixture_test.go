//go:build linux

package executor

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/glctx/gltest"
	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/shader"
)

func TestMain(m *testing.M) { gltest.Main(m) }

// affine computes a*x + b of every word.
const affine = `
layout(local_size_x = 64) in;
layout(std430, binding = 0) restrict readonly buffer In { uint x[]; };
layout(std430, binding = 1) restrict writeonly buffer Out { uint y[]; };
uniform uint a;
uniform uint b;
void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i < x.length()) {
        y[i] = a * x[i] + b + uint(VARIANT);
    }
}`

// fixture is an executor with its own context and cache. When the test ends it closes
// all and fails the test for objects that were not freed.
type fixture struct {
	*Executor
	t       testing.TB
	context *glctx.Context
	cache   *cache.Cache
}

func newFixture(t testing.TB, o Options) *fixture {
	return newFixtureWith(t, o, cache.Options{})
}

func newFixtureWith(t testing.TB, o Options, c cache.Options) *fixture {
	t.Helper()
	context := gltest.Open(t)
	goroutines := runtime.NumGoroutine()
	c.MemoryOnly = true
	programs, err := cache.New(context, c)
	if err != nil {
		t.Fatal(err)
	}
	e, err := New(context, programs, o)
	if err != nil {
		t.Fatal(err)
	}
	if o.test.staged {
		e.copierOnce.Do(e.loadCopier) // stages from the first job on
	}
	f := &fixture{e, t, context, programs}
	t.Cleanup(func() {
		if err := e.Close(); err != nil && !f.mayFail() {
			t.Errorf("close: %v", err)
		}
		if err := programs.Close(); err != nil {
			t.Errorf("handles were left: %v", err)
		}
		select {
		case <-context.Done(): // closed by the test, with its fences
		default:
			if n := context.Counters().Fences; n != 0 {
				t.Errorf("%d fences were left", n)
			}
		}
		wantGoroutines(t, goroutines)
	})
	return f
}

// mayFail reports whether the test broke the executor on purpose.
func (f *fixture) mayFail() bool {
	return f.options.test.pollFence != nil || f.context.Lost()
}

// wantGoroutines waits until at most n goroutines are left.
func wantGoroutines(t testing.TB, n int) {
	t.Helper()
	for range 2000 {
		if runtime.NumGoroutine() <= n {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	stacks := make([]byte, 1<<16)
	t.Errorf("%d goroutines, there were %d:\n%s", runtime.NumGoroutine(), n, stacks[:runtime.Stack(stacks, true)])
}

// program returns a program that is released when the test ends.
func (f *fixture) program(name, text string, defines shader.Defines) *cache.Handle {
	f.t.Helper()
	h, err := f.cache.Get(context.Background(), shader.MustSource(name, text, defines))
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(h.Release)
	return h
}

func (f *fixture) affine() *cache.Handle { return f.affineVariant(0) }

func (f *fixture) affineVariant(n int) *cache.Handle {
	f.t.Helper()
	return f.program(fmt.Sprintf("affine%d", n), affine, shader.Defines{"VARIANT": fmt.Sprint(n)})
}

// task is one affine job with the expected output.
type task struct {
	a, b, variant uint32
	in, out       []uint32
	job           Job
	pending       *Pending
}

// newTask returns a task of n words, which differ from those of other numbers.
func newTask(h *cache.Handle, number uint32, n int) *task {
	k := &task{a: 2*number + 1, b: number * 7919, in: make([]uint32, n), out: make([]uint32, n)}
	for i := range k.in {
		k.in[i] = number<<16 ^ uint32(i)
	}
	k.job = Job{
		Dispatch: Dispatch{
			Program:  h,
			Groups:   [3]uint32{uint32(n+63) / 64, 1, 1},
			Uniforms: []job.Uniform{job.Uint("a", k.a), job.Uint("b", k.b)},
		},
		Inputs:  []Input{{Binding: 0, Data: glctx.Bytes(k.in)}},
		Outputs: []Output{{Binding: 1, Dirty: true, To: glctx.Bytes(k.out)}},
	}
	k.poison()
	return k
}

// submitTasks submits tasks with the numbers from 0 on.
func (f *fixture) submitTasks(h *cache.Handle, count, n int) (tasks []*task) {
	for i := range count {
		k := newTask(h, uint32(i), n)
		k.pending = f.submit(k.job)
		tasks = append(tasks, k)
	}
	return tasks
}

func (k *task) poison() {
	for i := range k.out {
		k.out[i] = poisonWord
	}
}

// verify checks every word of the output.
func (k *task) verify() error {
	for i, got := range k.out {
		if want := k.a*k.in[i] + k.b + k.variant; got != want {
			return fmt.Errorf("word %d of %d is %#x, not %#x", i, len(k.out), got, want)
		}
	}
	return nil
}

func (f *fixture) submit(job Job) *Pending {
	f.t.Helper()
	p, err := f.Submit(f.t.Context(), job)
	if err != nil {
		f.t.Fatal(err)
	}
	return p
}

func (f *fixture) wait(p *Pending) {
	f.t.Helper()
	if err := p.Wait(f.t.Context()); err != nil {
		f.t.Fatal(err)
	}
}

// finish waits for a task and checks its output.
func (f *fixture) finish(k *task) {
	f.t.Helper()
	f.wait(k.pending)
	if err := k.verify(); err != nil {
		f.t.Fatal(err)
	}
}

func (f *fixture) buffer(values []uint32) *Buffer[uint32] {
	f.t.Helper()
	b, err := BufferOf(f.Executor, values)
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(b.Release)
	return b
}

func wantError(t *testing.T, err error, text string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), text) {
		t.Errorf("error %v does not say %q", err, text)
	}
	if strings.Contains(text, "was released") && !errors.Is(err, job.ErrReleased) {
		t.Errorf("error %v is no %v", err, job.ErrReleased)
	}
}

// gatedFence reports fences as not signalled until open is closed.
type gatedFence struct{ open chan struct{} }

func newGatedFence() *gatedFence { return &gatedFence{make(chan struct{})} }

func (g *gatedFence) pollFence(gl *glctx.GL, f glctx.Fence) (bool, error) {
	select {
	case <-g.open:
		return gl.WaitFence(f, 0)
	default:
		return false, nil
	}
}

// leastAllocations is the least of testing.AllocsPerRun of some tries: the garbage collector empties the
// pools of a process that waits for a CPU.
func leastAllocations(runs int, do func()) float64 {
	least := testing.AllocsPerRun(runs, do)
	for try := 0; try < 10 && least > 0; try++ {
		least = min(least, testing.AllocsPerRun(runs, do))
	}
	return least
}
