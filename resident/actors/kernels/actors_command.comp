#version 450 core

// actors_command: executes commands of the host between two ticks, one invocation for
// each command.
//
//   binding  buffer   layout
//   0 to 4            actors.glsl
//   5        Commands for each: kind, address (2), message (4 + payload); of a
//                     spawn the message is: handler, -, -, -, four words
//   6        Results  for each: code, address (2)
//
//   grid     x: commands

#include "actors.glsl"
#include "registry.glsl"

#define COMMAND_SEND 0u
#define COMMAND_SPAWN 1u
#define COMMAND_TERMINATE 2u
#define COMMAND_RESTART 3u

#define COMMAND_WORDS (3 + 4 + (ACTOR_PAYLOAD > 4 ? ACTOR_PAYLOAD : 4))

layout(local_size_x = 64) in;

layout(std430, binding = 5) restrict readonly buffer Commands { uint commands[]; };
layout(std430, binding = 6) restrict writeonly buffer Results { uint results[]; };

uniform uint count;  // commands
uniform uint relist; // 1: a sweep lists the live actors again after this

Message messageAt(uint at) {
    Message m;
    m.from = uvec2(commands[at], commands[at + 1u]);
    m.kind = commands[at + 2u];
    for (int w = 0; w < ACTOR_PAYLOAD; ++w) {
        m.word[w] = commands[at + 4u + w];
    }
    return m;
}

// restart sets an actor to its first state and empties its mailbox. Where two commands restart
// one, the first does: a sweep has made what was born before live.
uint restart(uvec2 address) {
    if (!actorValid(address)) {
        return actorStaleAddress();
    }
    uint slot = address.x & 0xffffffu;
    uint state = atomicExchange(slots.at[slot].state, ACTOR_BORN);
    if (state == ACTOR_BORN) {
        return ActorOK;
    }
    uint left = min(mail.count[slot], uint(ACTOR_DEPTH)) + min(mail.count[ACTOR_SLOTS + slot], uint(ACTOR_DEPTH));
    atomicAdd(world.dead, left);
    mail.count[slot] = 0u;
    mail.count[ACTOR_SLOTS + slot] = 0u;
    actorReset(slot);
    if (state == ACTOR_WAITING) {
        atomicAdd(world.barriers[slots.at[slot].barrier].arrived, 0xffffffffu); // minus 1
    }
    slots.at[slot].held = 0u;
    slots.at[slot].restarts += 1u;
    return ActorOK;
}

void main() {
    uint i = gl_GlobalInvocationID.x;
    actorSide = world.tick & 1u; // the side that the next tick reads
    if (i == 0u && relist == 1u) {
        world.live[actorSide] = 0u;
    }
    if (i >= count) {
        return;
    }
    uint at = i * COMMAND_WORDS;
    uint kind = commands[at];
    uvec2 address = uvec2(commands[at + 1u], commands[at + 2u]);
    uint code = ActorOK;
    if (kind == COMMAND_SEND) {
        code = actorRoute(address, messageAt(at + 3u));
    } else if (kind == COMMAND_SPAWN) {
        uint words = at + 7u;
        address = actorClaim(commands[at + 3u], uvec4(commands[words], commands[words + 1u], commands[words + 2u], commands[words + 3u]));
        code = address.y == 0u ? ActorNoSlot : ActorOK;
    } else if (kind == COMMAND_TERMINATE) {
        code = actorEnd(address);
    } else if (kind == COMMAND_RESTART) {
        code = restart(address);
    }
    results[3u * i] = code;
    results[3u * i + 1u] = address.x;
    results[3u * i + 2u] = address.y;
}
