// resident_mail: signals, log entries and messages. A part of resident.glsl.

// residentSignal ends the tick. The host receives the first signal of a tick. One
// invocation calls it.
void residentSignal(uint kind, uint argument) {
    if (atomicCompSwap(residentRaised, 0u, kind) == 0u) {
        residentRaisedArgument = argument;
        residentRaisedSource = gl_WorkGroupID.x;
    }
}

// residentLog writes an entry over the oldest one of the log ring. One invocation calls
// it.
void residentLog(uint a, uint b, uint c) {
    uint number = atomicAdd(residentLogged, 1u);
    uint at = 2u * (number % uint(RESIDENT_LOG));
    residentLogRing[at] = uvec4(number + 1u, residentStepNow, gl_WorkGroupID.x);
    residentLogRing[at + 1u] = uvec4(a, b, c, 0u);
}

// residentLanes adds to the count of lanes that had work. The leader calls it.
void residentLanes(uint working) { residentActiveLanes += working; }

// residentCheck returns 16 bits that detect a message of which only a part is visible.
// mark is its sequence number, with the group that it is for or comes from shifted by 13.
uint residentCheck(uint mark, uvec3 message) {
    uint h = (message.x ^ mark * 0x9e3779b9u) * 0x85ebca6bu;
    h = (h ^ h >> 15 ^ message.y) * 0xc2b2ae35u;
    h = (h ^ h >> 13 ^ message.z) * 0x27d4eb2fu;
    return h >> 16;
}

// residentForward writes a message for other groups, and returns what group 0 receives
// of it. The number is 0 while the rest is written, and is written last: a reader that
// sees the same number before and after has read a whole message.
uvec4 residentForward(uvec3 message, uint to) {
    bool broadcast = to == RESIDENT_BROADCAST;
    residentRelay.y = 0u;
    memoryBarrierBuffer();
    residentForwardTo = to;
    residentForwardKind = message.x;
    residentForwardA = message.y;
    residentForwardB = message.z;
    residentForwardPending = broadcast ? gl_NumWorkGroups.x - 1u : 1u;
    memoryBarrierBuffer();
    residentRelay.y = residentReceivedHere + 1u;
    residentForwarding = true;
    return uvec4(message, broadcast ? 1u : 0u);
}

// residentTakeForwarded returns the message that group 0 forwarded, with w = 1 if it is
// for this group. The leader of any other group calls it.
uvec4 residentTakeForwarded() {
    if (residentRelay.y == residentForwardSeen) {
        return uvec4(0u);
    }
    // An atomic gives one value: a compiler may load a variable again at each use.
    uint number = atomicAdd(residentRelay.y, 0u);
    if (number == 0u) {
        return uvec4(0u);
    }
    memoryBarrierBuffer();
    uint to = atomicAdd(residentForwardTo, 0u);
    uvec4 m = uvec4(residentForwardKind, residentForwardA, residentForwardB, 1u);
    memoryBarrierBuffer();
    if (atomicAdd(residentRelay.y, 0u) != number) {
        return uvec4(0u); // it was for other groups, and the next one is being written
    }
    residentForwardSeen = number;
    residentGroups[4u * gl_WorkGroupID.x + 1u].x = number;
    if (to != gl_WorkGroupID.x && to != RESIDENT_BROADCAST) {
        return uvec4(0u);
    }
    atomicAdd(residentForwardPending, ~0u);
    return m;
}

// residentStoreProgress shows the host the progress of group 0, in one store. Its leader calls
// it.
void residentStoreProgress() {
    residentSharedLines[RESIDENT_LINE_PROGRESS] = uvec4(residentBeats, residentDoneShown, residentReceivedHere, residentSentHere);
}

// residentAcknowledge counts a message as taken.
void residentAcknowledge() {
    ++residentReceivedHere;
    residentStoreProgress();
}

// residentTakeMessage returns the next message for group 0 with w = 1, or w = 0.
uvec4 residentTakeMessage() {
    if (residentForwarding) {
        if (residentForwardPending != 0u) {
            return uvec4(0u);
        }
        residentForwarding = false;
        residentAcknowledge();
    }
    uint sequence = residentReceivedHere + 1u & RESIDENT_SEQUENCE;
    uint newest = residentDoorbellHere.x & RESIDENT_SEQUENCE;
    if (newest == (residentReceivedHere & RESIDENT_SEQUENCE)) {
        return uvec4(0u);
    }
    uvec4 m = residentDoorbellHere;
    uint to = 0u;
    if ((m.x & RESIDENT_INLINE) == 0u || newest != sequence) {
        uint at = residentReceivedHere % uint(RESIDENT_INBOX);
        m = residentInbox[at];
        to = (m.x & RESIDENT_ADDRESSED) != 0u ? residentAddress[at] : 0u;
    }
    if ((m.x & RESIDENT_SEQUENCE) != sequence || m.x >> 16 != residentCheck(sequence ^ to << 13, m.yzw)) {
        return uvec4(0u);
    }
    if (to != 0u) {
        return residentForward(m.yzw, to);
    }
    residentAcknowledge();
    return uvec4(m.yzw, 1u);
}

// residentReceive returns the next message from the host to this group, as kind, a, b,
// and reports whether there was one. All invocations of a group call it together. Group
// 0 must call it where other groups receive messages, since it forwards them.
bool residentReceive(out uvec3 message) {
    uint pair = residentReceives++ & 1u;
    if (residentLeader()) {
        residentMessage[pair] = gl_WorkGroupID.x == 0u ? residentTakeMessage() : residentTakeForwarded();
    }
    barrier();
    message = residentMessage[pair].xyz;
    return residentMessage[pair].w != 0u;
}

// residentSendSecondary is residentSend for the groups that share the secondary outbox.
// A claim beyond the end of the ring is returned, so that near the end other groups may
// fail as well. Numbers come from atomics, which give one value: a compiler may load a
// variable again at each use.
bool residentSendSecondary(uvec3 message) {
    // Negative where the host has taken messages that were sent since.
    int claimed = int(atomicAdd(residentSecondaryClaimed, 1u) - residentSecondaryTaken);
    if (claimed >= RESIDENT_OUTBOX) {
        atomicAdd(residentSecondaryClaimed, ~0u);
        return false;
    }
    uint n = atomicAdd(residentSecondarySent, 1u);
    uint sequence = n + 1u & RESIDENT_SEQUENCE;
    uint at = 2u * (n % uint(RESIDENT_OUTBOX));
    residentSecondaryOutbox[at + 1u] = uvec4(gl_WorkGroupID.x, 0u, 0u, 0u);
    residentSecondaryOutbox[at] = uvec4(residentCheck(sequence ^ gl_WorkGroupID.x << 13, message) << 16 | sequence, message);
    return true;
}

// residentSend puts a message to the host into the outbox and reports whether there was
// room. The leader of a group calls it.
bool residentSend(uvec3 message) {
    if (gl_WorkGroupID.x != 0u) {
        return residentSendSecondary(message);
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
    ++residentSentHere;
    residentStoreProgress();
    return true;
}
