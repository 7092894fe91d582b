#version 450 core

// actors_plan: ends a tick: opens barriers, and writes the group count of the next
// tick. One invocation for each barrier. It empties the outbox into the report, if its
// messages fit there.
//
//   binding  buffer   layout
//   0 to 4            actors.glsl
//   7        Report   counters for the host
//
//   grid     one group

#include "actors.glsl"

#ifndef ACTOR_LOCAL
#define ACTOR_LOCAL 64
#endif

layout(local_size_x = ACTOR_BARRIERS) in;

layout(std430, binding = 7) restrict writeonly buffer Report {
    uint report[24];
    uint outgoing[]; // of the outbox
};

uniform uint takes;         // messages of the outbox that fit into the report
uniform uint afterCommands; // 1: after commands of the host, before the tick; 0: after the tick

void writeReport(uint tick, uint live) {
    report[0] = tick;
    report[1] = live;
    report[2] = uint(world.free);
    report[3] = world.sent;
    report[4] = world.handled;
    report[5] = world.full;
    report[6] = world.stale;
    report[7] = world.spawned;
    report[8] = world.noSlot;
    report[9] = world.ended;
    report[10] = world.dead;
    report[11] = world.failed;
    report[12] = world.broadcast;
    report[13] = world.overArrived;
    report[14] = world.unpublished;
    report[15] = world.claimedTwice;
    report[16] = post.outbox;
    report[17] = world.loopsCut;
}

// takeOutbox copies the outbox to the report where it fits, and reports whether it does.
bool takeOutbox() {
    uint n = post.outbox;
    if (n > takes) {
        return false;
    }
    for (uint i = gl_LocalInvocationIndex; i < n * uint(ACTOR_ENVELOPE_WORDS); i += uint(ACTOR_BARRIERS)) {
        outgoing[i] = post.outgoing[i];
    }
    return true;
}

void main() {
    bool taken = takeOutbox();
    barrier(); // all have read the number of messages
    uint which = gl_LocalInvocationIndex;
    uint parties = world.barriers[which].parties;
    if (afterCommands == 0u && parties != 0u && world.barriers[which].arrived >= parties) {
        world.barriers[which].arrived = 0u;
        world.barriers[which].opened += 1u;
    }
    if (gl_LocalInvocationIndex == 0u) {
        uint ended = world.tick & 1u;
        uint next = world.tick + 1u - afterCommands;
        uint live = world.live[next & 1u];
        world.tickGroups[0] = (live + ACTOR_LOCAL - 1u) / ACTOR_LOCAL;
        world.tickGroups[1] = 1u;
        world.tickGroups[2] = 1u;
        if (afterCommands == 0u) {
            world.live[ended] = 0u;
            post.broadcasts[ended] = 0u;
        }
        world.tick = next;
        writeReport(next, live);
        report[18] = taken ? 1u : 0u;
        if (taken) {
            post.outbox = 0u;
        }
    }
}
