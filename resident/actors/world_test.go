//go:build linux

package actors

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/shadercache/shadercache/resident/residenttest"
	"github.com/shadercache/shadercache/shader"
)

// counterText adds the numbers that it receives. Word 0: sum, 1: messages, 2: ticks,
// 3: as spawned, 4: sum of the senders' slots.
const counterText = `
void ON_MESSAGE(Message m) {
    switch (m.kind) {
    case 1u: actorSet(0u, actorGet(0u) + m.word[0]); break;
    case 2u: actorExit(); break;
    case 3u: actorFail(); break;
    case 4u: {
        Message answer = actorMessage(40u);
        answer.word[0] = actorGet(0u);
        answer.word[1] = m.word[0];
        actorReply(m, answer);
        break;
    }
    }
    actorSet(1u, actorGet(1u) + 1u);
    actorSet(4u, actorGet(4u) + (m.from.x & 0xffffffu));
}
void ON_TICK() { actorSet(2u, actorGet(2u) + 1u); }`

var counter = Handler{Name: "counter", Text: counterText}

func TestActorFromSpawnToEnd(t *testing.T) {
	t.Parallel()
	w := newFixture(t).world(Options{Handlers: []Handler{counter}, Slots: 8})
	if r := w.step(3); r.Live != 0 || r.Tick != 3 || r.Free != 8 {
		t.Errorf("an empty world: %+v", r)
	}
	a := w.spawn("counter", 100, 0, 0, 7)
	if a != (Address{0, 0, 1}) {
		t.Errorf("address %v", a)
	}
	if info := w.query(a); info.State != Live || info.Handler != "counter" || info.Born != 3 || info.Handled != 0 {
		t.Errorf("after spawn: %+v", info)
	}
	w.send(a, 1, 11)
	w.send(a, 1, 22)
	if info := w.query(a); info.Waiting != 2 {
		t.Errorf("after send: %+v", info)
	}
	if r := w.step(4); r.Live != 1 || r.Sent != 2 || r.Handled != 2 {
		t.Errorf("report %+v", r)
	}
	if got := w.words(a)[:4]; !slices.Equal(got, []uint32{133, 2, 4, 7}) {
		t.Errorf("state %v", got)
	}
	if info := w.query(a); info.Handled != 2 || info.Heartbeat != 6 || info.Waiting != 0 {
		t.Errorf("after steps: %+v", info)
	}
	w.balanced()
	if err := w.Terminate(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	_, err := w.Query(t.Context(), a)
	wantIs(t, err, ErrStale)
	wantIs(t, w.Send(t.Context(), a, 1), ErrStale)
	wantIs(t, w.Terminate(t.Context(), a), ErrStale)
	wantIs(t, w.Restart(t.Context(), a), ErrStale)
	b := w.spawn("counter")
	if b != (Address{0, 0, 2}) {
		t.Errorf("address %v in a slot that was used", b)
	}
	wantIs(t, w.Send(t.Context(), a, 1), ErrStale)
	r := w.step(1)
	if r.Stale != 4 || r.Spawned != 2 || r.Ended != 1 || r.Live != 1 {
		t.Errorf("report %+v", r)
	}
	if got := w.words(b)[:4]; !slices.Equal(got, []uint32{0, 0, 1, 0}) {
		t.Errorf("state %v of the next actor", got)
	}
	w.balanced()
}

func TestActorExits(t *testing.T) {
	t.Parallel()
	w := newFixture(t).world(Options{Handlers: []Handler{counter}, Slots: 8})
	a, b := w.spawn("counter"), w.spawn("counter")
	w.send(a, 2)
	w.send(a, 1, 5) // never handled
	r := w.step(1)
	if r.Live != 1 || r.Ended != 1 || r.Dead != 1 || r.Handled != 1 {
		t.Errorf("report %+v", r)
	}
	wantIs(t, w.Send(t.Context(), a, 1), ErrStale)
	if got := w.words(b)[2]; got != 1 {
		t.Errorf("the other one ran %d times", got)
	}
	w.balanced()
}

func TestFailedActorIsRestarted(t *testing.T) {
	t.Parallel()
	w := newFixture(t).world(Options{Handlers: []Handler{counter}, Slots: 8})
	a := w.spawn("counter", 50)
	w.send(a, 1, 1)
	w.step(2)
	w.send(a, 3)
	if r := w.step(3); r.Live != 0 || r.Failed != 1 {
		t.Errorf("report %+v", r)
	}
	if info := w.query(a); info.State != Failed || info.Heartbeat != 2 {
		t.Errorf("%+v", info)
	}
	w.send(a, 1, 9) // the restart discards it
	if err := w.Restart(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	w.send(a, 1, 3)
	r := w.step(2)
	if r.Live != 1 || r.Dead != 1 {
		t.Errorf("report %+v", r)
	}
	if got := w.words(a)[:3]; !slices.Equal(got, []uint32{53, 1, 2}) {
		t.Errorf("state %v", got)
	}
	if info := w.query(a); info.Restarts != 1 || info.State != Live || info.Handled != 1 {
		t.Errorf("%+v", info)
	}
	w.balanced()
}

func TestFullMailboxReturnsErrFull(t *testing.T) {
	t.Parallel()
	w := newFixture(t).world(Options{Handlers: []Handler{counter}, Slots: 8, Depth: 3})
	a := w.spawn("counter")
	var all []Envelope
	for i := range 70 {
		all = append(all, Envelope{a, Message{Kind: 1, Words: []uint32{1 << i % 32}}})
	}
	errs, err := w.SendAll(t.Context(), all...)
	if err != nil {
		t.Fatal(err)
	}
	taken := 0
	for _, err := range errs {
		if err == nil {
			taken++
		} else if !errors.Is(err, ErrFull) {
			t.Errorf("error is %v", err)
		}
	}
	if info := w.query(a); info.Waiting != 3 {
		t.Errorf("%d messages in a mailbox for 3", info.Waiting)
	}
	if r := w.step(1); taken != 3 || r.Full != 67 || r.Handled != 3 {
		t.Errorf("%d taken, report %+v", taken, r)
	}
	w.send(a, 1, 1)
	w.balanced()
}

func TestBroadcasts(t *testing.T) {
	t.Parallel()
	// A caller broadcasts in its second tick, and counts the messages that it receives.
	const caller = `
	void ON_MESSAGE(Message m) { actorSet(1u, actorGet(1u) + 1u); }
	void ON_TICK() {
	    if (actorTick() == actorBorn() + 1u) {
	        Message m = actorMessage(1u);
	        m.word[0] = 1000u;
	        actorSet(2u, actorBroadcast(m) + 1u);
	    }
	}`
	w := newFixture(t).world(Options{Handlers: []Handler{counter, {Name: "caller", Text: caller}}, Slots: 300, Broadcasts: 2})
	words := make([][]uint32, 200)
	for i := range words {
		words[i] = []uint32{uint32(i)}
	}
	all, err := w.SpawnAll(t.Context(), "counter", words...)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range []uint32{10, 20} {
		if err := w.Broadcast(t.Context(), 1, v); err != nil {
			t.Fatal(err)
		}
	}
	wantIs(t, w.Broadcast(t.Context(), 1, 40), ErrFull)
	c := w.spawn("caller")
	w.step(1) // receives the broadcasts of the host
	late := w.spawn("counter")
	w.step(2) // sends the broadcast of the caller, and receives it
	for i, a := range all {
		if got := w.words(a)[:2]; got[0] != uint32(i)+1030 || got[1] != 3 {
			t.Fatalf("actor %d has %v", i, got)
		}
	}
	if got := w.words(c); got[1] != 2 || got[2] != 1 {
		t.Errorf("the caller has %v, not 2 messages of the host and ActorOK", got[:3])
	}
	if got := w.words(late); got[0] != 1000 {
		t.Errorf("the actor spawned later has %v", got[:3])
	}
	if r := w.Report(); r.Broadcast != 3 || r.Full != 1 {
		t.Errorf("report %+v", r)
	}
}

func TestRequests(t *testing.T) {
	t.Parallel()
	w := newFixture(t).world(Options{Handlers: []Handler{counter}, Slots: 8, RequestTicks: 5})
	a := w.spawn("counter", 77)
	reply, err := w.Request(t.Context(), a, 4, 123)
	if err != nil {
		t.Fatal(err)
	}
	if reply.From != a || reply.Kind != 40 || reply.Words[0] != 77 || reply.Words[1] != 123 {
		t.Errorf("reply %+v", reply)
	}
	if r := w.Report(); r.Tick != 1 {
		t.Errorf("a reply took %d ticks", r.Tick)
	}
	_, err = w.Request(t.Context(), a, 1, 1) // handles it without a reply
	wantIs(t, err, ErrNoReply)
	w.send(a, 4, 5) // the reply is a message to the host, which has no request open
	w.step(2)
	messages := w.HostMessages()
	if len(messages) != 1 || messages[0].From != a || messages[0].Words[1] != 5 {
		t.Errorf("messages %+v", messages)
	}
	if again := w.HostMessages(); len(again) != 0 {
		t.Errorf("messages again: %+v", again)
	}
}

// Messages to the host that it does not fetch fill the outbox, and sending then fails. Short
// ones come with the report of a tick, long ones on their own.
func TestOutboxIsBounded(t *testing.T) {
	t.Parallel()
	const writer = `
	void ON_MESSAGE(Message m) {}
	void ON_TICK() {
	    Message m = actorMessage(9u);
	    m.word[ACTOR_PAYLOAD - 1] = actorGet(0u) + 7u;
	    uint code = actorSend(uvec2(0xffffffu, 1u), m);
	    actorSet(code, actorGet(code) + 1u);
	}`
	f := newFixture(t)
	for _, payload := range []int{4, 60} {
		w := f.world(Options{Handlers: []Handler{{Name: "writer", Text: writer}}, Slots: 8, Outbox: 6, Payload: payload})
		a := w.spawn("writer")
		first := uint32(7)
		fetch := func() {
			t.Helper()
			all := w.HostMessages()
			if len(all) != 6 {
				t.Errorf("%d messages", len(all))
			}
			for i, m := range all {
				if m.From != a || m.Kind != 9 || m.Words[payload-1] != first {
					t.Errorf("message %d: %+v, want %d", i, m, first)
				}
				first++
			}
		}
		w.step(10) // more messages than the outbox holds, in one submission
		if got := w.words(a); got[0] != 6 || got[1] != 4 {
			t.Errorf("codes %v, not 6 sent", got[:2])
		}
		for range 10 {
			w.step(1)
		}
		if got := w.words(a); got[0] != 12 || got[1] != 8 {
			t.Errorf("codes %v, not 6 on the host and 6 in the outbox", got[:2])
		}
		fetch()
		w.step(1)
		fetch()
	}
}

func TestHandlersAreReplaced(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	w := f.world(Options{Handlers: []Handler{counter}, Slots: 8})
	a := w.spawn("counter", 5)
	w.step(1)
	const other = `
	void ON_MESSAGE(Message m) { actorSet(0u, actorGet(0u) * m.word[0]); }
	void ON_TICK() {}`
	if err := w.SetHandlers(t.Context(), Handler{Name: "multiplier", Text: other}, counter); err != nil {
		t.Fatal(err)
	}
	w.send(a, 1, 6)
	w.step(2)
	if got := w.words(a); got[0] != 30 || got[2] != 1 {
		t.Errorf("state %v", got[:3])
	}
	if got := w.query(a).Handler; got != "multiplier" {
		t.Errorf("handler %s", got)
	}
	compiles := f.GPU.Counters().Compiles
	if err := w.SetHandlers(t.Context(), counter); err != nil {
		t.Fatal(err)
	}
	w.step(1)
	if n := f.GPU.Counters().Compiles - compiles; n != 0 {
		t.Errorf("%d compiles for handlers that are in the cache", n)
	}
	var compile *shader.CompileError
	if err := w.SetHandlers(t.Context(), Handler{Name: "broken", Text: "nonsense"}); !errors.As(err, &compile) {
		t.Errorf("error is %v", err)
	}
	if got := w.words(a)[2]; got != 2 {
		t.Errorf("%d ticks", got)
	}
	w.step(1) // with the previous handlers
	if got := w.words(a)[2]; got != 3 {
		t.Errorf("%d ticks", got)
	}
}

// Ticks are submitted together, three dispatches each, without host work in between.
func TestTickIsThreeDispatches(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	w := f.world(Options{Handlers: []Handler{counter}, Slots: 8})
	w.spawn("counter")
	before := f.GPU.Counters()
	w.step(50)
	after := f.GPU.Counters()
	if n := after.Dispatches - before.Dispatches; n != 150 {
		t.Errorf("%d dispatches for 50 ticks", n)
	}
	if after.Readbacks != before.Readbacks || after.Finishes != before.Finishes {
		t.Errorf("stepping read back or finished: %+v, then %+v", before, after)
	}
}

func TestInvalidArguments(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for text, o := range map[string]Options{
		"0 handlers":                        {},
		`two handlers have the name "a"`:    {Handlers: []Handler{{Name: "a"}, {Name: "a"}}},
		"a new actor has 4 words":           {Handlers: []Handler{counter}, StateWords: 3},
		"Options.Slots is -1":               {Handlers: []Handler{counter}, Slots: -1},
		`barrier "x" has 0 parties`:         {Handlers: []Handler{counter}, Barriers: []Barrier{{"x", 0}}},
		"not a name that can be defined":    {Handlers: []Handler{{Name: "no name", Text: counterText}}},
		"Options.Outbox is 5000, it may be": {Handlers: []Handler{counter}, Outbox: 5000},
	} {
		_, err := New(t.Context(), f.Executor, f.Cache, o)
		residenttest.WantError(t, err, text)
	}
	w := f.world(Options{Handlers: []Handler{counter}, Slots: 2})
	_, err := w.Spawn(t.Context(), "unknown")
	residenttest.WantError(t, err, `no handler "unknown"`)
	_, err = w.Spawn(t.Context(), "counter", 1, 2, 3, 4, 5)
	residenttest.WantError(t, err, "5 words for a new actor")
	all, err := w.SpawnAll(t.Context(), "counter", nil, nil, nil)
	wantIs(t, err, ErrNoSlot)
	if len(all) != 3 || slices.Index(all, Address{}) < 0 || w.Report().NoSlot != 1 || w.Report().Spawned != 2 {
		t.Errorf("addresses %v, report %+v", all, w.Report())
	}
	residenttest.WantError(t, w.Send(t.Context(), all[0], 1, make([]uint32, 5)...), "5 words: at most 4 are possible")
	wantIs(t, w.Send(t.Context(), Address{3, 0, 1}, 1), ErrElsewhere)
	wantIs(t, w.Terminate(t.Context(), Address{3, 0, 1}), ErrElsewhere)
	wantIs(t, w.Send(t.Context(), Address{0, 99, 1}, 1), ErrStale)
	wantIs(t, w.Send(t.Context(), Address{}, 1), ErrStale)
	_, err = w.Query(t.Context(), Address{0, 99, 1})
	wantIs(t, err, ErrStale)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = w.Step(ctx, 1)
	wantIs(t, err, context.Canceled)
	w.Close()
	_, err = w.Step(t.Context(), 1)
	wantIs(t, err, errClosed)
	wantIs(t, w.Send(t.Context(), Address{0, 0, 1}, 1), errClosed)
	if got := fmt.Sprint(Address{}, Host(2), Address{1, 2, 3}); got != "no actor host of device 2 1/2.3" {
		t.Error(got)
	}
}
