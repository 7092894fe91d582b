// Package actors runs actors on the GPU: a registry of actors, mailboxes, and message
// handlers in GLSL.
//
// It stands beside package resident because it has the same purpose, work that stays
// on the GPU, but it needs no session: it imports package executor, not resident.
//
// A World has slots. An actor occupies a slot, with a state of a few words, a mailbox,
// and a handler: the code that processes its messages. Actors and the host spawn and
// terminate actors, send, broadcast, request and reply.
//
// # Ticks
//
// Time passes in ticks. In a tick each live actor receives the messages that were sent
// to it in the tick before, then runs once. A tick is three dispatches, and many ticks
// are submitted at once:
//
//	tick   one invocation for each live actor, whose number the GPU itself wrote
//	sweep  frees the slots of ended actors, and makes spawned actors live
//	plan   counts, and writes the group count of the next tick: 0 without live actors
//
// The effects of an actor are visible in the next tick: messages, spawned actors, freed
// slots, opened barriers. So no actor waits for another within a tick, for which GL
// would not promise progress, and counts and messages do not depend on the order in
// which actors run. Only the order of messages from different senders does.
//
// # Addresses
//
// An address is device, slot and generation. The generation of a slot increases when
// its actor ends, which makes the address stale: sending to it returns an error code,
// and is counted. Concurrent spawns get different slots: each takes one from the list
// of free slots, and claims it by compare and swap. Slots are freed between ticks only,
// when no actor spawns.
//
// # Back-pressure
//
// Mailboxes, the outbox to the host and other devices, and the broadcasts of a tick are
// bounded. Where there is no room the sender gets ActorFull and keeps the message.
// Messages in the mailbox of an actor that ends are counted as dead letters:
// sent = handled + dead + in mailboxes.
//
// # Handlers in GLSL
//
// The text of a Handler defines two functions, under these names:
//
//	void ON_MESSAGE(Message m)   for each message
//	void ON_TICK()               in each tick, after its messages
//
// Message has uvec2 from, uint kind and uint word[ACTOR_PAYLOAD]. They may call
//
//	uint actorGet(uint i), void actorSet(uint i, uint v)   words of the state
//	uvec2 actorSelf()                                      address
//	uint actorTick(), uint actorBorn()                     this tick, and the actor's first
//	Message actorMessage(uint kind)                        with words of 0
//	uint actorSend(uvec2 to, Message m)                    ActorOK, ActorFull or ActorStale; to the
//	                                                       host: uvec2(device << 24 | 0xffffffu, 1u)
//	uint actorReply(Message to, Message m)
//	uint actorBroadcast(Message m)                         to all actors live in the next tick, except itself
//	uvec2 actorSpawn(uint handler, uvec4 words)            address, or uvec2(0) where no slot is free
//	uint actorTerminate(uvec2 address), void actorExit()
//	void actorFail()                                       stops until the host restarts it
//	uint actorArrive(uint barrier)                         does not run until all have arrived; the last
//	                                                       call in ON_TICK
//	uint actorOpened(uint barrier)                         number of times that it opened
//	void actorAdvance(), uint actorEpoch()                 neighbourhood barriers: the epoch of this actor,
//	bool actorMayAdvance(uvec2 neighbour)                  and whether the neighbour had reached it in the
//	                                                       tick before
//
// Handlers can use HANDLER_ and BARRIER_ with the names of Options. Their own functions
// and storage blocks, from binding ACTOR_FIRST_BINDING on, must have names that no
// other handler uses. All loops need a bound, and Handler.Loops declares it: llvmpipe
// silently ends the loops of an invocation after 65,535 turns, which include those over
// its messages. Step returns resident.ErrLoopLimit where that happened.
//
// # Between devices
//
// A Router forwards messages between the worlds of several contexts, through the host:
// they also arrive in the next tick. GL has no other way between GPUs. A world without one
// drops messages to other devices beyond the last Options.Outbox.
package actors
