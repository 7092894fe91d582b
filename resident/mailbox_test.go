//go:build linux

package resident

import (
	"errors"
	"syscall"
	"testing"
	"time"
)

// echoText answers every message and is idle otherwise.
const echoText = `#version 450 core
#include "resident.glsl"
layout(local_size_x = 4) in;
layout(std430, binding = 0) buffer Sums { uint sums[]; };
uint residentStep(uvec2 step) {
    uvec3 message;
    if (!residentReceive(message)) {
        return RESIDENT_IDLE;
    }
    sums[gl_LocalInvocationIndex] += message.y;
    if (residentLeader()) {
        residentSend(uvec3(message.x, message.y * 3u + 1u, message.z));
    }
    return RESIDENT_GO;
}
`

func echoKernel() Kernel {
	return Kernel{Source: MustSource("echo", echoText, nil), Groups: 1, State: []State{{Block: "Sums", Bytes: 16}}}
}

func TestMessagesGoBothWaysInOrder(t *testing.T) {
	f := newFixture(t)
	s := f.session(echoKernel(), quick)
	if err := s.Start(0); err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	const n = 1000
	sum := uint32(0)
	for i := uint32(0); i < n; {
		burst := min(1+i%inboxLength, n-i)
		for j := range burst {
			if err := s.Send(Message{7, i + j, ^(i + j)}); err != nil {
				t.Fatalf("message %d: %v", i+j, err)
			}
		}
		for range burst {
			m, err := s.Receive(ctx)
			if err != nil {
				t.Fatalf("answer %d: %v", i, err)
			}
			if m != (Message{7, i*3 + 1, ^i}) {
				t.Fatalf("answer %d is %+v", i, m)
			}
			sum += i
			i++
		}
	}
	if err := s.WaitIdle(ctx); err != nil {
		t.Fatal(err)
	}
	wantWords(t, words(t, s, "Sums", 4), []uint32{sum, sum, sum, sum})
	if err := s.Deliver(ctx, Message{1, 2, 3}); err != nil {
		t.Fatal(err)
	}
	// The kernel has taken the message, and answers within the same step.
	if m, err := s.Receive(ctx); err != nil || m != (Message{1, 7, 3}) {
		t.Errorf("answer to the delivered message: %v, %v", m, err)
	}
	if m, ok := s.TryReceive(); ok {
		t.Errorf("a message that nobody sent: %v", m)
	}
	if _, err := s.Stop(ctx); err != nil {
		t.Fatal(err)
	}
}

// TestInboxPushesBack fills the inbox of a session that does not run.
func TestInboxPushesBack(t *testing.T) {
	f := newFixture(t)
	s := f.session(echoKernel(), quick)
	for i := range inboxLength {
		if err := s.Send(Message{A: uint32(i)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Send(Message{}); !errors.Is(err, ErrInboxFull) {
		t.Fatalf("message %d: %v", inboxLength, err)
	}
	if err := s.Start(0); err != nil {
		t.Fatal(err)
	}
	for i := range uint32(inboxLength) {
		if m, err := s.Receive(t.Context()); err != nil || m.A != 3*i+1 {
			t.Fatalf("answer %d: %v, %v", i, m, err)
		}
	}
}

// TestIdleSessionsCostNothing counts dispatches and CPU time of an idle session
// that is started, and how many dispatches a message costs.
//
// Ticks leave when they are idle, also where a kernel would see messages come.
func TestIdleSessionsCostNothing(t *testing.T) {
	f := newFixture(t)
	o := quick
	o.Capabilities = claimed
	o.Budget = 64 // so that a message fits into a dispatch, whatever the pace is
	s := f.session(echoKernel(), o)
	if err := s.Start(0); err != nil {
		t.Fatal(err)
	}
	if err := s.Deliver(t.Context(), Message{}); err != nil {
		t.Fatal(err)
	}
	if err := s.WaitIdle(t.Context()); err != nil {
		t.Fatal(err)
	}
	time.Sleep(20 * time.Millisecond)
	before, cpu, began := f.context.Counters(), processCPU(t), time.Now()
	time.Sleep(200 * time.Millisecond)
	if n := f.context.Counters().Dispatches - before.Dispatches; n != 0 {
		t.Errorf("%d dispatches of an idle session", n)
	}
	if used, gone := processCPU(t)-cpu, time.Since(began); used > gone/2 {
		t.Errorf("an idle session used %v of CPU time in %v", used, gone)
	}
	if err := s.Deliver(t.Context(), Message{A: 1}); err != nil {
		t.Fatal(err)
	}
	if n := f.context.Counters().Dispatches - before.Dispatches; n != 1 {
		t.Errorf("%d dispatches for a message, not 1", n)
	}
}

func processCPU(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// TestTornMessagesAreToldApart flips every bit of a message.
func TestTornMessagesAreToldApart(t *testing.T) {
	m := Message{3, 1 << 20, 0xffff}
	word := m.word(9000, 0)
	if !m.isWhole(word, 9000, 0) || m.isWhole(word, 9001, 0) {
		t.Error("a whole message is not taken for one, or for the next")
	}
	for _, group := range []uint32{0, 1, 2, 130, 65534, Broadcast} {
		for _, other := range []uint32{0, 1, 2, 130, 65534, Broadcast} {
			if m.isWhole(m.word(9000, group), 9000, other) != (group == other) {
				t.Errorf("a message of group %d, read as one of group %d", group, other)
			}
		}
	}
	for bit := range 32 {
		for _, torn := range []Message{{m.Kind ^ 1<<bit, m.A, m.B}, {m.Kind, m.A ^ 1<<bit, m.B}, {m.Kind, m.A, m.B ^ 1<<bit}} {
			if torn.isWhole(word, 9000, 0) {
				t.Errorf("%+v passes for %+v", torn, m)
			}
		}
	}
}

// TestATickTakesWhatWasSentBefore sends between ticks of a session that is busy and
// not idle, and has it do one step: a message takes one tick.
func TestATickTakesWhatWasSentBefore(t *testing.T) {
	f := newFixture(t)
	k, err := Persistence{Groups: 2, Local: 32, FMAs: 1}.Kernel()
	if err != nil {
		t.Fatal(err)
	}
	for _, strategy := range Strategies() {
		s := f.session(k, Options{Strategy: strategy, TickTime: time.Millisecond})
		for i := range uint32(10) {
			if err := s.Send(Message{Kind: 1, A: 5, B: 100 + i}); err != nil {
				t.Fatal(err)
			}
			run(t, s, 1)
			if err := s.Send(Message{Kind: 2, A: 5}); err != nil {
				t.Fatal(err)
			}
			run(t, s, 1)
			if m, ok := s.TryReceive(); !ok || m != (Message{2, 5, 100 + i}) {
				t.Errorf("%v: after the tick there is %+v, %v", strategy, m, ok)
			}
		}
		if n := s.Stats(); n.Ticks != 20 {
			t.Errorf("%v: %d ticks for 20 steps, one at a time", strategy, n.Ticks)
		}
	}
}

// TestWhoWaitsSleeps adds up how often somebody wakes who waits for an answer of a
// persistent kernel, and how late it is seen.
func TestWhoWaitsSleeps(t *testing.T) {
	for _, wait := range []time.Duration{time.Millisecond, 100 * time.Millisecond, 10 * time.Second} {
		naps, at := 0, watchSpin
		for ; at < wait; naps++ {
			at += max(watchPause(at), time.Millisecond) // as good as timers are
		}
		if late := at - wait; late > max(wait/watchShare, time.Millisecond) || late > watchNap {
			t.Errorf("an answer after %v is seen %v late", wait, late)
		}
		if most := 30 + int(wait/watchNap); naps > most {
			t.Errorf("who waits for %v wakes %d times, more than %d", wait, naps, most)
		}
	}
}
