// resident: main() of a compute kernel that runs in steps.
//
// A kernel that includes this file defines one function:
//
//   uint residentStep(uvec2 step)
//
// does one bounded step of a work group. All invocations of the group call it
// together, so that it may use barrier(), and all must return the same:
//
//   RESIDENT_GO     continue
//   RESIDENT_LEAVE  end this group's tick after this step
//   RESIDENT_IDLE   nothing to do until a message comes: steps until then would change
//                   nothing, and may be left out
//   RESIDENT_HALT   this group has ended
//
// step is the number of the step as 64 bits, x low and y high. Grids have one axis.
// Bindings 5 and 6 are reserved: see resident_control.glsl. Within a phase groups have
// no order, and none may wait for another. Buffers in which a phase reads what another
// group wrote in the phase before must be coherent, since phases may follow each other
// within a dispatch.
//
// A tick is one dispatch: each group resumes where it stopped, does at most a budget of
// steps, stores its progress, and the last group to end writes the status. The command
// block names the steps, the control word requests a stop.

#include "resident_control.glsl"

// Polls of a grid barrier before it times out.
#ifndef RESIDENT_BARRIER_POLLS
#define RESIDENT_BARRIER_POLLS 4194304
#endif

// Results of residentStep.
#define RESIDENT_GO 0u
#define RESIDENT_LEAVE 1u
#define RESIDENT_IDLE 2u
#define RESIDENT_HALT 3u

// Barriers, and polls of each, of a tick that tests whether all groups of this program
// run at the same time.
#define RESIDENT_TEST_BARRIERS 8u
#define RESIDENT_TEST_BARRIER_POLLS 40000u

// Steps that a group may be ahead of group 0, beyond two poll intervals, and polls
// until it continues anyway.
#define RESIDENT_MAX_LEAD 16u
#ifndef RESIDENT_LEAD_POLLS
#define RESIDENT_LEAD_POLLS 1024
#endif

// Polls of the doorbell by group 0 while other groups reach the step bound.
#ifndef RESIDENT_BOUND_POLLS
#define RESIDENT_BOUND_POLLS 1048576
#endif

// Polls for a message by an idle group between two of its steps.
#ifndef RESIDENT_IDLE_POLLS
#define RESIDENT_IDLE_POLLS 4096
#endif
#if RESIDENT_IDLE_POLLS < 16
#error RESIDENT_IDLE_POLLS must be at least 16: every 16th poll sees a signal
#endif

// Phases of this dispatch: from first up to, not including, last.
uniform uint residentFirstPhase;
uniform uint residentLastPhase;

// Invocations of a group: gl_WorkGroupSize is not known here, before the kernel's layout.
uniform uint residentInvocations;

uint residentFlags = 0u;            // of the command
uint residentPhase = 0u;            // of the current step
uvec2 residentStepNow = uvec2(0u);  // argument of residentStep
uint residentReceives = 0u;         // calls so far, which select a shared pair below
uint residentStopPolls = 0u;
uint residentReceivedHere = 0u;     // counters of the leader of group 0
uint residentSentHere = 0u;
uint residentTakenHere = 0u;
bool residentForwarding = false;    // the next message is being forwarded to other groups
uint residentBeats = 0u;
uint residentDoneShown = 0u;        // steps that the host sees
uint residentForwardSeen = 0u;      // other leaders: number of the last forwarded message
uint residentActiveLanes = 0u;
uint residentBarriersPassed = 0u;   // of the leader's group: see residentWaitAllGroups

// Values that the leader shares with its group. Pairs are used alternately, so that one
// barrier suffices.
shared uvec2 residentSpan[2];
shared uvec4 residentMessage[2];
shared uint residentAnswer[2];

// What residentBegin loads: the host's line, and of device memory what a tick begins with.
shared uvec4 residentHostHere[4];
shared uvec4 residentWorkHere[6];
#define residentDoorbellHere residentHostHere[0] // and what the leader read since
#define residentCommandHere residentHostHere[1]
#define residentBaseHere residentHostHere[2]
#define residentTakenBefore residentHostHere[3].x
#define residentMineBefore residentWorkHere[0] // the line of the group: epoch, steps, halted, idle
#define residentForwardBefore residentWorkHere[1].x
#define residentRaisedBefore residentWorkHere[2].x
#define residentGridBefore residentWorkHere[3] // y: generation, w: a stop request was relayed
#define residentRelayBefore residentWorkHere[4]
#define residentCarriedBefore residentWorkHere[5]

uint residentStep(uvec2 step);

bool residentLeader() { return gl_LocalInvocationIndex == 0u; }

bool residentFlag(uint bit) { return (residentFlags & bit) != 0u; }

#include "resident_mail.glsl"

// residentReadDoorbell stores the doorbell, relays a stop request to the other groups,
// and reports whether there is one. The leader of group 0 calls it.
bool residentReadDoorbell(uvec4 doorbell) {
    residentDoorbellHere = doorbell;
    if ((residentDoorbellHere.x & RESIDENT_STOP) == 0u) { // a second use of doorbell could be a second load
        return false;
    }
    residentStopRelayed = 1u;
    residentRelay.z = 1u;
    return true;
}

// residentStopSeen reports whether this group has seen a stop request. Poll 0 uses what
// residentBegin has just loaded. The leader calls it.
bool residentStopSeen(uint polls) {
    if (!residentFlag(RESIDENT_FLAG_HOST_VISIBLE)) {
        return false;
    }
    if (polls == 0u && gl_WorkGroupID.x != 0u) {
        return residentGridBefore.w != 0u;
    }
    if (gl_WorkGroupID.x != 0u) {
        // Group 0 may have ended, or not begun: every 16th poll reads the doorbell itself.
        return residentStopRelayed != 0u || polls % 16u == 15u && (residentDoorbell.x & RESIDENT_STOP) != 0u;
    }
    uvec4 doorbell = residentDoorbellHere;
    if (polls != 0u) {
        doorbell = residentDoorbell;
    }
    return residentReadDoorbell(doorbell);
}

// residentStopping reports whether the host requests the end of the tick, for steps
// that are long. All invocations of a group call it together.
bool residentStopping() {
    uint pair = residentStopPolls++ & 1u;
    if (residentLeader()) {
        residentAnswer[pair] = residentStopSeen(15u) ? 1u : 0u;
    }
    barrier();
    return residentAnswer[pair] != 0u;
}

#include "resident_barrier.glsl"
#include "resident_loops.glsl"

// residentWorkAt returns the index of vector i of residentWorkHere in residentWorkLines.
uint residentWorkAt(uint i) {
    return i == 2u ? RESIDENT_LINE_SIGNAL : i == 3u ? RESIDENT_LINE_GRID : i == 4u ? RESIDENT_LINE_RELAY : RESIDENT_LINE_RELAY + 2u;
}

// residentBegin loads the command, the doorbell and the progress of the group. A load of the
// host's memory is a trip over the bus, and one invocation makes one trip after the other: so
// each invocation loads one vector, all at the same time.
void residentBegin() {
    for (uint i = gl_LocalInvocationIndex; i < 6u; i += residentInvocations) {
        if (i < 4u) {
            residentHostHere[i] = residentSharedLines[i];
        }
        if (i < 2u) {
            residentWorkHere[i] = residentGroups[4u * gl_WorkGroupID.x + i];
        } else {
            residentWorkHere[i] = residentWorkLines[residentWorkAt(i)];
        }
    }
    barrier();
    residentFlags = residentBaseHere.z;
    if (!residentLeader()) {
        return;
    }
    residentBarriersPassed = residentGridBefore.y;
    residentForwardSeen = residentForwardBefore;
    if (gl_WorkGroupID.x == 0u) {
        residentReceivedHere = residentCarriedBefore.x;
        residentSentHere = residentCarriedBefore.y;
        residentBeats = residentCarriedBefore.z;
        residentTakenHere = residentTakenBefore;
        residentRelay.z = 0u;
        residentForwarding = residentRelayBefore.y == residentReceivedHere + 1u;
    }
}

// residentShowProgress updates the heartbeat and the steps of group 0 at every fourth poll: a
// poll waits for a load over the bus, and a store does not.
void residentShowProgress(uint polls, uint at) {
    if (gl_WorkGroupID.x == 0u && polls % 4u == 0u) {
        ++residentBeats;
        residentDoneShown = at;
        residentStoreProgress();
    }
}

// residentClaim claims up to a number of steps for this group.
uvec2 residentClaim(uint most) {
    uint from = atomicAdd(residentClaimed, most);
    return min(uvec2(from, from + most), residentCommandHere.yy);
}

// residentTickShouldEnd reports whether the host or a group ends the tick. The leader
// calls it.
bool residentTickShouldEnd(uint polls) {
    // Issued together with the load of the doorbell, which takes 0.7 us and delays messages.
    uint raised = polls == 0u ? residentRaisedBefore : residentRaised;
    return residentStopSeen(polls) || raised != 0u;
}

// residentBoundLead makes a group that is too far ahead of group 0 wait, unless there is
// a message, a signal or a stop request. Group 0 polls the doorbell over the bus, so it
// is the slowest where steps are short. A lead costs time when groups are aligned, and a
// group that has ended its tick receives no message. The leader calls it.
void residentBoundLead(uint interval, uint at) {
    if (gl_WorkGroupID.x == 0u) {
        if (gl_NumWorkGroups.x > 1u) {
            residentRelay.x = at;
        }
        return;
    }
    uint lead = 2u * interval + RESIDENT_MAX_LEAD;
    uvec4 relay = residentRelay;
    for (uint polls = 0u; relay.x < at && at - relay.x > lead && polls < uint(RESIDENT_LEAD_POLLS); ++polls) { // lint:leader waits for another group, bounded
        if (relay.y != residentForwardSeen || relay.z != 0u || polls % 16u == 15u && residentRaised != 0u) {
            return;
        }
        relay = residentRelay; // one load for all three values: many groups poll it
    }
}

// residentDoorbellSet reports whether group 0 has seen a message that it has not taken.
// Its leader calls it.
bool residentDoorbellSet() { return ((residentDoorbellHere.x ^ residentReceivedHere) & RESIDENT_SEQUENCE) != 0u; }

// residentAnswerAtBound makes group 0, at its step bound, poll for messages until the
// other groups are there. It returns the steps to reach: one more for a message. The
// leader calls it.
uint residentAnswerAtBound(uint at) {
    for (uint polls = 0u; polls < uint(RESIDENT_BOUND_POLLS); ++polls) { // lint:leader waits for the host, bounded
        if (residentReadDoorbell(residentDoorbell) || residentRaised != 0u || residentArrived == gl_NumWorkGroups.x - 1u) {
            return at;
        }
        if (residentDoorbellSet()) {
            return at + 1u;
        }
        residentShowProgress(polls, at);
    }
    return at;
}

// residentHasMessage reports whether this group has seen a message that it has not
// taken. The leader calls it.
bool residentHasMessage() {
    if (gl_WorkGroupID.x != 0u) {
        return residentRelay.y != residentForwardSeen;
    }
    return !residentForwarding && residentDoorbellSet();
}

// residentWaitDoorbell makes group 0 poll the doorbell until there is a message, or the
// forwarded message was taken by all its groups. It returns what residentTickShouldEnd
// does. The leader calls it.
bool residentWaitDoorbell(uint at) {
    for (uint polls = 1u; polls <= uint(RESIDENT_IDLE_POLLS); ++polls) { // lint:leader waits for the host, bounded
        bool cheap = polls % 16u != 0u; // every 16th poll also does what costs time
        if (residentForwarding && residentForwardPending == 0u) {
            return false;
        }
        if (residentForwarding && cheap) {
            continue;
        }
        if (residentReadDoorbell(residentDoorbell) || !cheap && residentRaised != 0u) {
            return true;
        }
        if (residentHasMessage()) {
            return false;
        }
        residentShowProgress(polls, at);
    }
    return false;
}

// residentWaitForward is residentWaitDoorbell for the other groups. A call of
// residentTickShouldEnd would be one more copy of what group 0 does, which drivers compile.
bool residentWaitForward() {
    for (uint polls = 1u; polls <= uint(RESIDENT_IDLE_POLLS); ++polls) { // lint:leader waits for another group, bounded
        if (residentHasMessage()) {
            return false;
        }
        if ((polls % 64u == 0u || polls == uint(RESIDENT_IDLE_POLLS)) &&
            (residentStopRelayed != 0u || (residentDoorbell.x & RESIDENT_STOP) != 0u || residentRaised != 0u)) {
            return true;
        }
    }
    return false;
}

// residentWaitMessage makes an idle group wait for a message, and returns what
// residentTickShouldEnd does. Meanwhile no group waits for group 0. The other groups
// continue at the step of group 0. The leader calls it.
bool residentWaitMessage(inout uint at) {
    if (gl_WorkGroupID.x == 0u) {
        residentRelay.x = ~0u;
        bool end = residentWaitDoorbell(at);
        residentRelay.x = at;
        return end;
    }
    bool end = residentWaitForward();
    uint front = atomicAdd(residentRelay.x, 0u); // one load: the value may change to all ones
    at = max(at, front == ~0u ? at : min(front, residentCommandHere.y));
    return end;
}

// residentNextSpan returns the steps that this group does before its next poll: from x
// up to, not including, y. turn counts its steps in this tick, at is the next one. idle
// reports that the last step had nothing to do; x may then be beyond at. The leader
// calls it.
uvec2 residentNextSpan(uint polls, uint turn, uint at, bool idle) {
    uint interval = max(residentCommandHere.w, 1u);
    residentShowProgress(polls, at);
    if (residentFlag(RESIDENT_FLAG_LOCKSTEP)) {
        if (gl_WorkGroupID.x == 0u && polls % interval == 0u) {
            residentStopSeen(polls); // for residentTickOver of the next step
        }
        // All groups read the same residentTickOver, at any time within the step.
        return uvec2(at, residentTickOver != 0u ? at : max(at, min(residentCommandHere.y, at + 1u)));
    }
    bool waits = idle && residentFlag(RESIDENT_FLAG_WAIT_MESSAGE);
    if (!waits && residentFlag(RESIDENT_FLAG_BOUND_LEAD)) {
        residentBoundLead(interval, at);
    }
    bool end = waits ? residentWaitMessage(at) : residentTickShouldEnd(polls);
    bool stop = end || polls == 0u && (residentDoorbellHere.x & RESIDENT_STOP) != 0u;
    if (stop || residentMineBefore.z != 0u) {
        return uvec2(at);
    }
    uint chunk = min(interval, residentCommandHere.z - turn);
    if (residentFlag(RESIDENT_FLAG_CLAIM)) {
        return residentClaim(chunk);
    }
    uint target = residentCommandHere.y;
    if (idle && residentFlag(RESIDENT_FLAG_SKIP_IDLE) && !residentHasMessage()) {
        return uvec2(max(at, target));
    }
    if (at >= target && gl_WorkGroupID.x == 0u && residentFlag(RESIDENT_FLAG_STEP_BOUND)) {
        target = residentAnswerAtBound(at);
    }
    return uvec2(at, max(at, min(target, at + chunk)));
}

// residentWriteStatus writes the status of the tick and prepares the next one. of has the
// least and the most steps, and the groups that have halted, are idle and did a step. Values
// come from atomics, which are under way at the same time. The leader of the last group calls
// it.
void residentWriteStatus(bool final, uint least, uint most, uvec3 of) {
    uint groups = gl_NumWorkGroups.x;
    uint raised = atomicAdd(residentRaised, 0u);
    uint spoiled = atomicAdd(residentWorkSpoiled, 0u);
    uint relayed = atomicAdd(residentStopRelayed, 0u);
    uint ticks = atomicAdd(residentTickCount, 1u) + 1u;
    if (residentFlag(RESIDENT_FLAG_CLAIM)) {
        most = min(atomicMin(residentClaimed, residentCommandHere.y), residentCommandHere.y);
        least = of.x == groups ? ~0u : most;
    }
    bool over = raised != 0u || least >= residentCommandHere.y || of.y == groups || relayed != 0u ||
        (residentDoorbellHere.x & RESIDENT_STOP) != 0u;
    if (final) {
        residentTickOver = over ? 1u : 0u;
    }
    residentNextGroups = over && final ? 0u : groups;
    uvec2 signal = uvec2(0u);
    if (raised != 0u) {
        signal = uvec2(residentRaisedArgument, residentRaisedSource);
    }
    residentSharedLines[RESIDENT_LINE_STATUS + 1u] = uvec4(least, most, raised, signal.x);
    residentSharedLines[RESIDENT_LINE_STATUS + 2u] = uvec4(signal.y, of.x, of.y, residentCommandHere.x);
    residentSharedLines[RESIDENT_LINE_STATUS + 3u] = uvec4(of.z, spoiled, 0u, 0u);
    memoryBarrierBuffer();
    residentTicks = uvec4(ticks, 0u, 0u, 0u);
}

// residentEnd stores the progress of the group. The leader calls it.
void residentEnd(uint done, bool halted, bool idle, bool worked) {
    residentGroups[4u * gl_WorkGroupID.x] = uvec4(residentCommandHere.x, done, halted ? 1u : 0u, idle ? 1u : 0u);
    if (residentActiveLanes != 0u) {
        uint low = atomicAdd(residentLanesLow, residentActiveLanes);
        atomicAdd(residentLanesHigh, low + residentActiveLanes < low ? 1u : 0u);
    }
    if (gl_WorkGroupID.x == 0u) {
        if (halted) {
            residentTakeMessage(); // and drop it, or forward it: a group that has halted blocks no message
        }
        residentShowProgress(0u, done);
        residentRelay.x = ~0u;
        residentCarried = uvec4(residentReceivedHere, residentSentHere, residentBeats, 0u);
    } else if (halted) {
        residentTakeForwarded(); // likewise
    }
    bool final = residentLastPhase == residentBaseHere.w;
    uint least = halted ? ~0u : done;
    uvec3 of = uvec3(halted ? 1u : 0u, idle || halted ? 1u : 0u, worked ? 1u : 0u);
    bool last = gl_NumWorkGroups.x == 1u;
    if (!last) {
        atomicMin(residentArrivedLeast, least);
        atomicMax(residentArrivedMost, done);
        if (of.y != 0u) { // all groups write to one place: nothing is added in vain
            atomicAdd(residentArrivedHalted, of.x);
            atomicAdd(residentArrivedIdle, of.y);
        }
        if (worked) {
            atomicAdd(residentArrivedActive, 1u);
        }
        memoryBarrierBuffer();
        last = atomicAdd(residentArrived, 1u) == gl_NumWorkGroups.x - 1u;
        if (last) {
            memoryBarrierBuffer();
            residentArrived = 0u;
            least = atomicExchange(residentArrivedLeast, ~0u); // for the next tick
            done = atomicExchange(residentArrivedMost, 0u);
            of.x = atomicExchange(residentArrivedHalted, 0u);
            of.y = atomicExchange(residentArrivedIdle, 0u);
            of.z = atomicExchange(residentArrivedActive, 0u);
        }
    }
    if (last) {
        residentWriteStatus(final, least, done, of);
    }
}

void main() {
    residentBegin();
    bool grid = residentFlag(RESIDENT_FLAG_GRID_BARRIER);
    bool claim = residentFlag(RESIDENT_FLAG_CLAIM);
    bool lockstep = residentFlag(RESIDENT_FLAG_LOCKSTEP);
    bool keepIdle = residentFlag(RESIDENT_FLAG_KEEP_IDLE);
    uint phases = residentBaseHere.w;
    uint budget = residentCommandHere.z;
    uint before = residentMineBefore.x == residentCommandHere.x ? residentMineBefore.y : 0u; // steps
    uint done = before;
    bool halted = residentMineBefore.z != 0u;
    bool leaving = false;
    bool idle = residentMineBefore.w != 0u && !claim;
    uint at = done;
    uint until = done;
    uint skipped = 0u; // steps that were left out
    uint polls = 0u;
    uint turn = 0u;
    uint tests = residentFlag(RESIDENT_FLAG_TEST_BARRIER) ? RESIDENT_TEST_BARRIERS : 0u;
    for (uint test = 0u; test < tests; ++test) {
        residentWaitAllGroups(false);
    }
    for (; turn < budget; ++turn) {
        if (at == until) {
            if (residentLeader()) {
                residentSpan[polls & 1u] = residentNextSpan(polls, turn, at, idle);
            }
            barrier();
            skipped += claim ? 0u : residentSpan[polls & 1u].x - at;
            at = residentSpan[polls & 1u].x;
            until = residentSpan[polls & 1u].y;
            ++polls;
            if (at == until) {
                break;
            }
        }
        residentStepNow = uvec2(residentBaseHere.x + at, residentBaseHere.y);
        residentStepNow.y += residentStepNow.x < at ? 1u : 0u;
        for (residentPhase = residentFirstPhase; residentPhase < residentLastPhase; ++residentPhase) {
            bool last = residentPhase + 1u == phases;
            if (!halted || claim) {
                uint result = residentStep(residentStepNow);
                halted = halted || result == RESIDENT_HALT;
                idle = result == RESIDENT_IDLE;
                leaving = leaving || result == RESIDENT_LEAVE || idle && !keepIdle;
                done += last ? 1u : 0u;
            }
            if (grid) {
                residentWaitAllGroups(last);
            }
        }
        ++at;
        // Claimed steps must be done, and groups in lockstep stay together.
        if ((halted || leaving) && !lockstep && (!claim || at == until)) {
            break;
        }
    }
    if (claim && at < until || !residentLoopsKept()) {
        atomicOr(residentWorkSpoiled, RESIDENT_SPOILED_BY_LOOP);
        memoryBarrierBuffer();
    }
    barrier(); // before the last group to end reads it
    if (residentLeader()) {
        residentEnd(done + skipped, halted, idle, polls > 0u && turn > 0u || done != before);
    }
}
