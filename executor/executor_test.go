//go:build linux

package executor

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/job/texel"
)

// forms are the ways in which an executor copies data.
var forms = map[string]testOptions{
	"whole":    {poison: true, spin: true},
	"staged":   {poison: true, staged: true},
	"in place": {poison: true, inPlace: true},
}

// TestEveryElementAtEveryDepth streams jobs of growing size through every depth
// in both forms, with as many pending as there are slots.
func TestEveryElementAtEveryDepth(t *testing.T) {
	for form, test := range forms {
		for _, depth := range []int{1, 2, 3, 8} {
			t.Run(fmt.Sprintf("%s/%d", form, depth), func(t *testing.T) {
				f := newFixture(t, Options{Depth: depth, SlotBytes: 1 << 16, SlotJobs: 4, test: test})
				h := f.affine()
				var pending []*task
				for i := range 60 {
					k := newTask(h, uint32(i), 1+i*i%4000)
					k.pending = f.submit(k.job)
					pending = append(pending, k)
					if len(pending) == depth {
						f.finish(pending[0])
						pending = pending[1:]
					}
				}
				for _, k := range pending {
					f.finish(k)
				}
				if s := f.Stats(); s.Jobs != 60 || s.Timeouts != 0 {
					t.Errorf("stats %+v", s)
				}
			})
		}
	}
}

// TestBatchesShareAFence submits many jobs while the GPU is busy.
func TestBatchesShareAFence(t *testing.T) {
	var busy atomic.Bool
	f := newFixture(t, Options{test: testOptions{poison: true, pollFence: func(gl *glctx.GL, fence glctx.Fence) (bool, error) {
		if busy.Load() {
			return false, nil
		}
		return gl.WaitFence(fence, 0)
	}}})
	h := f.affine()
	k := newTask(h, 0, 64)
	k.pending = f.submit(k.job)
	f.finish(k)
	f.mu.Lock()
	f.mu.short[workOf([]command{{program: h.Program(), groups: [3]uint32{1, 1, 1}}})] = true // also on a busy machine
	f.mu.Unlock()
	before := f.Stats()
	busy.Store(true)
	var tasks []*task
	for i := range 200 {
		k := newTask(h, uint32(i), 64)
		k.pending = f.submit(k.job)
		tasks = append(tasks, k)
	}
	busy.Store(false)
	for _, k := range tasks {
		f.finish(k)
	}
	if s := f.Stats(); s.Batches-before.Batches > 20 || s.Stages != s.Batches {
		t.Errorf("200 jobs on a busy GPU took %d batches, %d stages", s.Batches-before.Batches, s.Stages)
	}
}

// TestJobsThatTurnLong has jobs, of which one turns out to be long, or not yet, in one batch with each
// other: what the GPU has finished of them is seen before all are, or they are counted.
func TestJobsThatTurnLong(t *testing.T) {
	const jobs = 40
	for takes, least := range map[time.Duration]int{shortTime: jobs - 2*maxStages, 0: 1} {
		var busy atomic.Bool
		var unseen atomic.Int64 // the most
		var f *fixture
		f = newFixture(t, Options{test: testOptions{pollFence: func(gl *glctx.GL, fence glctx.Fence) (bool, error) {
			if busy.Load() {
				return false, nil
			}
			unseen.Store(max(unseen.Load(), f.counts.unseen.Load()))
			return gl.WaitFence(fence, 0)
		}}})
		f.info.GPU = "one whose kernels do not hold the GL thread"
		h := f.affine()
		f.mu.Lock()
		f.mu.short[workOf([]command{{program: h.Program(), groups: [3]uint32{1, 1, 1}}})] = true
		f.mu.Unlock()
		before, _, _ := f.Progress()
		stages := f.Stats().Stages
		busy.Store(true)
		var tasks []*task
		for i := range jobs {
			k := newTask(h, uint32(i), 64)
			k.pending = f.submit(k.job)
			tasks = append(tasks, k)
			for i < maxStages && f.Stats().Stages == stages+uint64(i) { // the others wait, and come together
				time.Sleep(time.Millisecond)
			}
		}
		time.Sleep(takes)
		busy.Store(false)
		for _, k := range tasks {
			f.finish(k)
		}
		after, left, _ := f.Progress()
		passed := int(after - before)
		if passed < least || passed > jobs+3*maxStages || passed+int(unseen.Load()) < jobs-2*maxStages || left != 0 {
			t.Errorf("%d of %d jobs were seen before those that end with them, at least %d should be; %d were not, %d are left",
				passed, jobs, least, unseen.Load(), left)
		}
	}
}

// sampled reads 16 textures.
const sampled = `
layout(local_size_x = 1) in;
layout(binding = 0) uniform sampler2D t[16];
layout(binding = 0) buffer O { float sum; };
void main() {
    sum = 0.0;
    for (int i = 0; i < 16; i++) sum += texelFetch(t[i], ivec2(0), 0).r;
}`

// The memory that a long job took is not kept for others.
func TestLongJobsLeaveNothing(t *testing.T) {
	f := newFixture(t, Options{})
	k := newTask(f.affine(), 0, 64)
	k.job.Then = slices.Repeat([]Dispatch{k.job.Dispatch}, maxSpareItems/2)
	k.pending = f.submit(k.job)
	f.finish(k)
	of, sum := Dispatch{Program: f.program("sampled", sampled, nil), Groups: [3]uint32{1, 1, 1}}, make([]float32, 1)
	for unit := range uint32(16) {
		x := f.texture(texel.Shape{Format: "r32f", Width: 1, Height: 1})
		if err := x.Write(t.Context(), texel.Region{}, glctx.Bytes([]float32{float32(unit)})); err != nil {
			t.Fatal(err)
		}
		of.Textures = append(of.Textures, job.Sampled{Binding: unit, Texture: x})
	}
	f.wait(f.submit(Job{Dispatch: of, Then: slices.Repeat([]Dispatch{of}, maxSpareItems/16), Outputs: []Output{{To: glctx.Bytes(sum)}}}))
	if sum[0] != 120 {
		t.Errorf("the sum is %v", sum[0])
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, b := range f.mu.spare {
		if cap(b.commands) >= maxSpareItems/2 || cap(b.textures) > maxSpareItems {
			t.Errorf("a batch is kept with room for %d dispatches and %d textures", cap(b.commands), cap(b.textures))
		}
	}
}

// Each atomic counter buffer is looked for in each program of a job.
func TestManyCounters(t *testing.T) {
	f := newFixture(t, Options{})
	k := newTask(f.affine(), 0, 64)
	k.job.Counters = make([]job.Counter, maxCounters+1)
	if _, err := f.Submit(t.Context(), k.job); !errors.Is(err, job.ErrInvalid) || !strings.Contains(err.Error(), "at most 64 can be") {
		t.Error(err)
	}
}

// What jobs are known by is all of their kernels.
func TestWorkOf(t *testing.T) {
	one, four, five, many := [3]uint32{1, 1, 1}, [3]uint32{4, 1, 1}, [3]uint32{1, 5, 1}, [3]uint32{64, 1, 1}
	of := workOf([]command{{program: 1, groups: one}, {program: 2, groups: four}})
	for name, c := range map[string]struct {
		commands []command
		same     bool
	}{
		"the same":            {[]command{{program: 1, groups: one}, {program: 2, groups: five}}, true},
		"another program":     {[]command{{program: 1, groups: one}, {program: 3, groups: four}}, false},
		"more groups":         {[]command{{program: 1, groups: one}, {program: 2, groups: many}}, false},
		"another order":       {[]command{{program: 2, groups: four}, {program: 1, groups: one}}, false},
		"one dispatch":        {[]command{{program: 1, groups: one}}, false},
		"groups of the other": {[]command{{program: 1, groups: four}, {program: 2, groups: one}}, false},
	} {
		if got := workOf(c.commands); (got == of) != c.same {
			t.Errorf("%s: %+v and %+v", name, got, of)
		}
	}
}

// TestLongJobsShareNoFence submits jobs while the GPU is busy: before it is known how long they
// take, after they took long, when they are short again, and then with others that are not known.
func TestLongJobsShareNoFence(t *testing.T) {
	var slow atomic.Bool
	f := newFixture(t, Options{test: testOptions{pollFence: func(gl *glctx.GL, fence glctx.Fence) (bool, error) {
		if slow.Load() {
			time.Sleep(shortTime)
		}
		return gl.WaitFence(fence, 0)
	}}})
	short, long := f.affine(), f.affineVariant(1)
	batches := func(h *cache.Handle) uint64 {
		before := f.Stats().Batches
		var tasks []*task
		for i := range 20 {
			k := newTask(h, uint32(i), 64)
			if h == long {
				k.variant = 1
			}
			k.pending = f.submit(k.job)
			tasks = append(tasks, k)
		}
		for _, k := range tasks {
			f.finish(k)
		}
		return f.Stats().Batches - before
	}
	slow.Store(true)
	for range 2 {
		if n := batches(short); n != 20 {
			t.Errorf("20 jobs that are not known to be short took %d batches", n)
		}
	}
	slow.Store(false)
	for n := uint64(20); n == 20; {
		n = batches(short) // at first those before it are known alone
	}
	slow.Store(true)
	if n := batches(long); n != 20 {
		t.Errorf("20 jobs of another program took %d batches", n)
	}
}

// TestNoBlockingCalls asserts the counters of blocking GL calls in steady state.
func TestNoBlockingCalls(t *testing.T) {
	for form, test := range forms {
		t.Run(form, func(t *testing.T) {
			f := newFixture(t, Options{test: test})
			k := newTask(f.affine(), 1, 1000)
			run := func() {
				k.poison()
				k.pending = f.submit(k.job)
				f.finish(k)
			}
			run()
			before := f.context.Counters()
			for range 200 {
				run()
			}
			after := f.context.Counters()
			if after.Finishes != before.Finishes || after.Waits != before.Waits || after.Readbacks != before.Readbacks {
				t.Errorf("blocking calls: before %+v, after %+v", before, after)
			}
			if after.Buffers != before.Buffers || after.Dispatches == before.Dispatches {
				t.Errorf("before %+v, after %+v", before, after)
			}
		})
	}
}

// TestEvictionDoesNotTouchProgramsInFlight has more programs in flight than the
// cache keeps resident, and no handle but the executor's own.
func TestEvictionDoesNotTouchProgramsInFlight(t *testing.T) {
	g := newGatedFence()
	f := newFixtureWith(t, Options{SlotJobs: 4, test: testOptions{pollFence: g.pollFence, poison: true}}, cache.Options{MaxPrograms: 3})
	own := f.cache.Stats().InUse // the executor's copying kernel, if it uses one
	var tasks []*task
	for i := range 10 {
		h := f.affineVariant(i)
		k := newTask(h, uint32(i), 300)
		k.variant = uint32(i)
		k.pending = f.submit(k.job)
		h.Release()
		tasks = append(tasks, k)
	}
	if n := f.cache.Stats().InUse - own; n != 10 {
		t.Errorf("%d programs are in use by 10 jobs in flight", n)
	}
	close(g.open)
	for _, k := range tasks {
		f.finish(k)
	}
	if err := f.Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := f.cache.Stats().InUse - own; n != 0 {
		t.Errorf("%d programs are in use after all jobs", n)
	}
	f.affineVariant(10)
	if s := f.cache.Stats(); s.Resident > 3 {
		t.Errorf("%d programs are resident", s.Resident)
	}
}

// TestManyGoroutines submits jobs of random sizes from 8 goroutines, waits for most
// in order, releases others and cancels a few.
func TestManyGoroutines(t *testing.T) {
	jobs := 300
	if os.Getenv("SHADERCACHE_SOAK") != "" {
		jobs = 100_000 / 8
	}
	for form, test := range forms {
		t.Run(form, func(t *testing.T) {
			f := newFixture(t, Options{SlotBytes: 1 << 14, SlotJobs: 32, test: test})
			h := f.affine()
			var wg sync.WaitGroup
			for worker := range 8 {
				wg.Go(func() {
					if err := f.work(h, worker, jobs); err != nil {
						t.Error(err)
					}
				})
			}
			wg.Wait()
			if err := f.Drain(t.Context()); err != nil {
				t.Error(err)
			}
			if n := f.Stats().Jobs; n != uint64(8*jobs) {
				t.Errorf("%d jobs", n)
			}
		})
	}
}

// work is one goroutine of TestManyGoroutines. It has at most 2 jobs pending, so
// that all goroutines together cannot fill the slots with jobs that are not waited
// for.
func (f *fixture) work(h *cache.Handle, worker, jobs int) error {
	random := rand.New(rand.NewPCG(uint64(worker), 1))
	ended, end := context.WithCancel(context.Background())
	end()
	var pending []*task
	for i := range jobs {
		k := newTask(h, uint32(worker*jobs+i), 1+random.IntN(300))
		p, err := f.Submit(context.Background(), k.job)
		if err != nil {
			return err
		}
		k.pending = p
		defer k.pending.Release()
		if pending = append(pending, k); len(pending) < 2 {
			continue
		}
		k, pending = pending[0], pending[1:]
		switch random.IntN(8) {
		case 0:
			k.pending.Release()
			continue
		case 1:
			if err := k.pending.Wait(ended); err == nil {
				if err := k.verify(); err != nil {
					return err
				}
				continue
			}
		}
		if err := k.pending.Wait(context.Background()); err != nil {
			return err
		}
		if err := k.verify(); err != nil {
			return err
		}
	}
	return nil
}

// TestSubmitAllocatesNothing counts allocations of single jobs and of a window of
// pending jobs.
func TestSubmitAllocatesNothing(t *testing.T) {
	f := newFixture(t, Options{SlotBytes: 1 << 16})
	ctx := context.Background()
	k := newTask(f.affine(), 3, 256)
	allocations := leastAllocations(200, func() {
		p, err := f.Submit(ctx, k.job)
		if err != nil {
			panic(err)
		}
		if err := p.Wait(ctx); err != nil {
			panic(err)
		}
	})
	if allocations != 0 && !raceDetector {
		t.Errorf("%v allocations a job", allocations)
	}
	var window [8]Pending
	allocations = leastAllocations(50, func() {
		for i := range window {
			if err := f.SubmitInto(ctx, &k.job, &window[i]); err != nil {
				panic(err)
			}
		}
		for i := range window {
			if err := window[i].Wait(ctx); err != nil {
				panic(err)
			}
		}
	})
	if allocations != 0 && !raceDetector {
		t.Errorf("%v allocations for a window of jobs", allocations)
	}
}

func TestSubmitIntoTakesNoPendingJob(t *testing.T) {
	f := newFixture(t, Options{})
	k := newTask(f.affine(), 1, 50)
	var p Pending
	if err := f.SubmitInto(t.Context(), &Job{}, &p); err == nil {
		t.Error("no error for an empty job")
	}
	for range 3 {
		if err := f.SubmitInto(t.Context(), &k.job, &p); err != nil {
			t.Fatal(err)
		}
		func() {
			defer func() {
				if recover() == nil {
					t.Error("no panic for a Pending that is pending")
				}
			}()
			_ = f.SubmitInto(t.Context(), &k.job, &p)
		}()
		f.wait(&p)
		if err := k.verify(); err != nil {
			t.Error(err)
		}
	}
}

// BenchmarkSubmit measures Submit and Wait of small jobs of one work group, many in
// flight.
func BenchmarkSubmit(b *testing.B) {
	f := newFixture(b, Options{})
	job := newTask(f.affine(), 1, 16).job
	var window [128]Pending
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		p := &window[i%len(window)]
		if p.batch != nil {
			f.wait(p)
		}
		if err := f.SubmitInto(b.Context(), &job, p); err != nil {
			b.Fatal(err)
		}
	}
	for i := range window {
		window[i].Release()
	}
}
