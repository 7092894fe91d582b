//go:build linux

package resident

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/shadercache/shadercache/resident/internal/wire"
	"github.com/shadercache/shadercache/shader"
)

// postText makes every group count its messages and answer them. Kind 9 halts the group.
const postText = `#version 450 core
#include "resident.glsl"
layout(local_size_x = 4) in;
layout(std430, binding = 0) buffer Sums { uint sums[]; };
layout(std430, binding = 1) buffer Counts { uint counts[]; };
uint residentStep(uvec2 step) {
    uvec3 message;
    if (!residentReceive(message)) {
        return RESIDENT_IDLE;
    }
    if (residentLeader()) {
        sums[gl_WorkGroupID.x] += message.y;
        ++counts[gl_WorkGroupID.x];
        residentSend(uvec3(message.x, message.y + gl_WorkGroupID.x, message.z));
    }
    return message.x == 9u ? RESIDENT_HALT : RESIDENT_GO;
}
`

const postGroups = 5

func postKernel() Kernel {
	return Kernel{Source: MustSource("post", postText, shader.Defines{"RESIDENT_IDLE_POLLS": "20", "RESIDENT_LEAD_POLLS": "20", "RESIDENT_BOUND_POLLS": "20"}), Groups: postGroups,
		State: []State{{Block: "Sums", Bytes: 4 * postGroups}, {Block: "Counts", Bytes: 4 * postGroups}}}
}

// mailOptions returns options for each way of messages: by ticks, and within a dispatch
// as far as the driver lets it run.
func mailOptions() map[string]Options {
	return map[string]Options{
		"redispatch": quick,
		"chain":      {Strategy: Chain, TickTime: 2 * time.Millisecond, ChainLength: 4},
		"triple":     {Strategy: Triple, TickTime: 2 * time.Millisecond},
		"persistent": {Strategy: Persistent, Slice: 5 * time.Millisecond, Poll: 1, Capabilities: claimed},
		"waiting":    {Strategy: Persistent, Slice: 5 * time.Millisecond, Poll: 1, Capabilities: claimed, test: testOptions{groupsWait: true}},
	}
}

// started returns a session that runs, with a context that ends in time.
func started(t *testing.T, f *fixture, k Kernel, o Options) (*Session, context.Context) {
	t.Helper()
	if o.test.groupsWait && strings.HasPrefix(f.context.Info().GPU, "zink") {
		t.Skip("lavapipe starts a group when a CPU is free, and one that starts after the slice takes no message: " +
			"group 0, which waits for it, may wait for seconds, which is why software drivers are not asked to")
	}
	s := f.session(k, o)
	if err := s.Start(0); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	return s, ctx
}

// TestMessagesReachEveryGroup sends messages to each group and to all, in a random order
// and in bursts that wrap around both rings, and compares the sum and the number of each
// group's messages, and each answer with its sender.
func TestMessagesReachEveryGroup(t *testing.T) {
	f := newFixture(t)
	for name, o := range mailOptions() {
		t.Run(name, func(t *testing.T) {
			s, ctx := started(t, f, postKernel(), o)
			random := rand.New(rand.NewPCG(1, 2))
			var sums, counts [postGroups]uint32
			for sent := uint32(0); sent < 250; {
				wanted := map[uint32][]Message{} // by group, in order
				answers := 0
				for range 1 + random.IntN(20) {
					to := random.Uint32N(postGroups + 1)
					m := Message{Kind: 7, A: sent * 3, B: ^sent, Group: to}
					sent++
					for g := range uint32(postGroups) {
						if to == postGroups || to == g {
							wanted[g] = append(wanted[g], Message{Kind: 7, A: m.A + g, B: m.B, Group: g})
							sums[g] += m.A
							counts[g]++
							answers++
						}
					}
					if to == postGroups {
						m.Group = Broadcast
					}
					if err := s.Send(m); err != nil {
						t.Fatal(err)
					}
				}
				for range answers {
					m, err := s.Receive(ctx)
					if err != nil {
						t.Fatal(err)
					}
					if list := wanted[m.Group]; len(list) == 0 || m != list[0] {
						t.Fatalf("%+v came, expected were %+v", m, list)
					}
					wanted[m.Group] = wanted[m.Group][1:]
				}
			}
			wantWords(t, words(t, s, "Sums", postGroups), sums[:])
			wantWords(t, words(t, s, "Counts", postGroups), counts[:])
			if m, ok := s.TryReceive(); ok {
				t.Errorf("one more answer: %+v", m)
			}
		})
	}
}

// TestManyGroupsAnswerAtOnce has many groups answer the same message, repeatedly, and
// counts the answers of each.
func TestManyGroupsAnswerAtOnce(t *testing.T) {
	const groups, rounds = 200, 20
	f := newFixture(t)
	s, ctx := started(t, f, Echo(groups), quick)
	for round := range uint32(rounds) {
		if err := s.Send(Message{Group: Broadcast, Kind: 4, A: round, B: ^round}); err != nil {
			t.Fatal(err)
		}
		var answered [groups]bool
		for range groups {
			m, err := s.Receive(ctx)
			if err != nil {
				t.Fatal(err)
			}
			if m != (Message{Kind: 4, A: 3*round + 1, B: ^round, Group: m.Group}) || answered[m.Group] {
				t.Fatalf("round %d: %+v, before: %v", round, m, answered[m.Group])
			}
			answered[m.Group] = true
		}
	}
	if m, ok := s.TryReceive(); ok {
		t.Errorf("one more answer: %+v", m)
	}
}

// TestDeliveredIsTaken reads the state right after the acknowledgement.
func TestDeliveredIsTaken(t *testing.T) {
	f := newFixture(t)
	for name, o := range mailOptions() {
		t.Run(name, func(t *testing.T) {
			s, ctx := started(t, f, postKernel(), o)
			var want [postGroups]uint32
			for round := range uint32(4) {
				for g := range uint32(postGroups) {
					if err := s.Deliver(ctx, Message{Group: g, A: 1 + round}); err != nil {
						t.Fatal(err)
					}
					want[g] += 1 + round
					wantWords(t, words(t, s, "Sums", postGroups), want[:])
				}
				if err := s.Deliver(ctx, Message{Group: Broadcast, A: 100}); err != nil {
					t.Fatal(err)
				}
				for g := range want {
					want[g] += 100
				}
				wantWords(t, words(t, s, "Sums", postGroups), want[:])
			}
			if err := s.WaitIdle(ctx); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// TestHaltedGroupsBlockNoMessages halts one of the groups.
func TestHaltedGroupsBlockNoMessages(t *testing.T) {
	f := newFixture(t)
	for name, o := range mailOptions() {
		for _, halted := range []uint32{0, 3} { // group 0 forwards for the others
			t.Run(fmt.Sprint(name, " ", halted), func(t *testing.T) {
				s, ctx := started(t, f, postKernel(), o)
				if err := s.Deliver(ctx, Message{Group: halted, Kind: 9, A: 1}); err != nil {
					t.Fatal(err)
				}
				for _, to := range []uint32{halted, Broadcast, halted, 4, Broadcast} {
					if err := s.Deliver(ctx, Message{Group: to, A: 10}); err != nil {
						t.Fatal(err)
					}
				}
				want := []uint32{20, 20, 20, 20, 30}
				want[halted] = 1
				wantWords(t, words(t, s, "Sums", postGroups), want)
			})
		}
	}
}

// TestGroupsThatDoNotReceiveBlock has group 1 never receive.
func TestGroupsThatDoNotReceiveBlock(t *testing.T) {
	const text = `#version 450 core
#include "resident.glsl"
layout(local_size_x = 1) in;
layout(std430, binding = 0) buffer Received { uint received[]; };
uint residentStep(uvec2 step) {
    uvec3 message;
    if (gl_WorkGroupID.x != 1u && residentReceive(message)) {
        received[gl_WorkGroupID.x] += message.y;
    }
    return RESIDENT_GO;
}
`
	f := newFixture(t)
	k := Kernel{Source: MustSource("blocking", text, nil), Groups: 3, State: []State{{Block: "Received", Bytes: 12}}}
	s, ctx := started(t, f, k, quick)
	if err := s.Deliver(ctx, Message{Group: 2, A: 5}); err != nil {
		t.Fatal(err)
	}
	if err := s.Send(Message{Group: 1, A: 6}); err != nil {
		t.Fatal(err)
	}
	for i := range wire.InboxLength - 1 {
		if err := s.Send(Message{Group: 2, A: 7}); err != nil {
			t.Fatalf("message %d: %v", i, err)
		}
	}
	if err := s.Send(Message{Group: 2}); !errors.Is(err, ErrInboxFull) {
		t.Errorf("a message behind %d others: %v", wire.InboxLength, err)
	}
	wantWords(t, words(t, s, "Received", 3), []uint32{0, 0, 5})
}

func TestAddressesAreChecked(t *testing.T) {
	f := newFixture(t)
	s := f.session(postKernel(), quick)
	for _, to := range []uint32{postGroups, 1 << 16, Broadcast - 1} {
		if err := s.Send(Message{Group: to}); err == nil {
			t.Errorf("a message to group %d of %d was accepted", to, postGroups)
		}
	}
	one := f.session(echoKernel(), quick)
	if err := one.Start(0); err != nil {
		t.Fatal(err)
	}
	if err := one.Deliver(t.Context(), Message{Group: Broadcast, A: 4}); err != nil {
		t.Fatal(err)
	}
	if m, err := one.Receive(t.Context()); err != nil || m.A != 13 {
		t.Errorf("the only group answers a broadcast by %+v, %v", m, err)
	}
}

// TestAllGroupsSendAtOnce has every group send as much as it can while the host receives:
// each group's messages arrive once and in order, and a full ring is reported.
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
	for name, o := range mailOptions() {
		t.Run(name, func(t *testing.T) {
			s, ctx := started(t, f, k, o)
			var got [groups]uint32
			take := func(m Message) {
				if n := got[m.Group]; m != (Message{Kind: m.Group, A: n + 1, B: n * m.Group, Group: m.Group}) {
					t.Fatalf("message %d is %+v", n, m)
				}
				got[m.Group]++
			}
			for range 3000 {
				m, err := s.Receive(ctx)
				if err != nil {
					t.Fatal(err)
				}
				take(m)
			}
			if _, err := s.Stop(ctx); err != nil {
				t.Fatal(err)
			}
			for {
				m, ok := s.TryReceive()
				if !ok {
					break
				}
				take(m)
			}
			wantWords(t, words(t, s, "Sent", groups), got[:])
			// The host receives nothing now: both rings fill, and the rest is refused.
			before := words(t, s, "Refused", groups)
			run(t, s, 500)
			total := uint32(0)
			for g, n := range words(t, s, "Refused", groups) {
				total += n - before[g]
			}
			if want := uint32(groups*500 - 2*wire.OutboxLength); total != want {
				t.Errorf("%d messages were refused, not %d", total, want)
			}
		})
	}
}

// TestIdleGroupsCatchUp has one group work while the others are idle, and compares the
// steps of the groups.
func TestIdleGroupsCatchUp(t *testing.T) {
	f := newFixture(t)
	for name, o := range mailOptions() {
		t.Run(name, func(t *testing.T) {
			s, ctx := started(t, f, postKernel(), o)
			for range 5 {
				for range wire.InboxLength {
					if err := s.Send(Message{Group: 0, A: 1}); err != nil {
						t.Fatal(err)
					}
				}
				for range wire.InboxLength {
					if _, err := s.Receive(ctx); err != nil {
						t.Fatal(err)
					}
				}
			}
			wantWords(t, words(t, s, "Sums", postGroups), []uint32{5 * wire.InboxLength, 0, 0, 0, 0})
			if v := s.mail.words.ReadStatus(); v.Least != v.Most {
				t.Errorf("groups have done %d to %d steps when the state is read", v.Least, v.Most)
			}
			if n := s.Stats().Alignments; n > 20 {
				t.Errorf("%d ticks to bring groups to the same step", n)
			}
		})
	}
}

// TestMessagesAreNotTakenTwice restores a checkpoint: messages that were taken since then
// are not taken again.
func TestMessagesAreNotTakenTwice(t *testing.T) {
	f := newFixture(t)
	s, ctx := started(t, f, postKernel(), quick)
	if err := s.Deliver(ctx, Message{Group: Broadcast, A: 1}); err != nil {
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
	if err := s.Deliver(ctx, Message{Group: 4, A: 2}); err != nil {
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
	if err := s.Deliver(ctx, Message{Group: 2, A: 5}); err != nil {
		t.Fatal(err)
	}
	wantWords(t, words(t, s, "Sums", postGroups), []uint32{1, 1, 6, 1, 1})
}
