// resident_mail: what a kernel tells its host, and what it is told. A part of
// resident.glsl.

// residentSignal ends the tick: the first signal wins, and the host gets it.
// One invocation calls it.
void residentSignal(uint kind, uint argument) {
    if (atomicCompSwap(residentRaised, 0u, kind) == 0u) {
        residentRaisedArgument = argument;
        residentRaisedSource = gl_WorkGroupID.x;
    }
}

// residentLog adds an entry to the log ring, over the oldest. One invocation
// calls it.
void residentLog(uint a, uint b, uint c) {
    uint number = atomicAdd(residentLogged, 1u);
    uint at = 2u * (number % uint(RESIDENT_LOG));
    residentLogRing[at] = uvec4(number + 1u, residentStepNow, gl_WorkGroupID.x);
    residentLogRing[at + 1u] = uvec4(a, b, c, 0u);
}

// residentLanes says how many lanes had work in this step. The leader calls it.
void residentLanes(uint working) { residentActiveLanes += working; }

// residentCheck is 16 bits that tell a whole message from a torn one. mark is its
// sequence number with the group that it is for or comes from, shifted by 13.
uint residentCheck(uint mark, uvec3 message) {
    uint h = (message.x ^ mark * 0x9e3779b9u) * 0x85ebca6bu;
    h = (h ^ h >> 15 ^ message.y) * 0xc2b2ae35u;
    h = (h ^ h >> 13 ^ message.z) * 0x27d4eb2fu;
    return h >> 16;
}

// residentPass has other groups take a message, and is what group 0 gets of it.
// The number is 0 while the rest is written, and comes last: who reads the same
// number before and after has read what belongs to it.
uvec4 residentPass(uvec3 message, uint to) {
    bool everyone = to == RESIDENT_EVERYONE;
    residentWatch.y = 0u;
    memoryBarrierBuffer();
    residentPostTo = to;
    residentPostKind = message.x;
    residentPostA = message.y;
    residentPostB = message.z;
    residentAwaited = everyone ? gl_NumWorkGroups.x - 1u : 1u;
    memoryBarrierBuffer();
    residentWatch.y = residentReceivedHere + 1u;
    residentPassing = true;
    return uvec4(message, everyone ? 1u : 0u);
}

// residentTakePost is the message that group 0 passed on, if it is for this group
// too: w is 1 then. The leader of any other group calls it.
uvec4 residentTakePost() {
    if (residentWatch.y == residentSawHere) {
        return uvec4(0u);
    }
    // Atomics give one value: a compiler may load a variable again wherever it is used.
    uint number = atomicAdd(residentWatch.y, 0u);
    if (number == 0u) {
        return uvec4(0u);
    }
    memoryBarrierBuffer();
    uint to = atomicAdd(residentPostTo, 0u);
    uvec4 m = uvec4(residentPostKind, residentPostA, residentPostB, 1u);
    memoryBarrierBuffer();
    if (atomicAdd(residentWatch.y, 0u) != number) {
        return uvec4(0u); // it was for others, and the next one is being written
    }
    residentSawHere = number;
    residentGroups[4u * gl_WorkGroupID.x + 1u].x = number;
    if (to != gl_WorkGroupID.x && to != RESIDENT_EVERYONE) {
        return uvec4(0u);
    }
    atomicAdd(residentAwaited, ~0u);
    return m;
}

// residentTakeMessage is the next message for group 0, w is 1, or nothing, w is 0.
uvec4 residentTakeMessage() {
    if (residentPassing) {
        if (residentAwaited != 0u) {
            return uvec4(0u);
        }
        residentPassing = false;
        residentReceived = ++residentReceivedHere;
    }
    uint sequence = residentReceivedHere + 1u & RESIDENT_SEQUENCE;
    uint bell = residentDoorHere.x & RESIDENT_SEQUENCE;
    if (bell == (residentReceivedHere & RESIDENT_SEQUENCE)) {
        return uvec4(0u);
    }
    uvec4 m = residentDoorHere;
    uint to = 0u;
    if ((m.x & RESIDENT_INLINE) == 0u || bell != sequence) {
        uint at = residentReceivedHere % uint(RESIDENT_INBOX);
        m = residentInbox[at];
        to = (m.x & RESIDENT_ADDRESSED) != 0u ? residentAddress[at] : 0u;
    }
    if ((m.x & RESIDENT_SEQUENCE) != sequence || m.x >> 16 != residentCheck(sequence ^ to << 13, m.yzw)) {
        return uvec4(0u);
    }
    if (to != 0u) {
        return residentPass(m.yzw, to);
    }
    residentReceived = ++residentReceivedHere;
    return uvec4(m.yzw, 1u);
}

// residentReceive is the next message from the host to this group: kind, a, b. It
// reports whether there was one. All invocations of a group call it together, and
// where other groups get messages group 0 calls it too, since it passes them on.
bool residentReceive(out uvec3 message) {
    uint pair = residentReceives++ & 1u;
    if (residentLeader()) {
        residentMessage[pair] = gl_WorkGroupID.x == 0u ? residentTakeMessage() : residentTakePost();
    }
    barrier();
    message = residentMessage[pair].xyz;
    return residentMessage[pair].w != 0u;
}

// residentSendAside is residentSend for groups that share a ring. Whoever claims room
// that is not there gives it back, so that at the end of the room others may be told
// no as well. Numbers come from atomics, which give one value: a compiler may load a
// variable again wherever it is used.
bool residentSendAside(uvec3 message) {
    // Negative where the host has taken what others sent since.
    int claimed = int(atomicAdd(residentAsideClaimed, 1u) - residentTakenAside);
    if (claimed >= RESIDENT_OUTBOX) {
        atomicAdd(residentAsideClaimed, ~0u);
        return false;
    }
    uint n = atomicAdd(residentAsideSent, 1u);
    uint sequence = n + 1u & RESIDENT_SEQUENCE;
    uint at = 2u * (n % uint(RESIDENT_OUTBOX));
    residentAside[at + 1u] = uvec4(gl_WorkGroupID.x, 0u, 0u, 0u);
    residentAside[at] = uvec4(residentCheck(sequence ^ gl_WorkGroupID.x << 13, message) << 16 | sequence, message);
    return true;
}

// residentSend puts a message to the host into the outbox and reports whether
// there was room. The leader of a group calls it.
bool residentSend(uvec3 message) {
    if (gl_WorkGroupID.x != 0u) {
        return residentSendAside(message);
    }
    if (residentSentHere - residentTakenHere >= uint(RESIDENT_OUTBOX)) {
        residentTakenHere = residentTaken;
        if (residentSentHere - residentTakenHere >= uint(RESIDENT_OUTBOX)) {
            return false;
        }
    }
    uint sequence = residentSentHere + 1u & RESIDENT_SEQUENCE;
    residentOutbox[residentSentHere % uint(RESIDENT_OUTBOX)] =
        uvec4(residentCheck(sequence, message) << 16 | sequence, message);
    residentSent = ++residentSentHere;
    return true;
}
