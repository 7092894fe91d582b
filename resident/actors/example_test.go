//go:build linux

package actors_test

import (
	"context"
	"fmt"
	"log"

	"github.com/shadercache/shadercache"
	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/resident/actors"
)

// account keeps a balance in its first word, and replies with it on request.
const account = `
const uint PAY = 1u, ASK = 2u, BALANCE = 3u;
void ON_MESSAGE(Message m) {
    if (m.kind == PAY) {
        actorSet(0u, actorGet(0u) + m.word[0]);
    } else if (m.kind == ASK) {
        Message answer = actorMessage(BALANCE);
        answer.word[0] = actorGet(0u);
        actorReply(m, answer);
    }
}
void ON_TICK() {}`

// The host spawns an actor, sends messages to it, and requests a reply.
func Example() {
	gpu, err := shadercache.Open(shadercache.Options{Cache: cache.Options{MemoryOnly: true}})
	if err != nil {
		log.Fatal(err)
	}
	defer gpu.Close()

	ctx := context.Background()
	world, err := actors.New(ctx, gpu.Executor, gpu.Cache, actors.Options{Handlers: []actors.Handler{{Name: "account", Text: account}}})
	if err != nil {
		log.Fatal(err)
	}
	defer world.Close()
	actor, err := world.Spawn(ctx, "account", 100)
	if err != nil {
		log.Fatal(err)
	}
	const pay, ask = 1, 2
	for _, amount := range []uint32{5, 10, 15} {
		if err := world.Send(ctx, actor, pay, amount); err != nil {
			log.Fatal(err)
		}
	}
	reply, err := world.Request(ctx, actor, ask)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("balance:", reply.Words[0])

	if err := world.Terminate(ctx, actor); err != nil {
		log.Fatal(err)
	}
	fmt.Println(world.Send(ctx, actor, pay, 1))
	// Output:
	// balance: 130
	// actors: send to 0/0.1: no such actor: it has ended
}
