//go:build linux

package interpreter

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"time"

	"github.com/shadercache/shadercache/glctx"
)

// RunStandard runs total instructions on each machine, one batch at a time: the host
// waits for it and reads the state of every machine before it submits the next one.
func (v *Interpreter) RunStandard(ctx context.Context, total uint64) (Result, error) {
	p := v.batches("standard")
	p.total, p.readStates = total, true
	return v.run(ctx, p)
}

// RunContinuous runs up to maxBatches batches on each machine, until timeout if it is not
// 0. While the host reads the report of a batch the next one runs, so one batch may run
// after all machines have stopped.
func (v *Interpreter) RunContinuous(ctx context.Context, maxBatches int, timeout time.Duration) (Result, error) {
	if maxBatches < 1 {
		return Result{}, fmt.Errorf("interpreter: %d batches: at least 1 is needed", maxBatches)
	}
	over, total := bits.Mul64(uint64(maxBatches), uint64(v.options.BatchCycles))
	if over != 0 {
		total = math.MaxInt64
	}
	p := v.batches("continuous")
	p.total, p.maxBatches, p.timeout, p.depth = min(total, math.MaxInt64), maxBatches, timeout, maxInFlight
	return v.run(ctx, p)
}

// RunMega runs total instructions on each machine in one batch, of as few
// dispatches as Options.DispatchCycles allows.
func (v *Interpreter) RunMega(ctx context.Context, total uint64) (Result, error) {
	return v.run(ctx, runPlan{form: "mega", dispatches: 1, cycles: uint32(min(total, uint64(v.options.DispatchCycles))), depth: 1, total: total})
}

// RunChained runs total instructions on each machine in batches that are submitted 32 at a
// time. The GPU itself decides after each one whether the next one runs. A batch is one
// dispatch.
func (v *Interpreter) RunChained(ctx context.Context, total uint64) (Result, error) {
	p := runPlan{form: "chained", indirect: true, depth: 1, total: total}
	p.cycles = uint32(min(v.options.BatchCycles, v.options.DispatchCycles))
	p.dispatches = int(min(maxChained, (total+uint64(p.cycles)-1)/uint64(p.cycles)))
	return v.run(ctx, p)
}

// batches returns a plan with one batch a submission, in dispatches of the same length.
func (v *Interpreter) batches(form string) runPlan {
	batch, limit := v.options.BatchCycles, v.options.DispatchCycles
	links := (batch + limit - 1) / limit
	return runPlan{form: form, dispatches: links, cycles: uint32((batch + links - 1) / links), depth: 1}
}

func (v *Interpreter) run(ctx context.Context, p runPlan) (Result, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	switch {
	case v.mu.closed:
		return Result{}, ErrClosed
	case len(v.mu.code) == 0:
		return Result{}, ErrNoCode
	case p.total == 0 || p.total > math.MaxInt64:
		return Result{}, fmt.Errorf("interpreter: %d instructions: at least 1 is needed, and less than 2^63", p.total)
	}
	r := machineRun{Interpreter: v, runPlan: p, result: Result{Form: p.form}, start: time.Now()}
	err := r.loop(ctx)
	return r.result, errors.Join(err, r.summarize())
}

// machineRun is one call of a run function.
type machineRun struct {
	*Interpreter
	runPlan
	result    Result
	start     time.Time
	inFlight  []*submission
	submitted int
	ended     bool // nothing more is submitted
	stuck     int  // successive submissions that the driver cut without an instruction done
	done      uint64
	full      int // batches that no system call ended
}

// loop keeps submissions in flight until the machines have stopped.
func (r *machineRun) loop(ctx context.Context) error {
	failed := r.serveWaiting(ctx)
	r.ended = failed != nil
	for {
		if err := r.submitAhead(); err != nil {
			failed, r.ended = cmp.Or(failed, err), true
		}
		if len(r.inFlight) == 0 {
			r.result.Wall = time.Since(r.start)
			return failed
		}
		sub := r.inFlight[0]
		r.inFlight = r.inFlight[1:]
		report, err := r.waitForSubmission(sub)
		if err == nil {
			err = r.handleReport(ctx, report)
		}
		if err == nil && !r.ended {
			err = ctx.Err()
		}
		if err != nil {
			failed, r.ended = cmp.Or(failed, err), true
		}
	}
}

// submitAhead submits up to depth submissions.
func (r *machineRun) submitAhead() error {
	for len(r.inFlight) < r.depth && !r.ended {
		err := r.context.Do(func(gl *glctx.GL) error {
			sub, err := r.submit(gl, &r.runPlan, r.submitted%maxInFlight, r.submitted == 0)
			if sub != nil {
				r.inFlight = append(r.inFlight, sub)
			}
			return err
		})
		if err != nil {
			return err
		}
		r.submitted++
		r.result.Dispatches += r.dispatches
	}
	return nil
}

// handleReport continues or ends the run after a submission.
func (r *machineRun) handleReport(ctx context.Context, report submissionReport) error {
	r.result.Batches += report.batches
	if !report.syscall { // a system call ends a batch at any time
		r.full += report.batches
	}
	if r.options.Progress != nil {
		r.options.Progress(min(uint64(r.full)*r.batchCycles(), r.total), r.total)
	}
	if report.cut {
		r.result.Cut++
		if err := r.checkProgress(); err != nil {
			return err
		}
	}
	if r.readStates {
		states := make([]MachineState, r.options.Machines)
		if err := r.context.Do(func(gl *glctx.GL) error { r.states(gl, states); return gl.Err() }); err != nil {
			return err
		}
	}
	switch late := r.timeout > 0 && time.Since(r.start) >= r.timeout; {
	case report.syscall:
		err := r.serveCalls(ctx, report.running)
		r.ended = r.ended || late
		return err
	case !report.running, late, r.maxBatches > 0 && !report.cut && r.result.Batches >= r.maxBatches:
		r.ended = true
	}
	return nil
}

// checkProgress returns ErrStuck when submissions that the driver cuts execute no instruction.
func (r *machineRun) checkProgress() error {
	var done uint64
	err := r.context.Do(func(gl *glctx.GL) error {
		gl.MemoryBarrier(glctx.BarrierUpdate)
		for _, n := range r.cycleCounts(gl) {
			done += n
		}
		return gl.Err()
	})
	if err != nil {
		return err
	}
	if r.stuck++; done != r.done {
		r.stuck, r.done = 0, done
	}
	if r.stuck > maxInFlight {
		return ErrStuck
	}
	return nil
}

func (v *Interpreter) cycleCounts(gl *glctx.GL) []uint64 {
	low, high := v.row(gl, rowCycles), v.row(gl, rowCycles+1)
	counts := make([]uint64, len(low))
	for m := range low {
		counts[m] = wide(low[m], high[m])
	}
	return counts
}

// summarize reads the signals and counts of the machines into the result.
func (r *machineRun) summarize() error {
	return r.context.Do(func(gl *glctx.GL) error {
		gl.MemoryBarrier(glctx.BarrierUpdate)
		counts := r.cycleCounts(gl)
		for m, n := range counts {
			r.result.Cycles += n - r.mu.cycles[m]
		}
		copy(r.mu.cycles, counts)
		signals := r.row(gl, rowSignal)
		for _, s := range signals {
			r.result.Signals[s%uint32(len(r.result.Signals))]++
		}
		r.mu.waiting = r.result.Signals[SignalSyscall] > 0
		detail := r.row(gl, rowDetail)[0]
		r.result.Signal, r.result.FinalPC = Signal(signals[0]), r.address(r.row(gl, rowPC)[0])
		switch r.result.Signal {
		case SignalFault:
			r.result.Fault = Fault(detail)
			fallthrough
		case SignalWatch:
			r.result.Address = wide(r.row(gl, rowAddress)[0], r.row(gl, rowAddress+1)[0])
		case SignalHalt, SignalSyscall:
			r.result.Number = uint16(detail)
		}
		r.result.IPS = float64(r.result.Cycles) / max(r.result.Wall.Seconds(), 1e-9)
		return gl.Err()
	})
}

// serveWaiting serves the system calls that the previous run left, because it was
// cancelled or a handler failed.
func (r *machineRun) serveWaiting(ctx context.Context) error {
	if !r.mu.waiting || len(r.mu.handlers) == 0 {
		return nil
	}
	served, err := r.serveAll(ctx)
	r.result.Syscalls += served
	return err
}

// serveCalls serves system calls, after it has waited for all submissions in
// flight.
func (r *machineRun) serveCalls(ctx context.Context, running bool) error {
	for len(r.inFlight) > 0 {
		sub := r.inFlight[0]
		r.inFlight = r.inFlight[1:]
		report, err := r.waitForSubmission(sub)
		if err != nil {
			return err
		}
		r.result.Batches += report.batches
		running = report.running
	}
	served, err := r.serveAll(ctx)
	r.result.Syscalls += served
	if err != nil || served == 0 && !running {
		r.ended = true
	}
	return err
}
