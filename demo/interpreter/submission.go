//go:build linux

package interpreter

import (
	"encoding/binary"
	"fmt"
	"time"

	"github.com/shadercache/shadercache/glctx"
)

// flights may be under way at a time, each with a slot of its own:
//
//	device, Report   3 words a slot, as interpreter.comp has it
//	device, Chain    a row of indirect arguments, and one entry for nobody
//	host, mapped     12 bytes of Report, then the row of Chain
const (
	flights         = 2
	maxChained      = 32
	slotBytes       = 12
	chainEntryBytes = 12
	reportBytes     = flights * slotBytes
	chainBytes      = (flights*(maxChained+1) + 1) * chainEntryBytes
	submissionBytes = slotBytes + (maxChained+1)*chainEntryBytes
	unusedEntry     = flights * (maxChained + 1) // the entry for nobody
)

// runPlan says how a run goes.
type runPlan struct {
	form       string
	dispatches int    // dispatches of a flight
	cycles     uint32 // instructions of a dispatch
	indirect   bool   // the GPU says whether the next dispatch of the flight has work
	depth      int    // flights under way
	readStates bool   // the host reads every machine's state between flights
	total      uint64 // instructions of each machine in this run
	maxBatches int
	timeout    time.Duration
}

// batchCycles is how many instructions a batch is for.
func (p *runPlan) batchCycles() uint64 {
	if p.indirect {
		return uint64(p.cycles)
	}
	return uint64(p.cycles) * uint64(p.dispatches)
}

// submission is a number of dispatches that one fence ends.
type submission struct {
	slot  int
	last  uint32 // number of its last batch
	plan  *runPlan
	fence glctx.Fence
}

// submissionReport is what a flight reports.
type submissionReport struct {
	running, syscall, cut bool
	batches               int
}

// submit starts a flight. The first one of a run has the machines go on.
func (v *Interpreter) submit(gl *glctx.GL, p *runPlan, slot int, first bool) (*submission, error) {
	program := v.program.Program()
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
	f := &submission{slot: slot, last: v.mu.batch, plan: p, fence: gl.NewFence()}
	gl.Flush()
	return f, gl.Err()
}

func flag(on bool) uint32 {
	if on {
		return 1
	}
	return 0
}

// setRun sets what is the same for all dispatches of a flight.
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
	return uint32((v.options.Machines + lanes - 1) / lanes)
}

// chainArguments is a row of indirect arguments of which only the first has work as yet.
func (v *Interpreter) chainArguments() []uint32 {
	words := make([]uint32, 0, 3*(maxChained+1))
	for range maxChained + 1 {
		words = append(words, 0, 1, 1)
	}
	words[0] = v.groups()
	return words
}

// Waiting for a flight: the first look lasts a while, for short batches. Then the
// GL thread is left to others and the processor to sleep, for a small part of the
// time waited so far, so that little is lost when the flight ends.
const (
	firstPoll     = 200 * time.Microsecond
	minSleep      = 50 * time.Microsecond
	maxSleep      = time.Millisecond
	sleepFraction = 64
)

// waitForSubmission waits until a flight has ended.
func (v *Interpreter) waitForSubmission(f *submission) (submissionReport, error) {
	start := time.Now()
	for look := firstPoll; ; look = 0 {
		done, err := v.pollSubmission(f, look)
		if err != nil {
			return submissionReport{}, fmt.Errorf("interpreter: wait for a batch: %w", err)
		}
		if done {
			return v.readReport(f), nil
		}
		time.Sleep(min(max(time.Since(start)/sleepFraction, minSleep), maxSleep))
	}
}

// pollSubmission looks whether a flight has ended, for so long at most, and gives its fence
// up if it has.
func (v *Interpreter) pollSubmission(f *submission, look time.Duration) (done bool, err error) {
	err = v.context.Do(func(gl *glctx.GL) (err error) {
		if done, err = gl.WaitFence(f.fence, look); done || err != nil {
			gl.DeleteFence(f.fence)
		}
		if err == nil && done {
			return gl.CheckLost()
		}
		gl.ExpectIdle()
		return err
	})
	return done, err
}

// readReport takes a report out of mapped memory.
func (v *Interpreter) readReport(f *submission) submissionReport {
	data := v.mu.report.Data[f.slot*submissionBytes:][:submissionBytes]
	word := func(i int) uint32 { return binary.LittleEndian.Uint32(data[4*i:]) }
	first := f.last - uint32(f.plan.dispatches) + 1
	l := submissionReport{running: word(0) == f.last, syscall: word(1) >= first, cut: word(2) >= first, batches: 1}
	if f.plan.indirect {
		for l.batches < f.plan.dispatches && word(3+3*l.batches) != 0 {
			l.batches++
		}
	}
	return l
}
