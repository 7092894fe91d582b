// The control blocks of a resident kernel. A line is 64 bytes and has one writer. The host has
// the same words in internal/wire/words.go: a test compares the two files.

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

// Flags of a command.
#define RESIDENT_FLAG_LOCKSTEP 0x1u // all groups do a step before any begins the next
#define RESIDENT_FLAG_CLAIM 0x2u // each step is done by the group that claims it
#define RESIDENT_FLAG_HOST_VISIBLE 0x4u // kernels see host writes during a dispatch
#define RESIDENT_FLAG_GRID_BARRIER 0x8u // a grid barrier follows each phase within a dispatch
#define RESIDENT_FLAG_TEST_BARRIER 0x10u // the tick tests the grid barrier
#define RESIDENT_FLAG_KEEP_IDLE 0x20u // idle groups stay in the tick
#define RESIDENT_FLAG_BOUND_LEAD 0x40u // groups that are ahead wait for group 0
#define RESIDENT_FLAG_STEP_BOUND 0x80u // the target is a step bound: group 0 answers messages there
#define RESIDENT_FLAG_WAIT_MESSAGE 0x100u // idle groups poll for messages between their steps
#define RESIDENT_FLAG_SKIP_IDLE 0x200u // idle groups skip to the target

// Bits of the control word and of the first word of a message. The upper half is a check of the message.
#define RESIDENT_SEQUENCE 0x1fffu // number of the newest message
#define RESIDENT_INLINE 0x2000u // the message itself follows the control word
#define RESIDENT_ADDRESSED 0x4000u // in a ring: the message has an address, which the check covers
#define RESIDENT_STOP 0x8000u // in the control word: end the tick

// Addresses of messages.
#define RESIDENT_BROADCAST 0xffffffffu // all groups

// Kinds of signal.
#define RESIDENT_RUNNING 0u // no signal
#define RESIDENT_HALTED 1u
#define RESIDENT_SYSCALL 2u
#define RESIDENT_CHECKPOINT 3u
#define RESIDENT_BREAKPOINT 4u
#define RESIDENT_FAULT 5u
#define RESIDENT_OWN 16u // kinds from here on are the kernel's

// Reasons why the state is wrong.
#define RESIDENT_SPOILED_BY_LOOP 1u // the driver ended a loop early
#define RESIDENT_SPOILED_BY_BARRIER 2u // a grid barrier timed out, and its group went on

// Mapped memory, which the host and the kernel access.
layout(std430, binding = 5) coherent volatile buffer ResidentShared {
    uvec4 residentSharedLines[12]; // all lines: see the names below
    // messages to the kernel: word, kind, a, b. Written by host.
    uvec4 residentInbox[RESIDENT_INBOX];
    // messages to the host: word, kind, a, b. Written by leader of group 0.
    uvec4 residentOutbox[RESIDENT_OUTBOX];
    // group that a message of the inbox is for, if its word has the address bit. Written by host.
    uint residentAddress[RESIDENT_INBOX];
    // two for each of their messages to the host: word, kind, a, b; group, 0, 0, 0. Written by leaders of other groups.
    uvec4 residentSecondaryOutbox[2 * RESIDENT_OUTBOX];
};
// Line host, written by host.
#define RESIDENT_LINE_HOST 0u
#define residentDoorbell residentSharedLines[0] // x: control word; y z w: the newest message if the inline bit is set
#define residentCommand residentSharedLines[1] // x: epoch, y: target, z: budget, w: poll interval; in steps since the base
#define residentBase residentSharedLines[2] // x y: first step of the epoch, low and high, z: flags, w: phases
#define residentTaken residentSharedLines[3].x // messages that the host has taken from the outbox
#define residentSecondaryTaken residentSharedLines[3].y // messages that the host has taken from the secondary outbox
// Line progress, written by leader of group 0.
#define RESIDENT_LINE_PROGRESS 4u
#define residentHeartbeat residentSharedLines[4].x // counts polls of the doorbell
#define residentDone residentSharedLines[4].y // steps of group 0 since the base
#define residentReceived residentSharedLines[4].z // messages taken from the inbox: the acknowledgement
#define residentSent residentSharedLines[4].w // messages put into the outbox
// Line status, written by leader of the last group to end a tick.
#define RESIDENT_LINE_STATUS 8u
#define residentTicks residentSharedLines[8] // x: ticks that have ended; written last
#define residentLeast residentSharedLines[9].x // steps since the base that every group has done; all ones: all have halted
#define residentMost residentSharedLines[9].y // steps since the base of the group that has done most
#define residentKind residentSharedLines[9].z // kind of the signal; 0: none
#define residentArgument residentSharedLines[9].w // argument of the signal
#define residentSource residentSharedLines[10].x // group that raised the signal
#define residentHalted residentSharedLines[10].y // groups that have halted
#define residentIdle residentSharedLines[10].z // groups that had nothing to do in their last step
#define residentEpoch residentSharedLines[10].w // epoch of the command that was executed
#define residentActive residentSharedLines[11].x // groups that did a step in this tick
#define residentSpoiled residentSharedLines[11].y // reasons why the state is wrong, of this tick or before, as bits; 0: it is right

// Device memory, which groups share.
layout(std430, binding = 6) coherent volatile buffer ResidentWork {
    uvec4 residentWorkLines[28]; // all lines: see the names below
    // two for each entry: number + 1, step low, step high, group; a, b, c, 0. Written by atomics.
    uvec4 residentLogRing[2 * RESIDENT_LOG];
    // four for each group: epoch, steps since the base, halted, idle; number of the last forwarded message that it saw, 0, 0, 0. Written by each group's leader.
    uvec4 residentGroups[];
};
// Line arrivals, written by atomics.
#define RESIDENT_LINE_ARRIVALS 0u
#define residentArrived residentWorkLines[0].x // groups that have ended the tick
#define residentArrivedLeast residentWorkLines[0].y // least steps of those that have not halted
#define residentArrivedMost residentWorkLines[0].z // most steps
#define residentArrivedHalted residentWorkLines[0].w // groups that have halted
#define residentArrivedIdle residentWorkLines[1].x // groups with nothing to do
#define residentArrivedActive residentWorkLines[1].y // groups that did a step
#define residentWorkSpoiled residentWorkLines[1].z // reasons why the state is wrong, as bits; never cleared
// Line signal, written by the group that raised it.
#define RESIDENT_LINE_SIGNAL 4u
#define residentRaised residentWorkLines[4].x // kind, set by compare and swap: the first one is kept
#define residentRaisedArgument residentWorkLines[4].y // argument of the kernel
#define residentRaisedSource residentWorkLines[4].z // group
// Line grid, written by atomics.
#define RESIDENT_LINE_GRID 8u
#define residentGridArrived residentWorkLines[8].x // arrivals at the grid barrier
#define residentGridGeneration residentWorkLines[8].y // grid barriers that were passed
#define residentTickOver residentWorkLines[8].z // 1: phases of further steps do nothing
#define residentStopRelayed residentWorkLines[8].w // 1: group 0 has seen a stop request
// Line arguments, written by leader of the last group to end a tick.
#define RESIDENT_LINE_ARGUMENTS 12u
#define residentNextGroups residentWorkLines[12].x // groups of the next dispatch of a chain: 0 if there is nothing to do
#define residentNextY residentWorkLines[12].y // 1
#define residentNextZ residentWorkLines[12].z // 1
// Line claims, written by atomics.
#define RESIDENT_LINE_CLAIMS 16u
#define residentClaimed residentWorkLines[16].x // steps since the base that were claimed
// Line counters, written by atomics.
#define RESIDENT_LINE_COUNTERS 20u
#define residentLogged residentWorkLines[20].x // log entries since the session began
#define residentLanesLow residentWorkLines[20].y // lanes that had work, as counted by the kernel
#define residentLanesHigh residentWorkLines[20].z // upper half
#define residentForwardPending residentWorkLines[20].w // groups that have yet to take the forwarded message
#define residentSecondarySent residentWorkLines[21].x // messages put into the secondary outbox
#define residentSecondaryClaimed residentWorkLines[21].y // the same, with claims of a full ring until they are returned
#define residentTickCount residentWorkLines[21].z // ticks that have ended
// Line relay, written by leader of group 0.
#define RESIDENT_LINE_RELAY 24u
#define residentRelay residentWorkLines[24] // x: steps of group 0 since the base while it does steps, else all ones; y: number of the forwarded message, 0: none, or it is being written; z: 1: stop request
#define residentForwardTo residentWorkLines[25].x // group that the forwarded message is for; all ones: every group
#define residentForwardKind residentWorkLines[25].y // kind
#define residentForwardA residentWorkLines[25].z // a
#define residentForwardB residentWorkLines[25].w // b
#define residentCarried residentWorkLines[26] // from one tick to the next: x: messages taken from the inbox, y: put into the outbox, z: heartbeats
