// actors.glsl: declarations of all kernels of a world.
//
//   binding  buffer   layout
//   0        World    counts, lists of slots, barriers
//   1        Slots    slots x 16 words; an actor writes its own, others only the state
//   2        Mail     counts, then 2 x slots x depth messages
//   3        States   slots x words
//   4        Post     outbox, then 2 x broadcasts
//
// Mail and Post are double-buffered: in tick t, side t % 2 is read and the other one
// written. Messages to an actor that waits at a barrier stay on one side, in their order:
// it is the one that would be read next, so the sides of its slot are swapped in each tick.

#ifndef ACTOR_SLOTS
#define ACTOR_SLOTS 1024
#endif

// Words of a state, and of a message without sender and kind.
#ifndef ACTOR_STATE_WORDS
#define ACTOR_STATE_WORDS 16
#endif
#ifndef ACTOR_PAYLOAD
#define ACTOR_PAYLOAD 4
#endif

// Messages of a mailbox, broadcasts of a tick, messages of the outbox.
#ifndef ACTOR_DEPTH
#define ACTOR_DEPTH 16
#endif
#ifndef ACTOR_BROADCASTS
#define ACTOR_BROADCASTS 4
#endif
#ifndef ACTOR_OUTBOX
#define ACTOR_OUTBOX 256
#endif

#define ACTOR_MESSAGE_WORDS (4 + ACTOR_PAYLOAD)
#define ACTOR_ENVELOPE_WORDS (2 + ACTOR_MESSAGE_WORDS)
#define ACTOR_BARRIERS 32

#define ACTOR_FREE 0u
#define ACTOR_BORN 1u    // live in the next tick
#define ACTOR_LIVE 2u
#define ACTOR_ENDING 3u  // its slot becomes free after this tick
#define ACTOR_WAITING 4u // at a barrier
#define ACTOR_FAILED 5u

#define ActorOK 0u
#define ActorFull 1u
#define ActorStale 2u
#define ActorNoSlot 3u
#define ActorElsewhere 4u

#define ACTOR_SLOT_HOST 0xffffffu
#define ACTOR_SLOT_ALL 0xfffffeu

struct Message {
    uvec2 from;
    uint kind;
    uint word[ACTOR_PAYLOAD];
};

struct ActorSlot {
    uint state;
    uint generation;
    uint handler;
    uint handled;
    uint heartbeat; // the last tick that it ran in
    uint born;      // its first tick
    uint restarts;
    uint epoch;     // of neighbourhood barriers
    uint seenEpoch; // epoch at the end of the tick before
    uint barrier;   // that it waits at
    uint held;      // 1: it waits since before this tick
    uint swapped;   // 1: its sides of Mail are swapped
    uint first[4];  // words that it was spawned with
};

struct ActorBarrier {
    uint parties;
    uint arrived;
    uint opened;
    uint unused;
};

layout(std430, binding = 0) coherent restrict buffer World {
    uint tick;
    uint live[2]; // actors in each list
    int free;     // slots in the list of free ones
    uint tickGroups[4];
    uint unusedTick[8];
    uint sent;
    uint handled;
    uint full;
    uint stale;
    uint spawned;
    uint noSlot;
    uint ended;
    uint dead;
    uint failed;
    uint broadcast;
    uint overArrived;
    uint unpublished;
    uint claimedTwice;
    uint loopsCut; // 1: the driver ended a loop early
    uint unusedCounts[2];
    ActorBarrier barriers[ACTOR_BARRIERS];
    uint liveSlots[2 * ACTOR_SLOTS];
    uint freeSlots[ACTOR_SLOTS];
} world;

// Without a size, because some drivers link a block with many structures for seconds.
layout(std430, binding = 1) coherent restrict buffer Slots { ActorSlot at[]; } slots;

layout(std430, binding = 2) coherent restrict buffer Mail {
    uint count[2 * ACTOR_SLOTS];
    uint word[];
} mail;

layout(std430, binding = 3) restrict buffer States { uint word[]; } states;

layout(std430, binding = 4) coherent restrict buffer Post {
    uint outbox;        // messages
    uint broadcasts[2]; // messages
    uint unused[13];
    uint outgoing[ACTOR_OUTBOX * ACTOR_ENVELOPE_WORDS];
    uint broadcastWord[2 * ACTOR_BROADCASTS * ACTOR_MESSAGE_WORDS];
} post;

uniform uint actorDevice;

uint actorAddress(uint slot) { return slot | actorDevice << 24; }
