#version 450 core

// actors_order: what the host wants done between two ticks, one invocation for
// each order.
//
//   binding  buffer   layout
//   0 to 4            actors.glsl
//   5        Orders   for each: what, address (2), message (4 + payload); of a
//                     spawn the message is: handler, -, -, -, four words
//   6        Answers  for each: code, address (2)
//
//   grid     x: orders

#include "actors.glsl"
#include "registry.glsl"

#define ORDER_SEND 0u
#define ORDER_SPAWN 1u
#define ORDER_TERMINATE 2u
#define ORDER_RESTART 3u

#define ORDER_WORDS (3 + 4 + (ACTOR_PAYLOAD > 4 ? ACTOR_PAYLOAD : 4))

layout(local_size_x = 64) in;

layout(std430, binding = 5) restrict readonly buffer Orders { uint orders[]; };
layout(std430, binding = 6) restrict writeonly buffer Answers { uint answers[]; };

uniform uint count;  // orders
uniform uint relist; // 1: the list of live actors is made anew after this

Message messageAt(uint at) {
    Message m;
    m.from = uvec2(orders[at], orders[at + 1u]);
    m.kind = orders[at + 2u];
    for (int w = 0; w < ACTOR_PAYLOAD; ++w) {
        m.word[w] = orders[at + 4u + w];
    }
    return m;
}

// restart gives an actor its first state and an empty mailbox.
uint restart(uvec2 who) {
    if (!actorValid(who)) {
        return actorStaleAddress();
    }
    uint slot = who.x & 0xffffffu;
    uint left = min(mail.count[slot], uint(ACTOR_DEPTH)) + min(mail.count[ACTOR_SLOTS + slot], uint(ACTOR_DEPTH));
    atomicAdd(world.dead, left);
    mail.count[slot] = 0u;
    mail.count[ACTOR_SLOTS + slot] = 0u;
    actorReset(slot);
    if (slots.at[slot].state == ACTOR_WAITING) {
        atomicAdd(world.barriers[slots.at[slot].barrier].arrived, 0xffffffffu); // minus 1
    }
    slots.at[slot].restarts += 1u;
    slots.at[slot].state = ACTOR_BORN;
    return ActorOK;
}

void main() {
    uint i = gl_GlobalInvocationID.x;
    actorSide = world.tick & 1u; // what the coming tick reads
    if (i == 0u && relist == 1u) {
        world.live[actorSide] = 0u;
    }
    if (i >= count) {
        return;
    }
    uint at = i * ORDER_WORDS;
    uint what = orders[at];
    uvec2 who = uvec2(orders[at + 1u], orders[at + 2u]);
    uint code = ActorOK;
    if (what == ORDER_SEND) {
        code = actorRoute(who, messageAt(at + 3u));
    } else if (what == ORDER_SPAWN) {
        uint words = at + 7u;
        who = actorClaim(orders[at + 3u], uvec4(orders[words], orders[words + 1u], orders[words + 2u], orders[words + 3u]));
        code = who.y == 0u ? ActorNoSlot : ActorOK;
    } else if (what == ORDER_TERMINATE) {
        code = actorEnd(who);
    } else if (what == ORDER_RESTART) {
        code = restart(who);
    }
    answers[3u * i] = code;
    answers[3u * i + 1u] = who.x;
    answers[3u * i + 2u] = who.y;
}
