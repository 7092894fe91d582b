//go:build linux

package actors_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/shadercache/shadercache"
	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/resident/actors"
)

// openWorld makes a world on a context of its own; closeAll closes both.
func openWorld(o actors.Options) (world *actors.World, closeAll func()) {
	gpu := must(shadercache.Open(shadercache.Options{Cache: cache.Options{MemoryOnly: true}}))
	world = must(actors.New(context.Background(), gpu.Executor, gpu.Cache, o))
	return world, func() {
		world.Close()
		check(gpu.Close())
	}
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// must returns value, and ends the example on an error.
func must[T any](value T, err error) T {
	check(err)
	return value
}

// counter adds the numbers that it receives.
const counter = `
void ON_MESSAGE(Message m) {
    if (m.kind == 1u) {
        actorSet(0u, actorGet(0u) + m.word[0]);
    } else {
        actorFail(); // until the host restarts it
    }
}
void ON_TICK() {}`

// When a mailbox is full, the sender gets an error for each message that does not fit,
// steps the world, and sends these again: none is lost, and no call blocks.
func ExampleWorld_SendAll() {
	world, done := openWorld(actors.Options{Handlers: []actors.Handler{{Name: "counter", Text: counter}}, Depth: 4})
	defer done()
	ctx := context.Background()
	actor := must(world.Spawn(ctx, "counter"))
	var left []actors.Envelope
	for range 10 {
		left = append(left, actors.Envelope{To: actor, Message: actors.Message{Kind: 1, Words: []uint32{7}}})
	}
	for len(left) > 0 {
		var full []actors.Envelope
		for i, err := range must(world.SendAll(ctx, left...)) {
			if errors.Is(err, actors.ErrFull) {
				full = append(full, left[i])
			} else {
				check(err)
			}
		}
		fmt.Println("no room for", len(full))
		left = full
		must(world.Step(ctx, 1))
	}
	fmt.Println("sum:", must(world.StateWords(ctx, actor))[0])
	// Output:
	// no room for 6
	// no room for 2
	// no room for 0
	// sum: 70
}

// A broadcast reaches all actors that are live in the next tick.
func ExampleWorld_Broadcast() {
	world, done := openWorld(actors.Options{Handlers: []actors.Handler{{Name: "counter", Text: counter}}})
	defer done()
	ctx := context.Background()
	all := must(world.SpawnAll(ctx, "counter", []uint32{100}, []uint32{200}, []uint32{300}))
	check(world.Broadcast(ctx, 1, 5))
	must(world.Step(ctx, 1))
	for _, actor := range all {
		fmt.Println(actor, must(world.StateWords(ctx, actor))[0])
	}
	// Output:
	// 0/0.1 105
	// 0/1.1 205
	// 0/2.1 305
}

// An actor that failed keeps its address, and restarts with the state that it was
// spawned with. The address of an actor that ended stays stale: the next actor in its
// slot has another generation.
func ExampleWorld_Restart() {
	world, done := openWorld(actors.Options{Handlers: []actors.Handler{{Name: "counter", Text: counter}}})
	defer done()
	ctx := context.Background()
	actor := must(world.Spawn(ctx, "counter", 40))
	check(world.Send(ctx, actor, 99)) // a kind that makes it fail
	must(world.Step(ctx, 1))
	fmt.Println(must(world.Query(ctx, actor)).State)

	check(world.Restart(ctx, actor))
	check(world.Send(ctx, actor, 1, 2))
	must(world.Step(ctx, 1))
	info := must(world.Query(ctx, actor))
	fmt.Println(info.State, "restarts:", info.Restarts, "sum:", must(world.StateWords(ctx, actor))[0])

	check(world.Terminate(ctx, actor))
	next := must(world.Spawn(ctx, "counter"))
	fmt.Println(actor, "became", next)
	fmt.Println(world.Restart(ctx, actor))
	// Output:
	// failed
	// live restarts: 1 sum: 42
	// 0/0.1 became 0/0.2
	// actors: restart 0/0.1: no such actor: it has ended
}

// Actors spawn actors: a cell divides in every tick up to an age. New cells run in the
// next tick, whose group count the GPU writes.
func ExampleWorld_Step_spawn() {
	const cell = `
	void ON_MESSAGE(Message m) {}
	void ON_TICK() {
	    uint age = actorGet(0u);
	    if (age < 4u) {
	        actorSet(0u, age + 1u);
	        if (actorSpawn(HANDLER_cell, uvec4(age + 1u, 0u, 0u, 0u)) == uvec2(0u)) {
	            actorSet(0u, age); // no slot is free: divide in the next tick
	        }
	    }
	}`
	world, done := openWorld(actors.Options{Handlers: []actors.Handler{{Name: "cell", Text: cell}}, Slots: 64})
	defer done()
	ctx := context.Background()
	must(world.Spawn(ctx, "cell"))
	for range 5 {
		fmt.Print(must(world.Step(ctx, 1)).Live, " ")
	}
	// Output: 2 4 8 16 16
}

// Actors on different contexts, which may be on different GPUs, send to each other by
// address. The router forwards the messages through the host, after each tick.
func ExampleRouter() {
	const relay = `
	void ON_MESSAGE(Message m) {
	    actorSet(0u, m.word[0]);
	    Message next = actorMessage(1u);
	    next.word[0] = m.word[0] + 1u;
	    actorSend(uvec2(actorGet(2u), actorGet(3u)), next); // ActorFull where the outbox is full
	}
	void ON_TICK() {}`
	var worlds []*actors.World
	for device := range uint8(3) {
		world, done := openWorld(actors.Options{Device: device, Handlers: []actors.Handler{{Name: "relay", Text: relay}}})
		defer done()
		worlds = append(worlds, world)
	}
	router := must(actors.NewRouter(worlds...))
	ctx := context.Background()

	// A chain: each actor sends to the next one, the last one to the host of device 0.
	to := actors.Host(0)
	for i := len(worlds) - 1; i >= 0; i-- {
		x, y := to.Words()
		to = must(worlds[i].Spawn(ctx, "relay", 0, 0, x, y))
	}
	check(worlds[0].Send(ctx, to, 1, 10))
	routes := must(router.Step(ctx, 4))
	fmt.Println(routes.Delivered, "messages between contexts")
	for _, m := range worlds[0].HostMessages() {
		fmt.Println("from", m.From, "the host has", m.Words[0])
	}
	// Output:
	// 3 messages between contexts
	// from 2/0.1 the host has 13
}
