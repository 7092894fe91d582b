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

// residentCheck is 16 bits that tell a whole message from a torn one.
uint residentCheck(uint sequence, uvec3 message) {
    uint h = (message.x ^ sequence * 0x9e3779b9u) * 0x85ebca6bu;
    h = (h ^ h >> 15 ^ message.y) * 0xc2b2ae35u;
    h = (h ^ h >> 13 ^ message.z) * 0x27d4eb2fu;
    return h >> 16;
}

// residentTakeMessage is the next message, w is 1, or nothing, w is 0.
uvec4 residentTakeMessage() {
    uint sequence = residentReceivedHere + 1u & RESIDENT_SEQUENCE;
    uint bell = residentDoorHere.x & RESIDENT_SEQUENCE;
    if (bell == (residentReceivedHere & RESIDENT_SEQUENCE)) {
        return uvec4(0u);
    }
    uvec4 m = residentDoorHere;
    if ((m.x & RESIDENT_INLINE) == 0u || bell != sequence) {
        m = residentInbox[residentReceivedHere % uint(RESIDENT_INBOX)];
    }
    if ((m.x & RESIDENT_SEQUENCE) != sequence || m.x >> 16 != residentCheck(sequence, m.yzw)) {
        return uvec4(0u);
    }
    residentReceived = ++residentReceivedHere;
    return uvec4(m.yzw, 1u);
}

// residentReceive is the next message from the host: kind, a, b. It reports
// whether there was one. All invocations of a group call it together; messages
// go to group 0.
bool residentReceive(out uvec3 message) {
    uint pair = residentReceives++ & 1u;
    if (residentLeader()) {
        residentMessage[pair] = gl_WorkGroupID.x == 0u ? residentTakeMessage() : uvec4(0u);
    }
    barrier();
    message = residentMessage[pair].xyz;
    return residentMessage[pair].w != 0u;
}

// residentSend puts a message to the host into the outbox and reports whether
// there was room. The leader of group 0 calls it.
bool residentSend(uvec3 message) {
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
