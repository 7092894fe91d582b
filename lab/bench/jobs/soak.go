package jobs

import (
	"errors"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/shadercache/shadercache/executor"
	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/lab/bench/measure"
)

const (
	soakWorkers = 4
	soakSamples = 20
	soakDepth   = 4
)

// soakKinds are the jobs of a round: bytes each way, length of the kernel relative to
// the calibrated one, whether the job is written and read where it is mapped, and
// whether it is a chain of two kernels.
var soakKinds = []struct {
	bytes  int
	length float64
	mapped bool
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

// soak runs mixed jobs from several goroutines for r.Soak and reports what grows.
func (r *run) soak() (err error) {
	rounds, _, err := r.calibrate(jobSize{kernelMicros: 100, bytes: smallBytes, slotJobs: 16})
	if err != nil {
		return err
	}
	e, err := executor.New(r.gpu.Context, r.gpu.Cache, executor.Options{Depth: soakDepth, SlotBytes: 4 << 20, SlotJobs: 64})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	s := &soak{run: r, executor: e, figures: &SoakFigures{Workers: soakWorkers, Leaks: []string{}}}
	for i := range soakWorkers {
		w, err := s.newWorker(i, rounds)
		if err != nil {
			return err
		}
		defer w.release()
		s.workers = append(s.workers, w)
	}
	if err := s.measure(r.Soak); err != nil {
		return err
	}
	r.result.Soak = s.figures
	r.result.Verified = r.result.Verified && s.figures.Verified
	return nil
}

// soak is a soak in progress.
type soak struct {
	*run
	executor *executor.Executor
	workers  []*soakWorker
	began    time.Time
	figures  *SoakFigures
	times    roundTimes

	warm, stop atomic.Bool
}

// measure warms up for a tenth of the time, and compares the state of the process then
// with that at the end, each time with no job pending.
func (s *soak) measure(whole time.Duration) error {
	s.began = time.Now()
	if err := s.phase(whole/10, 1); err != nil {
		return err
	}
	s.warm.Store(true)
	start, jobs := time.Now(), s.executor.Stats().Jobs
	before := s.takeSample()
	if err := s.phase(whole-whole/10, soakSamples); err != nil {
		return err
	}
	f := s.figures
	after := s.takeSample()
	after.AwaitGoroutines(before.Held)
	f.Samples[len(f.Samples)-1] = after
	f.Seconds = time.Since(start).Seconds()
	f.Jobs = after.Jobs - jobs
	f.JobsPerSecond = float64(f.Jobs) / f.Seconds
	s.times.setFigures(f)
	f.Moved = s.executor.Stats().Moved
	f.compare(before, after)
	f.Verified = true
	for _, w := range s.workers {
		f.Verified = f.Verified && w.wrong == 0
	}
	return nil
}

// phase runs all workers for a time, and takes samples at equal distances.
func (s *soak) phase(length time.Duration, samples int) error {
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
		case <-s.ctx.Done():
		case <-time.After(length / time.Duration(samples)):
		}
		if !s.stop.Load() {
			s.takeSample()
			_ = s.bar.Add(1)
		}
	}
	s.stop.Store(true)
	group.Wait()
	return errors.Join(append(failures, s.ctx.Err(), s.executor.Drain(s.ctx))...)
}

// takeSample records the state of the process and returns it.
func (s *soak) takeSample() SoakSample {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	now := SoakSample{
		AtSeconds: time.Since(s.began).Seconds(),
		Jobs:      s.executor.Stats().Jobs,
		RSS:       measure.ResidentBytes(),
		Heap:      int64(m.HeapAlloc),
		Held:      measure.TakeHeld(s.gpu),
	}
	s.figures.Samples = append(s.figures.Samples, now)
	return now
}

// soakWorker is one goroutine with a job of every kind, all pending at the same time.
type soakWorker struct {
	*soak
	random *rand.Rand
	places []place
	memory []*executor.Memory
	wrong  int
	number uint32
}

func (s *soak) newWorker(number int, rounds uint32) (*soakWorker, error) {
	w := &soakWorker{
		soak: s, random: rand.New(rand.NewPCG(uint64(number), 1)), number: uint32(number) << 28,
		places: make([]place, len(soakKinds)),
	}
	begun := map[*byte]bool{}
	for i, kind := range soakKinds {
		p := &w.places[i]
		p.check, p.wrong, p.begun = checkAll, &w.wrong, begun
		s.prepare(p, kind.bytes, max(1, uint32(float64(rounds)*kind.length)), kind.mapped)
		if !kind.chain {
			continue
		}
		m, err := s.executor.NewMemory(kind.bytes)
		if err != nil {
			w.release()
			return nil, err
		}
		w.memory = append(w.memory, m)
		p.chain(m)
	}
	return w, nil
}

// chain makes the job run its kernel twice, through device memory.
func (p *place) chain(m *executor.Memory) {
	second := p.job.Dispatch
	second.Buffers = []job.Bound{{Binding: 0, Buffer: m, ReadOnly: true}}
	p.job.Dispatch.Buffers = []job.Bound{{Binding: 1, Buffer: m}}
	p.job.Then = []job.Dispatch{second}
	p.does = affine{p.does.a * p.does.a, p.does.a*p.does.c + p.does.c}
}

func (w *soakWorker) release() {
	for _, m := range w.memory {
		m.Release()
	}
}

// work runs rounds until the soak stops, and then waits for what is pending.
func (w *soakWorker) work() error {
	for !w.stop.Load() {
		began := time.Now()
		for _, i := range w.random.Perm(len(w.places)) {
			p := &w.places[i]
			if err := w.finish(p); err != nil {
				return err
			}
			w.number++
			p.begin(w.number)
			if err := w.executor.SubmitInto(w.ctx, &p.job, &p.pending); err != nil {
				return err
			}
			p.busy = true
		}
		if w.warm.Load() {
			w.times.record(time.Since(began))
		}
	}
	for i := range w.places {
		if err := w.finish(&w.places[i]); err != nil {
			return err
		}
	}
	return nil
}

// finish waits for the job of a place, or releases one in 16 without waiting.
func (w *soakWorker) finish(p *place) error {
	if !p.busy {
		return nil
	}
	p.busy = false
	if w.random.IntN(16) == 0 {
		p.pending.Release()
		return nil
	}
	if err := p.pending.Wait(w.ctx); err != nil {
		return err
	}
	p.verify()
	return nil
}
