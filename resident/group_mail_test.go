//go:build linux

package resident

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/shadercache/shadercache/shader"
)

// postText has every group count what it is told, and answer it. Kind 9 halts the
// group.
const postText = `#version 450 core
#include "resident.glsl"
layout(local_size_x = 4) in;
layout(std430, binding = 0) buffer Told { uint told[]; };
layout(std430, binding = 1) buffer Times { uint times[]; };
uint residentStep(uvec2 step) {
    uvec3 message;
    if (!residentReceive(message)) {
        return RESIDENT_IDLE;
    }
    if (residentLeader()) {
        told[gl_WorkGroupID.x] += message.y;
        ++times[gl_WorkGroupID.x];
        residentSend(uvec3(message.x, message.y + gl_WorkGroupID.x, message.z));
    }
    return message.x == 9u ? RESIDENT_HALT : RESIDENT_GO;
}
`

const postGroups = 5

func postKernel() Kernel {
	return Kernel{Source: MustSource("post", postText, shader.Defines{"RESIDENT_IDLE_LOOKS": "20", "RESIDENT_AHEAD_LOOKS": "20"}), Groups: postGroups,
		State: []State{{Block: "Told", Bytes: 4 * postGroups}, {Block: "Times", Bytes: 4 * postGroups}}}
}

// postForms are the forms in which messages travel: ticks, and one dispatch as far
// as a driver lets it stay.
func postForms() map[string]Options {
	return map[string]Options{
		"redispatch": quick,
		"chain":      {Strategy: Chain, TickTime: 2 * time.Millisecond, ChainLength: 4},
		"triple":     {Strategy: Triple, TickTime: 2 * time.Millisecond},
		"persistent": {Strategy: Persistent, Slice: 5 * time.Millisecond, Poll: 1, Capabilities: claimed},
		"waiting":    {Strategy: Persistent, Slice: 5 * time.Millisecond, Poll: 1, Capabilities: claimed, trial: trial{close: true}},
	}
}

// started is a session that runs, with a context that ends in time.
func started(t *testing.T, f *fixture, k Kernel, o Options) (*Session, context.Context) {
	t.Helper()
	s := f.session(k, o)
	if err := s.Start(0); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	return s, ctx
}

// TestMessagesReachEveryGroup sends messages to each group and to all, in a random
// order and in bursts that go round both rings, and compares what every group was
// told, how often, and each answer with its sender.
func TestMessagesReachEveryGroup(t *testing.T) {
	f := newFixture(t)
	for name, o := range postForms() {
		t.Run(name, func(t *testing.T) {
			s, ctx := started(t, f, postKernel(), o)
			random := rand.New(rand.NewPCG(1, 2))
			var told, times [postGroups]uint32
			for sent := uint32(0); sent < 250; {
				wanted := map[uint32][]Message{} // by group, in order
				answers := 0
				for range 1 + random.IntN(20) {
					to := random.Uint32N(postGroups + 1)
					m := Message{7, sent * 3, ^sent}
					sent++
					for g := range uint32(postGroups) {
						if to == postGroups || to == g {
							wanted[g] = append(wanted[g], Message{7, m.A + g, m.B})
							told[g] += m.A
							times[g]++
							answers++
						}
					}
					if to == postGroups {
						to = Broadcast
					}
					if err := s.SendTo(to, m); err != nil {
						t.Fatal(err)
					}
				}
				for range answers {
					m, group, err := s.ReceiveFrom(ctx)
					if err != nil {
						t.Fatal(err)
					}
					if list := wanted[group]; len(list) == 0 || m != list[0] {
						t.Fatalf("group %d answers %+v, to be answered were %+v", group, m, list)
					}
					wanted[group] = wanted[group][1:]
				}
			}
			wantWords(t, words(t, s, "Told", postGroups), told[:])
			wantWords(t, words(t, s, "Times", postGroups), times[:])
			if m, ok := s.TryReceive(); ok {
				t.Errorf("one more answer: %+v", m)
			}
		})
	}
}

// TestManyGroupsAnswerAtOnce has more groups answer at a time than take turns in
// pairs, again and again, and counts the answers of each.
func TestManyGroupsAnswerAtOnce(t *testing.T) {
	const groups, rounds = 200, 20
	f := newFixture(t)
	k, err := Echo(groups)
	if err != nil {
		t.Fatal(err)
	}
	s, ctx := started(t, f, k, quick)
	for round := range uint32(rounds) {
		if err := s.SendTo(Broadcast, Message{Kind: 4, A: round, B: ^round}); err != nil {
			t.Fatal(err)
		}
		var answered [groups]bool
		for range groups {
			m, group, err := s.ReceiveFrom(ctx)
			if err != nil {
				t.Fatal(err)
			}
			if m != (Message{4, 3*round + 1, ^round}) || answered[group] {
				t.Fatalf("round %d: group %d answers %+v, before: %v", round, group, m, answered[group])
			}
			answered[group] = true
		}
	}
	if m, ok := s.TryReceive(); ok {
		t.Errorf("one more answer: %+v", m)
	}
}

// TestDeliveredIsTaken looks at the state right after the acknowledgement.
func TestDeliveredIsTaken(t *testing.T) {
	f := newFixture(t)
	for name, o := range postForms() {
		t.Run(name, func(t *testing.T) {
			s, ctx := started(t, f, postKernel(), o)
			var want [postGroups]uint32
			for round := range uint32(4) {
				for g := range uint32(postGroups) {
					if err := s.DeliverTo(ctx, g, Message{A: 1 + round}); err != nil {
						t.Fatal(err)
					}
					want[g] += 1 + round
					wantWords(t, words(t, s, "Told", postGroups), want[:])
				}
				if err := s.DeliverTo(ctx, Broadcast, Message{A: 100}); err != nil {
					t.Fatal(err)
				}
				for g := range want {
					want[g] += 100
				}
				wantWords(t, words(t, s, "Told", postGroups), want[:])
			}
			if err := s.WaitIdle(ctx); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// TestHaltedGroupsLetMessagesPass halts a group in the middle.
func TestHaltedGroupsLetMessagesPass(t *testing.T) {
	f := newFixture(t)
	for name, o := range postForms() {
		t.Run(name, func(t *testing.T) {
			s, ctx := started(t, f, postKernel(), o)
			if err := s.DeliverTo(ctx, 3, Message{Kind: 9, A: 1}); err != nil {
				t.Fatal(err)
			}
			for _, to := range []uint32{3, Broadcast, 3, 4, Broadcast} {
				if err := s.DeliverTo(ctx, to, Message{A: 10}); err != nil {
					t.Fatal(err)
				}
			}
			wantWords(t, words(t, s, "Told", postGroups), []uint32{20, 20, 20, 1, 30})
		})
	}
}

// TestGroupsThatDoNotListenPushBack has group 1 never receive.
func TestGroupsThatDoNotListenPushBack(t *testing.T) {
	const text = `#version 450 core
#include "resident.glsl"
layout(local_size_x = 1) in;
layout(std430, binding = 0) buffer Heard { uint heard[]; };
uint residentStep(uvec2 step) {
    uvec3 message;
    if (gl_WorkGroupID.x != 1u && residentReceive(message)) {
        heard[gl_WorkGroupID.x] += message.y;
    }
    return RESIDENT_GO;
}
`
	f := newFixture(t)
	k := Kernel{Source: MustSource("deaf", text, nil), Groups: 3, State: []State{{Block: "Heard", Bytes: 12}}}
	s, ctx := started(t, f, k, quick)
	if err := s.DeliverTo(ctx, 2, Message{A: 5}); err != nil {
		t.Fatal(err)
	}
	if err := s.SendTo(1, Message{A: 6}); err != nil {
		t.Fatal(err)
	}
	for i := range inboxLength - 1 {
		if err := s.SendTo(2, Message{A: 7}); err != nil {
			t.Fatalf("message %d: %v", i, err)
		}
	}
	if err := s.SendTo(2, Message{}); !errors.Is(err, ErrInboxFull) {
		t.Errorf("a message behind %d that are not taken: %v", inboxLength, err)
	}
	wantWords(t, words(t, s, "Heard", 3), []uint32{0, 0, 5})
}

func TestAddressesAreChecked(t *testing.T) {
	f := newFixture(t)
	s := f.session(postKernel(), quick)
	for _, to := range []uint32{postGroups, 1 << 16, Broadcast - 1} {
		if err := s.SendTo(to, Message{}); err == nil {
			t.Errorf("a message to group %d of %d was taken", to, postGroups)
		}
	}
	one := f.session(echoKernel(), quick)
	if err := one.Start(0); err != nil {
		t.Fatal(err)
	}
	if err := one.DeliverTo(t.Context(), Broadcast, Message{A: 4}); err != nil {
		t.Fatal(err)
	}
	if m, err := one.Receive(t.Context()); err != nil || m.A != 13 {
		t.Errorf("the only group answers everyone's message by %+v, %v", m, err)
	}
}

// TestAllGroupsSendAtOnce has every group send as much as it can, while the host
// takes it: each group's messages arrive once and in order, and a full ring is told.
func TestAllGroupsSendAtOnce(t *testing.T) {
	const text = `#version 450 core
#include "resident.glsl"
layout(local_size_x = 2) in;
layout(std430, binding = 0) buffer Sent { uint sent[]; };
layout(std430, binding = 1) buffer Refused { uint refused[]; };
uint residentStep(uvec2 step) {
    uint g = gl_WorkGroupID.x;
    if (residentLeader()) {
        if (residentSend(uvec3(g, sent[g] + 1u, sent[g] * g))) {
            ++sent[g];
        } else {
            ++refused[g];
        }
    }
    return RESIDENT_GO;
}
`
	const groups = 7
	f := newFixture(t)
	k := Kernel{Source: MustSource("crowd", text, nil), Groups: groups,
		State: []State{{Block: "Sent", Bytes: 4 * groups}, {Block: "Refused", Bytes: 4 * groups}}}
	for name, o := range postForms() {
		t.Run(name, func(t *testing.T) {
			s, ctx := started(t, f, k, o)
			var got [groups]uint32
			take := func(m Message, group uint32) {
				if n := got[group]; m != (Message{group, n + 1, n * group}) {
					t.Fatalf("message %d of group %d is %+v", n, group, m)
				}
				got[group]++
			}
			for range 3000 {
				m, group, err := s.ReceiveFrom(ctx)
				if err != nil {
					t.Fatal(err)
				}
				take(m, group)
			}
			if _, err := s.Stop(ctx); err != nil {
				t.Fatal(err)
			}
			for {
				m, group, ok := s.TryReceiveFrom()
				if !ok {
					break
				}
				take(m, group)
			}
			wantWords(t, words(t, s, "Sent", groups), got[:])
			// Nobody takes anything now: both rings fill, and the rest is refused.
			before := words(t, s, "Refused", groups)
			run(t, s, 500)
			total := uint32(0)
			for g, n := range words(t, s, "Refused", groups) {
				total += n - before[g]
			}
			if want := uint32(groups*500 - 2*outboxLength); total != want {
				t.Errorf("%d messages were refused, not %d", total, want)
			}
		})
	}
}

// TestIdleGroupsCatchUp has one group work while the others have nothing to do, and
// then compares how many steps each of them has done.
func TestIdleGroupsCatchUp(t *testing.T) {
	f := newFixture(t)
	for name, o := range postForms() {
		t.Run(name, func(t *testing.T) {
			s, ctx := started(t, f, postKernel(), o)
			for range 5 {
				for range inboxLength {
					if err := s.SendTo(0, Message{A: 1}); err != nil {
						t.Fatal(err)
					}
				}
				for range inboxLength {
					if _, err := s.Receive(ctx); err != nil {
						t.Fatal(err)
					}
				}
			}
			wantWords(t, words(t, s, "Told", postGroups), []uint32{5 * inboxLength, 0, 0, 0, 0})
			if r := s.readReport(); r.least != r.most {
				t.Errorf("groups have done %d to %d steps when somebody looks", r.least, r.most)
			}
			if n := s.Stats().Alignments; n > 20 {
				t.Errorf("%d ticks to bring groups to the same step", n)
			}
		})
	}
}

// TestMessagesAreNotTakenTwice goes back to a checkpoint: what was taken since then
// is not taken again.
func TestMessagesAreNotTakenTwice(t *testing.T) {
	f := newFixture(t)
	s, ctx := started(t, f, postKernel(), quick)
	if err := s.DeliverTo(ctx, Broadcast, Message{A: 1}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Stop(ctx); err != nil {
		t.Fatal(err)
	}
	c, err := s.Checkpoint(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Start(0); err != nil {
		t.Fatal(err)
	}
	if err := s.DeliverTo(ctx, 4, Message{A: 2}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Stop(ctx); err != nil {
		t.Fatal(err)
	}
	if err := s.Restore(ctx, c); err != nil {
		t.Fatal(err)
	}
	if err := s.Start(0); err != nil {
		t.Fatal(err)
	}
	if err := s.DeliverTo(ctx, 2, Message{A: 5}); err != nil {
		t.Fatal(err)
	}
	wantWords(t, words(t, s, "Told", postGroups), []uint32{1, 1, 6, 1, 1})
}
