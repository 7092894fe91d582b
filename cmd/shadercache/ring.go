package main

import (
	"encoding/binary"
	"slices"
	"sync"
	"time"

	"github.com/shadercache/shadercache/executor"
	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/shader"
)

// ringText makes rounds steps of a linear congruential generator with every word
// of the input. Each step needs the one before, so that compilers leave the loop
// alone; the CPU knows the result without it: see affine.
const ringText = `
layout(local_size_x = 256) in;
layout(std430, binding = 0) restrict readonly buffer Input { uint inputs[]; };
layout(std430, binding = 1) restrict writeonly buffer Output { uint outputs[]; };
uniform uint rounds;
void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i < uint(inputs.length())) {
        uint x = inputs[i];
        for (uint k = 0u; k < rounds; ++k) {
            x = x * 1664525u + 1013904223u;
        }
        outputs[i] = x;
    }
}`

// sampleText copies the words that tell jobs apart.
const sampleText = `
layout(local_size_x = 64) in;
layout(std430, binding = 0) restrict readonly buffer Input { uint inputs[]; };
layout(std430, binding = 1) restrict writeonly buffer Output { uint outputs[]; };
uniform uint stride;
void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i < uint(outputs.length())) {
        outputs[i] = inputs[i * stride];
    }
}`

var (
	ringSource   = sync.OnceValue(func() *shader.Source { return shader.MustSource("bench_ring", ringText, nil) })
	sampleSource = sync.OnceValue(func() *shader.Source { return shader.MustSource("bench_sample", sampleText, nil) })
)

const (
	ringLocal   = 256
	stampStride = 1 << 14 // words between two that tell jobs apart

	maxRounds         = 4_000_000
	maxRoundsSoftware = 30_000 // llvmpipe ends loops silently after 65,535 iterations
)

// affine is what rounds steps do to a word: x becomes a*x + c.
type affine struct{ a, c uint32 }

func newAffine(rounds uint32) affine {
	f := affine{1, 0}
	for range rounds {
		f = affine{f.a * 1664525, f.c*1664525 + 1013904223}
	}
	return f
}

// checks says how much of every result is checked.
type checks int

const (
	checkSome checks = iota // the words that tell jobs apart
	checkAll                // every word
)

// streamFigures are what one run of a stream of jobs gave.
type streamFigures struct {
	jobs          int
	wrong         int // jobs with a wrong result
	wall, cpu     time.Duration
	submit, fetch float64 // us, medians of calls that did not have to wait
	allocations   float64 // a job
	stats         executor.Stats
}

func (f streamFigures) jobsPerSecond() float64 { return float64(f.jobs) / f.wall.Seconds() }

func speedsOf(runs []streamFigures) []float64 {
	speeds := make([]float64, len(runs))
	for i, f := range runs {
		speeds[i] = f.jobsPerSecond()
	}
	return speeds
}

// ringPlace is one of the jobs that are pending at the same time. Small jobs are
// copied in and out, large ones are written and read where they are mapped.
type ringPlace struct {
	number  uint32 // of the job
	all     checks
	does    affine
	wrong   *int
	in, out []uint32 // of a small job
	job     executor.Job
	pending executor.Pending
	busy    bool           // pending is
	begun   map[*byte]bool // mapped memory that holds a whole input; shared
}

// word is word i of the input of a job, where jobs are told apart by it.
func word(number uint32, i int) uint32 { return number*2654435761 + uint32(i)*40503 }

// stream runs jobs of one size through an executor of its own: so many, or, for
// 0, as many as take b.seconds.
func (b *executorBench) stream(o executor.Options, size ringSize, rounds uint32, jobs int, all checks) (f streamFigures, err error) {
	e, err := executor.New(b.gpu.Context, b.gpu.Cache, o)
	if err != nil {
		return f, err
	}
	defer func() {
		if failed := e.Close(); err == nil {
			err = failed
		}
	}()
	places := b.places(o, size, rounds, all, &f.wrong)
	// The first jobs fill mapped memory, and show how long the rest will take.
	warm := 2 * len(places)
	start := time.Now()
	number, err := b.turn(e, places, 0, warm, nil)
	if err != nil {
		return f, err
	}
	if jobs == 0 {
		each := time.Since(start).Seconds() / float64(warm)
		jobs = min(max(int(b.seconds/each), 2*len(places)), 1_000_000)
	}
	// Again, now that the caches know the way.
	if number, err = b.turn(e, places, number, min(warm, jobs), nil); err != nil {
		return f, err
	}
	samples := newSamples(jobs)
	before := e.Stats()
	mallocs, cpu := allocations(), cpuTime()
	start = time.Now()
	if _, err = b.turn(e, places, number, jobs, samples); err != nil {
		return f, err
	}
	f.wall, f.cpu = time.Since(start), cpuTime()-cpu
	f.allocations = float64(allocations()-mallocs) / float64(jobs)
	f.jobs, f.stats = jobs, e.Stats()
	f.stats.Jobs -= before.Jobs
	f.stats.Batches -= before.Batches
	f.stats.GPUTime -= before.GPUTime
	f.submit, f.fetch = samples.medians()
	return f, nil
}

// places makes as many jobs as may be pending.
func (b *executorBench) places(o executor.Options, size ringSize, rounds uint32, all checks, wrong *int) []ringPlace {
	window := o.Depth
	if o.Depth > 1 && size.slotJobs > 1 {
		window = (o.Depth - 1) * o.SlotJobs
	}
	places := make([]ringPlace, window)
	begun := map[*byte]bool{}
	for i := range places {
		p := &places[i]
		p.all, p.wrong, p.begun = all, wrong, begun
		b.prepare(p, size.bytes, rounds, size.slotJobs == 1)
	}
	return places
}

// prepare gives a place its job. One that is mapped is written and read in the
// slot.
func (b *executorBench) prepare(p *ringPlace, bytes int, rounds uint32, mapped bool) {
	words := bytes / 4
	p.does = b.affine(rounds)
	p.job = executor.Job{Dispatch: executor.Dispatch{
		Program:  b.kernel,
		Groups:   [3]uint32{uint32((words + ringLocal - 1) / ringLocal), 1, 1},
		Uniforms: []executor.Uniform{executor.Uint("rounds", rounds)},
	}}
	if mapped {
		p.job.Inputs = []executor.Input{{Binding: 0, Size: bytes, Fill: p.fill}}
		p.job.Outputs = []executor.Output{{Binding: 1, Size: bytes, Read: p.read}}
		return
	}
	p.in, p.out = make([]uint32, words), make([]uint32, words)
	p.job.Inputs = []executor.Input{{Binding: 0, Data: glctx.Bytes(p.in)}}
	p.job.Outputs = []executor.Output{{Binding: 1, To: glctx.Bytes(p.out)}}
}

// affine is newAffine, which takes milliseconds for long kernels, once for each
// length.
func (b *executorBench) affine(rounds uint32) affine {
	if f, ok := b.known[rounds]; ok {
		return f
	}
	if b.known == nil {
		b.known = map[uint32]affine{}
	}
	b.known[rounds] = newAffine(rounds)
	return b.known[rounds]
}

// turn submits n jobs in turn, each in place of the oldest that is pending, and
// waits for all of them. It returns the number of the next job.
func (b *executorBench) turn(e *executor.Executor, places []ringPlace, number uint32, n int, s *samples) (uint32, error) {
	for i := range n + len(places) {
		p := &places[i%len(places)]
		if p.busy {
			began, ready := time.Time{}, s.due(i) && p.pending.Ready()
			if ready {
				began = time.Now()
			}
			if err := p.pending.Wait(b.ctx); err != nil {
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
		if err := e.SubmitInto(b.ctx, p.job, &p.pending); err != nil {
			return 0, err
		}
		p.busy = true
		if s.due(i) {
			s.submit = append(s.submit, time.Since(began))
		}
	}
	return number, nil
}

// samples are times of single calls, now and then.
type samples struct {
	every         int
	submit, fetch []time.Duration
}

func newSamples(jobs int) *samples {
	const most = 20_000
	return &samples{
		every:  max(1, jobs/most), // not a power of 2, so that no pattern of batches is hit
		submit: make([]time.Duration, 0, 2*most), fetch: make([]time.Duration, 0, 2*most),
	}
}

func (s *samples) due(i int) bool { return s != nil && i%s.every == 0 && len(s.submit) < cap(s.submit) }

// medians are of the two calls, microseconds.
func (s *samples) medians() (submit, fetch float64) {
	return medianMicros(s.submit), medianMicros(s.fetch)
}

func medianMicros(times []time.Duration) float64 {
	if len(times) == 0 {
		return 0
	}
	slices.Sort(times)
	return float64(times[len(times)/2]) / 1e3
}

// begin gives the place the next job.
func (p *ringPlace) begin(number uint32) {
	p.number = number
	if p.in == nil {
		return // fill does it
	}
	for i := range p.in {
		if p.all == checkAll || i%stampStride == 0 || i == len(p.in)-1 {
			p.in[i] = word(number, i)
		}
	}
}

// fill writes the input of a large job: all of it where nothing is there yet or
// all is checked, else the words that tell jobs apart.
func (p *ringPlace) fill(dst []byte) {
	words := len(dst) / 4
	if p.all == checkAll || !p.begun[&dst[0]] {
		for i := range words {
			binary.NativeEndian.PutUint32(dst[4*i:], word(p.number, i))
		}
		p.begun[&dst[0]] = true
		return
	}
	for i := 0; i < words; i += stampStride {
		binary.NativeEndian.PutUint32(dst[4*i:], word(p.number, i))
	}
	binary.NativeEndian.PutUint32(dst[4*words-4:], word(p.number, words-1))
}

// read checks the output of a large job.
func (p *ringPlace) read(src []byte) {
	words := len(src) / 4
	step := stampStride
	if p.all == checkAll {
		step = 1
	}
	right := p.right(words-1, binary.NativeEndian.Uint32(src[4*words-4:]))
	for i := 0; i < words && right; i += step {
		right = p.right(i, binary.NativeEndian.Uint32(src[4*i:]))
	}
	p.note(right)
}

// verify checks the output of a small job.
func (p *ringPlace) verify() {
	if p.out == nil {
		return // read did it
	}
	last := len(p.out) - 1
	right := p.right(last, p.out[last])
	for i := 0; i < last && right; i++ {
		if p.all == checkAll || i%stampStride == 0 {
			right = p.right(i, p.out[i])
		}
	}
	p.note(right)
}

func (p *ringPlace) right(i int, got uint32) bool { return got == p.does.a*word(p.number, i)+p.does.c }

func (p *ringPlace) note(right bool) {
	if !right {
		*p.wrong++
	}
}
