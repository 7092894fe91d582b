//go:build linux

package resident

import (
	"testing"

	"github.com/shadercache/shadercache/glctx"
)

// These tests carry out single ticks of a session that nobody has started, with
// words at the door that they choose, so that every look of every group is known
// before. A kernel writes to the door what a host would while it runs, which needs
// no driver that shows a kernel what the host writes.

// byHand is a tick that begins now: its order, with mode and budget.
func byHand(mode, budget uint32) order {
	return order{epoch: 1, target: 1 << 20, budget: budget, poll: 1, mode: mode, phases: 1}
}

// tick carries out an order. rearmed says that nothing is left of the tick before.
func tick(t *testing.T, s *Session, o order, rearmed bool) report {
	t.Helper()
	s.writeOrder(o)
	err := s.context.Do(func(gl *glctx.GL) error {
		if rearmed {
			s.gl.rearm(gl)
		}
		s.gl.bind(gl)
		s.gl.phases(gl, 0, s.kernel.Phases)
		gl.Dispatch(s.kernel.Groups, 1, 1)
		gl.MemoryBarrier(glctx.BarrierAllKinds)
		gl.Finish()
		return gl.Err()
	})
	if err != nil {
		t.Fatal(err)
	}
	return s.readReport()
}

// workWords are the lines of ResidentWork.
func workWords(t *testing.T, s *Session) []uint32 {
	t.Helper()
	list := make([]uint32, wordsResidentWork)
	err := s.context.Do(func(gl *glctx.GL) error {
		gl.Download(s.gl.work, 0, glctx.Bytes(list))
		return gl.Err()
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// held are n words of a state, where no driver of a session has a say.
func held(t *testing.T, s *Session, block string, n int) []uint32 {
	t.Helper()
	list := make([]uint32, n)
	err := s.context.Do(func(gl *glctx.GL) error {
		gl.Download(s.gl.find(block).buffer, 0, glctx.Bytes(list))
		return gl.Err()
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// ringerText counts steps. Group who writes a stop to the door in the first step
// from when on in which so many groups have ended their tick, and says in which; the
// others leave after a step where others do not stay.
const ringerText = `#version 450 core
#include "resident.glsl"
layout(local_size_x = 2) in;
layout(std430, binding = 0) buffer Script { uint who, when, ended, rang, stay; };
layout(std430, binding = 1) buffer Counts { uint counts[]; };
uint residentStep(uvec2 step) {
    uint g = gl_WorkGroupID.x;
    if (residentLeader()) {
        ++counts[g];
        if (g == who && rang == 0u && step.x >= when && residentArrived >= ended) {
            rang = step.x;
            residentDoor.x |= RESIDENT_STOP;
        }
    }
    return g == who || stay != 0u ? RESIDENT_GO : RESIDENT_LEAVE;
}
`

// nobody is a group that there is not.
const nobody = 99

// ringer is a session of a kernel that rings as the script says.
func ringer(f *fixture, groups uint32, script ...uint32) *Session {
	return f.session(Kernel{Source: MustSource("ringer", ringerText, nil), Groups: groups, State: []State{
		{Block: "Script", Init: glctx.Bytes(script)}, {Block: "Counts", Bytes: 4 * int(groups)}}}, quick)
}

// TestAStopAtTheDoorEndsATickBeforeItBegins asks in every mode that groups may have.
func TestAStopAtTheDoorEndsATickBeforeItBegins(t *testing.T) {
	f := newFixture(t)
	for _, mode := range []uint32{0, modeInflight, modeInflight | modeLinger, modeClaim} {
		s := ringer(f, 3, nobody, 0, 0, 0, 1)
		s.words[wordDoor] = bellStop
		if r := tick(t, s, byHand(mode, 50), true); r.ticks != 1 || r.most != 0 || r.active != 0 {
			t.Errorf("mode %#x: %+v", mode, r)
		}
		if n := workWords(t, s)[wordNextGroups]; n != 0 {
			t.Errorf("mode %#x: the next of a chain has %d groups", mode, n)
		}
		s.words[wordDoor] = 0
		tick(t, s, byHand(mode&^modeClaim, 50), true)
		wantWords(t, held(t, s, "Counts", 3), []uint32{50, 50, 50})
		if n := workWords(t, s)[wordNextGroups]; n != 3 {
			t.Errorf("mode %#x: without a stop, the next of a chain has %d groups", mode, n)
		}
	}
}

// TestAStopEndsAChain has it come after the last look of all groups.
func TestAStopEndsAChain(t *testing.T) {
	f := newFixture(t)
	s := ringer(f, 1, 0, 49, 0, 0, 1)
	if r := tick(t, s, byHand(0, 50), true); r.most != 50 {
		t.Errorf("%+v", r)
	}
	if n := workWords(t, s)[wordNextGroups]; n != 0 {
		t.Errorf("the next of a chain has %d groups", n)
	}
}

// TestGroupZeroSeesAStopAtItsNextLook rings in the middle of a tick, and says so to
// the others.
func TestGroupZeroSeesAStopAtItsNextLook(t *testing.T) {
	f := newFixture(t)
	for poll, want := range map[uint32]uint32{1: 21, 4: 24, 7: 21} {
		s := ringer(f, 1, 0, 20, 0, 0, 1)
		o := byHand(modeInflight, 300)
		o.poll = poll
		if r := tick(t, s, o, true); r.most != want {
			t.Errorf("a look every %d steps: group 0 did %d, not %d", poll, r.most, want)
		}
		wantWords(t, held(t, s, "Counts", 1), []uint32{want})
		if w := workWords(t, s); w[wordRelayStop] != 1 || w[wordWatch+2] != 1 {
			t.Errorf("the others are told %d and %d, not 1 and 1", w[wordRelayStop], w[wordWatch+2])
		}
	}
	s := ringer(f, 1, 0, 20, 0, 0, 1)
	tick(t, s, byHand(0, 300), true) // where no driver shows it, nobody looks
	wantWords(t, held(t, s, "Counts", 1), []uint32{300})
}

// TestOtherGroupsBelieveGroupZero has a stop that group 0 passed on be left over
// from a tick before: only the others look there.
func TestOtherGroupsBelieveGroupZero(t *testing.T) {
	f := newFixture(t)
	s := ringer(f, 3, nobody, 0, 0, 0, 1)
	s.words[wordDoor] = bellStop
	tick(t, s, byHand(modeInflight, 10), true) // group 0 sees it
	if n := workWords(t, s)[wordRelayStop]; n != 1 {
		t.Fatalf("group 0 passed on %d", n)
	}
	s.words[wordDoor] = 0
	tick(t, s, byHand(modeInflight, 10), false)
	wantWords(t, held(t, s, "Counts", 3), []uint32{10, 0, 0})
}

// TestOtherGroupsLookForThemselves rings when group 0 has ended its tick and passes
// nothing on any more: every sixteenth look of another group goes to the door.
func TestOtherGroupsLookForThemselves(t *testing.T) {
	f := newFixture(t)
	s := ringer(f, 2, 1, 20, 1, 0, 0)
	tick(t, s, byHand(modeInflight, 3000), true)
	rang := held(t, s, "Script", 5)[3]
	if rang == 0 {
		t.Skip("group 1 was done before group 0: this driver does not run groups side by side, or in order")
	}
	seen := rang + 1
	for seen%16 != 15 {
		seen++
	}
	wantWords(t, held(t, s, "Counts", 2), []uint32{1, seen})
	if n := workWords(t, s)[wordRelayStop]; n != 0 {
		t.Errorf("somebody passed on %d", n)
	}
}

// TestATickBeatsAsItEnds counts beats: one for the first of sixteen looks, one at
// the end.
func TestATickBeatsAsItEnds(t *testing.T) {
	f := newFixture(t)
	s := ringer(f, 2, nobody, 0, 0, 0, 1)
	beats := uint32(0)
	for i, test := range []struct{ budget, beats uint32 }{{1, 2}, {16, 2}, {17, 3}, {33, 4}} {
		o := byHand(0, test.budget)
		o.epoch += uint32(i)
		tick(t, s, o, true)
		beats += test.beats
		if got, done := s.Heartbeat(), s.words[wordDone]; got != beats || done != test.budget {
			t.Errorf("after a tick of %d steps: %d beats, not %d, and %d steps are shown", test.budget, got, beats, done)
		}
	}
}

// TestAMessageThatIsNotWholeWaits puts messages into the inbox of which one bit is
// not there yet: the kernel leaves them, and takes them when they are whole.
func TestAMessageThatIsNotWholeWaits(t *testing.T) {
	f := newFixture(t)
	for name, at := range map[string]int{"in the inbox": inboxAt, "beside the bell": wordDoor} {
		for _, torn := range []int{0, 1, 2, 3} {
			s := f.session(echoKernel(), quick)
			m := Message{7, 40, 9}
			if err := s.Send(m); err != nil {
				t.Fatal(err)
			}
			if at == inboxAt {
				s.words[wordDoor] &^= bellInline // as if more were on their way
			}
			s.words[at+torn] ^= 1 << 17
			tick(t, s, byHand(0, 5), true)
			if n := s.words[wordReceived]; n != 0 {
				t.Errorf("%s, word %d torn: %d messages were taken", name, torn, n)
			}
			wantWords(t, held(t, s, "Sums", 4), make([]uint32, 4))
			s.words[at+torn] ^= 1 << 17
			tick(t, s, byHand(0, 5), true)
			wantWords(t, held(t, s, "Sums", 4), []uint32{40, 40, 40, 40})
			if got, ok := s.TryReceive(); !ok || got != (Message{7, 121, 9}) || s.words[wordReceived] != 1 {
				t.Errorf("%s, word %d whole again: %+v, %v, %d taken", name, torn, got, ok, s.words[wordReceived])
			}
		}
	}
}

// TestAMessageToAnotherGroupWaits has the address be that of the message before.
func TestAMessageToAnotherGroupWaits(t *testing.T) {
	f := newFixture(t)
	s := f.session(postKernel(), quick)
	if err := s.SendTo(3, Message{A: 5}); err != nil {
		t.Fatal(err)
	}
	s.words[addressAt] = 2
	tick(t, s, byHand(0, 5), true)
	tick(t, s, byHand(0, 5), true)
	wantWords(t, held(t, s, "Told", postGroups), make([]uint32, postGroups))
	s.words[addressAt] = 3
	for range 3 {
		tick(t, s, byHand(0, 5), true)
	}
	wantWords(t, held(t, s, "Told", postGroups), []uint32{0, 0, 0, 5, 0})
	if n := s.words[wordReceived]; n != 1 {
		t.Errorf("%d messages were taken", n)
	}
}

// chatterText has both groups send one message a step, and count those that found
// room.
const chatterText = `#version 450 core
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

// TestAFullOutboxTakesNoMore has the kernel send more than fit: no message is
// written over before the host has taken it.
func TestAFullOutboxTakesNoMore(t *testing.T) {
	f := newFixture(t)
	s := f.session(Kernel{Source: MustSource("chatter", chatterText, nil), Groups: 2, State: []State{{Block: "Sent", Bytes: 8}}}, quick)
	const more = 30
	next := [2]uint32{}
	take := func(n int) {
		for range n {
			m, group, ok := s.TryReceiveFrom()
			if !ok || m.Kind != group || m.B != 7 || m.A < next[group] {
				t.Fatalf("got %+v, %v, of group %d, which is at step %d", m, ok, group, next[group])
			}
			next[group] = m.A + 1
		}
	}
	tick(t, s, byHand(0, outboxLength+more), true)
	wantWords(t, held(t, s, "Sent", 2), []uint32{outboxLength, outboxLength})
	take(2 * 10)
	o := byHand(0, more)
	o.base, o.epoch = outboxLength+more, 2
	tick(t, s, o, true) // there is room for ten of each
	wantWords(t, held(t, s, "Sent", 2), []uint32{outboxLength + 10, outboxLength + 10})
	take(2 * outboxLength)
	if next != [2]uint32{outboxLength + more + 10, outboxLength + more + 10} {
		t.Errorf("the last messages are of steps %d", next)
	}
	if m, ok := s.TryReceive(); ok {
		t.Errorf("one more: %+v", m)
	}
}
