#version 450 core

// actors_tick: every live actor receives its messages, then runs once.
//
//   binding  buffer   layout
//   0 to 4            actors.glsl
//   5...              storage blocks of the handlers
//
//   grid     x: live actors, one invocation each

#include "actors.glsl"
#include "registry.glsl"
#include "resident_loops.glsl"

// Invocations in a group.
#ifndef ACTOR_LOCAL
#define ACTOR_LOCAL 64
#endif

// Kinds of actors: handler0.glsl and those that follow it.
#ifndef ACTOR_HANDLERS
#define ACTOR_HANDLERS 1
#endif

#define ACTOR_FIRST_BINDING 5

layout(local_size_x = ACTOR_LOCAL) in;

uint actorSlot = 0u;
uint actorGeneration = 0u;
bool actorStopped = false; // the actor runs no more in this tick

uvec2 actorSelf() { return uvec2(actorAddress(actorSlot), actorGeneration); }
uint actorTick() { return world.tick; }
uint actorBorn() { return slots.at[actorSlot].born; }
uint actorGet(uint i) { return states.word[actorSlot * ACTOR_STATE_WORDS + i]; }
void actorSet(uint i, uint v) { states.word[actorSlot * ACTOR_STATE_WORDS + i] = v; }

Message actorMessage(uint kind) {
    Message m;
    m.from = actorSelf();
    m.kind = kind;
    for (int w = 0; w < ACTOR_PAYLOAD; ++w) {
        m.word[w] = 0u;
    }
    return m;
}

uint actorSend(uvec2 to, Message m) {
    m.from = actorSelf();
    return actorRoute(to, m);
}

uint actorReply(Message to, Message m) { return actorSend(to.from, m); }

uint actorBroadcast(Message m) {
    m.from = actorSelf();
    return actorToAll(m);
}

uvec2 actorSpawn(uint handler, uvec4 words) { return actorClaim(handler, words); }

uint actorTerminate(uvec2 address) { return actorEnd(address); }

// actorStop changes the state from live, and returns false where another actor has
// ended this one already.
bool actorStop(uint state) {
    actorStopped = true;
    return atomicCompSwap(slots.at[actorSlot].state, ACTOR_LIVE, state) == ACTOR_LIVE;
}

void actorExit() { actorStop(ACTOR_ENDING); }

void actorFail() {
    if (actorStop(ACTOR_FAILED)) {
        atomicAdd(world.failed, 1u);
    }
}

uint actorArrive(uint barrier) {
    if (barrier >= uint(ACTOR_BARRIERS) || world.barriers[barrier].parties == 0u) {
        return actorStaleAddress();
    }
    slots.at[actorSlot].barrier = barrier;
    memoryBarrierBuffer(); // actorEnd reads barrier after it has seen ACTOR_WAITING
    if (actorStop(ACTOR_WAITING)) {
        // actorEnd subtracts this arrival again, possibly before it is added: so the
        // number may be below 0.
        int before = int(atomicAdd(world.barriers[barrier].arrived, 1u));
        if (before >= int(world.barriers[barrier].parties)) {
            atomicAdd(world.overArrived, 1u);
        }
    }
    return ActorOK;
}

uint actorOpened(uint barrier) { return barrier < uint(ACTOR_BARRIERS) ? world.barriers[barrier].opened : 0u; }

void actorAdvance() { slots.at[actorSlot].epoch += 1u; }
uint actorEpoch() { return slots.at[actorSlot].epoch; }

// actorMayAdvance reports whether a neighbour had reached the epoch of this actor when
// the tick began. It is true for one that has ended.
bool actorMayAdvance(uvec2 neighbour) {
    return !actorValid(neighbour) || slots.at[neighbour.x & 0xffffffu].seenEpoch >= actorEpoch();
}

#define ON_MESSAGE actorMessage0
#define ON_TICK actorTick0
#include "handler0.glsl"
#undef ON_MESSAGE
#undef ON_TICK
#if ACTOR_HANDLERS > 1
#define ON_MESSAGE actorMessage1
#define ON_TICK actorTick1
#include "handler1.glsl"
#undef ON_MESSAGE
#undef ON_TICK
#endif
#if ACTOR_HANDLERS > 2
#define ON_MESSAGE actorMessage2
#define ON_TICK actorTick2
#include "handler2.glsl"
#undef ON_MESSAGE
#undef ON_TICK
#endif
#if ACTOR_HANDLERS > 3
#define ON_MESSAGE actorMessage3
#define ON_TICK actorTick3
#include "handler3.glsl"
#undef ON_MESSAGE
#undef ON_TICK
#endif
#if ACTOR_HANDLERS > 4
#define ON_MESSAGE actorMessage4
#define ON_TICK actorTick4
#include "handler4.glsl"
#undef ON_MESSAGE
#undef ON_TICK
#endif
#if ACTOR_HANDLERS > 5
#define ON_MESSAGE actorMessage5
#define ON_TICK actorTick5
#include "handler5.glsl"
#undef ON_MESSAGE
#undef ON_TICK
#endif
#if ACTOR_HANDLERS > 6
#define ON_MESSAGE actorMessage6
#define ON_TICK actorTick6
#include "handler6.glsl"
#undef ON_MESSAGE
#undef ON_TICK
#endif
#if ACTOR_HANDLERS > 7
#define ON_MESSAGE actorMessage7
#define ON_TICK actorTick7
#include "handler7.glsl"
#undef ON_MESSAGE
#undef ON_TICK
#endif

void actorHandle(Message m) {
    switch (slots.at[actorSlot].handler) {
        case 0u: actorMessage0(m); break;
#if ACTOR_HANDLERS > 1
        case 1u: actorMessage1(m); break;
#endif
#if ACTOR_HANDLERS > 2
        case 2u: actorMessage2(m); break;
#endif
#if ACTOR_HANDLERS > 3
        case 3u: actorMessage3(m); break;
#endif
#if ACTOR_HANDLERS > 4
        case 4u: actorMessage4(m); break;
#endif
#if ACTOR_HANDLERS > 5
        case 5u: actorMessage5(m); break;
#endif
#if ACTOR_HANDLERS > 6
        case 6u: actorMessage6(m); break;
#endif
#if ACTOR_HANDLERS > 7
        case 7u: actorMessage7(m); break;
#endif
    }
}

void actorRun() {
    switch (slots.at[actorSlot].handler) {
        case 0u: actorTick0(); break;
#if ACTOR_HANDLERS > 1
        case 1u: actorTick1(); break;
#endif
#if ACTOR_HANDLERS > 2
        case 2u: actorTick2(); break;
#endif
#if ACTOR_HANDLERS > 3
        case 3u: actorTick3(); break;
#endif
#if ACTOR_HANDLERS > 4
        case 4u: actorTick4(); break;
#endif
#if ACTOR_HANDLERS > 5
        case 5u: actorTick5(); break;
#endif
#if ACTOR_HANDLERS > 6
        case 6u: actorTick6(); break;
#endif
#if ACTOR_HANDLERS > 7
        case 7u: actorTick7(); break;
#endif
    }
}

// actorRead reads a message, and reports whether it was published.
bool actorRead(uint at, out Message m) {
    m.from = uvec2(mail.word[at], mail.word[at + 1u]);
    m.kind = mail.word[at + 2u];
    for (int w = 0; w < ACTOR_PAYLOAD; ++w) {
        m.word[w] = mail.word[at + 4u + w];
    }
    bool published = mail.word[at + 3u] == 1u;
    mail.word[at + 3u] = 0u;
    return published;
}

void actorReadBroadcast(uint at, out Message m) {
    m.from = uvec2(post.broadcastWord[at], post.broadcastWord[at + 1u]);
    m.kind = post.broadcastWord[at + 2u];
    for (int w = 0; w < ACTOR_PAYLOAD; ++w) {
        m.word[w] = post.broadcastWord[at + 4u + w];
    }
}

// actorBroadcasts handles the broadcasts of the tick before, and returns their number.
uint actorBroadcasts(uint side) {
    uint n = min(post.broadcasts[side], uint(ACTOR_BROADCASTS));
    uint handled = 0u;
    for (uint i = 0u; i < n && !actorStopped; ++i) {
        Message m;
        actorReadBroadcast((side * ACTOR_BROADCASTS + i) * ACTOR_MESSAGE_WORDS, m);
        if (m.from != actorSelf()) {
            actorHandle(m);
            ++handled;
        }
    }
    return handled;
}

// actorMailbox handles the messages of the tick before, empties that side of the
// mailbox, and returns their number.
uint actorMailbox(uint side) {
    uint box = side * ACTOR_SLOTS + actorSlot;
    uint n = min(mail.count[box], uint(ACTOR_DEPTH));
    uint handled = 0u;
    for (uint i = 0u; i < n && !actorStopped; ++i) {
        Message m;
        ++handled;
        if (actorRead((box * ACTOR_DEPTH + i) * ACTOR_MESSAGE_WORDS, m)) {
            actorHandle(m);
        } else {
            atomicAdd(world.unpublished, 1u); // must not happen: the host returns an error
        }
    }
    mail.count[box] = 0u;
    if (handled < n) {
        atomicAdd(world.dead, n - handled);
    }
    atomicAdd(world.handled, handled);
    return handled;
}

void main() {
    uint side = world.tick & 1u;
    uint i = gl_GlobalInvocationID.x;
    if (i >= world.live[side]) {
        return;
    }
    actorSide = 1u - side;
    actorSlot = world.liveSlots[side * ACTOR_SLOTS + i];
    actorGeneration = slots.at[actorSlot].generation;
    uint handled = actorBroadcasts(side);
    handled += actorMailbox(side ^ slots.at[actorSlot].swapped);
    if (!actorStopped) {
        actorRun();
    }
    slots.at[actorSlot].handled += handled;
    slots.at[actorSlot].heartbeat = world.tick;
    if (!residentLoopsKept()) {
        atomicOr(world.loopsCut, 1u);
    }
}
