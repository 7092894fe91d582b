// registry.glsl: sending and spawning, for actors and for commands of the host.

// actorSide is the side that is written.
uint actorSide = 0u;

// actorValid reports whether an actor of this device has the address.
bool actorValid(uvec2 address) {
    uint slot = address.x & 0xffffffu;
    return address.x >> 24 == actorDevice && slot < uint(ACTOR_SLOTS) && address.y != 0u && slots.at[slot].generation == address.y &&
        slots.at[slot].state != ACTOR_FREE;
}

uint actorStaleAddress() {
    atomicAdd(world.stale, 1u);
    return ActorStale;
}

uint actorNoRoom() {
    atomicAdd(world.full, 1u);
    return ActorFull;
}

// actorDeliver puts a message into a mailbox. A place reserved beyond the end is
// released again; while the count is too high, no sender finds room.
uint actorDeliver(uvec2 to, Message m) {
    if (!actorValid(to)) {
        return actorStaleAddress();
    }
    uint slot = to.x & 0xffffffu;
    uint side = slots.at[slot].held == 1u ? world.tick & 1u : actorSide;
    uint box = (side ^ slots.at[slot].swapped) * ACTOR_SLOTS + slot;
    if (mail.count[box] >= ACTOR_DEPTH) {
        return actorNoRoom();
    }
    uint place = atomicAdd(mail.count[box], 1u);
    if (place >= ACTOR_DEPTH) {
        atomicAdd(mail.count[box], 0xffffffffu); // minus 1
        return actorNoRoom();
    }
    uint at = (box * ACTOR_DEPTH + place) * ACTOR_MESSAGE_WORDS;
    mail.word[at] = m.from.x;
    mail.word[at + 1u] = m.from.y;
    mail.word[at + 2u] = m.kind;
    for (int w = 0; w < ACTOR_PAYLOAD; ++w) {
        mail.word[at + 4u + w] = m.word[w];
    }
    memoryBarrierBuffer();
    mail.word[at + 3u] = 1u; // published
    atomicAdd(world.sent, 1u);
    return ActorOK;
}

// actorPost puts a message to the host or to another device into the outbox.
uint actorPost(uvec2 to, Message m) {
    uint place = atomicAdd(post.outbox, 1u);
    if (place >= ACTOR_OUTBOX) {
        atomicAdd(post.outbox, 0xffffffffu);
        return actorNoRoom();
    }
    uint at = place * ACTOR_ENVELOPE_WORDS;
    post.outgoing[at] = to.x;
    post.outgoing[at + 1u] = to.y;
    post.outgoing[at + 2u] = m.from.x;
    post.outgoing[at + 3u] = m.from.y;
    post.outgoing[at + 4u] = m.kind;
    post.outgoing[at + 5u] = 1u;
    for (int w = 0; w < ACTOR_PAYLOAD; ++w) {
        post.outgoing[at + 6u + w] = m.word[w];
    }
    return ActorOK;
}

// actorToAll adds a message to the broadcasts.
uint actorToAll(Message m) {
    uint place = atomicAdd(post.broadcasts[actorSide], 1u);
    if (place >= ACTOR_BROADCASTS) {
        atomicAdd(post.broadcasts[actorSide], 0xffffffffu);
        return actorNoRoom();
    }
    uint at = (actorSide * ACTOR_BROADCASTS + place) * ACTOR_MESSAGE_WORDS;
    post.broadcastWord[at] = m.from.x;
    post.broadcastWord[at + 1u] = m.from.y;
    post.broadcastWord[at + 2u] = m.kind;
    post.broadcastWord[at + 3u] = 1u;
    for (int w = 0; w < ACTOR_PAYLOAD; ++w) {
        post.broadcastWord[at + 4u + w] = m.word[w];
    }
    atomicAdd(world.broadcast, 1u);
    return ActorOK;
}

// actorRoute puts a message into the mailbox, broadcasts or outbox of its receiver.
uint actorRoute(uvec2 to, Message m) {
    uint slot = to.x & 0xffffffu;
    if (to.y == 0u) {
        return actorStaleAddress();
    }
    if (to.x >> 24 != actorDevice || slot == ACTOR_SLOT_HOST) {
        return actorPost(to, m);
    }
    return slot == ACTOR_SLOT_ALL ? actorToAll(m) : actorDeliver(to, m);
}

// actorReset sets the state to the one that the actor was spawned with.
void actorReset(uint slot) {
    for (uint w = 0u; w < uint(ACTOR_STATE_WORDS); ++w) {
        states.word[slot * ACTOR_STATE_WORDS + w] = w < 4u ? slots.at[slot].first[w] : 0u;
    }
    slots.at[slot].handled = 0u;
}

// actorClaim claims a free slot for a new actor and returns its address, or 0.
uvec2 actorClaim(uint handler, uvec4 words) {
    int left = atomicAdd(world.free, -1);
    if (left <= 0) {
        atomicAdd(world.free, 1);
        atomicAdd(world.noSlot, 1u);
        return uvec2(0u);
    }
    uint slot = world.freeSlots[left - 1];
    if (atomicCompSwap(slots.at[slot].state, ACTOR_FREE, ACTOR_BORN) != ACTOR_FREE) {
        atomicAdd(world.claimedTwice, 1u); // must not happen: the host returns an error
        return uvec2(0u);
    }
    slots.at[slot].handler = handler;
    slots.at[slot].heartbeat = 0u;
    slots.at[slot].restarts = 0u;
    slots.at[slot].epoch = 0u;
    slots.at[slot].seenEpoch = 0u;
    for (int w = 0; w < 4; ++w) {
        slots.at[slot].first[w] = words[w];
    }
    actorReset(slot);
    atomicAdd(world.spawned, 1u);
    return uvec2(actorAddress(slot), slots.at[slot].generation);
}

// actorEnd ends an actor after this tick. Only the first call has an effect.
uint actorEnd(uvec2 address) {
    if (!actorValid(address)) {
        return actorStaleAddress();
    }
    uint slot = address.x & 0xffffffu;
    uint state = atomicAdd(slots.at[slot].state, 0u); // an atomic: a compiler may load a plain variable again for each use
    for (int i = 0; i < 8 && state != ACTOR_ENDING && state != ACTOR_FREE; ++i) {
        uint seen = atomicCompSwap(slots.at[slot].state, state, ACTOR_ENDING);
        if (seen == state) {
            if (state == ACTOR_WAITING) {
                atomicAdd(world.barriers[slots.at[slot].barrier].arrived, 0xffffffffu); // minus 1
            }
            break;
        }
        state = seen;
    }
    return ActorOK;
}
