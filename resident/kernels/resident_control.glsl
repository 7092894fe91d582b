// Made from the table in control.go: do not edit.
//
// The control blocks of a resident kernel. A line is 64 bytes and has one writer.

// mapped memory, which the host and the kernel see
layout(std430, binding = 5) coherent volatile buffer ResidentShared {
    // Line door, written by host.
    uvec4 residentDoor; // x: bell, y z w: the newest message where the bell says so
    uint residentTaken; // messages that the host has taken from the outbox
    uint residentTakenAside; // messages that the host has taken of other groups
    uint resident_door[10];
    // Line order, written by host.
    uvec4 residentOrder; // x: epoch, y: target, z: budget, w: poll; steps since the base
    uvec4 residentBase; // x y: first step of the epoch, low and high, z: mode, w: phases
    uint resident_order[8];
    // Line pulse, written by leader of group 0.
    uint residentHeartbeat; // counts looks at the door
    uint residentDone; // steps of group 0 since the base
    uint residentReceived; // messages that were taken from the inbox: the acknowledgement
    uint residentSent; // messages that were put into the outbox
    uint resident_pulse[12];
    // Line report, written by leader of the last group to end a tick.
    uint residentTicks; // ticks that have ended; written last
    uint residentLeast; // steps since the base that every group has done; all ones: all have halted
    uint residentMost; // steps since the base of the group that has done most
    uint residentKind; // signal: 0 running, 1 halt, 2 syscall, 3 checkpoint, 4 breakpoint, 5 fault
    uint residentArgument; // of the signal
    uint residentSource; // group that raised the signal
    uint residentHalted; // groups that have halted
    uint residentIdle; // groups that had nothing to do in their last step
    uint residentEpoch; // epoch of the order that was carried out
    uint residentActive; // groups that did a step in this tick
    uint resident_report[6];
    // messages to the kernel: word, kind, a, b. Written by host.
    uvec4 residentInbox[RESIDENT_INBOX];
    // messages to the host: word, kind, a, b. Written by leader of group 0.
    uvec4 residentOutbox[RESIDENT_OUTBOX];
    // group that a message of the inbox is for, where its word says that there is one. Written by host.
    uint residentAddress[RESIDENT_INBOX];
    // two for each message of theirs to the host: word, kind, a, b; group, 0, 0, 0. Written by leaders of other groups.
    uvec4 residentAside[2 * RESIDENT_OUTBOX];
};

// device memory, which groups share
layout(std430, binding = 6) coherent volatile buffer ResidentWork {
    // Line arrivals, written by atomics.
    uint residentArrived; // groups that have ended the tick
    uint residentArrivedLeast; // least steps of those that have not halted
    uint residentArrivedMost; // most steps
    uint residentArrivedHalted; // groups that have halted
    uint residentArrivedIdle; // groups with nothing to do
    uint residentArrivedActive; // groups that did a step
    uint resident_arrivals[10];
    // Line signal, written by the group that raised it.
    uint residentRaised; // kind, set by compare and swap: the first one wins
    uint residentRaisedArgument; // what the kernel says about it
    uint residentRaisedSource; // group
    uint resident_signal[13];
    // Line grid, written by atomics.
    uint residentGridArrived; // groups at the grid barrier
    uint residentGridGeneration; // barriers that were passed
    uint residentVerdict; // 1: phases of further steps do nothing
    uint residentRelayStop; // what group 0 saw at the door
    uint resident_grid[12];
    // Line arguments, written by leader of the last group to end a tick.
    uint residentNextGroups; // groups of the next dispatch of a chain: 0 once there is nothing to do
    uint residentNextY; // 1
    uint residentNextZ; // 1
    uint resident_arguments[13];
    // Line claims, written by atomics.
    uint residentClaimed; // steps since the base that were claimed
    uint resident_claims[15];
    // Line counters, written by atomics.
    uint residentLogged; // log entries since the session began
    uint residentLanesLow; // lanes that had work, as the kernel says
    uint residentLanesHigh; // the upper half
    uint residentAwaited; // groups that have still to take the post
    uint residentAsideSent; // messages to the host of other groups
    uint residentAsideClaimed; // the same with those that there was no room for, until they are given back
    uint resident_counters[10];
    // Line post, written by leader of group 0.
    uvec4 residentWatch; // what other groups look at, x: steps of group 0 since the base while it does steps, else all ones, y: number of the message that was passed on last, 0: none, or one is being written, z: 1: the host wants the tick to end
    uint residentPostTo; // group that it is for; all ones: every group
    uint residentPostKind; // kind
    uint residentPostA; // a
    uint residentPostB; // b
    uint resident_post[8];
    // two for each entry: number + 1, step low, step high, group; a, b, c, 0. Written by atomics.
    uvec4 residentLogRing[2 * RESIDENT_LOG];
    // four for each group: epoch, steps since the base, halted, idle; number of the post that it saw last, 0, 0, 0. Written by each group's leader.
    uvec4 residentGroups[];
};
