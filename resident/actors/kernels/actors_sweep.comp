#version 450 core

// actors_sweep: frees the slots of actors that ended, makes spawned actors live, and
// lists the live ones. One invocation for each slot.
//
//   binding  buffer   layout
//   0 to 4            actors.glsl
//
//   grid     x: slots

#include "actors.glsl"

layout(local_size_x = 64) in;

uniform uint afterCommands; // 1: after commands of the host, before the tick; 0: after the tick

// freeSlot frees a slot. Slots are claimed in ticks and by commands, and freed here, so
// that claims and releases are never concurrent.
void freeSlot(uint slot) {
    uint left = min(mail.count[slot], uint(ACTOR_DEPTH)) + min(mail.count[ACTOR_SLOTS + slot], uint(ACTOR_DEPTH));
    if (left != 0u) {
        atomicAdd(world.dead, left);
    }
    mail.count[slot] = 0u;
    mail.count[ACTOR_SLOTS + slot] = 0u;
    slots.at[slot].held = 0u;
    uint generation = slots.at[slot].generation + 1u;
    slots.at[slot].generation = generation == 0u ? 1u : generation;
    slots.at[slot].state = ACTOR_FREE;
    world.freeSlots[atomicAdd(world.free, 1)] = slot;
    atomicAdd(world.ended, 1u);
}

bool opens(uint barrier) { return afterCommands == 0u && world.barriers[barrier].arrived >= world.barriers[barrier].parties; }

void main() {
    uint slot = gl_GlobalInvocationID.x;
    if (slot >= uint(ACTOR_SLOTS)) {
        return;
    }
    uint next = world.tick + 1u - afterCommands;
    uint state = slots.at[slot].state;
    slots.at[slot].seenEpoch = slots.at[slot].epoch;
    if (state == ACTOR_ENDING) {
        freeSlot(slot);
    }
    if (state == ACTOR_BORN) {
        slots.at[slot].born = next;
    }
    bool opened = state == ACTOR_WAITING && opens(slots.at[slot].barrier);
    if (afterCommands == 0u) {
        slots.at[slot].swapped ^= slots.at[slot].held;
        slots.at[slot].held = state == ACTOR_WAITING && !opened ? 1u : 0u;
    }
    bool live = state == ACTOR_BORN || state == ACTOR_LIVE || opened;
    if (live) {
        slots.at[slot].state = ACTOR_LIVE;
        uint side = next & 1u;
        world.liveSlots[side * ACTOR_SLOTS + atomicAdd(world.live[side], 1u)] = slot;
    }
}
