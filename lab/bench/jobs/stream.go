package jobs

import (
	"time"

	"github.com/shadercache/shadercache/executor"
	"github.com/shadercache/shadercache/lab/bench/measure"
)

// streamFigures are those of one run of a stream of jobs.
type streamFigures struct {
	jobs          int
	wrong         int // jobs with a wrong result
	wall, cpu     time.Duration
	submit, fetch float64 // us, medians of calls that did not have to wait
	allocations   float64 // a job
	stats         executor.Stats
}

func (f streamFigures) jobsPerSecond() float64 { return float64(f.jobs) / f.wall.Seconds() }

// stream runs jobs of one size through an executor of its own: the given number of
// them, or, for 0, as many as take r.Seconds.
func (r *run) stream(o executor.Options, size jobSize, rounds uint32, jobs int, check coverage) (f streamFigures, err error) {
	e, err := executor.New(r.gpu.Context, r.gpu.Cache, o)
	if err != nil {
		return f, err
	}
	defer func() {
		if failed := e.Close(); err == nil {
			err = failed
		}
	}()
	places := r.places(o, size, rounds, check, &f.wrong)
	// The first jobs fill mapped memory, and show how long the rest will take.
	warm := 2 * len(places)
	start := time.Now()
	number, err := r.turn(e, places, 0, warm, nil)
	if err != nil {
		return f, err
	}
	if jobs == 0 {
		each := time.Since(start).Seconds() / float64(warm)
		jobs = min(max(int(r.Seconds/each), 2*len(places)), 1_000_000)
	}
	// Again, with warm CPU caches.
	if number, err = r.turn(e, places, number, min(warm, jobs), nil); err != nil {
		return f, err
	}
	samples := newSamples(jobs)
	before := e.Stats()
	mallocs, cpu := measure.Allocations(), measure.CPUTime()
	start = time.Now()
	if _, err = r.turn(e, places, number, jobs, samples); err != nil {
		return f, err
	}
	f.wall, f.cpu = time.Since(start), measure.CPUTime()-cpu
	f.allocations = float64(measure.Allocations()-mallocs) / float64(jobs)
	f.jobs, f.stats = jobs, e.Stats()
	f.stats.Jobs -= before.Jobs
	f.stats.Batches -= before.Batches
	f.stats.GPUTime -= before.GPUTime
	f.submit, f.fetch = samples.medians()
	return f, nil
}

// places returns as many jobs as may be pending.
func (r *run) places(o executor.Options, size jobSize, rounds uint32, check coverage, wrong *int) []place {
	window := o.Depth
	if o.Depth > 1 && size.slotJobs > 1 {
		window = (o.Depth - 1) * o.SlotJobs
	}
	places := make([]place, window)
	begun := map[*byte]bool{}
	for i := range places {
		p := &places[i]
		p.check, p.wrong, p.begun = check, wrong, begun
		r.prepare(p, size.bytes, rounds, size.slotJobs == 1)
	}
	return places
}

// turn submits n jobs in turn, each in place of the oldest that is pending, and waits
// for all of them. It returns the number of the next job.
func (r *run) turn(e *executor.Executor, places []place, number uint32, n int, s *samples) (uint32, error) {
	for i := range n + len(places) {
		p := &places[i%len(places)]
		if p.busy {
			began, ready := time.Time{}, s.due(i) && p.pending.Ready()
			if ready {
				began = time.Now()
			}
			if err := p.pending.Wait(r.ctx); err != nil {
				return 0, err
			}
			if ready {
				s.fetch = append(s.fetch, time.Since(began))
			}
			p.busy = false
			p.verify()
		}
		if i >= n {
			continue
		}
		p.begin(number)
		number++
		began := time.Time{}
		if s.due(i) {
			began = time.Now()
		}
		if err := e.SubmitInto(r.ctx, &p.job, &p.pending); err != nil {
			return 0, err
		}
		p.busy = true
		if s.due(i) {
			s.submit = append(s.submit, time.Since(began))
		}
	}
	return number, nil
}

// samples are the times of some of the calls.
type samples struct {
	every         int
	submit, fetch []time.Duration
}

func newSamples(jobs int) *samples {
	const most = 20_000
	return &samples{
		every:  max(1, jobs/most), // not a power of 2, so as not to follow a pattern of batches
		submit: make([]time.Duration, 0, 2*most), fetch: make([]time.Duration, 0, 2*most),
	}
}

// due reports whether call i is timed. A nil s times none.
func (s *samples) due(i int) bool { return s != nil && i%s.every == 0 && len(s.submit) < cap(s.submit) }

// medians returns those of the two calls, in microseconds.
func (s *samples) medians() (submit, fetch float64) {
	return measure.Micros(measure.NewLatencies(s.submit).Median), measure.Micros(measure.NewLatencies(s.fetch).Median)
}
