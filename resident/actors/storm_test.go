//go:build linux

package actors

import (
	"testing"

	"github.com/shadercache/shadercache/executor"
	"github.com/shadercache/shadercache/job"
)

// peers returns a buffer for n addresses, the storage block peers[i] of handlers.
func (f *fixture) peers(n int) *executor.Buffer[uint32] {
	f.T.Helper()
	b, err := executor.BufferOf(f.Executor, make([]uint32, 2*n))
	if err != nil {
		f.T.Fatal(err)
	}
	f.T.Cleanup(b.Release)
	return b
}

// spawnPeers spawns n actors with their numbers in word 1, and stores their addresses in
// peers.
func (w testWorld) spawnPeers(handler string, n int, peers *executor.Buffer[uint32]) []Address {
	w.t.Helper()
	first := make([][]uint32, n)
	for i := range first {
		first[i] = []uint32{0, uint32(i)}
	}
	all, err := w.SpawnAll(w.t.Context(), handler, first...)
	if err != nil {
		w.t.Fatal(err)
	}
	var words []uint32
	for _, a := range all {
		x, y := a.Words()
		words = append(words, x, y)
	}
	if err := peers.Upload(w.t.Context(), 0, words); err != nil {
		w.t.Fatal(err)
	}
	return all
}

// stormText sends two messages a tick, to receivers that depend on the tick. Words 0: sum
// of the values received, 1: number, 2: their xor, 3: sum of the values refused, 4: sum
// of the values sent.
const stormText = `
layout(std430, binding = 5) readonly buffer Peers { uvec2 peers[]; };

uint value(uint id, uint tick) { return (id * 2654435761u) ^ (tick * 40503u); }

void to(uint receiver, uint v) {
    Message m = actorMessage(1u);
    m.word[0] = v;
    m.word[3] = ~v;
    if (actorSend(peers[receiver % uint(peers.length())], m) != ActorOK) {
        actorSet(3u, actorGet(3u) + v);
    } else {
        actorSet(4u, actorGet(4u) + v);
    }
}

void ON_MESSAGE(Message m) {
    if (m.kind == 1u && m.word[3] == ~m.word[0]) {
        actorSet(0u, actorGet(0u) + m.word[0]);
        actorSet(2u, actorGet(2u) ^ (m.word[0] + (m.from.x & 0xffffffu)));
    }
}

void ON_TICK() {
    uint id = actorGet(1u);
    if (actorTick() < uint(LAST_TICK)) {
        to(id * uint(SPREAD) + actorTick() * 7u + 3u, value(id, actorTick()));
        to(id + 1u, value(id, actorTick()) >> 3);
    }
}`

// storm is stormText on the CPU.
func storm(addresses []Address, ticks, last int) (sums, xors []uint32) {
	n := len(addresses)
	sums, xors = make([]uint32, n), make([]uint32, n)
	type message struct {
		to, from int
		v        uint32
	}
	var mail []message
	for tick := range ticks {
		var next []message
		for _, m := range mail {
			sums[m.to] += m.v
			xors[m.to] ^= m.v + addresses[m.from].Slot
		}
		if tick < last {
			for id := range n {
				v := uint32(id)*2654435761 ^ uint32(tick)*40503
				next = append(next, message{(id*5 + tick*7 + 3) % n, id, v}, message{(id + 1) % n, id, v >> 3})
			}
		}
		mail = next
	}
	return sums, xors
}

func TestMessagesMatchTheCPU(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	const n, ticks = 97, 40 // prime, so that receivers of a tick differ
	peers := f.peers(n)
	w := f.world(Options{
		Handlers: []Handler{{Name: "storm", Text: "#define LAST_TICK 1000\n#define SPREAD 5\n" + stormText}},
		Slots:    128, Memory: []job.Bound{peers.BindReadOnly(5)},
	})
	all := w.spawnPeers("storm", n, peers)
	w.step(17) // in parts of other sizes than a submission
	r := w.step(ticks - 17)
	sums, xors := storm(all, ticks, 1000)
	for i, a := range all {
		got := w.words(a)
		if got[0] != sums[i] || got[2] != xors[i] || got[3] != 0 {
			t.Fatalf("actor %d has %#x, should have sum %#x, xor %#x, nothing refused", i, got[:4], sums[i], xors[i])
		}
	}
	if want := uint64(2 * n * ticks); r.Sent != want || r.Handled != want-2*n || r.Full != 0 {
		t.Errorf("report %+v, %d should be sent", r, want)
	}
	w.balanced()
}

// All actors send to a few, whose mailboxes are always full: each message is received
// once, or refused with a code for the sender.
func TestNoMessageIsLostUnderPressure(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	const n, last = 97, 20
	peers := f.peers(n)
	w := f.world(Options{
		Handlers: []Handler{{Name: "storm", Text: "#define LAST_TICK 20\n#define SPREAD 0\n" + stormText}},
		Slots:    128, Memory: []job.Bound{peers.BindReadOnly(5)},
	})
	all := w.spawnPeers("storm", n, peers)
	r := w.step(last + 1) // the last tick receives the messages of the one before
	var got, accepted, refused, sent uint32
	for i, a := range all {
		words := w.words(a)
		got += words[0]
		refused += words[3]
		accepted += words[4]
		for tick := range last {
			v := uint32(i)*2654435761 ^ uint32(tick)*40503
			sent += v + v>>3
		}
	}
	if got != accepted || accepted+refused != sent {
		t.Errorf("sent %#x, accepted %#x, received %#x, refused %#x", sent, accepted, got, refused)
	}
	if r.Full == 0 || r.Sent+r.Full != 2*n*last || r.Handled != r.Sent {
		t.Errorf("report %+v", r)
	}
	w.balanced()
}

// treeText grows a binary tree: an inner node spawns two children, and exits. Words 0:
// levels below, 1: number of the node, 2: children so far.
const treeText = `
layout(std430, binding = 5) buffer Visits { uint visits[]; };
void ON_MESSAGE(Message m) {}
void ON_TICK() {
    uint node = actorGet(1u);
    if (actorTick() == actorBorn()) {
        atomicAdd(visits[node], 1u);
    }
    for (uint c = actorGet(2u); c < 2u && actorGet(0u) > 0u; ++c) {
        if (actorSpawn(HANDLER_tree, uvec4(actorGet(0u) - 1u, 2u * node + c, 0u, 0u)) == uvec2(0u)) {
            return; // no slot: again in the next tick
        }
        actorSet(2u, c + 1u);
    }
    actorExit();
}`

func TestActorsSpawnActors(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	const levels, nodes = 6, 127
	for _, slots := range []int{128, 40} { // 64 leaves do not fit into 40
		visits := f.peers(64)
		w := f.world(Options{Handlers: []Handler{{Name: "tree", Text: treeText}}, Slots: slots, Memory: []job.Bound{visits.Bind(5)}})
		w.spawn("tree", levels, 1)
		r := w.step(1)
		if r.Live != 2 {
			t.Errorf("%d live after the first tick", r.Live)
		}
		for r.Live > 0 && r.Tick < 100 {
			r = w.step(4)
		}
		if r.Spawned != nodes || r.Ended != nodes || r.Free != slots {
			t.Errorf("%d slots: report %+v", slots, r)
		}
		if (r.NoSlot > 0) != (slots == 40) {
			t.Errorf("%d slots: %d spawns found none", slots, r.NoSlot)
		}
		got := make([]uint32, 128)
		if err := visits.Download(t.Context(), 0, got); err != nil {
			t.Fatal(err)
		}
		for i, n := range got {
			if want := uint32(min(i, 1)); n != want {
				t.Errorf("%d slots: node %d was visited %d times", slots, i, n)
			}
		}
		w.balanced()
		w.Close()
	}
}
