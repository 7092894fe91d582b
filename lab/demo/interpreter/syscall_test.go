//go:build linux

package interpreter

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestSyscalls(t *testing.T) {
	v := newMachines(t, Options{Machines: 3, MemoryBytes: 1024, BatchCycles: 50})
	code := assemble(t, `
	l:	add x0, x0, #1
		svc #1
		cmp x0, #0x28
		b.lt l
		movz x1, #0x100
		str x0, [x1]
		svc #2
		svc #9
		hlt #0`)
	if err := v.Load(t.Context(), code, 0); err != nil {
		t.Fatal(err)
	}
	if err := v.SetRegisters(t.Context(), 5, func(m int) uint64 { return uint64(m) }); err != nil {
		t.Fatal(err)
	}
	var written [3]uint64
	v.Handle(1, func(c *Call) error { c.X[0] += c.X[5]; return nil })
	v.Handle(2, func(c *Call) error {
		var b [8]byte
		if err := c.Read(0x100, b[:]); err != nil {
			return err
		}
		written[c.Machine] = binary.LittleEndian.Uint64(b[:])
		c.Halt = c.Machine == 2
		return c.Write(0x108, b[:])
	})
	r, err := v.RunContinuous(t.Context(), 1000, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	// 40, 20 and 14 iterations in steps of 1, 2 and 3, to 40, 40 and 42.
	if r.Syscalls != 40+20+14+3 || written != [3]uint64{40, 40, 42} || r.Signal != SignalSyscall || r.Number != 9 || r.FinalPC != 28 ||
		r.Signals[SignalSyscall] != 2 || r.Signals[SignalHalt] != 1 {
		t.Errorf("%+v, written %v", r, written)
	}
	var b [8]byte
	if err := v.ReadMemory(t.Context(), 1, 0x108, b[:]); err != nil || b[0] != 40 {
		t.Errorf("%v, %v", b, err)
	}
	// The next run skips an SVC without a handler.
	if r, err = v.RunMega(t.Context(), 10); err != nil || r.Cycles != 2 || r.Signal != SignalHalt || r.Signals[SignalHalt] != 3 {
		t.Errorf("%+v, %v", r, err)
	}
	// An error of a handler ends the run at the SVC.
	if err := v.Load(t.Context(), code, 0); err != nil {
		t.Fatal(err)
	}
	v.Handle(1, func(c *Call) error { return context.DeadlineExceeded })
	r, err = v.RunStandard(t.Context(), 100)
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "machine 0, svc #1 at 0x4") || r.Cycles != 6 {
		t.Errorf("%v, %+v", err, r)
	}
	v.Handle(1, nil)
	if r, err = v.RunStandard(t.Context(), 100); err != nil || r.Signal != SignalSyscall || r.FinalPC != 4 {
		t.Errorf("%v, %+v", err, r)
	}
}

// TestNoSyscallIsSkipped checks that after a timeout, a cancelled run and an error of a
// handler the next run serves the SVCs that were left.
func TestNoSyscallIsSkipped(t *testing.T) {
	const machines, turns = 5, 40
	v := newMachines(t, Options{Machines: machines, MemoryBytes: 64, BatchCycles: 20})
	if err := v.Load(t.Context(), assemble(t, "movz x1, #40\nl: svc #1\nsubs x1, x1, #1\nb.ne l\nhlt #0"), 0); err != nil {
		t.Fatal(err)
	}
	served := [machines]int{}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	fail := errors.New("not now")
	v.Handle(1, func(c *Call) error {
		switch total := served[0]; {
		case c.Machine == 3 && total == 10:
			cancel()
		case c.Machine == 2 && total == 20 && fail != nil:
			err := fail
			fail = nil
			return err
		}
		served[c.Machine]++
		return nil
	})
	calls := 0
	for runs := 0; ; runs++ {
		var r Result
		var err error
		switch runs {
		case 0:
			r, err = v.RunContinuous(t.Context(), 1000, time.Nanosecond)
		case 1:
			if r, err = v.RunStandard(ctx, 1000); !errors.Is(err, context.Canceled) {
				t.Errorf("run %d: %v", runs, err)
			}
			err = nil
		case 2:
			if r, err = v.RunChained(t.Context(), 1000); err == nil || !strings.Contains(err.Error(), "not now") {
				t.Errorf("run %d: %v", runs, err)
			}
			err = nil
		default:
			r, err = v.RunMega(t.Context(), 1000)
		}
		if calls += r.Syscalls; err != nil || runs > 10 {
			t.Fatal(r, err)
		}
		if r.Signals[SignalHalt] == machines {
			break
		}
	}
	if served != [machines]int{turns, turns, turns, turns, turns} || calls != machines*turns {
		t.Errorf("served %v, %d in all", served, calls)
	}
}

func TestBreakpointsAndTrace(t *testing.T) {
	v := newMachines(t, Options{Machines: 2, MemoryBytes: 1024, BatchCycles: 7, TraceEntries: 4, TraceMachine: 1})
	if err := v.Break(t.Context(), 0); !errors.Is(err, ErrNoCode) {
		t.Error(err)
	}
	if err := v.Load(t.Context(), assemble(t, countdown), 8); err != nil {
		t.Fatal(err)
	}
	if err := v.SetRegisters(t.Context(), 0, func(m int) uint64 { return uint64(3 - m) }); err != nil {
		t.Fatal(err)
	}
	for _, address := range []uint64{9, 0, 8 + 24} {
		if err := v.Break(t.Context(), address); err == nil {
			t.Errorf("a breakpoint at %#x", address)
		}
	}
	if err := v.Break(t.Context(), 8+12); err != nil {
		t.Fatal(err)
	}
	want := []struct {
		cycles uint64
		stands [signals]int
	}{
		{6, [signals]int{SignalBreak: 2}}, {8, [signals]int{SignalBreak: 2}}, {4 + 3, [signals]int{SignalBreak: 1, SignalHalt: 1}}, {3, [signals]int{SignalHalt: 2}},
	}
	for i, w := range want {
		r, err := v.RunStandard(t.Context(), 1000)
		if err != nil || r.Cycles != w.cycles || r.Signals != w.stands {
			t.Errorf("run %d: %+v, %v", i, r, err)
		}
	}
	trace, err := v.Trace(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, e := range trace {
		lines = append(lines, fmt.Sprintf("%d %#x %s %d %#x", e.Cycle, e.PC, e.Text, e.Flags, e.Value))
	}
	if got, want := strings.Join(lines, "\n"), "7 0x10 str x2, [x1] 2 0x3\n8 0x14 subs x0, x0, #1 6 0x0\n9 0x18 b.ne 0xc 6"; !strings.HasPrefix(got, want) || len(trace) != 4 || !strings.Contains(trace[3].String(), "hlt #3") {
		t.Errorf("trace is\n%s", got)
	}
	if err := v.ClearBreaks(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := v.SetPC(t.Context(), 8); err != nil {
		t.Fatal(err)
	}
	if r, err := v.RunMega(t.Context(), 9); err != nil || r.Cycles != 18 || r.Signal != SignalCheckpoint {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestWatchpoints stops machines after each store into a range of memory, in every form,
// and compares their states with the CPU.
func TestWatchpoints(t *testing.T) {
	code := assemble(t, `
		movz x1, #0x100
		movz x2, #0x180
	l:	str  x0, [x1]
		add  x0, x0, #1
		add  x1, x1, #8
		ldr  x3, [x2]
		str  x0, [x2]
		subs x4, x4, #1
		b.ne l
		hlt  #0`)
	p := newPair(t, Options{Machines: 40, MemoryBytes: 1024, BatchCycles: 50, DispatchCycles: 30, Watchpoints: true}, code, 0)
	p.checkKnown(t)
	for name, run := range forms(p.Interpreter) {
		if err := p.Load(t.Context(), code, 0); err != nil {
			t.Fatal(err)
		}
		p.cpu = references(t, p.Interpreter, code, 0)
		if err := p.Watch(t.Context(), 0x110, 16); err != nil {
			t.Fatal(err)
		}
		for _, r := range p.cpu {
			if err := r.Watch(0x110, 16); err != nil {
				t.Fatal(err)
			}
		}
		p.set(t, 4, func(m int) uint64 { return uint64(m%7 + 1) })
		stopped := 0
		for range 3 { // the stores of iterations 3 and 4, and the end
			for _, r := range p.cpu {
				r.Run(900)
			}
			r, err := run(t.Context(), 900)
			if err != nil {
				t.Fatal(name, err)
			}
			p.compare(t)
			stopped += r.Signals[SignalWatch]
		}
		if stopped == 0 || p.cpu[39].Signal != SignalHalt {
			t.Errorf("%s: %d machines stopped at a store, and the last one ended with %v", name, stopped, p.cpu[39].Signal)
		}
	}
	if err := p.Load(t.Context(), code, 0); err != nil {
		t.Fatal(err)
	}
	if r, err := p.RunMega(t.Context(), 900); err != nil || r.Signals[SignalWatch] != 0 {
		t.Errorf("the range watched before Load: %+v, %v", r, err)
	}
	for _, bad := range []struct {
		address uint64
		n       int
	}{{4, 8}, {8, 4}, {1024, 8}, {0, -8}, {1 << 63, 8}} {
		if err := p.Watch(t.Context(), bad.address, bad.n); err == nil {
			t.Errorf("%d bytes at %#x are watched", bad.n, bad.address)
		}
	}
	if err := newMachines(t, Options{MemoryBytes: 64}).Watch(t.Context(), 0, 8); err == nil || !strings.Contains(err.Error(), "Watchpoints is not set") {
		t.Error(err)
	}
}
