//go:build linux

package actors

import (
	"testing"

	"github.com/shadercache/shadercache/executor"
	"github.com/shadercache/shadercache/job"
)

// phaseText counts down some ticks in each phase and waits at its end. Words 0: ticks
// left, 1: number, 2: phase, 3: waits.
const phaseText = `
void ON_MESSAGE(Message m) {}
void ON_TICK() {
    if (actorGet(3u) == 1u) {
        actorSet(3u, 0u);
        actorSet(2u, actorGet(2u) + 1u);
        actorSet(0u, (actorGet(1u) * (actorGet(2u) + 3u)) % 5u);
        actorSet(5u, actorOpened(BARRIER_phase));
    }
    if (actorGet(0u) > 0u) {
        actorSet(0u, actorGet(0u) - 1u);
        return;
    }
    actorSet(3u, 1u);
    actorArrive(BARRIER_phase);
}`

// phases is phaseText on the CPU: the phase after some ticks, and whether it waits.
func phases(n, ticks int) (phase []uint32, waits []bool) {
	phase, waits = make([]uint32, n), make([]bool, n)
	work := make([]uint32, n)
	for range ticks {
		arrived := 0
		for i := range n {
			if waits[i] {
				arrived++
				continue
			}
			if work[i] > 0 {
				work[i]--
				continue
			}
			waits[i] = true
			arrived++
		}
		if arrived == n {
			for i := range n {
				waits[i] = false
				phase[i]++ // which the actor sees when it runs next
				work[i] = uint32(i) * (phase[i] + 3) % 5
			}
		}
	}
	return phase, waits
}

func TestNamedBarrierHoldsUntilAllHaveArrived(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	const n = 11
	w := f.world(Options{
		Handlers: []Handler{{Name: "phase", Text: phaseText}}, Slots: 128,
		Barriers: []Barrier{{"other", 2}, {"phase", n}},
	})
	var all []Address
	for i := range n {
		all = append(all, w.spawn("phase", 0, uint32(i)))
	}
	for tick := 1; tick <= 30; tick++ {
		r := w.step(1)
		wantPhase, wantWaits := phases(n, tick)
		waiting := 0
		for i, a := range all {
			info := w.query(a)
			if wantWaits[i] {
				waiting++
			}
			if (info.State == Waiting) != wantWaits[i] || wantWaits[i] && info.Barrier != "phase" {
				t.Fatalf("tick %d: actor %d is %v at %q", tick, i, info.State, info.Barrier)
			}
			// An actor sees that the barrier has opened when it runs next.
			got := w.words(a)
			seen := got[2] + got[3]
			if info.State == Waiting {
				seen = got[2]
			}
			if seen != wantPhase[i] || got[5] != got[2] {
				t.Fatalf("tick %d: actor %d is in phase %d of %d, state %v", tick, i, seen, wantPhase[i], got[:6])
			}
		}
		if r.Live != n-waiting || r.TooMany != 0 {
			t.Fatalf("tick %d: report %+v, %d wait", tick, r, waiting)
		}
	}
	if phase, _ := phases(n, 30); phase[0] < 5 {
		t.Errorf("only %d phases", phase[0])
	}
}

// An actor that ends or is restarted while it waits no longer counts as arrived.
func TestBarrierDiscountsEndedActors(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	w := f.world(Options{Handlers: []Handler{{Name: "phase", Text: phaseText}}, Slots: 128, Barriers: []Barrier{{"phase", 2}}})
	a := w.spawn("phase")
	w.step(1)
	if err := w.Terminate(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	b := w.spawn("phase")
	w.step(2)
	if err := w.Restart(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	w.step(2)
	if got := w.query(b); got.State != Waiting {
		t.Errorf("with one of two parties the actor is %v", got.State)
	}
	c := w.spawn("phase")
	w.step(1)
	if got := w.query(b); got.State != Live {
		t.Errorf("with two parties the actor is %v", got.State)
	}
	w.step(1)
	if got := w.words(c); got[2] != 1 || got[5] != 1 {
		t.Errorf("state %v", got[:6])
	}
	w.balanced()
}

// neighbourText computes the value of epoch e+1 from the values of both neighbours in
// epoch e and the number of the actor. The first three actors are slow. Word 1: number,
// 3: idle ticks.
const neighbourText = `
layout(std430, binding = 5) readonly buffer Peers { uvec2 peers[]; };
layout(std430, binding = 6) coherent buffer Values { uint values[]; }; // of even epochs, then of odd ones
void ON_MESSAGE(Message m) {}
void ON_TICK() {
    uint n = uint(peers.length());
    uint id = actorGet(1u);
    uint epoch = actorEpoch();
    uint left = (id + n - 1u) % n, right = (id + 1u) % n;
    bool busy = id < 3u && actorTick() % 4u != 0u;
    if (busy || epoch == uint(LAST_EPOCH) || !actorMayAdvance(peers[left]) || !actorMayAdvance(peers[right])) {
        actorSet(3u, actorGet(3u) + 1u);
        return;
    }
    uint now = epoch % 2u * n, next = n - now;
    values[next + id] = values[now + left] * 3u + values[now + right] + id;
    actorAdvance();
}`

func TestNeighbourhoodBarriers(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	const n, last = 13, 20
	peers := f.peers(n)
	start := make([]uint32, 2*n)
	for i := range n {
		start[i] = uint32(i*i + 1)
	}
	values, err := executor.BufferOf(f.Executor, start)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(values.Release)
	w := f.world(Options{
		Handlers: []Handler{{Name: "neighbour", Text: "#define LAST_EPOCH 20\n" + neighbourText}}, Slots: 128,
		Memory: []job.Bound{peers.BindReadOnly(5), values.Bind(6)},
	})
	all := w.spawnPeers("neighbour", n, peers)
	apart := false
	for done := 0; done < n && w.Report().Tick < 300; {
		w.step(1)
		registry, err := w.Registry(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		epochs := map[Address]uint32{}
		for _, info := range registry {
			epochs[info.Address] = info.Epoch
		}
		done = 0
		for i, a := range all {
			ahead := int(epochs[a]) - int(epochs[all[(i+1)%n]])
			if ahead < -1 || ahead > 1 {
				t.Fatalf("neighbours are %d epochs apart", ahead)
			}
			apart = apart || int(epochs[a])-int(epochs[all[(i+n/2)%n]]) > 1
			if epochs[a] == last {
				done++
			}
		}
	}
	if !apart {
		t.Error("all actors were in the same epoch: nothing was tested")
	}
	want := start[:n]
	for range last {
		next := make([]uint32, n)
		for i := range next {
			next[i] = want[(i+n-1)%n]*3 + want[(i+1)%n] + uint32(i)
		}
		want = next
	}
	got := make([]uint32, 2*n)
	if err := values.Download(t.Context(), 0, got); err != nil {
		t.Fatal(err)
	}
	for i := range want { // the last epoch is even
		if got[i] != want[i] {
			t.Errorf("value %d is %d, not %d", i, got[i], want[i])
		}
	}
}

// orderedWorld has receivers, words 0: tick in which it arrives at a barrier, 1: messages, from 2
// on: their kinds; and senders, words 1 and 2: receiver, to which it sends in each tick.
func (f *fixture) orderedWorld() testWorld {
	return f.world(Options{StateWords: 64, Barriers: []Barrier{{"meet", 2}}, Handlers: []Handler{{Name: "receiver", Text: `
void ON_MESSAGE(Message m) { uint n = actorGet(1u); actorSet(2u + n, m.kind); actorSet(1u, n + 1u); }
void ON_TICK() { if (actorTick() == actorGet(0u)) { actorArrive(BARRIER_meet); } }
`}, {Name: "sender", Text: `
void ON_MESSAGE(Message m) {}
void ON_TICK() { actorSend(uvec2(actorGet(1u), actorGet(2u)), actorMessage(2u * actorTick() + 1u)); }
`}}})
}

// ordered has the host send before each of some ticks, and checks that a receiver got its messages
// and those of a sender, which is spawned with it, in their order.
func (w testWorld) ordered(to Address, ticks int, what ...any) {
	w.t.Helper()
	x, y := to.Words()
	w.spawn("sender", 0, x, y)
	first := 2*w.Report().Tick + 1
	w.step(1)
	for range ticks {
		w.send(to, 2*w.Report().Tick)
		w.step(1)
	}
	got := w.words(to)
	wrong := got[1] != 2*uint32(ticks)
	for i, kind := range got[2 : 2+got[1]] {
		wrong = wrong || kind != first+uint32(i)
	}
	if wrong {
		w.t.Errorf("%v: the messages arrived as %d", what, got[2:2+got[1]])
	}
	w.balanced()
}

// TestMessagesKeepTheirOrderAtABarrier has the host and an actor send to one that waits at a
// barrier for some ticks, before and after.
func TestMessagesKeepTheirOrderAtABarrier(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for waits := range uint32(6) {
		w := f.orderedWorld()
		a := w.spawn("receiver", 3)
		w.spawn("receiver", 3+waits)
		w.ordered(a, 13, "ticks at the barrier: ", waits)
	}
}

// TestSlotsOfWaitingActorsAreUsedAgain ends and restarts an actor that waits.
func TestSlotsOfWaitingActorsAreUsedAgain(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for ticks := range 3 {
		w := f.orderedWorld()
		a := w.spawn("receiver", 0)
		w.step(1 + ticks)
		if err := w.Terminate(t.Context(), a); err != nil {
			t.Fatal(err)
		}
		b := w.spawn("receiver", 99)
		if b.Slot != a.Slot {
			t.Fatalf("slot %d, not %d", b.Slot, a.Slot)
		}
		w.ordered(b, 3, "ended after ticks: ", ticks)
		w = f.orderedWorld()
		a = w.spawn("receiver", 0)
		w.step(1 + ticks)
		if err := w.Restart(t.Context(), a); err != nil {
			t.Fatal(err)
		}
		w.ordered(a, 3, "restarted after ticks: ", ticks)
	}
}

// TestRestartsOfOneCallAreOne restarts an actor that waits at a barrier twice at a time.
func TestRestartsOfOneCallAreOne(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	w := f.world(Options{Barriers: []Barrier{{"meet", 3}}, Handlers: []Handler{{Name: "actor", Text: `
void ON_MESSAGE(Message m) {}
void ON_TICK() {
    actorSet(1u, actorOpened(BARRIER_meet));
    if (actorGet(0u) == 1u && actorTick() == 0u) { actorArrive(BARRIER_meet); }
}
`}}})
	a, other := w.spawn("actor", 1), w.spawn("actor", 0)
	w.step(1)
	w.send(a, 1)
	if err := w.Restart(t.Context(), a, a); err != nil {
		t.Fatal(err)
	}
	w.step(2)
	if opened := w.words(other)[1]; opened != 0 || w.Report().Dead != 1 {
		t.Errorf("the barrier opened %d times without its parties; %+v", opened, w.Report())
	}
	w.balanced()
}
