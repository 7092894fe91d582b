package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/shadercache/shadercache/executor"
	"github.com/shadercache/shadercache/internal/cli"
)

// soakFigures are what a long run of mixed jobs gave.
type soakFigures struct {
	Seconds       float64      `json:"seconds"`
	Workers       int          `json:"workers"`
	Jobs          uint64       `json:"jobs"`
	JobsPerSecond float64      `json:"jobs_per_s"`
	Rounds        uint64       `json:"rounds"` // of the same jobs in changing order
	MedianMillis  float64      `json:"round_median_ms"`
	P99Millis     float64      `json:"round_p99_ms"`
	MaxMillis     float64      `json:"round_max_ms"`
	StallRatio    float64      `json:"stall_ratio"` // largest / median
	Stalled       bool         `json:"stalled"`     // by more than stallRatio
	RSSGrowth     int64        `json:"rss_growth_bytes"`
	HeapGrowth    int64        `json:"heap_growth_bytes"`
	Leaks         []string     `json:"leaks"`
	Samples       []soakSample `json:"samples"`
	Verified      bool         `json:"verified"`
}

// soakSample is the state of the process at one time. What counts is the first
// after warming up against the last.
type soakSample struct {
	AtSeconds  float64 `json:"at_s"`
	Jobs       uint64  `json:"jobs"`
	RSS        int64   `json:"rss_bytes"`
	Heap       int64   `json:"heap_bytes"` // alive after a garbage collection
	Goroutines int     `json:"goroutines"`
	Buffers    int64   `json:"buffers"`
	Fences     int64   `json:"fences"`
	InUse      int     `json:"programs_in_use"`
}

const (
	soakWorkers = 4
	soakSamples = 20
	soakDepth   = 4
	stallRatio  = 10

	// How much memory may have grown: what garbage collection and the driver's
	// own pools leave open, which does not depend on the length of the run.
	soakGrowth = 32 << 20

	// What goroutines that are done take to end, on a busy machine.
	endTime = 5 * time.Second
)

// soakKinds are the jobs of a round: bytes each way, length of the kernel against
// the calibrated one, and whether the job is a chain of two kernels.
var soakKinds = []struct {
	bytes  int
	length float64
	mapped bool // written and read where it is mapped
	chain  bool
}{
	{64, 0.01, false, false},
	{4 << 10, 0.1, false, false},
	{4 << 10, 1, false, false},
	{64 << 10, 0.1, false, true},
	{4 << 10, 0.01, false, false},
	{1 << 20, 0.01, true, false},
	{16 << 10, 1, false, true},
	{256 << 10, 0.1, true, false},
}

// soak runs mixed jobs from several goroutines for b.soakTime and sees whether
// anything grows.
func (b *executorBench) soak() (err error) {
	rounds, _, err := b.calibrate(ringSize{kernelMicros: 100, bytes: smallBytes, slotJobs: 16})
	if err != nil {
		return err
	}
	e, err := executor.New(b.gpu.Context, b.gpu.Cache, executor.Options{Depth: soakDepth, SlotBytes: 4 << 20, SlotJobs: 64})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	s := &soakRun{b: b, e: e, figures: &soakFigures{Workers: soakWorkers, Leaks: []string{}}}
	for i := range soakWorkers {
		w, err := s.newWorker(i, rounds)
		if err != nil {
			return err
		}
		defer w.release()
		s.workers = append(s.workers, w)
	}
	if err := s.run(b.soakTime); err != nil {
		return err
	}
	b.result.Soak = s.figures
	b.result.Verified = b.result.Verified && s.figures.Verified
	return nil
}

// soakRun is a run in progress.
type soakRun struct {
	b       *executorBench
	e       *executor.Executor
	workers []*soakWorker
	began   time.Time
	figures *soakFigures
	times   roundTimes

	warm, stop atomic.Bool
}

// run warms up for a tenth of the time, and compares what there is then with what
// there is at the end, each time with nothing under way.
func (s *soakRun) run(whole time.Duration) error {
	s.began = time.Now()
	if err := s.phase(whole/10, 1); err != nil {
		return err
	}
	s.warm.Store(true)
	start, jobs := time.Now(), s.e.Stats().Jobs
	before := s.sample()
	if err := s.phase(whole-whole/10, soakSamples); err != nil {
		return err
	}
	f := s.figures
	after := s.sample()
	after.Goroutines = goroutinesDownTo(before.Goroutines)
	f.Samples[len(f.Samples)-1] = after
	f.Seconds = time.Since(start).Seconds()
	f.Jobs = after.Jobs - jobs
	f.JobsPerSecond = float64(f.Jobs) / f.Seconds
	s.times.into(f)
	f.compare(before, after)
	f.Verified = true
	for _, w := range s.workers {
		f.Verified = f.Verified && w.wrong == 0
	}
	return nil
}

// phase has all workers work for a time, with so many samples.
func (s *soakRun) phase(length time.Duration, samples int) error {
	var group sync.WaitGroup
	failures := make([]error, len(s.workers))
	s.stop.Store(false)
	for i, w := range s.workers {
		group.Go(func() {
			if failures[i] = w.work(); failures[i] != nil {
				s.stop.Store(true)
			}
		})
	}
	for range samples {
		select {
		case <-s.b.ctx.Done():
		case <-time.After(length / time.Duration(samples)):
		}
		if !s.stop.Load() {
			s.sample()
			_ = s.b.bar.Add(1)
		}
	}
	s.stop.Store(true)
	group.Wait()
	return errors.Join(append(failures, s.b.ctx.Err(), s.e.Drain(s.b.ctx))...)
}

// sample takes stock.
func (s *soakRun) sample() soakSample {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	n := s.b.gpu.Context.Counters()
	now := soakSample{
		AtSeconds:  time.Since(s.began).Seconds(),
		Jobs:       s.e.Stats().Jobs,
		RSS:        residentBytes(),
		Heap:       int64(m.HeapAlloc),
		Goroutines: runtime.NumGoroutine(),
		Buffers:    n.Buffers,
		Fences:     n.Fences,
		InUse:      s.b.gpu.Cache.Stats().InUse,
	}
	s.figures.Samples = append(s.figures.Samples, now)
	return now
}

// goroutinesDownTo is the number of goroutines once those that are done have
// ended, down to so many: who waits for them goes on before they are gone.
func goroutinesDownTo(wanted int) int {
	for deadline := time.Now().Add(endTime); ; time.Sleep(time.Millisecond) {
		if n := runtime.NumGoroutine(); n <= wanted || time.Now().After(deadline) {
			return n
		}
	}
}

// compare notes what has grown.
func (f *soakFigures) compare(before, after soakSample) {
	f.RSSGrowth, f.HeapGrowth = after.RSS-before.RSS, after.Heap-before.Heap
	for _, count := range []struct {
		what          string
		before, after int64
	}{
		{"buffers", before.Buffers, after.Buffers},
		{"fences", before.Fences, after.Fences},
		{"programs in use", int64(before.InUse), int64(after.InUse)},
		{"goroutines", int64(before.Goroutines), int64(after.Goroutines)},
		{"resident bytes", before.RSS + soakGrowth, max(after.RSS, before.RSS+soakGrowth)},
		{"heap bytes", before.Heap + soakGrowth, max(after.Heap, before.Heap+soakGrowth)},
	} {
		if count.after > count.before {
			f.Leaks = append(f.Leaks, fmt.Sprintf("%s: %d after warming up, %d at the end", count.what, count.before, count.after))
		}
	}
}

// residentBytes is the memory of the process that is in RAM, 0 where Linux does
// not say.
func residentBytes() int64 {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	var size, resident int64
	if _, err := fmt.Fscan(bytes.NewReader(text), &size, &resident); err != nil {
		return 0
	}
	return resident * int64(os.Getpagesize())
}

// soakWorker is one goroutine with a job of every kind, which are all pending at
// the same time.
type soakWorker struct {
	s      *soakRun
	random *rand.Rand
	places []ringPlace
	memory []*executor.Memory
	wrong  int
	number uint32
}

func (s *soakRun) newWorker(number int, rounds uint32) (*soakWorker, error) {
	w := &soakWorker{
		s: s, random: rand.New(rand.NewPCG(uint64(number), 1)), number: uint32(number) << 28,
		places: make([]ringPlace, len(soakKinds)),
	}
	begun := map[*byte]bool{}
	for i, kind := range soakKinds {
		p := &w.places[i]
		p.all, p.wrong, p.begun = checkAll, &w.wrong, begun
		s.b.prepare(p, kind.bytes, max(1, uint32(float64(rounds)*kind.length)), kind.mapped)
		if !kind.chain {
			continue
		}
		m, err := s.e.NewMemory(kind.bytes)
		if err != nil {
			w.release()
			return nil, err
		}
		w.memory = append(w.memory, m)
		p.chain(m)
	}
	return w, nil
}

// chain makes the kernel run twice, by way of device memory.
func (p *ringPlace) chain(m *executor.Memory) {
	second := p.job.Dispatch
	second.Memory = []executor.Bound{{Binding: 0, Memory: m, ReadOnly: true}}
	p.job.Dispatch.Memory = []executor.Bound{{Binding: 1, Memory: m}}
	p.job.Then = []executor.Dispatch{second}
	p.does = affine{p.does.a * p.does.a, p.does.a*p.does.c + p.does.c}
}

func (w *soakWorker) release() {
	for _, m := range w.memory {
		m.Release()
	}
}

// work goes round until it is told to stop, and then waits for what is pending.
func (w *soakWorker) work() error {
	for !w.s.stop.Load() {
		began := time.Now()
		for _, i := range w.random.Perm(len(w.places)) {
			p := &w.places[i]
			if err := w.finish(p); err != nil {
				return err
			}
			w.number++
			p.begin(w.number)
			if err := w.s.e.SubmitInto(w.s.b.ctx, p.job, &p.pending); err != nil {
				return err
			}
			p.busy = true
		}
		if w.s.warm.Load() {
			w.s.times.add(time.Since(began))
		}
	}
	for i := range w.places {
		if err := w.finish(&w.places[i]); err != nil {
			return err
		}
	}
	return nil
}

// finish waits for the job of a place, or, now and then, gives its result up.
func (w *soakWorker) finish(p *ringPlace) error {
	if !p.busy {
		return nil
	}
	p.busy = false
	if w.random.IntN(16) == 0 {
		p.pending.Release()
		return nil
	}
	if err := p.pending.Wait(w.s.b.ctx); err != nil {
		return err
	}
	p.verify()
	return nil
}

// roundTimes counts times in classes of 2%, so that it does not grow itself.
type roundTimes struct {
	sync.Mutex
	classes [2048]uint64
	rounds  uint64
	largest time.Duration
}

const roundClass = 1.02

func (r *roundTimes) add(d time.Duration) {
	class := int(math.Log(max(1, float64(d)/1e3)) / math.Log(roundClass))
	r.Lock()
	defer r.Unlock()
	r.classes[min(class, len(r.classes)-1)]++
	r.rounds++
	r.largest = max(r.largest, d)
}

// share is the time that so large a share of the rounds do not exceed,
// milliseconds.
func (r *roundTimes) share(share float64) float64 {
	seen := uint64(0)
	for class, n := range r.classes {
		if seen += n; float64(seen) >= share*float64(r.rounds) {
			return math.Pow(roundClass, float64(class+1)) / 1e3
		}
	}
	return 0
}

func (r *roundTimes) into(f *soakFigures) {
	f.Rounds, f.MaxMillis = r.rounds, cli.Milliseconds(r.largest)
	if r.rounds > 0 {
		f.MedianMillis, f.P99Millis = r.share(0.5), r.share(0.99)
		f.StallRatio = f.MaxMillis / f.MedianMillis
		f.Stalled = f.StallRatio > stallRatio
	}
}

func (f *soakFigures) Print(w io.Writer) {
	fmt.Fprintf(w, "soak of %.1f s, %d goroutines: %d jobs, %.0f a second\n", f.Seconds, f.Workers, f.Jobs, f.JobsPerSecond)
	fmt.Fprintf(w, "round of %d jobs\tmedian %.3f ms\t99%% %.3f ms\tlargest %.3f ms, %.1f times the median\n",
		len(soakKinds), f.MedianMillis, f.P99Millis, f.MaxMillis, f.StallRatio)
	fmt.Fprintf(w, "memory after warming up and at the end\tresident %+d bytes\theap %+d bytes\n", f.RSSGrowth, f.HeapGrowth)
	for _, leak := range f.Leaks {
		fmt.Fprintf(w, "GREW: %s\n", leak)
	}
}
