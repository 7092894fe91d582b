//go:build linux

package conv2d

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/shader"
)

// bench holds the tensors of a problem on the device, for candidates to run on.
type bench struct {
	trials []trial
	clock  clock
}

// trial is a set of tensors with what the result has to be.
type trial struct {
	tensorsOnHost
	judge  judge
	memory tensors
	on     map[role]glctx.Buffer
}

// tensorsOnHost are the tensors of a problem. A nil output is poisoned before a
// run; otherwise it holds this.
type tensorsOnHost struct{ input, weights, bias, output []float32 }

// open puts the tensors on the device.
func (b *bench) open(gl *glctx.GL) error {
	b.clock.open(gl)
	for i := range b.trials {
		t := &b.trials[i]
		t.memory = tensors{gl: gl}
		t.on = map[role]glctx.Buffer{
			inputRole:   t.memory.upload(t.input),
			weightsRole: t.memory.upload(t.weights),
			outputRole:  t.memory.poisoned(t.judge.elements()),
		}
		if len(t.bias) > 0 {
			t.on[biasRole] = t.memory.upload(t.bias)
		}
		t.memory.gl = nil // it must not leave the callback
		if t.memory.err != nil {
			return t.memory.err
		}
	}
	return nil
}

func (b *bench) close(gl *glctx.GL) {
	b.clock.close(gl)
	for i := range b.trials {
		b.trials[i].memory.gl = gl
		b.trials[i].memory.free()
	}
}

// coverage says what is compared, for people.
func (b *bench) coverage() string {
	words := make([]string, len(b.trials))
	for i := range b.trials {
		words[i] = b.trials[i].judge.coverage()
	}
	return strings.Join(words, ", and ")
}

// benchRun is one recipe on a bench, within one callback.
type benchRun struct {
	gl       *glctx.GL
	bench    *bench
	recipe   recipe
	programs map[shader.Key]uint32
	memory   tensors
	extra    map[role]glctx.Buffer // packed weights, workspace and arrivals
	waited   time.Duration         // that the GPU waited for the CPU to compare results
	first    float64               // nanoseconds that the first run took, to the host

	least, most float64 // nanoseconds of a run in the batches that count
}

// load makes the memory that a recipe needs besides the tensors.
func (b *bench) load(gl *glctx.GL, r recipe, programs map[shader.Key]uint32) (*benchRun, error) {
	_ = gl.Err() // what somebody else left behind
	run := &benchRun{gl: gl, bench: b, recipe: r, programs: programs, memory: tensors{gl: gl}, extra: map[role]glctx.Buffer{}}
	for role, n := range map[role]int{packedRole: r.packed, workspaceRole: r.workspace} {
		if n > 0 {
			run.extra[role] = run.memory.poisoned(n)
		}
	}
	if r.arrivals > 0 {
		run.extra[arrivalsRole] = run.memory.zeros(r.arrivals)
	}
	if run.memory.err != nil {
		run.free()
		return nil, run.memory.err
	}
	return run, nil
}

func (r *benchRun) free() { r.memory.free() }

// check runs every trial once and compares the results.
func (r *benchRun) check(tolerance float64) (Report, error) {
	var all Report
	for i := range r.bench.trials {
		t := &r.bench.trials[i]
		got, err := r.result(t)
		if err != nil {
			return all, err
		}
		start := time.Now()
		all.Append(t.judge.judge(got, tolerance))
		r.waited += time.Since(start)
	}
	return all, nil
}

// poison makes the output of the first trial, which is the one that is timed, wrong.
func (r *benchRun) poison() {
	if t := &r.bench.trials[0]; t.output == nil {
		r.gl.Fill(t.on[outputRole], Poison)
	}
}

// checkTimed compares what the timed runs left behind. Runs that add to what was
// there have no such result, so these are checked as before.
func (r *benchRun) checkTimed(tolerance float64) (Report, error) {
	t := &r.bench.trials[0]
	if t.output != nil {
		return r.check(tolerance)
	}
	reader := tensors{gl: r.gl}
	got, err := reader.download(t.on[outputRole], t.judge.elements())
	if err != nil {
		return Report{}, err
	}
	return t.judge.judge(got, tolerance), nil
}

// result is the output of one run from a poisoned start.
func (r *benchRun) result(t *trial) ([]float32, error) {
	gl := r.gl
	gl.Fill(t.on[outputRole], Poison)
	if t.output != nil {
		gl.Upload(t.on[outputRole], 0, glctx.Bytes(t.output))
	}
	for role, b := range r.extra {
		if role != arrivalsRole {
			gl.Fill(b, Poison)
		}
	}
	if err := r.bench.clock.wait(gl); err != nil {
		return nil, err
	}
	start := time.Now()
	for _, s := range r.recipe.whole() {
		s.use(gl, r.program(s))
		r.bind(s, t)
		r.start(s)
	}
	if err := r.bench.clock.wait(gl); err != nil {
		return nil, err
	}
	if r.first == 0 {
		r.first = float64(time.Since(start))
	}
	for role, n := range map[role]int{packedRole: r.recipe.packed, workspaceRole: r.recipe.workspace} {
		if err := r.checkCanary(r.extra[role], n); err != nil {
			return nil, err
		}
	}
	if err := r.checkArrivals(); err != nil {
		return nil, err
	}
	reader := tensors{gl: gl}
	return reader.download(t.on[outputRole], t.judge.elements())
}

// checkCanary looks behind a buffer of n elements.
func (r *benchRun) checkCanary(b glctx.Buffer, n int) error {
	if n == 0 {
		return nil
	}
	canary := make([]uint32, canaryWords)
	r.gl.MemoryBarrier(glctx.BarrierUpdate)
	r.gl.Download(b, 4*n, glctx.Bytes(canary))
	for _, word := range canary {
		if word != Poison {
			return fmt.Errorf("in its workspace, %w", errOverrun)
		}
	}
	return r.gl.Err()
}

// checkArrivals fails where a run did not leave its counts as it found them.
func (r *benchRun) checkArrivals() error {
	if r.recipe.arrivals == 0 {
		return nil
	}
	counts := make([]uint32, r.recipe.arrivals)
	r.gl.MemoryBarrier(glctx.BarrierUpdate)
	r.gl.Download(r.extra[arrivalsRole], 0, glctx.Bytes(counts))
	for block, n := range counts {
		if n != 0 {
			return fmt.Errorf("block %d of %d: %w: %d", block, len(counts), errArrivals, n)
		}
	}
	return r.checkCanary(r.extra[arrivalsRole], len(counts))
}

func (r *benchRun) program(s step) uint32 { return r.programs[s.source.Key()] }

func (r *benchRun) bind(s step, t *trial) {
	for _, b := range s.bound {
		buffer, ok := r.extra[b.role]
		if !ok {
			buffer = t.on[b.role]
		}
		r.gl.BindStorage(b.binding, buffer)
	}
}

// start dispatches the current program, and lets later steps see what it wrote.
func (r *benchRun) start(s step) {
	s.start(r.gl)
	r.gl.MemoryBarrier(glctx.BarrierStorage)
}

// repeat makes n runs of the steps, without preparing weights. Uniforms belong to
// the program, so that those of a program that one step alone uses need setting
// once.
func (r *benchRun) repeat(n int) {
	steps, t := r.recipe.steps, &r.bench.trials[0]
	used := map[uint32]int{}
	for _, s := range steps {
		used[r.program(s)]++
		s.use(r.gl, r.program(s))
		r.bind(s, t)
	}
	alone := len(steps) == 1
	for range n {
		for _, s := range steps {
			switch {
			case alone:
			case used[r.program(s)] > 1:
				s.use(r.gl, r.program(s))
				r.bind(s, t)
			default:
				r.gl.UseProgram(r.program(s))
				r.bind(s, t)
			}
			r.start(s)
		}
	}
}

const (
	// slowFactor is how far behind the best a candidate is not worth a closer look.
	slowFactor = 2.5

	// From firstNanos on, the first run says enough about a candidate that is twice
	// as far behind: what comes with a first run is small beside it.
	firstNanos = 5e7

	// asleepFactor is how much slower a GPU is that has just waited for the CPU: it
	// lowers its clock. An NVIDIA H200 took some 100 ms of work to come back from
	// 345 to 1980 MHz; after a short wait less does.
	asleepFactor = 6
	wakeTime     = 150 * time.Millisecond
	napTime      = 20 * time.Millisecond

	// The clock rises in steps that may last longer than a measurement: so another
	// one follows settleTime of work later, until it is not faster any more.
	settleTime = 100 * time.Millisecond
	settled    = 0.97
	mostRounds = 8

	wakeNanos = 3e7 // in one go, before a calibration

	// A figure is the median of so many batches, each of about so long, and of no
	// more than so many runs.
	batches        = 7
	batchNanos     = 4e6
	batchRuns      = 1000
	longBatchNanos = 2e8 // from here on, fewer batches
	longBatches    = 3
)

// time is the nanoseconds of one run. It is not the whole truth, but one run alone,
// where that is far behind best.
func (r *benchRun) time(best float64) (nanos float64, whole bool, err error) {
	clock := &r.bench.clock
	if best > 0 && r.first > firstNanos && r.first > 2*slowFactor*best {
		return r.first, false, nil
	}
	if err := clock.calibrate(r.gl, r.repeat); err != nil {
		return 0, false, err
	}
	once, err := clock.time(r.gl, func() { r.repeat(1) })
	if err != nil || best > 0 && once > slowFactor*asleepFactor*best {
		return once, false, err
	}
	runs := func(nanos float64) int { return int(min(max(nanos/once, 1), batchRuns)) }
	count := batches
	if once > longBatchNanos {
		count = longBatches
	} else if err := r.wake(runs(batchNanos), min(wakeTime, napTime+4*r.waited)); err != nil {
		return 0, false, err
	}
	nanos, err = r.settle(count, runs(batchNanos), once, best)
	return nanos, best == 0 || nanos <= slowFactor*best, err
}

// settle is the nanoseconds of one run, from count batches of so many runs each, and
// again a while later until that makes no difference.
func (r *benchRun) settle(count, runs int, once, best float64) (nanos float64, err error) {
	for round := 0; ; round++ {
		figures, err := r.bench.clock.batches(r.gl, count, func() { r.repeat(runs) })
		if err != nil {
			return 0, err
		}
		last := nanos
		nanos = median(figures) / float64(runs)
		if last == 0 || nanos < last {
			r.least, r.most = slices.Min(figures)/float64(runs), slices.Max(figures)/float64(runs)
		}
		if last > 0 && (nanos > settled*last || round == mostRounds) {
			return min(nanos, last), nil
		}
		hopeless := best > 0 && nanos > slowFactor*asleepFactor*best
		if !r.bench.clock.gpu || once > longBatchNanos || hopeless {
			return nanos, nil
		}
		if err := r.wake(runs, settleTime); err != nil {
			return 0, err
		}
	}
}

// wake keeps the GPU busy for a while, so many runs at a time.
func (r *benchRun) wake(runs int, enough time.Duration) error {
	for start := time.Now(); time.Since(start) < enough; {
		r.repeat(runs)
		if err := r.bench.clock.wait(r.gl); err != nil {
			return err
		}
	}
	return nil
}

// hangTime is how long a candidate may take.
const hangTime = time.Minute
