//go:build linux

package resident

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shadercache/shadercache/resident/internal/wire"
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
		burst := min(1+i%wire.InboxLength, n-i)
		for j := range burst {
			if err := s.Send(Message{Kind: 7, A: i + j, B: ^(i + j)}); err != nil {
				t.Fatalf("message %d: %v", i+j, err)
			}
		}
		for range burst {
			m, err := s.Receive(ctx)
			if err != nil {
				t.Fatalf("answer %d: %v", i, err)
			}
			if m != (Message{Kind: 7, A: i*3 + 1, B: ^i}) {
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
	if err := s.Deliver(ctx, Message{Kind: 1, A: 2, B: 3}); err != nil {
		t.Fatal(err)
	}
	// The kernel has taken the message, and answers within the same step.
	if m, err := s.Receive(ctx); err != nil || m != (Message{Kind: 1, A: 7, B: 3}) {
		t.Errorf("answer to the delivered message: %v, %v", m, err)
	}
	if m, ok := s.TryReceive(); ok {
		t.Errorf("an unexpected message: %v", m)
	}
	if _, err := s.Stop(ctx); err != nil {
		t.Fatal(err)
	}
}

// TestFullInboxesRefuseMessages fills the inbox of a session that does not run.
func TestFullInboxesRefuseMessages(t *testing.T) {
	f := newFixture(t)
	s := f.session(echoKernel(), quick)
	for i := range wire.InboxLength {
		if err := s.Send(Message{A: uint32(i)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Send(Message{}); !errors.Is(err, ErrInboxFull) {
		t.Fatalf("message %d: %v", wire.InboxLength, err)
	}
	if err := s.Start(0); err != nil {
		t.Fatal(err)
	}
	for i := range uint32(wire.InboxLength) {
		if m, err := s.Receive(t.Context()); err != nil || m.A != 3*i+1 {
			t.Fatalf("answer %d: %v, %v", i, m, err)
		}
	}
}

// A session that was idle is not any more when a message is sent, before the kernel has it.
func TestIdleAfterAMessage(t *testing.T) {
	f := newFixture(t)
	s := f.session(Echo(1), quick)
	must(t, s.Start(0))
	must(t, s.WaitIdle(t.Context()))
	sum := uint32(0)
	for i := range uint32(20) {
		must(t, s.Send(Message{Kind: 1, A: i}))
		must(t, s.WaitIdle(t.Context()))
		sum += i
		if got := words(t, s, "Sums", 1)[0]; got != sum {
			t.Fatalf("after message %d the sum is %d, not %d", i, got, sum)
		}
		_, err := s.Receive(t.Context())
		must(t, err)
	}
}

// The memory of a session that is closed is not written: another one may have it.
func TestStopAfterClose(t *testing.T) {
	f := newFixture(t)
	s := f.session(echoKernel(), quick)
	run(t, s, 1)
	must(t, s.Close())
	s.mail.words = make(wire.Shared, len(s.mail.words))
	_, _ = s.Stop(t.Context())
	if word := s.mail.words.Load(wire.AtDoorbell); word != 0 {
		t.Errorf("the doorbell is %#x", word)
	}
}

// TestIdleSessionsCostNothing counts the dispatches, polls and sleeps of an idle session
// that is started, and the dispatches of a message.
//
// Ticks end when the kernel is idle, also where the kernel would see messages.
func TestIdleSessionsCostNothing(t *testing.T) {
	f := newFixture(t)
	o := quick
	o.Capabilities = claimed
	o.Budget = 64 // so that a message fits into a dispatch, whatever the step time
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
	if !eventually(s.run.sleeping.Load) {
		t.Fatal("the scheduler does not sleep")
	}
	before, stats := f.context.Counters(), s.Stats()
	time.Sleep(50 * time.Millisecond)
	if n := f.context.Counters().Dispatches - before.Dispatches; n != 0 || s.Stats() != stats || !s.run.sleeping.Load() {
		t.Errorf("%d dispatches of an idle session; %+v", n, s.Stats())
	}
	if err := s.Deliver(t.Context(), Message{A: 1}); err != nil {
		t.Fatal(err)
	}
	if n := f.context.Counters().Dispatches - before.Dispatches; n != 1 {
		t.Errorf("%d dispatches for a message, not 1", n)
	}
}

// TestATickTakesWhatWasSentBefore sends messages between runs of one step: each is taken
// in the next tick.
func TestATickTakesWhatWasSentBefore(t *testing.T) {
	f := newFixture(t)
	k := Persistence{Groups: 2, Local: 32, FMAs: 1}.Kernel()
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
			if m, ok := s.TryReceive(); !ok || m != (Message{Kind: 2, A: 5, B: 100 + i}) {
				t.Errorf("%v: after the tick it receives %+v, %v", strategy, m, ok)
			}
		}
		if n := s.Stats(); n.Ticks != 20 {
			t.Errorf("%v: %d ticks for 20 steps, one at a time", strategy, n.Ticks)
		}
	}
}

// testMailbox returns a mailbox without a kernel.
func testMailbox(groups uint32, persistent bool) *mailbox {
	c := &config{kernel: Kernel{Groups: groups}}
	if persistent {
		c.mode.Actual = Persistent
	}
	return &mailbox{words: make(wire.Shared, wire.SharedWords), config: c, run: newRunState(0)}
}

// answer puts message number n of group 0 into the outbox, as a kernel does.
func (m *mailbox) answer(n uint32, message Message) {
	at := wire.AtOutbox + wire.OutboxWords*int((n-1)%wire.OutboxLength)
	m.words.WriteMessage(at, wire.Message(message), wire.Message(message).Word(n))
}

// TestAnswersBetweenTicksAreSeenSoon has an answer come at the first poll, without the end of a
// tick, and none at all.
func TestAnswersBetweenTicksAreSeenSoon(t *testing.T) {
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	for name, c := range map[string]struct {
		ctx    context.Context
		during bool
		answer int // the poll at which it is there
		want   bool
	}{
		"during a tick":           {t.Context(), true, 1, true},
		"no answer":               {t.Context(), true, 1 << 30, false},
		"cancelled":               {cancelled, true, 1, false},
		"ticks that show nothing": {t.Context(), false, 1, false},
	} {
		m, polls := testMailbox(1, false), 0
		m.config.caps = Capabilities{HostWritesSeen: c.during, KernelWritesSeen: c.during}
		got := m.nap(c.ctx, func() bool { polls++; return polls == c.answer })
		if got != c.want || c.want && polls != c.answer || (polls > 0) != (c.during && c.ctx.Err() == nil) {
			t.Errorf("%s: %v after %d polls", name, got, polls)
		}
	}
	visible := config{caps: Capabilities{HostWritesSeen: true, KernelWritesSeen: true}}
	hidden, unseen, synchronous := visible, visible, visible
	hidden.caps.HostWritesSeen = false
	unseen.caps.KernelWritesSeen = false
	synchronous.synchronous = true
	for c, want := range map[*config]bool{&visible: true, &hidden: false, &unseen: false, &synchronous: false} {
		if got := c.answersDuring(); got != want {
			t.Errorf("%+v: answers during a dispatch: %v", c, got)
		}
	}
}

// TestWaitingSleeps waits for the answer of a persistent kernel, with simulated time, and
// for that of a kernel in ticks, which notify.
func TestWaitingSleeps(t *testing.T) {
	for _, persistent := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			m := testMailbox(1, persistent)
			began, polls := time.Now(), 0
			time.AfterFunc(10*time.Second, func() {
				m.answer(1, Message{Kind: 1, A: 2, B: 3})
				if !persistent {
					m.run.notify()
				}
			})
			err := m.waitAsleep(t.Context(), func() bool {
				polls++
				_, ok := m.tryReceive()
				return ok
			})
			late := time.Since(began) - 10*time.Second
			if err != nil || late < 0 || late > 5*time.Millisecond || polls > 2100 || !persistent && (polls != 2 || late > 0) {
				t.Errorf("persistent %v: after %d polls, %v late, %v", persistent, polls, late, err)
			}
		})
	}
}

// TestWaitingEndsWithItsReason cancels the context, closes the session and has it fail.
func TestWaitingEndsWithItsReason(t *testing.T) {
	never := func() bool { return false }
	for want, end := range map[error]func(m *mailbox, cancel func()){
		context.Canceled: func(_ *mailbox, cancel func()) { cancel() },
		errClosed:        func(m *mailbox, _ func()) { m.run.markClosed(); m.run.notify() },
		ErrStuck:         func(m *mailbox, _ func()) { m.run.setFailure(ErrStuck) },
	} {
		synctest.Test(t, func(t *testing.T) {
			m := testMailbox(1, false)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			time.AfterFunc(time.Second, func() { end(m, cancel) })
			if err := m.waitAsleep(ctx, never); !errors.Is(err, want) {
				t.Errorf("the wait ends with %v, not %v", err, want)
			}
		})
	}
}

// TestStopRequestsKeepTheDoorbell requests stops between messages.
func TestStopRequestsKeepTheDoorbell(t *testing.T) {
	m := testMailbox(2, false)
	for n := uint32(1); n <= 3; n++ {
		if number, err := m.send(Message{A: n, Group: n % 2}); err != nil || number != n {
			t.Fatalf("message %d got number %d, %v", n, number, err)
		}
		word := m.words.Load(wire.AtDoorbell)
		m.requestStop()
		if got := m.words.Load(wire.AtDoorbell); got != word|wire.StopBit {
			t.Errorf("control word %#x after a stop request, %#x before", got, word)
		}
		if !m.clearStop() || m.clearStop() {
			t.Error("a stop request is not reported once")
		}
		if got := m.words.Load(wire.AtDoorbell); got != word || m.unread() != n {
			t.Errorf("control word %#x, %d messages unread", got, m.unread())
		}
	}
}
