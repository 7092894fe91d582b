//go:build linux

package interpreter

import (
	"encoding/binary"
	"fmt"
	"time"

	"github.com/shadercache/shadercache/glctx"
)

// flights is the number of submissions in flight, each of which has a slot:
//
//	device, Report   3 words a slot, in the layout of interpreter.comp
//	device, Chain    a row of indirect arguments a slot, and one unused entry
//	host, mapped     12 bytes of Report, then the row of Chain
const (
	maxInFlight     = 2
	maxChained      = 32
	slotBytes       = 12
	chainEntryBytes = 12
	reportBytes     = maxInFlight * slotBytes
	chainBytes      = (maxInFlight*(maxChained+1) + 1) * chainEntryBytes
	submissionBytes = slotBytes + (maxChained+1)*chainEntryBytes
	unusedEntry     = maxInFlight * (maxChained + 1) // written by dispatches outside chains, not read
)

// runPlan describes the submissions of a run.
type runPlan struct {
	form       string
	dispatches int    // in a submission
	cycles     uint32 // instructions of a dispatch
	indirect   bool   // the GPU decides whether the next dispatch of the submission runs
	depth      int    // submissions in flight
	readStates bool   // the host reads the state of every machine between submissions
	total      uint64 // instructions of each machine in this run
	maxBatches int
	timeout    time.Duration
}

// batchCycles returns the number of instructions of a batch.
func (p *runPlan) batchCycles() uint64 {
	if p.indirect {
		return uint64(p.cycles)
	}
	return uint64(p.cycles) * uint64(p.dispatches)
}

// submission is a group of dispatches with one fence.
type submission struct {
	slot  int
	last  uint32 // number of its last batch
	plan  *runPlan
	fence glctx.Fence
}

// submissionReport is the report of a submission.
type submissionReport struct {
	running, syscall, cut bool
	batches               int
}

// submit submits dispatches. The first submission of a run resumes the machines.
func (v *Interpreter) submit(gl *glctx.GL, p *runPlan, slot int, first bool) (*submission, error) {
	program := v.mu.program.Program()
	gl.UseProgram(program)
	for i, b := range v.mu.buffers {
		if b.Size > 0 {
			gl.BindStorage(uint32(i), b)
		}
	}
	set := func(name string, value uint32) { gl.SetUint(gl.UniformLocation(program, name), value) }
	v.setRun(set, p, slot)
	entry := slot * (maxChained + 1)
	if p.indirect {
		gl.Upload(v.mu.buffers[bindChain], entry*chainEntryBytes, glctx.Bytes(v.chainArguments()))
	}
	for link := range p.dispatches {
		gl.MemoryBarrier(glctx.BarrierStorage | glctx.BarrierCommand)
		v.mu.batch++
		set("batch", v.mu.batch)
		set("resume", flag(first && link == 0))
		if p.indirect {
			set("next", uint32(entry+link+1))
			gl.DispatchIndirect(v.mu.buffers[bindChain], (entry+link)*chainEntryBytes)
			continue
		}
		set("next", unusedEntry)
		gl.Dispatch(v.groups(), 1, 1)
	}
	gl.MemoryBarrier(glctx.BarrierUpdate | glctx.BarrierStorage)
	at := slot * submissionBytes
	gl.Copy(v.mu.buffers[bindReport], slot*slotBytes, v.mu.report.Buffer, at, slotBytes)
	gl.Copy(v.mu.buffers[bindChain], entry*chainEntryBytes, v.mu.report.Buffer, at+slotBytes, (maxChained+1)*chainEntryBytes)
	gl.MemoryBarrier(glctx.BarrierMapped)
	sub := &submission{slot: slot, last: v.mu.batch, plan: p, fence: gl.NewFence()}
	gl.Flush()
	return sub, gl.Err()
}

func flag(on bool) uint32 {
	if on {
		return 1
	}
	return 0
}

// setRun sets the uniforms that all dispatches of a submission share.
func (v *Interpreter) setRun(set func(name string, value uint32), p *runPlan, slot int) {
	set("machines", uint32(v.options.Machines))
	set("codeCount", uint32(len(v.mu.code)))
	set("codeWord", uint32(v.mu.base/8))
	set("codeEnd", uint32((v.mu.base+uint64(4*len(v.mu.code))+7)/8))
	set("words", uint32(v.options.MemoryBytes/8))
	set("budget", p.cycles)
	set("allowedLow", uint32(p.total))
	set("allowedHigh", uint32(p.total>>32))
	set("slot", uint32(slot))
	set("traced", uint32(v.options.TraceMachine))
	if v.options.Watchpoints {
		set("watchFirst", v.mu.watch.first)
		set("watchEnd", v.mu.watch.end)
	}
}

func (v *Interpreter) groups() uint32 {
	each := v.options.groupMachines()
	return uint32((v.options.Machines + each - 1) / each)
}

// chainArguments returns a row of indirect arguments with groups for the first dispatch only.
func (v *Interpreter) chainArguments() []uint32 {
	words := make([]uint32, 0, 3*(maxChained+1))
	for range maxChained + 1 {
		words = append(words, 0, 1, 1)
	}
	words[0] = v.groups()
	return words
}

// Waiting for a submission: the first poll waits in GL, for short batches. Then the
// goroutine sleeps between polls, which releases the GL thread and the CPU. The sleep is a
// fraction of the time waited so far, so that the end is detected with little delay.
const (
	firstPoll     = 200 * time.Microsecond
	minSleep      = 50 * time.Microsecond
	maxSleep      = time.Millisecond
	sleepFraction = 64
)

// waitForSubmission waits for the end of a submission, and returns its report.
func (v *Interpreter) waitForSubmission(sub *submission) (submissionReport, error) {
	start := time.Now()
	for wait := firstPoll; ; wait = 0 {
		done, err := v.pollSubmission(sub, wait)
		if err != nil {
			return submissionReport{}, fmt.Errorf("interpreter: wait for a batch: %w", err)
		}
		if done {
			return v.readReport(sub), nil
		}
		time.Sleep(min(max(time.Since(start)/sleepFraction, minSleep), maxSleep))
	}
}

// pollSubmission waits for the end of a submission, at most for wait, and deletes its
// fence then.
func (v *Interpreter) pollSubmission(sub *submission, wait time.Duration) (done bool, err error) {
	err = v.context.Do(func(gl *glctx.GL) (err error) {
		if done, err = gl.WaitFence(sub.fence, wait); done || err != nil {
			gl.DeleteFence(sub.fence)
		}
		if err == nil && done {
			return gl.CheckLost()
		}
		gl.ExpectIdle()
		return err
	})
	return done, err
}

// readReport returns the report of a submission from mapped memory.
func (v *Interpreter) readReport(sub *submission) submissionReport {
	data := v.mu.report.Data[sub.slot*submissionBytes:][:submissionBytes]
	word := func(i int) uint32 { return binary.LittleEndian.Uint32(data[4*i:]) }
	first := sub.last - uint32(sub.plan.dispatches) + 1
	report := submissionReport{running: word(0) == sub.last, syscall: word(1) >= first, cut: word(2) >= first, batches: 1}
	if sub.plan.indirect {
		for report.batches < sub.plan.dispatches && word(3+3*report.batches) != 0 {
			report.batches++
		}
	}
	return report
}
