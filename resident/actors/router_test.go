//go:build linux

package actors

import (
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
