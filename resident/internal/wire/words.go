package wire

// The words of the control blocks that the host uses and their constants, as
// kernels/resident_control.glsl, which has all, has them for kernels: a test compares the two
// files. A line is 64 bytes that one side writes, so that
// no writer overwrites what another one has changed in the same line; lines that several groups
// write are changed by atomics only.

// Lengths of the rings, in entries: powers of two.
const (
	InboxLength  = 64
	OutboxLength = 256
	LogLength    = 1024
)

// Flags of a command.
const (
	FlagLockstep    = 0x1   // all groups do a step before any begins the next
	FlagClaim       = 0x2   // each step is done by the group that claims it
	FlagHostVisible = 0x4   // kernels see host writes during a dispatch
	FlagGridBarrier = 0x8   // a grid barrier follows each phase within a dispatch
	FlagTestBarrier = 0x10  // the tick tests the grid barrier
	FlagKeepIdle    = 0x20  // idle groups stay in the tick
	FlagBoundLead   = 0x40  // groups that are ahead wait for group 0
	FlagStepBound   = 0x80  // the target is a step bound: group 0 answers messages there
	FlagWaitMessage = 0x100 // idle groups poll for messages between their steps
	FlagSkipIdle    = 0x200 // idle groups skip to the target
)

// Bits of the control word and of the first word of a message. The upper half is a check of the message.
const (
	SequenceMask = 0x1fff // number of the newest message
	InlineBit    = 0x2000 // the message itself follows the control word
	AddressedBit = 0x4000 // in a ring: the message has an address, which the check covers
	StopBit      = 0x8000 // in the control word: end the tick
)

// Reasons why the state is wrong.
const (
	SpoiledByLoop    = 1 // the driver ended a loop early
	SpoiledByBarrier = 2 // a grid barrier timed out, and its group went on
)

// Word indices of ResidentShared.
const (
	SharedBinding = 5

	AtDoorbell       = 0  // x: control word; y z w: the newest message if the inline bit is set
	AtCommand        = 4  // x: epoch, y: target, z: budget, w: poll interval; in steps since the base
	AtBase           = 8  // x y: first step of the epoch, low and high, z: flags, w: phases
	AtTaken          = 12 // messages that the host has taken from the outbox
	AtSecondaryTaken = 13 // messages that the host has taken from the secondary outbox
	AtHeartbeat      = 16 // counts polls of the doorbell
	AtDone           = 17 // steps of group 0 since the base
	AtReceived       = 18 // messages taken from the inbox: the acknowledgement
	AtTicks          = 32 // x: ticks that have ended; written last
	AtLeast          = 36 // steps since the base that every group has done; all ones: all have halted
	AtMost           = 37 // steps since the base of the group that has done most
	AtKind           = 38 // kind of the signal; 0: none
	AtArgument       = 39 // argument of the signal
	AtSource         = 40 // group that raised the signal
	AtHalted         = 41 // groups that have halted
	AtIdle           = 42 // groups that had nothing to do in their last step
	AtActive         = 44 // groups that did a step in this tick
	AtSpoiled        = 45 // reasons why the state is wrong, of this tick or before, as bits; 0: it is right

	AtInbox              = 48   // messages to the kernel: word, kind, a, b
	InboxWords           = 4    // of an entry
	AtOutbox             = 304  // messages to the host: word, kind, a, b
	OutboxWords          = 4    // of an entry
	AtAddress            = 1328 // group that a message of the inbox is for, if its word has the address bit
	AddressWords         = 1    // of an entry
	AtSecondaryOutbox    = 1392 // two for each of their messages to the host: word, kind, a, b; group, 0, 0, 0
	SecondaryOutboxWords = 8    // of an entry

	SharedLines = 48   // words of all lines
	SharedWords = 3440 // of the block, without an array for the groups
)

// Word indices of ResidentWork.
const (
	WorkBinding = 6

	AtArrivedLeast = 1  // least steps of those that have not halted
	AtWorkSpoiled  = 6  // reasons why the state is wrong, as bits; never cleared
	AtStopRelayed  = 35 // 1: group 0 has seen a stop request
	AtNextGroups   = 48 // groups of the next dispatch of a chain: 0 if there is nothing to do
	AtNextY        = 49 // 1
	AtNextZ        = 50 // 1
	AtClaimed      = 64 // steps since the base that were claimed
	AtLogged       = 80 // log entries since the session began
	AtLanesLow     = 81 // lanes that had work, as counted by the kernel
	AtLanesHigh    = 82 // upper half
	AtRelay        = 96 // x: steps of group 0 since the base while it does steps, else all ones; y: number of the forwarded message, 0: none, or it is being written; z: 1: stop request

	AtLogRing    = 112  // two for each entry: number + 1, step low, step high, group; a, b, c, 0
	LogRingWords = 8    // of an entry
	AtGroups     = 8304 // four for each group: epoch, steps since the base, halted, idle; number of the last forwarded message that it saw, 0, 0, 0
	GroupsWords  = 16   // of an entry

	WorkLines = 112  // words of all lines
	WorkWords = 8304 // of the block, without an array for the groups
)
