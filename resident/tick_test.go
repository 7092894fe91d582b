//go:build linux

package resident

import (
	"testing"

	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/resident/internal/wire"
)

// These tests run single ticks of a session whose scheduler does not run, with words in
// mapped memory that they choose, so that the result of every poll of every group is
// known. A kernel writes to the doorbell as a host would while it runs, which needs no
// driver that shows host writes to kernels.

// singleTick returns the command of a tick with flags and a budget.
func singleTick(flags, budget uint32) wire.Command {
	return wire.Command{Epoch: 1, Target: 1 << 20, Budget: budget, Poll: 1, Flags: flags, Phases: 1}
}

// tick runs a command. cleared reports whether to clear what the tick before left.
func tick(t *testing.T, sc *scheduler, c wire.Command, cleared bool) wire.Status {
	t.Helper()
	sc.words.WriteCommand(c)
	err := sc.context.Do(func(gl *glctx.GL) error {
		if cleared {
			sc.gl.clearRun(gl)
		}
		sc.gl.bind(gl)
		sc.gl.setPhases(gl, 0, sc.kernel.Phases)
		gl.Dispatch(sc.kernel.Groups, 1, 1)
		gl.MemoryBarrier(glctx.BarrierAllKinds)
		gl.Finish()
		return gl.Err()
	})
	if err != nil {
		t.Fatal(err)
	}
	return sc.words.ReadStatus()
}

// workWords returns the lines of ResidentWork.
func workWords(t *testing.T, sc *scheduler) []uint32 {
	t.Helper()
	list := make([]uint32, wire.WorkLines)
	err := sc.context.Do(func(gl *glctx.GL) error {
		gl.Download(sc.gl.work, 0, glctx.Bytes(list))
		return gl.Err()
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// held returns n words of a state, without the scheduler.
func held(t *testing.T, sc *scheduler, block string, n int) []uint32 {
	t.Helper()
	list := make([]uint32, n)
	err := sc.context.Do(func(gl *glctx.GL) error {
		gl.Download(sc.gl.findState(block).buffer, 0, glctx.Bytes(list))
		return gl.Err()
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// stopperText counts steps. Group who requests a stop in its first step from when on in
// which a number of groups have ended their tick, and records the step. The other groups
// leave after a step if stay is 0.
const stopperText = `#version 450 core
#include "resident.glsl"
layout(local_size_x = 2) in;
layout(std430, binding = 0) buffer Script { uint who, when, ended, stopped, stay; };
layout(std430, binding = 1) buffer Counts { uint counts[]; };
uint residentStep(uvec2 step) {
    uint g = gl_WorkGroupID.x;
    if (residentLeader()) {
        ++counts[g];
        if (g == who && stopped == 0u && step.x >= when && residentArrived >= ended) {
            stopped = step.x;
            residentDoorbell.x |= RESIDENT_STOP;
        }
    }
    return g == who || stay != 0u ? RESIDENT_GO : RESIDENT_LEAVE;
}
`

// noGroup is the number of no group.
const noGroup = 99

// stopper returns the scheduler of a kernel that requests stops by a script.
func stopper(f *fixture, groups uint32, script ...uint32) *scheduler {
	_, sc := f.stopped(Kernel{Source: MustSource("stopper", stopperText, nil), Groups: groups, State: []State{
		{Block: "Script", Init: glctx.Bytes(script)}, {Block: "Counts", Bytes: 4 * int(groups)}}}, quick)
	return sc
}

// TestAPendingStopEndsATickBeforeItBegins requests a stop with each combination of
// flags.
func TestAPendingStopEndsATickBeforeItBegins(t *testing.T) {
	f := newFixture(t)
	for _, flags := range []uint32{0, wire.FlagHostVisible, wire.FlagHostVisible | wire.FlagKeepIdle, wire.FlagClaim} {
		sc := stopper(f, 3, noGroup, 0, 0, 0, 1)
		sc.words[wire.AtDoorbell] = wire.StopBit
		if v := tick(t, sc, singleTick(flags, 50), true); v.Ticks != 1 || v.Most != 0 || v.Active != 0 {
			t.Errorf("flags %#x: %+v", flags, v)
		}
		if n := workWords(t, sc)[wire.AtNextGroups]; n != 0 {
			t.Errorf("flags %#x: the next of a chain has %d groups", flags, n)
		}
		sc.words[wire.AtDoorbell] = 0
		tick(t, sc, singleTick(flags&^wire.FlagClaim, 50), true)
		wantWords(t, held(t, sc, "Counts", 3), []uint32{50, 50, 50})
		if n := workWords(t, sc)[wire.AtNextGroups]; n != 3 {
			t.Errorf("flags %#x: without a stop, the next of a chain has %d groups", flags, n)
		}
	}
}

// TestAStopEndsAChain requests a stop after the last poll of all groups: the next dispatch
// does nothing, and ends the chain.
func TestAStopEndsAChain(t *testing.T) {
	f := newFixture(t)
	sc := stopper(f, 1, 0, 49, 0, 0, 1)
	for _, clear := range []bool{true, false} {
		if v := tick(t, sc, singleTick(0, 50), clear); v.Most != 50 {
			t.Errorf("%+v", v)
		}
	}
	if n := workWords(t, sc)[wire.AtNextGroups]; n != 0 {
		t.Errorf("the next of a chain has %d groups", n)
	}
}

// TestARelayedStopIsClearedBeforeTheNextRun has group 0 relay a stop in a tick of the
// scheduler: the groups do all steps of the next one. Without a stop nothing is cleared.
func TestARelayedStopIsClearedBeforeTheNextRun(t *testing.T) {
	f := newFixture(t)
	o := quick
	o.Capabilities = &Capabilities{HostWritesSeen: true}
	_, sc := f.stopped(Kernel{Source: MustSource("stopper", stopperText, nil), Groups: 3, State: []State{
		{Block: "Script", Init: glctx.Bytes([]uint32{noGroup, 0, 0, 0, 1})}, {Block: "Counts", Bytes: 12}}}, o)
	if err := sc.run.startRun(0); err != nil {
		t.Fatal(err)
	}
	burst := func(stop bool) {
		target := sc.beginBurst()
		if stop {
			sc.mail.requestStop()
		}
		err := sc.submitSteps(10, 10, false)
		if err == nil {
			_, err = sc.completeOldest(target)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, stop := range []bool{false, true} {
		burst(stop)
	}
	if w := workWords(t, sc); w[wire.AtStopRelayed] != 1 {
		t.Errorf("relayed are %d", w[wire.AtStopRelayed])
	}
	burst(false)
	wantWords(t, held(t, sc, "Counts", 3), []uint32{20, 20, 20})
	if sc.beginBurst(); sc.clearRun {
		t.Error("the next run clears what no tick left")
	}
}

// TestGroupZeroSeesAStopAtItsNextPoll requests a stop within a tick, which group 0 relays
// to the other groups.
func TestGroupZeroSeesAStopAtItsNextPoll(t *testing.T) {
	f := newFixture(t)
	for interval, want := range map[uint32]uint32{1: 21, 4: 24, 7: 21} {
		sc := stopper(f, 1, 0, 20, 0, 0, 1)
		c := singleTick(wire.FlagHostVisible, 300)
		c.Poll = interval
		if v := tick(t, sc, c, true); v.Most != want {
			t.Errorf("a poll every %d steps: group 0 did %d, not %d", interval, v.Most, want)
		}
		wantWords(t, held(t, sc, "Counts", 1), []uint32{want})
		if w := workWords(t, sc); w[wire.AtStopRelayed] != 1 || w[wire.AtRelay+2] != 1 {
			t.Errorf("relayed are %d and %d, not 1 and 1", w[wire.AtStopRelayed], w[wire.AtRelay+2])
		}
	}
	sc := stopper(f, 1, 0, 20, 0, 0, 1)
	tick(t, sc, singleTick(0, 300), true) // without FlagHostVisible no group polls
	wantWords(t, held(t, sc, "Counts", 1), []uint32{300})
}

// TestOtherGroupsReadTheRelay leaves a relayed stop from the tick before: only the other
// groups read it.
func TestOtherGroupsReadTheRelay(t *testing.T) {
	f := newFixture(t)
	sc := stopper(f, 3, noGroup, 0, 0, 0, 1)
	sc.words[wire.AtDoorbell] = wire.StopBit
	tick(t, sc, singleTick(wire.FlagHostVisible, 10), true) // group 0 sees it
	if n := workWords(t, sc)[wire.AtStopRelayed]; n != 1 {
		t.Fatalf("group 0 relayed %d", n)
	}
	sc.words[wire.AtDoorbell] = 0
	tick(t, sc, singleTick(wire.FlagHostVisible, 10), false)
	wantWords(t, held(t, sc, "Counts", 3), []uint32{10, 0, 0})
}

// TestOtherGroupsPollTheDoorbell requests a stop when group 0 has ended its tick and does
// not relay it: every sixteenth poll of another group reads the doorbell.
func TestOtherGroupsPollTheDoorbell(t *testing.T) {
	f := newFixture(t)
	sc := stopper(f, 2, 1, 20, 1, 0, 0)
	tick(t, sc, singleTick(wire.FlagHostVisible, 3000), true)
	stopped := held(t, sc, "Script", 5)[3]
	if stopped == 0 {
		t.Skip("group 1 ended before group 0: this driver runs groups neither in parallel nor in order")
	}
	seen := stopped + 1
	for seen%16 != 15 {
		seen++
	}
	wantWords(t, held(t, sc, "Counts", 2), []uint32{1, seen})
	if n := workWords(t, sc)[wire.AtStopRelayed]; n != 0 {
		t.Errorf("%d was relayed", n)
	}
}

// TestHeartbeatOfATick counts heartbeats: one for each four polls, one at the end.
func TestHeartbeatOfATick(t *testing.T) {
	f := newFixture(t)
	sc := stopper(f, 2, noGroup, 0, 0, 0, 1)
	beats := uint32(0)
	for i, test := range []struct{ budget, beats uint32 }{{1, 2}, {4, 2}, {5, 3}, {33, 10}} {
		c := singleTick(0, test.budget)
		c.Epoch += uint32(i)
		tick(t, sc, c, true)
		beats += test.beats
		if got, done := sc.words[wire.AtHeartbeat], sc.words[wire.AtDone]; got != beats || done != test.budget {
			t.Errorf("after a tick of %d steps: %d beats, not %d, and %d steps are shown", test.budget, got, beats, done)
		}
	}
}

// TestPartialMessagesWait puts messages into the inbox of which one bit is not visible
// yet: the kernel takes them once they are whole.
func TestPartialMessagesWait(t *testing.T) {
	f := newFixture(t)
	for name, at := range map[string]int{"in the inbox": wire.AtInbox, "behind the control word": wire.AtDoorbell} {
		for _, torn := range []int{0, 1, 2, 3} {
			s, sc := f.stopped(echoKernel(), quick)
			m := Message{Kind: 7, A: 40, B: 9}
			if err := s.Send(m); err != nil {
				t.Fatal(err)
			}
			if at == wire.AtInbox {
				sc.words[wire.AtDoorbell] &^= wire.InlineBit // as if there were more messages
			}
			sc.words[at+torn] ^= 1 << 17
			tick(t, sc, singleTick(0, 5), true)
			if n := sc.words[wire.AtReceived]; n != 0 {
				t.Errorf("%s, word %d torn: %d messages were taken", name, torn, n)
			}
			wantWords(t, held(t, sc, "Sums", 4), make([]uint32, 4))
			sc.words[at+torn] ^= 1 << 17
			tick(t, sc, singleTick(0, 5), true)
			wantWords(t, held(t, sc, "Sums", 4), []uint32{40, 40, 40, 40})
			if got, ok := s.TryReceive(); !ok || got != (Message{Kind: 7, A: 121, B: 9}) || sc.words[wire.AtReceived] != 1 {
				t.Errorf("%s, word %d whole again: %+v, %v, %d taken", name, torn, got, ok, sc.words[wire.AtReceived])
			}
		}
	}
}

// TestMessagesWithAStaleAddressWait sets the address to that of the message before.
func TestMessagesWithAStaleAddressWait(t *testing.T) {
	f := newFixture(t)
	s, sc := f.stopped(postKernel(), quick)
	if err := s.Send(Message{Group: 3, A: 5}); err != nil {
		t.Fatal(err)
	}
	sc.words[wire.AtAddress] = 2
	tick(t, sc, singleTick(0, 5), true)
	tick(t, sc, singleTick(0, 5), true)
	wantWords(t, held(t, sc, "Sums", postGroups), make([]uint32, postGroups))
	sc.words[wire.AtAddress] = 3
	for range 3 {
		tick(t, sc, singleTick(0, 5), true)
	}
	wantWords(t, held(t, sc, "Sums", postGroups), []uint32{0, 0, 0, 5, 0})
	if n := sc.words[wire.AtReceived]; n != 1 {
		t.Errorf("%d messages were taken", n)
	}
}

// senderText makes both groups send one message a step, and count those that found room.
const senderText = `#version 450 core
#include "resident.glsl"
layout(local_size_x = 1) in;
layout(std430, binding = 0) buffer Sent { uint sent[]; };
uint residentStep(uvec2 step) {
    uint g = gl_WorkGroupID.x;
    if (residentSend(uvec3(g, step.x, 7u))) {
        ++sent[g];
    }
    return RESIDENT_GO;
}
`

// TestFullOutboxesRefuseMessages has the kernel send more messages than fit: none is
// overwritten before the host has taken it.
func TestFullOutboxesRefuseMessages(t *testing.T) {
	f := newFixture(t)
	s, sc := f.stopped(Kernel{Source: MustSource("sender", senderText, nil), Groups: 2, State: []State{{Block: "Sent", Bytes: 8}}}, quick)
	const more = 30
	next := [2]uint32{}
	take := func(n int) {
		for range n {
			m, ok := s.TryReceive()
			if !ok || m.Kind != m.Group || m.B != 7 || m.A < next[m.Group] {
				t.Fatalf("got %+v, %v, of a group at step %d", m, ok, next[m.Group])
			}
			next[m.Group] = m.A + 1
		}
	}
	tick(t, sc, singleTick(0, wire.OutboxLength+more), true)
	wantWords(t, held(t, sc, "Sent", 2), []uint32{wire.OutboxLength, wire.OutboxLength})
	take(2 * 10)
	c := singleTick(0, more)
	c.Base, c.Epoch = wire.OutboxLength+more, 2
	tick(t, sc, c, true) // there is room for ten of each
	wantWords(t, held(t, sc, "Sent", 2), []uint32{wire.OutboxLength + 10, wire.OutboxLength + 10})
	take(2 * wire.OutboxLength)
	if next != [2]uint32{wire.OutboxLength + more + 10, wire.OutboxLength + more + 10} {
		t.Errorf("the last messages are of steps %d", next)
	}
	if m, ok := s.TryReceive(); ok {
		t.Errorf("one more: %+v", m)
	}
}
