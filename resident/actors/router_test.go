//go:build linux

package actors

import (
	"context"
	"testing"

	"github.com/shadercache/shadercache/resident/residenttest"
)

// pingText replies with the number that it receives plus 1. Words 0: the last number,
// 1: messages, 2: the code of a send.
const pingText = `
void ON_MESSAGE(Message m) {
    actorSet(0u, m.word[0]);
    actorSet(1u, actorGet(1u) + 1u);
    if (m.kind == 7u) {
        Message next = actorMessage(7u);
        next.word[0] = m.word[0] + 1u;
        actorReply(m, next);
    }
    if (m.kind == 8u) { // to the address in the message
        Message next = actorMessage(7u);
        next.word[0] = m.word[2];
        actorSet(2u, actorSend(uvec2(m.word[0], m.word[1]), next));
    }
}
void ON_TICK() {}`

func TestRouterBetweenTwoContexts(t *testing.T) {
	t.Parallel()
	f, g := newFixture(t), newFixture(t)
	handlers := []Handler{{Name: "ping", Text: pingText}}
	here := f.world(Options{Device: 1, Handlers: handlers, Slots: 8, Depth: 2})
	there := g.world(Options{Device: 2, Handlers: handlers, Slots: 8, Depth: 2})
	r, err := NewRouter(here.World, there.World)
	if err != nil {
		t.Fatal(err)
	}
	step := func(n int) Routes {
		t.Helper()
		routes, err := r.Step(t.Context(), n)
		if err != nil {
			t.Fatal(err)
		}
		return routes
	}
	a, b := here.spawn("ping"), there.spawn("ping")
	if a.Device != 1 || b.Device != 2 {
		t.Fatalf("addresses %v and %v", a, b)
	}
	x, y := b.Words()
	here.send(a, 8, x, y, 100) // a sends 100 to b, which replies, and so on
	before := f.Executor.Stats().Jobs + g.Executor.Stats().Jobs
	routes := step(11)
	// A job for each tick of each world, and one for the message after the last.
	if n := f.Executor.Stats().Jobs + g.Executor.Stats().Jobs - before; n != 2*11+1 {
		t.Errorf("%d jobs for 11 steps", n)
	}
	if routes.Delivered != 11 || routes.Stale+routes.Unknown+routes.Retried != 0 {
		t.Errorf("routes %+v", routes)
	}
	// a sends 100 in tick 0; b receives 100, 102, ... in ticks 1, 3, ..., a the others.
	if got := here.words(a); got[0] != 109 || got[1] != 6 {
		t.Errorf("here: %v", got[:3])
	}
	if got := there.words(b); got[0] != 108 || got[1] != 5 {
		t.Errorf("there: %v", got[:3])
	}

	// An actor that has ended, and a device without a world.
	if err := there.Terminate(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	here.send(a, 8, x, y, 5)
	here.send(a, 8, 9<<24, 1, 5)
	routes = step(3)
	if routes.Stale != 1 || routes.Unknown != 1 {
		t.Errorf("routes %+v", routes)
	}

	// A full mailbox: the router sends again.
	c := there.spawn("ping")
	x, y = c.Words()
	a2 := here.spawn("ping")
	there.send(c, 1, 1)
	for _, from := range []Address{a, a2} {
		here.send(from, 8, x, y, 5)
	}
	if _, err := here.Step(t.Context(), 1); err != nil { // both are in the outbox, c has had no tick
		t.Fatal(err)
	}
	there.send(c, 1, 2)
	if err := r.forward(t.Context()); err != nil {
		t.Fatal(err)
	}
	if r.routes.Retried != 2 || r.routes.Waiting != 2 {
		t.Errorf("routes %+v", r.routes)
	}
	if routes = step(2); routes.Waiting != 0 {
		t.Errorf("routes %+v", routes)
	}
	step(1)
	if got := there.words(c)[1]; got < 4 {
		t.Errorf("the actor with the full mailbox received %d messages", got)
	}
	here.balanced()
	there.balanced()

	_, err = NewRouter(here.World, here.World)
	residenttest.WantError(t, err, "two worlds have the device 1")
	other := f.world(Options{Device: 3, Handlers: handlers, Slots: 8, Depth: 2, Payload: 6})
	_, err = NewRouter(here.World, other.World)
	residenttest.WantError(t, err, "messages of device 3 have 6 words")
}

// endsAfter ends after its error was asked for n times.
type endsAfter struct {
	context.Context
	n int
}

func (e *endsAfter) Err() error {
	if e.n--; e.n < 0 {
		return context.Canceled
	}
	return nil
}

// TestRouterSendsOnceWhatArrived has a context end between two submissions of messages.
func TestRouterSendsOnceWhatArrived(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	const n = maxCommands + 76
	w := f.world(Options{Device: 1, Slots: n, Handlers: []Handler{{Name: "count", Text: `
void ON_MESSAGE(Message m) { actorSet(0u, actorGet(0u) + 1u); }
void ON_TICK() {}
`}}})
	all, err := w.SpawnAll(t.Context(), "count", make([][]uint32, n)...)
	if err != nil {
		t.Fatal(err)
	}
	r, err := NewRouter(w.World)
	if err != nil {
		t.Fatal(err)
	}
	for name, send := range map[string]func(context.Context) error{
		"forward": r.forward,
		"step": func(ctx context.Context) error {
			return r.stepWorlds(ctx, r.collect())
		},
	} {
		before := r.routes.Delivered
		for _, a := range all {
			r.retries = append(r.retries, Envelope{a, Message{From: Address{0, 1, 1}, Kind: 1}})
		}
		wantIs(t, send(&endsAfter{t.Context(), 1}), context.Canceled)
		if r.routes.Delivered-before != maxCommands || r.routes.Waiting != n-maxCommands {
			t.Errorf("%s: %+v", name, r.routes)
		}
		routes, err := r.Step(t.Context(), 2)
		if err != nil {
			t.Fatal(err)
		}
		if routes.Delivered-before != n || routes.Waiting != 0 {
			t.Errorf("%s: %+v", name, routes)
		}
		w.balanced()
	}
	for _, a := range all {
		if got := w.words(a)[0]; got != 2 {
			t.Errorf("%v got %d messages, not 2", a, got)
			break
		}
	}
}

// TestMessagesThatNothingRoutes has an actor send to a device, of a world without a router: replies
// and messages to the host do not wait for them.
func TestMessagesThatNothingRoutes(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	w := f.world(Options{Outbox: 4, Handlers: []Handler{{Name: "lost", Text: `
void ON_MESSAGE(Message m) { actorReply(m, actorMessage(9u)); }
void ON_TICK() { actorSend(uvec2(5u << 24, 1u), actorMessage(1u)); }
`}}})
	a := w.spawn("lost")
	for range 3 {
		for range 6 {
			w.step(1)
		}
		if reply, err := w.Request(t.Context(), a, 1); err != nil || reply.Kind != 9 {
			t.Fatalf("%+v, %v", reply, err)
		}
	}
}
