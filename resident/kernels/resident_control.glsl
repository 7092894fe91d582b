// Code generated from internal/wire/layout; DO NOT EDIT.
//
// The control blocks of a resident kernel. A line is 64 bytes and has one writer.

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
    // Line doorbell, written by host.
    uvec4 residentDoorbell; // x: control word; y z w: the newest message if the inline bit is set
    uint residentTaken; // messages that the host has taken from the outbox
    uint residentSecondaryTaken; // messages that the host has taken from the secondary outbox
    uint resident_doorbell[10];
    // Line command, written by host.
    uvec4 residentCommand; // x: epoch, y: target, z: budget, w: poll interval; in steps since the base
    uvec4 residentBase; // x y: first step of the epoch, low and high, z: flags, w: phases
    uint resident_command[8];
    // Line progress, written by leader of group 0.
    uint residentHeartbeat; // counts polls of the doorbell
    uint residentDone; // steps of group 0 since the base
    uint residentReceived; // messages taken from the inbox: the acknowledgement
    uint residentSent; // messages put into the outbox
    uint resident_progress[12];
    // Line status, written by leader of the last group to end a tick.
    uint residentTicks; // ticks that have ended; written last
    uint residentLeast; // steps since the base that every group has done; all ones: all have halted
    uint residentMost; // steps since the base of the group that has done most
    uint residentKind; // kind of the signal; 0: none
    uint residentArgument; // argument of the signal
    uint residentSource; // group that raised the signal
    uint residentHalted; // groups that have halted
    uint residentIdle; // groups that had nothing to do in their last step
    uint residentEpoch; // epoch of the command that was executed
    uint residentActive; // groups that did a step in this tick
    uint residentSpoiled; // reasons why the state is wrong, of this tick or before, as bits; 0: it is right
    uint resident_status[5];
    // messages to the kernel: word, kind, a, b. Written by host.
    uvec4 residentInbox[RESIDENT_INBOX];
    // messages to the host: word, kind, a, b. Written by leader of group 0.
    uvec4 residentOutbox[RESIDENT_OUTBOX];
    // group that a message of the inbox is for, if its word has the address bit. Written by host.
    uint residentAddress[RESIDENT_INBOX];
    // two for each of their messages to the host: word, kind, a, b; group, 0, 0, 0. Written by leaders of other groups.
    uvec4 residentSecondaryOutbox[2 * RESIDENT_OUTBOX];
};

// Device memory, which groups share.
layout(std430, binding = 6) coherent volatile buffer ResidentWork {
    // Line arrivals, written by atomics.
    uint residentArrived; // groups that have ended the tick
    uint residentArrivedLeast; // least steps of those that have not halted
    uint residentArrivedMost; // most steps
    uint residentArrivedHalted; // groups that have halted
    uint residentArrivedIdle; // groups with nothing to do
    uint residentArrivedActive; // groups that did a step
    uint residentWorkSpoiled; // reasons why the state is wrong, as bits; never cleared
    uint resident_arrivals[9];
    // Line signal, written by the group that raised it.
    uint residentRaised; // kind, set by compare and swap: the first one is kept
    uint residentRaisedArgument; // argument of the kernel
    uint residentRaisedSource; // group
    uint resident_signal[13];
    // Line grid, written by atomics.
    uint residentGridArrived; // arrivals at the grid barrier
    uint residentGridGeneration; // grid barriers that were passed
    uint residentTickOver; // 1: phases of further steps do nothing
    uint residentStopRelayed; // 1: group 0 has seen a stop request
    uint resident_grid[12];
    // Line arguments, written by leader of the last group to end a tick.
    uint residentNextGroups; // groups of the next dispatch of a chain: 0 if there is nothing to do
    uint residentNextY; // 1
    uint residentNextZ; // 1
    uint resident_arguments[13];
    // Line claims, written by atomics.
    uint residentClaimed; // steps since the base that were claimed
    uint resident_claims[15];
    // Line counters, written by atomics.
    uint residentLogged; // log entries since the session began
    uint residentLanesLow; // lanes that had work, as counted by the kernel
    uint residentLanesHigh; // upper half
    uint residentForwardPending; // groups that have yet to take the forwarded message
    uint residentSecondarySent; // messages put into the secondary outbox
    uint residentSecondaryClaimed; // the same, with claims of a full ring until they are returned
    uint resident_counters[10];
    // Line relay, written by leader of group 0.
    uvec4 residentRelay; // x: steps of group 0 since the base while it does steps, else all ones; y: number of the forwarded message, 0: none, or it is being written; z: 1: stop request
    uint residentForwardTo; // group that the forwarded message is for; all ones: every group
    uint residentForwardKind; // kind
    uint residentForwardA; // a
    uint residentForwardB; // b
    uint resident_relay[8];
    // two for each entry: number + 1, step low, step high, group; a, b, c, 0. Written by atomics.
    uvec4 residentLogRing[2 * RESIDENT_LOG];
    // four for each group: epoch, steps since the base, halted, idle; number of the last forwarded message that it saw, 0, 0, 0. Written by each group's leader.
    uvec4 residentGroups[];
};
