//go:build linux

package resident

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/resident/internal/loops"
)

// probeMemory is a ProbeStore in memory.
type probeMemory struct {
	data       []byte
	reads, put int
}

func (k *probeMemory) Probe() ([]byte, error) {
	k.reads++
	if k.data == nil {
		return nil, errors.New("no result")
	}
	return k.data, nil
}

func (k *probeMemory) PutProbe(data []byte) error {
	k.put++
	k.data = data
	return nil
}

// TestProbeMeasuresOnce measures, stores the result, and reads it.
func TestProbeMeasuresOnce(t *testing.T) {
	f := newFixture(t)
	k := &probeMemory{}
	caps, err := Probe(t.Context(), f.context, f.cache, k)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%+v", *caps)
	if f.context.Info().Software() {
		if n := caps.LoopLimit; n != 0 && (n < 60000 || n > 70000) {
			t.Errorf("loops end after %d iterations: llvmpipe's do after 65535 or, in later versions, never", n)
		}
		if caps.LoopLimit > 0 && caps.HostWritesSeen {
			t.Error("a driver that ends loops cannot keep a kernel running")
		}
		if caps.DispatchReturns {
			t.Error("a software driver runs a kernel within the call that dispatches it")
		}
	}
	if caps.Residency == 0 {
		t.Error("no group runs")
	}
	dispatches := f.context.Counters().Dispatches
	again, err := Probe(t.Context(), f.context, f.cache, k)
	if err != nil || *again != *caps || k.put != 1 {
		t.Errorf("the stored result is not the measured one: %+v, %v", again, err)
	}
	if n := f.context.Counters().Dispatches - dispatches; n != 0 {
		t.Errorf("%d dispatches with a stored result", n)
	}
	k.data = []byte("{")
	if _, err := Probe(t.Context(), f.context, f.cache, k); err != nil || k.put != 2 {
		t.Errorf("a damaged result was not measured again: %v", err)
	}
}

func TestLargestFindsTheEdge(t *testing.T) {
	for _, edge := range []uint32{0, 1, 2, 3, 100, 132, 1055, 1056, 8191, 8192, 9000} {
		got, err := largest(8192, func(n uint32) (bool, error) { return n <= edge, nil })
		if want := min(edge, 8192); err != nil || got != want {
			t.Errorf("found %d, %v, the edge is %d", got, err, want)
		}
	}
	if _, err := largest(8, func(uint32) (bool, error) { return false, context.Canceled }); err == nil {
		t.Error("an error was lost")
	}
}

// TestModesHaveReasons lists the reasons against a persistent kernel.
func TestModesHaveReasons(t *testing.T) {
	all := Capabilities{HostWritesSeen: true, KernelWritesSeen: true, DispatchReturns: true, Residency: 132}
	with := func(change func(c *Capabilities)) *Capabilities {
		c := all
		change(&c)
		return &c
	}
	lockstep := Kernel{Groups: 132, Phases: 2}
	wide := Kernel{Groups: 133, Phases: 2}
	for name, c := range map[string]struct {
		kernel Kernel
		caps   *Capabilities
		got    Strategy
		grid   bool
	}{
		"no probe":       {Kernel{Groups: 1}, nil, Redispatch, false},
		"loops end":      {Kernel{Groups: 1}, with(func(c *Capabilities) { c.LoopLimit = 65535 }), Redispatch, false},
		"host unseen":    {Kernel{Groups: 1}, with(func(c *Capabilities) { c.HostWritesSeen = false }), Redispatch, false},
		"kernel unseen":  {Kernel{Groups: 1}, with(func(c *Capabilities) { c.KernelWritesSeen = false }), Redispatch, false},
		"synchronous":    {Kernel{Groups: 1}, with(func(c *Capabilities) { c.DispatchReturns = false }), Redispatch, false},
		"all":            {Kernel{Groups: 5000}, &all, Persistent, false},
		"lockstep":       {lockstep, &all, Persistent, true},
		"lockstep, wide": {wide, &all, Redispatch, false},
	} {
		mode := chooseMode(c.kernel, Options{Strategy: Persistent, Capabilities: c.caps}, glctx.Info{})
		if mode.Actual != c.got || mode.GridBarrier != c.grid || (mode.Actual != Persistent) != (mode.Reason != "") {
			t.Errorf("%s: %+v", name, mode)
		}
	}
	if m := chooseMode(lockstep, Options{Strategy: Persistent, Capabilities: &all}, glctx.Info{}).withoutGridBarrier(); m.Actual != Redispatch || m.GridBarrier || m.Reason == "" {
		t.Errorf("after a failed barrier test: %+v", m)
	}
	software := chooseMode(Kernel{Groups: 1, Loops: 100}, Options{}, glctx.Info{GPU: "llvmpipe (LLVM 15)"})
	if software.MaxSteps == 0 || software.MaxSteps*102 > loops.Limit(glctx.Info{GPU: "llvmpipe (LLVM 15)"}) {
		t.Errorf("%d steps of 100 loops fit into a dispatch", software.MaxSteps)
	}
}

// TestCapabilitiesSurviveJSON encodes and decodes them, as stores do.
func TestCapabilitiesSurviveJSON(t *testing.T) {
	want := Capabilities{true, true, true, 132, 256, 950, 1410, 0, false}
	data, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var got Capabilities
	if err := json.Unmarshal(data, &got); err != nil || got != want {
		t.Errorf("%+v, %v", got, err)
	}
}

// claimed claims of any driver the capabilities of an H200, for one group, so that tests
// can run the host's side of a persistent session. A driver that ends loops ends its
// ticks too, and the session starts the next one.
var claimed = &Capabilities{HostWritesSeen: true, KernelWritesSeen: true, DispatchReturns: true, Residency: 1, cutTicks: true}

// TestPersistentSessionsContinue runs, preempts and stops a persistent session of one
// group.
func TestPersistentSessionsContinue(t *testing.T) {
	f := newFixture(t)
	k := chainKernel()
	k.Groups = 1
	s := f.session(k, Options{Strategy: Persistent, Slice: 5 * time.Millisecond, Capabilities: claimed})
	if s.Mode().Actual != Persistent {
		t.Fatal(s.Mode())
	}
	run(t, s, 3000)
	if err := s.Start(0); err != nil {
		t.Fatal(err)
	}
	waitStep(t, s)
	for range 3 {
		if _, err := s.Preempt(t.Context(), Priority{Level: 100}, func(context.Context) error { return nil }); err != nil {
			t.Fatal(err)
		}
	}
	out, err := s.Stop(t.Context())
	if err != nil || out.Steps == 0 {
		t.Fatalf("%+v, %v", out, err)
	}
	got := words(t, s, "Cells", 32)
	wantWords(t, got, chainAfterFew(s.Progress(), 32))
}

// TestStoppedGroupsAlign stops a persistent session of several groups, which see the stop
// at different steps.
func TestStoppedGroupsAlign(t *testing.T) {
	f := newFixture(t)
	s := f.session(chainKernel(), Options{Strategy: Persistent, Slice: 3 * time.Millisecond, Poll: 4, Capabilities: claimed})
	for range 5 {
		if err := s.Start(0); err != nil {
			t.Fatal(err)
		}
		ticks := s.Stats().Ticks
		eventually(func() bool { return s.Stats().Ticks > ticks+1 })
		if _, err := s.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	wantWords(t, words(t, s, "Cells", chainCells), chainAfter(s.Progress()))
	t.Logf("%d steps, %d alignments", s.Progress(), s.Stats().Alignments)
}

// chainAfterFew returns the first n cells of chainAfter.
func chainAfterFew(steps uint64, n int) []uint32 {
	cells := chainStart()[:n]
	for step := range steps {
		for i := range cells {
			cells[i] = cells[i]*1664525 + uint32(step) + uint32(i)
		}
	}
	return cells
}

// TestPersistentSessionsAnswer has a persistent session echo.
func TestPersistentSessionsAnswer(t *testing.T) {
	f := newFixture(t)
	s := f.session(echoKernel(), Options{Strategy: Persistent, Slice: 5 * time.Millisecond, Poll: 1, Capabilities: claimed})
	if err := s.Start(0); err != nil {
		t.Fatal(err)
	}
	for i := range uint32(200) {
		if err := s.Send(Message{Kind: 1, A: i, B: 2}); err != nil {
			t.Fatal(err)
		}
		if m, err := s.Receive(t.Context()); err != nil || m != (Message{Kind: 1, A: 3*i + 1, B: 2}) {
			t.Fatalf("answer %d: %+v, %v", i, m, err)
		}
	}
	if _, err := s.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// TestGridBarrierOfOneGroup runs phases inside a dispatch.
func TestGridBarrierOfOneGroup(t *testing.T) {
	f := newFixture(t)
	for _, strategy := range []Strategy{Mega, Persistent} {
		n := Neighbours{Groups: 1, Local: 4}
		s := f.session(n.Kernel(), Options{Strategy: strategy, Capabilities: claimed, Slice: 5 * time.Millisecond})
		if mode := s.Mode(); !mode.GridBarrier || mode.Actual != strategy {
			t.Fatal(mode)
		}
		run(t, s, 300)
		wantWords(t, words(t, s, "Ring", 4), n.after(300))
	}
}
