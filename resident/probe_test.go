//go:build linux

package resident

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/shadercache/shadercache/glctx"
)

// kept is a ProbeKeeper in memory.
type kept struct {
	data       []byte
	reads, put int
}

func (k *kept) Probe() ([]byte, error) {
	k.reads++
	if k.data == nil {
		return nil, errors.New("nothing there")
	}
	return k.data, nil
}

func (k *kept) PutProbe(data []byte) error {
	k.put++
	k.data = data
	return nil
}

// TestProbeSaysWhatTheDriverDoes measures, keeps, and believes what was kept.
func TestProbeSaysWhatTheDriverDoes(t *testing.T) {
	f := newFixture(t)
	k := &kept{}
	caps, err := Probe(t.Context(), f.context, f.cache, k)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%+v", *caps)
	if f.context.Info().Software() {
		if caps.LoopLimit < 60000 || caps.LoopLimit > 70000 {
			t.Errorf("loops end after %d rounds: llvmpipe's do after 65535", caps.LoopLimit)
		}
		if caps.HostWritesSeen {
			t.Error("a driver that ends loops cannot keep a kernel running")
		}
	}
	if caps.Residency == 0 {
		t.Error("not even one group runs")
	}
	dispatches := f.context.Counters().Dispatches
	again, err := Probe(t.Context(), f.context, f.cache, k)
	if err != nil || *again != *caps || k.put != 1 {
		t.Errorf("what was kept is not what was measured: %+v, %v", again, err)
	}
	if n := f.context.Counters().Dispatches - dispatches; n != 0 {
		t.Errorf("%d dispatches to learn what was known", n)
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

// TestFormsSayWhy lists what keeps a kernel from running persistently.
func TestFormsSayWhy(t *testing.T) {
	all := Capabilities{HostWritesSeen: true, KernelWritesSeen: true, Residency: 132}
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
		"all":            {Kernel{Groups: 5000}, &all, Persistent, false},
		"lockstep":       {lockstep, &all, Persistent, true},
		"lockstep, wide": {wide, &all, Redispatch, false},
	} {
		form := chooseMode(c.kernel, Options{Strategy: Persistent, Capabilities: c.caps}, glctx.Info{})
		if form.Actual != c.got || form.GridBarrier != c.grid || (form.Actual != Persistent) != (form.Reason != "") {
			t.Errorf("%s: %+v", name, form)
		}
	}
	if f := chooseMode(lockstep, Options{Strategy: Persistent, Capabilities: &all}, glctx.Info{}).withoutGridBarrier(); f.Actual != Redispatch || f.GridBarrier || f.Reason == "" {
		t.Errorf("after a trial that failed: %+v", f)
	}
	software := chooseMode(Kernel{Groups: 1, Loops: 100}, Options{}, glctx.Info{GPU: "llvmpipe (LLVM 15)"})
	if software.MaxSteps == 0 || software.MaxSteps*102 > softwareLoops {
		t.Errorf("%d steps of 100 loops fit into a dispatch", software.MaxSteps)
	}
}

// TestCapabilitiesSurviveJSON is what keeping them relies on.
func TestCapabilitiesSurviveJSON(t *testing.T) {
	want := Capabilities{true, true, 132, 256, 950, 1410, 0}
	data, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var got Capabilities
	if err := json.Unmarshal(data, &got); err != nil || got != want {
		t.Errorf("%+v, %v", got, err)
	}
}

// claimed says of any driver that it does what the H200 does, for one group:
// what a test sees then is the host's side of the persistent form. Where a
// driver ends loops, its ticks end too, and the session starts the next one.
var claimed = &Capabilities{HostWritesSeen: true, KernelWritesSeen: true, Residency: 1}

// TestPersistentSessionsStopAndGoOn runs the persistent form with one group.
func TestPersistentSessionsStopAndGoOn(t *testing.T) {
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
	for s.Progress() == 3000 {
		time.Sleep(time.Millisecond)
	}
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

// TestGroupsThatStopApartAlign stops a persistent session of several groups,
// which see the stop at different steps.
func TestGroupsThatStopApartAlign(t *testing.T) {
	f := newFixture(t)
	s := f.session(chainKernel(), Options{Strategy: Persistent, Slice: 3 * time.Millisecond, Poll: 4, Capabilities: claimed})
	for range 5 {
		if err := s.Start(0); err != nil {
			t.Fatal(err)
		}
		time.Sleep(7 * time.Millisecond)
		if _, err := s.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	wantWords(t, words(t, s, "Cells", chainCells), chainAfter(s.Progress()))
	t.Logf("%d steps, %d alignments", s.Progress(), s.Stats().Alignments)
}

// chainAfterFew is chainAfter for the first n cells.
func chainAfterFew(steps uint64, n int) []uint32 {
	cells := chainStart()[:n]
	for step := range steps {
		for i := range cells {
			cells[i] = cells[i]*1664525 + uint32(step) + uint32(i)
		}
	}
	return cells
}

// TestMessagesInFlight has the persistent form echo.
func TestMessagesInFlight(t *testing.T) {
	f := newFixture(t)
	s := f.session(echoKernel(), Options{Strategy: Persistent, Slice: 5 * time.Millisecond, Poll: 1, Capabilities: claimed})
	if err := s.Start(0); err != nil {
		t.Fatal(err)
	}
	for i := range uint32(200) {
		if err := s.Send(Message{1, i, 2}); err != nil {
			t.Fatal(err)
		}
		if m, err := s.Receive(t.Context()); err != nil || m != (Message{1, 3*i + 1, 2}) {
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
		s := f.session(n.mustKernel(t), Options{Strategy: strategy, Capabilities: claimed, Slice: 5 * time.Millisecond})
		if form := s.Mode(); !form.GridBarrier || form.Actual != strategy {
			t.Fatal(form)
		}
		run(t, s, 300)
		wantWords(t, words(t, s, "Ring", 4), n.After(300))
	}
}
