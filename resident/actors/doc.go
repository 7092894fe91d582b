// Package actors runs actors on the GPU: a registry of them, mailboxes, and
// handlers in GLSL.
//
// A World has slots. An actor has a slot with a state of a few words and a
// mailbox, and a handler: the code that gets its messages. Actors and the host
// spawn and terminate actors, send, broadcast, request and reply.
//
// # Ticks
//
// Everything happens in ticks. In a tick each live actor gets the messages that
// were sent to it in the tick before, then runs once. A tick is three dispatches,
// and many ticks are issued at once:
//
//	tick   one invocation for each live actor; the GPU itself wrote their number
//	sweep  those who ended leave their slots, those who were spawned become live
//	plan   counts, and writes the next tick's group count: nobody live, no group
//
// What an actor does is seen in the next tick: messages, spawned actors, freed
// slots, opened barriers. So no actor ever waits for another within a tick, which
// GL would not promise to end, and what is counted and received does not depend
// on the order in which actors run. Only the order of messages from different
// senders does.
//
// # Addresses
//
// An address is device, slot and generation. A slot's generation grows when its
// actor ends, so that an old address is stale: sending to it is an error code,
// and counted. Of invocations that spawn side by side each gets a slot of its
// own: they draw from the list of free slots, and a slot is claimed by compare
// and swap. Slots come back between ticks only, when nobody draws.
//
// # Back-pressure
//
// Mailboxes, the outbox to the host and other devices, and the broadcasts of a
// tick are bounded. Where there is no room the sender gets ActorFull and keeps
// the message. Messages that are left when their receiver ends are counted as
// dead letters: sent = handled + dead + still in a mailbox.
//
// # Handlers in GLSL
//
// A Handler's text defines two functions, under these names:
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
//	uint actorBroadcast(Message m)                         to all who are live in the next tick, but itself
//	uvec2 actorSpawn(uint handler, uvec4 words)            address, or uvec2(0) where no slot is free
//	uint actorTerminate(uvec2 who), void actorExit()
//	void actorFail()                                       stops until the host restarts it
//	uint actorArrive(uint barrier)                         does not run until all have arrived; last thing in ON_TICK
//	uint actorOpened(uint barrier)                         how many times it opened
//	void actorAdvance(), uint actorEpoch()                 neighbourhood barriers: the own epoch,
//	bool actorMayAdvance(uvec2 neighbour)                  and whether a neighbour's was as far in the tick before
//
// Handlers see HANDLER_ and BARRIER_ with the names from Options. Their own
// functions and storage blocks, from binding ACTOR_FIRST_BINDING on, must have
// names that no other handler uses. All loops need a bound: some drivers end an
// invocation's loops silently after 65,535 turns, messages included.
//
// # Between devices
//
// A Router passes messages between the worlds of several contexts, through the
// host: they arrive in the next tick too. GL has no other way between GPUs.
package actors
