// Package layout defines the memory that the host and resident kernels exchange data
// in: the control blocks, their constants, and the words of each field. It is the one
// source of internal/wire/words.go and kernels/resident_control.glsl, which go generate
// writes.
package layout

import "fmt"

// Block is one storage buffer.
type Block struct {
	Name    string // of the GLSL block
	Go      string // prefix of its sizes in Go
	Binding int
	Memory  string // GLSL qualifiers
	About   string
	Lines   []Line
	Arrays  []Array // behind the lines
}

// Line is 64 bytes that one side writes, so that no writer overwrites what another one
// has changed in the same line. Lines that several groups write are changed by atomics
// only.
type Line struct {
	Name   string
	Writer string
	Fields []Field
}

// Field is one or four words of a line.
type Field struct {
	Name  string
	Words int
	About string
}

// Array is a number of entries. Count names a constant, or is empty for one entry for
// each work group.
type Array struct {
	Name, Count, Kind, Writer, About string
	Words                            int // of an entry
}

// Group is constants of one kind.
type Group struct {
	About    string
	Override bool // a kernel may define the constant itself
	Hex      bool // how the values are written
	List     []Constant
}

// text returns a value as Go and GLSL write it.
func (g Group) text(value uint32) string {
	if g.Hex {
		return fmt.Sprintf("%#x", value)
	}
	return fmt.Sprint(value)
}

// Constant is a number that the host and kernels share.
type Constant struct {
	Go, GLSL string
	Value    uint32
	About    string
}

// LineWords is the number of words of a line.
const LineWords = 16

// Constants lists all constants.
var Constants = []Group{
	{About: "Lengths of the rings, in entries: powers of two.", Override: true, List: []Constant{
		{"InboxLength", "RESIDENT_INBOX", 64, ""},
		{"OutboxLength", "RESIDENT_OUTBOX", 256, ""},
		{"LogLength", "RESIDENT_LOG", 1024, ""},
	}},
	{About: "Flags of a command.", Hex: true, List: []Constant{
		{"FlagLockstep", "RESIDENT_FLAG_LOCKSTEP", 1 << 0, "all groups do a step before any begins the next"},
		{"FlagClaim", "RESIDENT_FLAG_CLAIM", 1 << 1, "each step is done by the group that claims it"},
		{"FlagHostVisible", "RESIDENT_FLAG_HOST_VISIBLE", 1 << 2, "kernels see host writes during a dispatch"},
		{"FlagGridBarrier", "RESIDENT_FLAG_GRID_BARRIER", 1 << 3, "a grid barrier follows each phase within a dispatch"},
		{"FlagTestBarrier", "RESIDENT_FLAG_TEST_BARRIER", 1 << 4, "the tick tests the grid barrier"},
		{"FlagKeepIdle", "RESIDENT_FLAG_KEEP_IDLE", 1 << 5, "idle groups stay in the tick"},
		{"FlagBoundLead", "RESIDENT_FLAG_BOUND_LEAD", 1 << 6, "groups that are ahead wait for group 0"},
		{"FlagStepBound", "RESIDENT_FLAG_STEP_BOUND", 1 << 7, "the target is a step bound: group 0 answers messages there"},
		{"FlagWaitMessage", "RESIDENT_FLAG_WAIT_MESSAGE", 1 << 8, "idle groups poll for messages between their steps"},
		{"FlagSkipIdle", "RESIDENT_FLAG_SKIP_IDLE", 1 << 9, "idle groups skip to the target"},
	}},
	{About: "Bits of the control word and of the first word of a message. The upper half is a check of the message.", Hex: true, List: []Constant{
		{"SequenceMask", "RESIDENT_SEQUENCE", 0x1fff, "number of the newest message"},
		{"InlineBit", "RESIDENT_INLINE", 0x2000, "the message itself follows the control word"},
		{"AddressedBit", "RESIDENT_ADDRESSED", 0x4000, "in a ring: the message has an address, which the check covers"},
		{"StopBit", "RESIDENT_STOP", 0x8000, "in the control word: end the tick"},
	}},
	{About: "Addresses of messages.", Hex: true, List: []Constant{
		{"Broadcast", "RESIDENT_BROADCAST", 0xffffffff, "all groups"},
	}},
	{About: "Kinds of signal.", List: []Constant{
		{"SignalRunning", "RESIDENT_RUNNING", 0, "no signal"},
		{"SignalHalt", "RESIDENT_HALTED", 1, ""},
		{"SignalSyscall", "RESIDENT_SYSCALL", 2, ""},
		{"SignalCheckpoint", "RESIDENT_CHECKPOINT", 3, ""},
		{"SignalBreakpoint", "RESIDENT_BREAKPOINT", 4, ""},
		{"SignalFault", "RESIDENT_FAULT", 5, ""},
		{"SignalOwn", "RESIDENT_OWN", 16, "kinds from here on are the kernel's"},
	}},
	{About: "Reasons why the state is wrong.", List: []Constant{
		{"SpoiledByLoop", "RESIDENT_SPOILED_BY_LOOP", 1, "the driver ended a loop early"},
		{"SpoiledByBarrier", "RESIDENT_SPOILED_BY_BARRIER", 2, "a grid barrier timed out, and its group went on"},
	}},
}

// Blocks lists the control blocks.
var Blocks = []Block{
	{
		Name: "ResidentShared", Go: "Shared", Binding: 5, Memory: "coherent volatile",
		About: "Mapped memory, which the host and the kernel access.",
		Lines: []Line{
			{"host", "host", []Field{
				{"Doorbell", 4, "x: control word; y z w: the newest message if the inline bit is set"},
				{"Command", 4, "x: epoch, y: target, z: budget, w: poll interval; in steps since the base"},
				{"Base", 4, "x y: first step of the epoch, low and high, z: flags, w: phases"},
				{"Taken", 1, "messages that the host has taken from the outbox"},
				{"SecondaryTaken", 1, "messages that the host has taken from the secondary outbox"},
			}},
			{"progress", "leader of group 0", []Field{
				{"Heartbeat", 1, "counts polls of the doorbell"},
				{"Done", 1, "steps of group 0 since the base"},
				{"Received", 1, "messages taken from the inbox: the acknowledgement"},
				{"Sent", 1, "messages put into the outbox"},
			}},
			{"status", "leader of the last group to end a tick", []Field{
				{"Ticks", 4, "x: ticks that have ended; written last"},
				{"Least", 1, "steps since the base that every group has done; all ones: all have halted"},
				{"Most", 1, "steps since the base of the group that has done most"},
				{"Kind", 1, "kind of the signal; 0: none"},
				{"Argument", 1, "argument of the signal"},
				{"Source", 1, "group that raised the signal"},
				{"Halted", 1, "groups that have halted"},
				{"Idle", 1, "groups that had nothing to do in their last step"},
				{"Epoch", 1, "epoch of the command that was executed"},
				{"Active", 1, "groups that did a step in this tick"},
				{"Spoiled", 1, "reasons why the state is wrong, of this tick or before, as bits; 0: it is right"},
			}},
		},
		Arrays: []Array{
			{"Inbox", "RESIDENT_INBOX", "uvec4", "host", "messages to the kernel: word, kind, a, b", 4},
			{"Outbox", "RESIDENT_OUTBOX", "uvec4", "leader of group 0", "messages to the host: word, kind, a, b", 4},
			{"Address", "RESIDENT_INBOX", "uint", "host", "group that a message of the inbox is for, if its word has the address bit", 1},
			{"SecondaryOutbox", "RESIDENT_OUTBOX", "uvec4", "leaders of other groups", "two for each of their messages to the host: word, kind, a, b; group, 0, 0, 0", 8},
		},
	},
	{
		Name: "ResidentWork", Go: "Work", Binding: 6, Memory: "coherent volatile",
		About: "Device memory, which groups share.",
		Lines: []Line{
			{"arrivals", "atomics", []Field{
				{"Arrived", 1, "groups that have ended the tick"},
				{"ArrivedLeast", 1, "least steps of those that have not halted"},
				{"ArrivedMost", 1, "most steps"},
				{"ArrivedHalted", 1, "groups that have halted"},
				{"ArrivedIdle", 1, "groups with nothing to do"},
				{"ArrivedActive", 1, "groups that did a step"},
				{"WorkSpoiled", 1, "reasons why the state is wrong, as bits; never cleared"},
			}},
			{"signal", "the group that raised it", []Field{
				{"Raised", 1, "kind, set by compare and swap: the first one is kept"},
				{"RaisedArgument", 1, "argument of the kernel"},
				{"RaisedSource", 1, "group"},
			}},
			{"grid", "atomics", []Field{
				{"GridArrived", 1, "arrivals at the grid barrier"},
				{"GridGeneration", 1, "grid barriers that were passed"},
				{"TickOver", 1, "1: phases of further steps do nothing"},
				{"StopRelayed", 1, "1: group 0 has seen a stop request"},
			}},
			{"arguments", "leader of the last group to end a tick", []Field{
				{"NextGroups", 1, "groups of the next dispatch of a chain: 0 if there is nothing to do"},
				{"NextY", 1, "1"},
				{"NextZ", 1, "1"},
			}},
			{"claims", "atomics", []Field{
				{"Claimed", 1, "steps since the base that were claimed"},
			}},
			{"counters", "atomics", []Field{
				{"Logged", 1, "log entries since the session began"},
				{"LanesLow", 1, "lanes that had work, as counted by the kernel"},
				{"LanesHigh", 1, "upper half"},
				{"ForwardPending", 1, "groups that have yet to take the forwarded message"},
				{"SecondarySent", 1, "messages put into the secondary outbox"},
				{"SecondaryClaimed", 1, "the same, with claims of a full ring until they are returned"},
				{"TickCount", 1, "ticks that have ended"},
			}},
			{"relay", "leader of group 0", []Field{
				{"Relay", 4, "x: steps of group 0 since the base while it does steps, else all ones; y: number of the forwarded message, 0: none, or it is being written; z: 1: stop request"},
				{"ForwardTo", 1, "group that the forwarded message is for; all ones: every group"},
				{"ForwardKind", 1, "kind"},
				{"ForwardA", 1, "a"},
				{"ForwardB", 1, "b"},
				{"Carried", 4, "from one tick to the next: x: messages taken from the inbox, y: put into the outbox, z: heartbeats"},
			}},
		},
		Arrays: []Array{
			{"LogRing", "RESIDENT_LOG", "uvec4", "atomics", "two for each entry: number + 1, step low, step high, group; a, b, c, 0", 8},
			{"Groups", "", "uvec4", "each group's leader", "four for each group: epoch, steps since the base, halted, idle; number of the last forwarded message that it saw, 0, 0, 0", 16},
		},
	},
}

// EachField calls visit for every field of a block with its word index.
func (b Block) EachField(visit func(l Line, f Field, at int)) {
	for i, l := range b.Lines {
		at := i * LineWords
		for _, f := range l.Fields {
			visit(l, f, at)
			at += f.Words
		}
		if at > (i+1)*LineWords {
			panic(fmt.Sprintf("layout: line %s is longer than 64 bytes", l.Name))
		}
	}
}

// EachArray calls visit for every array of a block with its word index, and returns the
// words of the block up to an array without a count.
func (b Block) EachArray(visit func(a Array, at int)) (words int) {
	words = LineWords * len(b.Lines)
	for _, a := range b.Arrays {
		visit(a, words)
		words += a.Words * a.entries()
	}
	return words
}

// entries returns the length of an array, 0 for one that grows with the groups.
func (a Array) entries() int {
	for _, g := range Constants {
		for _, c := range g.List {
			if c.GLSL == a.Count {
				return int(c.Value)
			}
		}
	}
	return 0
}
