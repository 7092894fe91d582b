//go:build linux && cgo

package glctx_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/shadercache/shadercache"
	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/conv2d"
	"github.com/shadercache/shadercache/devices"
	"github.com/shadercache/shadercache/executor"
	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/glctx/gltest"
	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/lab/demo/interpreter"
	"github.com/shadercache/shadercache/resident"
	"github.com/shadercache/shadercache/resident/actors"
	"github.com/shadercache/shadercache/shader"
)

// adopted adopts a context that only this thread polls.
func adopted(t *testing.T) *glctx.Context {
	t.Helper()
	glctx.OwnContext(t)
	c, err := glctx.Adopt(glctx.Options{DriverCacheOff: true}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Close()
		if n := c.Counters(); n.Buffers != 0 || n.Programs != 0 || n.Fences != 0 {
			t.Errorf("objects were left: %+v", n)
		}
	})
	return c
}

// Programs compile on a goroutine of the cache, which needs the thread of the context,
// and that thread waits in Get.
func TestCacheOnTheThreadOfAnAdoptedContext(t *testing.T) {
	dir := t.TempDir()
	var sources []*shader.Source
	for i := range 6 {
		sources = append(sources, shader.MustSource("times", doubler, shader.Defines{"FACTOR": fmt.Sprintf("%d.0", i)}))
	}
	for _, origin := range []job.Origin{job.Compiled, job.Disk} {
		t.Run(origin.String(), func(t *testing.T) { useAdopted(t, dir, sources, origin) })
	}
}

// useAdopted gets all sources in a new context and expects them to come from origin.
func useAdopted(t *testing.T, dir string, sources []*shader.Source, origin job.Origin) {
	gpu := adopted(t)
	programs, err := cache.New(gpu, cache.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	cancellable, cancel := context.WithTimeout(t.Context(), time.Minute)
	for i, ctx := range []context.Context{context.Background(), cancellable} {
		h, err := programs.Get(ctx, sources[i])
		if err != nil || h.Origin() != origin {
			t.Fatalf("program %d: %v, %v", i, h, err)
		}
		wantTimes(t, run(t, gpu, h.Program()), float32(i))
		h.Release()
	}
	cancel()
	results, err := programs.Preload(t.Context(), sources, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range results[2:] {
		if r.Err != nil || r.Origin != origin {
			t.Errorf("preloaded program %d: %+v", i, r)
		}
	}
	if err := programs.Flush(); err != nil {
		t.Error(err)
	}
	if err := programs.Close(); err != nil {
		t.Error(err)
	}
	if n := gpu.Counters(); n.Compiles+n.BinaryLoads != uint64(len(sources)) || (origin == job.Disk) != (n.Compiles == 0) {
		t.Errorf("%+v for %d programs, %v", n, len(sources), origin)
	}
}

func TestExecutorOnTheThreadOfAnAdoptedContext(t *testing.T) {
	gpu := adopted(t)
	programs, err := cache.New(gpu, cache.Options{MemoryOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer programs.Close()
	program, err := programs.Get(t.Context(), shader.MustSource("increment", increment, nil))
	if err != nil {
		t.Fatal(err)
	}
	defer program.Release()
	jobs, err := executor.New(gpu, programs, executor.Options{SlotJobs: 1})
	if err != nil {
		t.Fatal(err)
	}
	const n, inFlight = 40, 3
	var outputs [n][4]uint32
	var pending []*executor.Pending
	for i := range n {
		if len(pending) == inFlight {
			wantNoError(t, pending[0].Wait(t.Context()))
			pending = pending[1:]
		}
		outputs[i] = [4]uint32{^uint32(0), ^uint32(0), ^uint32(0), ^uint32(0)}
		p, err := jobs.Submit(t.Context(), job.Job{
			Dispatch: job.Dispatch{Program: program, Groups: [3]uint32{1, 1, 1}},
			Inputs:   []job.Input{{Binding: 0, Data: glctx.Bytes([]uint32{uint32(i), 1, 2, 3})}},
			Outputs:  []job.Output{{Binding: 1, To: glctx.Bytes(outputs[i][:])}},
		})
		wantNoError(t, err)
		pending = append(pending, p)
	}
	wantNoError(t, jobs.Drain(t.Context()))
	for _, p := range pending {
		wantNoError(t, p.Wait(t.Context()))
	}
	for i, got := range outputs {
		if want := [4]uint32{uint32(i) + 1, 2, 3, 4}; got != want {
			t.Errorf("job %d: %v, not %v", i, got, want)
		}
	}
	wantNoError(t, jobs.Close())
}

const increment = `
layout(local_size_x = 4) in;
layout(std430, binding = 0) readonly buffer In { uint x[]; };
layout(std430, binding = 1) writeonly buffer Out { uint y[]; };
void main() { y[gl_GlobalInvocationID.x] = x[gl_GlobalInvocationID.x] + 1u; }`

func wantNoError(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// A session's scheduler runs on a goroutine, and so does resident.Probe.
func TestSessionOnTheThreadOfAnAdoptedContext(t *testing.T) {
	gpu := adopted(t)
	programs, err := cache.New(gpu, cache.Options{MemoryOnly: true})
	wantNoError(t, err)
	defer programs.Close()
	caps, err := resident.Probe(t.Context(), gpu, programs, nil)
	wantNoError(t, err)
	kernel := resident.Echo(1)
	for _, strategy := range []resident.Strategy{resident.Redispatch, resident.Triple, resident.Persistent} {
		session, err := resident.New(t.Context(), gpu, programs, kernel, resident.Options{Strategy: strategy, Capabilities: caps})
		wantNoError(t, err)
		wantNoError(t, session.Start(0))
		for i := range uint32(5) {
			wantNoError(t, session.Deliver(t.Context(), resident.Message{Kind: 1, A: i, B: 2}))
			answer, err := session.Receive(t.Context())
			wantNoError(t, err)
			if want := (resident.Message{Kind: 1, A: 3*i + 1, B: 2}); answer != want {
				t.Errorf("%v: %+v, not %+v", strategy, answer, want)
			}
		}
		_, err = session.Stop(t.Context())
		wantNoError(t, err)
		sums := make([]uint32, 32)
		wantNoError(t, session.Read(t.Context(), "Sums", 0, glctx.Bytes(sums)))
		for lane, sum := range sums {
			if sum != 0+1+2+3+4 {
				t.Errorf("%v: lane %d has %d", strategy, lane, sum)
			}
		}
		wantNoError(t, session.Close())
	}
}

// A goroutine holds the lock of a shared object and waits for the context's thread,
// while that thread waits for the lock.
func TestSharedObjectsOnTheThreadOfAnAdoptedContext(t *testing.T) {
	gpu := adopted(t)
	programs, err := cache.New(gpu, cache.Options{MemoryOnly: true})
	wantNoError(t, err)
	defer programs.Close()
	machines, err := interpreter.New(t.Context(), gpu, programs, interpreter.Options{Machines: 1})
	wantNoError(t, err)
	jobs, err := executor.New(gpu, programs, executor.Options{})
	wantNoError(t, err)
	defer func() { wantNoError(t, jobs.Close()) }()
	plan, err := conv2d.NewPlan(t.Context(), jobs, programs, []conv2d.Layer{{Shape: conv2d.GEMMProblem{M: 4, N: 4, K: 4}.Shape()}}, conv2d.PlanOptions{})
	wantNoError(t, err)
	weights := make([]float32, 16)
	for name, use := range map[string]func(version uint64) error{
		"interpreter": func(uint64) error { _, err := machines.MachineStates(t.Context()); return err },
		"plan":        func(version uint64) error { _, err := plan.SetWeights(t.Context(), version, weights, nil); return err },
	} {
		for len(gpu.Pending()) > 0 {
			<-gpu.Pending()
			gpu.Poll()
		}
		ended := make(chan error, 1)
		go func() { ended <- use(1) }()
		for len(gpu.Pending()) == 0 { // until the goroutine waits for this thread and holds the lock
			time.Sleep(time.Millisecond)
		}
		watchdog := time.AfterFunc(2*time.Minute, func() { panic(name + ": deadlock") })
		wantNoError(t, use(2))
		gpu.PollWhile(func() { err = <-ended })
		wantNoError(t, err)
		watchdog.Stop()
	}
	plan.Release()
	wantNoError(t, machines.Close())
}

// The worlds of a router step concurrently, each on its own goroutine.
func TestRouterOnTheThreadOfAnAdoptedContext(t *testing.T) {
	gpu := adopted(t)
	programs, err := cache.New(gpu, cache.Options{MemoryOnly: true})
	wantNoError(t, err)
	defer programs.Close()
	jobs, err := executor.New(gpu, programs, executor.Options{})
	wantNoError(t, err)
	defer func() { wantNoError(t, jobs.Close()) }()
	var worlds []*actors.World
	for device := range uint8(2) {
		w, err := actors.New(t.Context(), jobs, programs, actors.Options{
			Device: device, Slots: 8,
			Handlers: []actors.Handler{{Name: "idle", Text: "void ON_MESSAGE(Message m) {}\nvoid ON_TICK() {}"}},
		})
		wantNoError(t, err)
		defer w.Close()
		worlds = append(worlds, w)
	}
	router, err := actors.NewRouter(worlds...)
	wantNoError(t, err)
	watchdog := time.AfterFunc(2*time.Minute, func() { panic("deadlock") })
	defer watchdog.Stop()
	_, err = router.Step(t.Context(), 3)
	wantNoError(t, err)
	for _, w := range worlds {
		if tick := w.Report().Tick; tick != 3 {
			t.Errorf("%d ticks", tick)
		}
	}
}

func TestPendingOnTheThreadOfAnAdoptedContext(t *testing.T) {
	gpu := adopted(t)
	pending := gpu.Pending()
	if pending == nil {
		t.Fatal("Pending is nil on the context's thread")
	}
	elsewhere := make(chan (<-chan struct{}))
	go func() { elsewhere <- gpu.Pending() }()
	if <-elsewhere != nil {
		t.Error("Pending is not nil on another thread")
	}
	ran := false
	go gpu.Post(func(*glctx.GL) { ran = true })
	<-pending
	if gpu.Poll(); !ran {
		t.Error("Poll ran no callback")
	}
	if own := gltest.Open(t); own.Pending() != nil {
		t.Error("Pending is not nil for a context that is not adopted")
	}
}

// Calls that wait for the GL thread panic inside a callback, and have no other effect.
func TestWaitingInACallbackPanics(t *testing.T) {
	gpu := gltest.Open(t)
	programs, err := cache.New(gpu, cache.Options{MemoryOnly: true})
	wantNoError(t, err)
	jobs, err := executor.New(gpu, programs, executor.Options{SlotJobs: 1})
	wantNoError(t, err)
	source := shader.MustSource("increment", increment, nil)
	program, err := programs.Get(t.Context(), shader.MustSource("other", increment+"\n", nil))
	wantNoError(t, err)
	for name, wait := range map[string]func(*executor.Pending){
		"Get": func(*executor.Pending) { programs.Get(t.Context(), source) },
		"Preload": func(*executor.Pending) {
			programs.Preload(t.Context(), []*shader.Source{source}, nil)
		},
		"Flush": func(*executor.Pending) { programs.Flush() },
		"Close": func(*executor.Pending) { jobs.Close() },
		"Drain": func(*executor.Pending) { jobs.Drain(t.Context()) },
		"Wait":  func(p *executor.Pending) { p.Wait(t.Context()) },
	} {
		err := gpu.Do(func(*glctx.GL) error {
			// The executor's pump does not run before the end of this callback.
			p, err := jobs.Submit(t.Context(), job.Job{
				Dispatch: job.Dispatch{Program: program, Groups: [3]uint32{1, 1, 1}},
				Inputs:   []job.Input{{Binding: 0, Data: make([]byte, 16)}},
				Outputs:  []job.Output{{Binding: 1, To: make([]byte, 16)}},
			})
			if err != nil {
				return err
			}
			defer p.Release()
			defer func() {
				if recover() == nil {
					t.Errorf("%s in a callback did not panic", name)
				}
			}()
			wait(p)
			return nil
		})
		wantNoError(t, err)
		wantNoError(t, jobs.Drain(t.Context())) // a Submit without a free slot would wait as well
	}
	program.Release()
	h, err := programs.Get(t.Context(), source)
	wantNoError(t, err)
	if h.Origin() != job.Compiled {
		t.Errorf("origin %v: the Get that panicked has started a load", h.Origin())
	}
	h.Release()
	wantNoError(t, jobs.Close())
	wantNoError(t, programs.Close())
}

func TestGLOutsideItsCallbackPanics(t *testing.T) {
	gpu := gltest.Open(t)
	var leaked *glctx.GL
	wantNoError(t, gpu.Do(func(gl *glctx.GL) error { leaked = gl; return gl.Err() }))
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	_ = leaked.Err()
}

// Close of a GPU ends the preload of what earlier starts asked for, which needs the thread.
func TestCloseOnTheThreadOfAnAdoptedContext(t *testing.T) {
	glctx.OwnContext(t)
	dir := t.TempDir()
	for start := range 2 {
		c, err := glctx.Adopt(glctx.Options{DriverCacheOff: true}, nil)
		if err != nil {
			t.Fatal(err)
		}
		gpu, err := shadercache.New(c, shadercache.Options{Dir: dir, NoExecutor: true, FromHistory: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		for i := range 6 * (1 - start) {
			h, err := gpu.Cache.Get(t.Context(), shader.MustSource("times", doubler, shader.Defines{"FACTOR": fmt.Sprintf("%d.0", i)}))
			if err != nil {
				t.Fatal(err)
			}
			h.Release()
		}
		time.Sleep(time.Duration(start) * 50 * time.Millisecond) // the preload has begun
		if err := gpu.Close(); err != nil {
			t.Error(err)
		}
	}
}

// adoptedGroup returns the context of this thread, and a group of its GPU and others.
func adoptedGroup(t *testing.T, others ...shadercache.Device) (*glctx.Context, *devices.Group) {
	t.Helper()
	glctx.OwnContext(t)
	c, err := glctx.Adopt(glctx.Options{DriverCacheOff: true}, nil)
	if err != nil {
		t.Fatal(err)
	}
	gpu, err := shadercache.New(c, shadercache.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	g, err := devices.New(devices.Options{}, append([]shadercache.Device{gpu.AsDevice()}, others...)...)
	if err != nil {
		t.Fatal(err)
	}
	return c, g
}

// What waits for a group polls too: the GPU of the thread may be one of its members.
func TestGroupOnTheThreadOfAnAdoptedContext(t *testing.T) {
	c, g := adoptedGroup(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	p, err := g.Get(ctx, shader.MustSource("times", doubler, shader.Defines{"FACTOR": "3.0"}))
	if err != nil {
		t.Fatal(err)
	}
	p.Release()
	replica, err := g.NewReplica(ctx, 4)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := replica.Write(ctx, 0, make([]byte, 4)); err != nil {
		t.Error(err)
	}
	replica.Release()
	do := func(context.Context, int, shadercache.Device) error {
		return c.Do(func(*glctx.GL) error { return nil })
	}
	if err := errors.Join(g.Each(ctx, do), g.Barrier(ctx)); err != nil {
		t.Error(err)
	}
	if _, err := g.Preload(ctx, []*shader.Source{shader.MustSource("times", doubler, shader.Defines{"FACTOR": "4.0"})}, nil); err != nil {
		t.Error(err)
	}
	identity := []float32{1, 0, 0, 1}
	plan, err := conv2d.OpenPlan(ctx, g, conv2d.DevicePlanOptions{}, conv2d.GEMMProblem{M: 2, N: 2, K: 2}.Shape())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := plan.SetWeights(ctx, 1, identity, nil); err != nil {
		t.Error(err)
	}
	product := make([]float32, 4)
	if err := plan.Run(ctx, []float32{1, 2, 3, 4}, product); err != nil || !slices.Equal(product, []float32{1, 2, 3, 4}) {
		t.Errorf("%v, %v", product, err)
	}
	besideAnother(c, func() {
		if _, err := plan.SetWeights(ctx, 2, identity, nil); err != nil {
			t.Error(err)
		}
	}, func() {
		if err := plan.Run(ctx, product, product); err != nil {
			t.Error(err)
		}
	})
	plan.Release()
	if err := g.Close(); err != nil {
		t.Error(err)
	}
}

// besideAnother calls here on the thread of the context, while another goroutine, which needs that
// thread, most likely is in there.
func besideAnother(c *glctx.Context, there, here func()) {
	done := make(chan struct{})
	go func() { defer close(done); there() }()
	time.Sleep(20 * time.Millisecond)
	here()
	c.PollWhile(func() { <-done })
}

// A job for the GPU of the thread waits for its program, which another member had first; that of a
// stream also where another goroutine waits with one before it.
func TestProgramOfAGroupOnTheThreadOfAnAdoptedContext(t *testing.T) {
	other, err := shadercache.Open(shadercache.Options{Dir: t.TempDir(), Context: glctx.Options{DriverCacheOff: true}})
	if err != nil {
		t.Fatal(err)
	}
	c, g := adoptedGroup(t, other.AsDevice())
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	got := make(chan job.Program)
	get := func(factor string) job.Program {
		go func() { // does not poll
			p, err := g.Get(ctx, shader.MustSource("times", doubler, shader.Defines{"FACTOR": factor}))
			if err != nil {
				t.Error(err)
			}
			got <- p
		}()
		return <-got
	}
	p, q := get("6.0"), get("7.0")
	b, err := g.NewBufferOn(ctx, 0, 128)
	if err != nil {
		t.Fatal(err)
	}
	s := g.Stream()
	run := func() {
		j := job.Job{Dispatch: job.Dispatch{Program: q, Groups: [3]uint32{1, 1, 1}, Buffers: []job.Bound{{Binding: 3, Buffer: b}}, Uniforms: []job.Uniform{job.Float("offset", 1)}}}
		if err := s.Run(ctx, &j); err != nil {
			t.Error(err)
		}
	}
	besideAnother(c, run, run)
	b.Release()
	q.Release()
	if _, err := devices.On(ctx, p, 0); err != nil {
		t.Error(err)
	}
	p.Release()
	if err := g.Close(); err != nil {
		t.Error(err)
	}
}
