// Code generated from the table in control.go; DO NOT EDIT.

package resident

// Words of ResidentShared.
const (
	wordDoor       = 0  // x: bell, y z w: the newest message where the bell says so
	wordTaken      = 4  // messages that the host has taken from the outbox
	wordTakenAside = 5  // messages that the host has taken of other groups
	wordOrder      = 16 // x: epoch, y: target, z: budget, w: poll; steps since the base
	wordBase       = 20 // x y: first step of the epoch, low and high, z: mode, w: phases
	wordHeartbeat  = 32 // counts looks at the door
	wordDone       = 33 // steps of group 0 since the base
	wordReceived   = 34 // messages that were taken from the inbox: the acknowledgement
	wordSent       = 35 // messages that were put into the outbox
	wordTicks      = 48 // ticks that have ended; written last
	wordLeast      = 49 // steps since the base that every group has done; all ones: all have halted
	wordMost       = 50 // steps since the base of the group that has done most
	wordKind       = 51 // signal: 0 running, 1 halt, 2 syscall, 3 checkpoint, 4 breakpoint, 5 fault
	wordArgument   = 52 // of the signal
	wordSource     = 53 // group that raised the signal
	wordHalted     = 54 // groups that have halted
	wordIdle       = 55 // groups that had nothing to do in their last step
	wordEpoch      = 56 // epoch of the order that was carried out
	wordActive     = 57 // groups that did a step in this tick

	wordsResidentShared = 64 // of all lines; arrays follow
)

// Words of ResidentWork.
const (
	wordArrived        = 0   // groups that have ended the tick
	wordArrivedLeast   = 1   // least steps of those that have not halted
	wordArrivedMost    = 2   // most steps
	wordArrivedHalted  = 3   // groups that have halted
	wordArrivedIdle    = 4   // groups with nothing to do
	wordArrivedActive  = 5   // groups that did a step
	wordRaised         = 16  // kind, set by compare and swap: the first one wins
	wordRaisedArgument = 17  // what the kernel says about it
	wordRaisedSource   = 18  // group
	wordGridArrived    = 32  // groups at the grid barrier
	wordGridGeneration = 33  // barriers that were passed
	wordVerdict        = 34  // 1: phases of further steps do nothing
	wordRelayStop      = 35  // what group 0 saw at the door
	wordNextGroups     = 48  // groups of the next dispatch of a chain: 0 once there is nothing to do
	wordNextY          = 49  // 1
	wordNextZ          = 50  // 1
	wordClaimed        = 64  // steps since the base that were claimed
	wordLogged         = 80  // log entries since the session began
	wordLanesLow       = 81  // lanes that had work, as the kernel says
	wordLanesHigh      = 82  // the upper half
	wordAwaited        = 83  // groups that have still to take the post
	wordAsideSent      = 84  // messages to the host of other groups
	wordAsideClaimed   = 85  // the same with those that there was no room for, until they are given back
	wordWatch          = 96  // what other groups look at, x: steps of group 0 since the base while it does steps, else all ones, y: number of the message that was passed on last, 0: none, or one is being written, z: 1: the host wants the tick to end
	wordPostTo         = 100 // group that it is for; all ones: every group
	wordPostKind       = 101 // kind
	wordPostA          = 102 // a
	wordPostB          = 103 // b

	wordsResidentWork = 112 // of all lines; arrays follow
)
