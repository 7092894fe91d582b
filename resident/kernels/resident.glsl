// resident: what makes a compute kernel one that keeps running.
//
// This file has main(). A kernel that includes it writes one function:
//
//   uint residentStep(uvec2 step)
//
// is one bounded step of a work group. All invocations of the group call it
// together, so that it may use barrier(), and all must return the same:
//
//   RESIDENT_GO     go on
//   RESIDENT_LEAVE  end this group's tick after this step
//   RESIDENT_IDLE   nothing to do until a message comes: steps until then would change
//                   nothing, and may be left out
//   RESIDENT_HALT   this group is done for good
//
// step is the number of the step as 64 bits, x low and y high. Grids have one
// axis. Bindings 5 and 6 are taken: see resident_control.glsl. Between groups there is no
// order within a phase, and none of them may wait for another. Buffers in which a
// phase reads what another group wrote in the one before are to be coherent,
// since phases may follow each other within a dispatch.
//
// A tick is one dispatch: each group takes its place from where it left off,
// does at most a budget of steps, writes down how far it came, and the last one
// to end reports. The order says which steps, the door when to stop.

// Lengths of the rings, in entries: powers of two.
#ifndef RESIDENT_INBOX
#define RESIDENT_INBOX 64
#endif
#ifndef RESIDENT_OUTBOX
#define RESIDENT_OUTBOX 256
#endif
#ifndef RESIDENT_LOG
#define RESIDENT_LOG 1024
#endif

#include "resident_control.glsl"

// Looks at a grid barrier before it is given up.
#ifndef RESIDENT_SPIN
#define RESIDENT_SPIN 4194304
#endif

// Results of residentStep.
#define RESIDENT_GO 0u
#define RESIDENT_LEAVE 1u
#define RESIDENT_IDLE 2u
#define RESIDENT_HALT 3u

// Kinds of signal. From RESIDENT_OWN on they are the kernel's.
#define RESIDENT_HALTED 1u
#define RESIDENT_SYSCALL 2u
#define RESIDENT_CHECKPOINT 3u
#define RESIDENT_BREAKPOINT 4u
#define RESIDENT_FAULT 5u
#define RESIDENT_OWN 16u

// Arguments of RESIDENT_FAULT that are raised here.
#define RESIDENT_LOOP_CUT 1u
#define RESIDENT_BARRIER_STUCK 2u

// Bits of a mode.
#define RESIDENT_LOCKSTEP 1u
#define RESIDENT_CLAIM 2u
#define RESIDENT_INFLIGHT 4u
#define RESIDENT_GRID 8u
#define RESIDENT_TRIAL 16u
#define RESIDENT_LINGER 32u
#define RESIDENT_CLOSE 64u
#define RESIDENT_LEASH 128u
#define RESIDENT_AWAIT 256u
#define RESIDENT_SKIP 512u

// Meetings and looks of a trial, which finds out whether all groups of this very
// program run at the same time.
#define RESIDENT_TRIALS 8u
#define RESIDENT_TRIAL_SPIN 40000u

// Bits of a bell; the upper half is a check of the message.
#define RESIDENT_SEQUENCE 0x1fffu
#define RESIDENT_INLINE 0x2000u
#define RESIDENT_ADDRESSED 0x4000u
#define RESIDENT_STOP 0x8000u

// The address of a message to all groups.
#define RESIDENT_EVERYONE 0xffffffffu

// How many steps a group that stays may be ahead of group 0, beyond two looks, and
// how often it looks before it goes on all the same.
#define RESIDENT_AHEAD 16u
#ifndef RESIDENT_AHEAD_LOOKS
#define RESIDENT_AHEAD_LOOKS 1024
#endif

// How often group 0 looks at the door while the others come to the bound of a slice.
#ifndef RESIDENT_DOOR_LOOKS
#define RESIDENT_DOOR_LOOKS 1048576
#endif

// How often a group with nothing to do looks for a message between two of its steps.
#ifndef RESIDENT_IDLE_LOOKS
#define RESIDENT_IDLE_LOOKS 4096
#endif
#if RESIDENT_IDLE_LOOKS < 16
#error RESIDENT_IDLE_LOOKS must be at least 16: every 16th look is for the host
#endif

// Phases of this dispatch: from first up to, not including, last.
uniform uint residentFirstPhase;
uniform uint residentLastPhase;

uint residentPhase = 0u;                 // of the step that runs
uvec2 residentStepNow = uvec2(0u);       // as residentStep gets it
uint residentReceives = 0u;              // calls so far, for the shared pairs below
uint residentAsks = 0u;
uint residentReceivedHere = 0u;          // the leader of group 0 counts these
uint residentSentHere = 0u;
uint residentTakenHere = 0u;
bool residentPassing = false;            // the message after those is with other groups
uint residentBeat = 0u;
uint residentSawHere = 0u;               // every other leader: the post that it saw last
uint residentActiveLanes = 0u;

// What the leader tells its group. Pairs are used in turn, so that one barrier
// is enough.
shared uvec4 residentOrderHere;
shared uvec4 residentBaseHere;
shared uvec4 residentDoorHere;
shared uvec2 residentSpan[2];
shared uvec4 residentMessage[2];
shared uint residentAnswer[2];
shared uint residentDoneHere;
shared uint residentHaltedHere;
shared uint residentIdleHere;
shared uint residentMeetings; // that this group passed, see residentMeet

uint residentStep(uvec2 step);

bool residentLeader() { return gl_LocalInvocationIndex == 0u; }

bool residentMode(uint bit) { return (residentBaseHere.z & bit) != 0u; }

#include "resident_mail.glsl"

// residentDoorSeen takes in what stands at the door, and passes a stop on to the
// other groups. The leader of group 0 calls it.
bool residentDoorSeen(uvec4 door) {
    residentDoorHere = door;
    if ((door.x & RESIDENT_STOP) == 0u) {
        return false;
    }
    residentRelayStop = 1u;
    residentWatch.z = 1u;
    return true;
}

// residentStopSeen reports whether the host wants the tick to end, as far as
// this group can see it. The leader calls it.
bool residentStopSeen(uint looks) {
    if (!residentMode(RESIDENT_INFLIGHT)) {
        return false;
    }
    if (gl_WorkGroupID.x != 0u) {
        // Group 0 may have ended, or not have begun: look for oneself now and then.
        return residentRelayStop != 0u || looks % 16u == 15u && (residentDoor.x & RESIDENT_STOP) != 0u;
    }
    return residentDoorSeen(residentDoor);
}

// residentStopping reports whether the host wants the tick to end, for steps
// that are long. All invocations of a group call it together.
bool residentStopping() {
    uint pair = residentAsks++ & 1u;
    if (residentLeader()) {
        residentAnswer[pair] = residentStopSeen(15u) ? 1u : 0u;
    }
    barrier();
    return residentAnswer[pair] != 0u;
}

#include "resident_barrier.glsl"

// residentBegin takes the order and where the group left off.
void residentBegin() {
    if (residentLeader()) {
        residentOrderHere = residentOrder;
        residentBaseHere = residentBase;
        residentDoorHere = residentDoor;
        uvec4 mine = residentGroups[4u * gl_WorkGroupID.x];
        residentDoneHere = mine.x == residentOrderHere.x ? mine.y : 0u;
        residentHaltedHere = mine.z;
        residentIdleHere = mine.w;
        residentMeetings = residentGridGeneration;
        if (gl_WorkGroupID.x == 0u) {
            residentReceivedHere = residentReceived;
            residentSentHere = residentSent;
            residentTakenHere = residentTaken;
            residentBeat = residentHeartbeat;
            residentWatch.z = 0u;
            residentPassing = residentWatch.y == residentReceivedHere + 1u;
        } else {
            residentSawHere = residentGroups[4u * gl_WorkGroupID.x + 1u].x;
        }
    }
    barrier();
}

// residentPulse shows that the kernel is alive and how far group 0 is.
void residentPulse(uint looks, uint at) {
    if (gl_WorkGroupID.x == 0u && looks % 16u == 0u) {
        residentHeartbeat = ++residentBeat;
        residentDone = at;
    }
}

// residentClaim takes up to so many steps for this group alone.
uvec2 residentClaim(uint most) {
    uint from = atomicAdd(residentClaimed, most);
    return min(uvec2(from, from + most), residentOrderHere.yy);
}

// residentWanted reports whether the tick is to end, because the host or some
// group wants it. The leader calls it.
bool residentWanted(uint looks) {
    if (gl_WorkGroupID.x != 0u || !residentMode(RESIDENT_INFLIGHT)) {
        return residentStopSeen(looks) || residentRaised != 0u;
    }
    // Both loads are under way together: the first takes 0.7 us, and messages wait for it.
    uvec4 door = residentDoor;
    uint raised = residentRaised;
    return residentDoorSeen(door) || raised != 0u;
}

// residentKeepClose has a group that stays wait for group 0, which looks at the door
// and so is the slower one where steps are short, unless there is something to do.
// What groups are ahead is caught up with when somebody looks, and who has ended
// gets no message. The leader calls it.
void residentKeepClose(uint poll, uint at) {
    if (gl_WorkGroupID.x == 0u) {
        if (gl_NumWorkGroups.x > 1u) {
            residentWatch.x = at;
        }
        return;
    }
    uint ahead = 2u * poll + RESIDENT_AHEAD;
    uvec4 watch = residentWatch;
    for (uint looks = 0u; watch.x < at && at - watch.x > ahead && looks < uint(RESIDENT_AHEAD_LOOKS); ++looks) { // lint:leader waits for another group, bounded
        if (watch.y != residentSawHere || watch.z != 0u || looks % 16u == 15u && residentRaised != 0u) {
            return;
        }
        watch = residentWatch; // one load for all: many groups look at it
    }
}

// residentRung reports whether the newest message that group 0 saw at the door is one
// that it has not taken. Its leader calls it.
bool residentRung() { return ((residentDoorHere.x ^ residentReceivedHere) & RESIDENT_SEQUENCE) != 0u; }

// residentAttend has group 0, which has come to the bound of its slice, answer
// messages until the others are there. It returns the steps to get to: one more where
// there is a message. The leader calls it.
uint residentAttend(uint at) {
    for (uint looks = 0u; looks < uint(RESIDENT_DOOR_LOOKS); ++looks) { // lint:leader waits for the host, bounded
        if (residentDoorSeen(residentDoor) || residentRaised != 0u || residentArrived == gl_NumWorkGroups.x - 1u) {
            return at;
        }
        if (residentRung()) {
            return at + 1u;
        }
        residentPulse(looks, at);
    }
    return at;
}

// residentCalled reports whether there is a message for this group, as far as it has
// looked. The leader calls it.
bool residentCalled() {
    if (gl_WorkGroupID.x != 0u) {
        return residentWatch.y != residentSawHere;
    }
    return !residentPassing && residentRung();
}

// residentAwaitDoor has group 0 look at the door until there is a message, or those
// who were passed one have taken it. It is residentWanted. The leader calls it.
bool residentAwaitDoor(uint at) {
    for (uint looks = 1u; looks <= uint(RESIDENT_IDLE_LOOKS); ++looks) { // lint:leader waits for the host, bounded
        bool often = looks % 16u != 0u; // what costs time comes now and then
        if (residentPassing && residentAwaited == 0u) {
            return false;
        }
        if (residentPassing && often) {
            continue;
        }
        if (residentDoorSeen(residentDoor) || !often && residentRaised != 0u) {
            return true;
        }
        if (residentCalled()) {
            return false;
        }
        residentPulse(looks, at);
    }
    return false;
}

// residentAwaitPost is residentAwaitDoor for the other groups.
bool residentAwaitPost() {
    for (uint looks = 1u; looks < uint(RESIDENT_IDLE_LOOKS); ++looks) { // lint:leader waits for another group, bounded
        if (residentCalled()) {
            return false;
        }
        if (looks % 64u == 0u && residentWanted(15u)) {
            return true;
        }
    }
    return residentWanted(15u);
}

// residentAwait has a group with nothing to do wait for a message, and is
// residentWanted. Nobody waits for group 0 meanwhile, and the others are as far as it is
// afterwards. The leader calls it.
bool residentAwait(inout uint at) {
    if (gl_WorkGroupID.x == 0u) {
        residentWatch.x = ~0u;
        bool wanted = residentAwaitDoor(at);
        residentWatch.x = at;
        return wanted;
    }
    bool wanted = residentAwaitPost();
    uint front = atomicAdd(residentWatch.x, 0u); // one value: all ones comes and goes
    at = max(at, front == ~0u ? at : min(front, residentOrderHere.y));
    return wanted;
}

// residentLook decides which steps this group does before it looks again: a
// span from x up to, not including, y. turn is the number of steps that it did
// in this tick, at the next one; idle that its last one found nothing to do: what is
// between at and x is left out then. The leader calls it.
uvec2 residentLook(uint looks, uint turn, uint at, bool idle) {
    uint poll = max(residentOrderHere.w, 1u);
    residentPulse(looks, at);
    if (residentMode(RESIDENT_LOCKSTEP)) {
        if (gl_WorkGroupID.x == 0u && looks % poll == 0u) {
            residentStopSeen(looks); // for the verdict that follows
        }
        // All groups see the same verdict, whatever happens meanwhile.
        return uvec2(at, residentVerdict != 0u ? at : max(at, min(residentOrderHere.y, at + 1u)));
    }
    bool waits = idle && residentMode(RESIDENT_AWAIT);
    if (!waits && residentMode(RESIDENT_CLOSE)) {
        residentKeepClose(poll, at);
    }
    bool wanted = waits ? residentAwait(at) : residentWanted(looks);
    bool stop = wanted || looks == 0u && (residentDoorHere.x & RESIDENT_STOP) != 0u;
    if (stop || residentHaltedHere != 0u) {
        return uvec2(at);
    }
    uint chunk = min(poll, residentOrderHere.z - turn);
    if (residentMode(RESIDENT_CLAIM)) {
        return residentClaim(chunk);
    }
    uint target = residentOrderHere.y;
    if (idle && residentMode(RESIDENT_SKIP) && !residentCalled()) {
        return uvec2(max(at, target));
    }
    if (at >= target && gl_WorkGroupID.x == 0u && residentMode(RESIDENT_LEASH)) {
        target = residentAttend(at);
    }
    return uvec2(at, max(at, min(target, at + chunk)));
}

// residentReport tells the host what became of the tick, and prepares the next.
// The leader of the last group calls it.
void residentReport(bool final) {
    uint groups = gl_NumWorkGroups.x;
    uint least = residentArrivedLeast;
    uint most = residentArrivedMost;
    if (residentMode(RESIDENT_CLAIM)) {
        most = min(residentClaimed, residentOrderHere.y);
        least = residentArrivedHalted == groups ? ~0u : most;
        residentClaimed = most;
    }
    bool over = residentRaised != 0u || least >= residentOrderHere.y || residentArrivedIdle == groups ||
        (residentDoor.x & RESIDENT_STOP) != 0u;
    if (final) {
        residentVerdict = over ? 1u : 0u;
    }
    residentNextGroups = over && final ? 0u : groups;
    residentLeast = least;
    residentMost = most;
    residentKind = residentRaised;
    residentArgument = residentRaisedArgument;
    residentSource = residentRaisedSource;
    residentHalted = residentArrivedHalted;
    residentIdle = residentArrivedIdle;
    residentActive = residentArrivedActive;
    residentEpoch = residentOrderHere.x;
    residentArrived = 0u;
    residentArrivedLeast = ~0u;
    residentArrivedMost = 0u;
    residentArrivedHalted = 0u;
    residentArrivedIdle = 0u;
    residentArrivedActive = 0u;
    memoryBarrierBuffer();
    residentTicks = residentTicks + 1u;
}

// residentEnd writes down how far the group came. The leader calls it.
void residentEnd(uint done, bool halted, bool idle, bool worked) {
    residentGroups[4u * gl_WorkGroupID.x] = uvec4(residentOrderHere.x, done, halted ? 1u : 0u, idle ? 1u : 0u);
    if (residentActiveLanes != 0u) {
        uint low = atomicAdd(residentLanesLow, residentActiveLanes);
        atomicAdd(residentLanesHigh, low + residentActiveLanes < low ? 1u : 0u);
    }
    if (gl_WorkGroupID.x == 0u) {
        residentHeartbeat = ++residentBeat;
        residentDone = done;
        residentWatch.x = ~0u;
    } else if (halted) {
        residentTakePost(); // to nobody
    }
    atomicMin(residentArrivedLeast, halted ? ~0u : done);
    atomicMax(residentArrivedMost, done);
    atomicAdd(residentArrivedHalted, halted ? 1u : 0u);
    atomicAdd(residentArrivedIdle, idle || halted ? 1u : 0u);
    atomicAdd(residentArrivedActive, worked ? 1u : 0u);
    memoryBarrierBuffer();
    if (atomicAdd(residentArrived, 1u) == gl_NumWorkGroups.x - 1u) {
        memoryBarrierBuffer();
        residentReport(residentLastPhase == residentBaseHere.w);
    }
}

void main() {
    residentBegin();
    bool grid = residentMode(RESIDENT_GRID);
    bool claim = residentMode(RESIDENT_CLAIM);
    bool lockstep = residentMode(RESIDENT_LOCKSTEP);
    bool linger = residentMode(RESIDENT_LINGER); // stay when there is nothing to do: a message may come
    uint phases = residentBaseHere.w;
    uint budget = residentOrderHere.z;
    uint done = residentDoneHere;
    bool halted = residentHaltedHere != 0u;
    bool leaving = false;
    bool idle = residentIdleHere != 0u && !claim;
    uint at = done;
    uint until = done;
    uint skipped = 0u; // steps that were left out
    uint looks = 0u;
    uint turn = 0u;
    uint trials = residentMode(RESIDENT_TRIAL) ? RESIDENT_TRIALS : 0u;
    for (uint trial = 0u; trial < trials; ++trial) {
        residentMeet(false);
    }
    for (; turn < budget; ++turn) {
        if (at == until) {
            if (residentLeader()) {
                residentSpan[looks & 1u] = residentLook(looks, turn, at, idle);
            }
            barrier();
            skipped += claim ? 0u : residentSpan[looks & 1u].x - at;
            at = residentSpan[looks & 1u].x;
            until = residentSpan[looks & 1u].y;
            ++looks;
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
                leaving = leaving || result == RESIDENT_LEAVE || idle && !linger;
                done += last ? 1u : 0u;
            }
            if (grid) {
                residentMeet(last);
            }
        }
        ++at;
        // Steps that were claimed have to be done, and groups in lockstep stay together.
        if ((halted || leaving) && !lockstep && (!claim || at == until)) {
            break;
        }
    }
    if (residentLeader()) {
        if (claim && at < until) {
            residentSignal(RESIDENT_FAULT, RESIDENT_LOOP_CUT);
        }
        residentEnd(done + skipped, halted, idle, looks > 0u && turn > 0u || done != residentDoneHere);
    }
}
