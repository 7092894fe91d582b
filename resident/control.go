package resident

import (
	"fmt"
	"go/format"
	"strings"
)

// The control blocks are defined once, here. control_words.go, kernels/resident_control.glsl
// and the tables of docs/resident.md are made from it:
//
//	go test -tags egl ./resident -run TestControlIsCurrent -update
//
// A line is 64 bytes and has one writer, so that nobody writes back what
// another side has changed meanwhile. Lines that several groups write are
// touched by atomics only.

// block is one storage buffer of the control.
type block struct {
	name    string // of the GLSL block
	binding int
	memory  string // the qualifiers of the block
	about   string
	lines   []line
	arrays  []array
}

// line is 64 bytes with one writer.
type line struct {
	name   string
	writer string
	fields []field
}

// field is one or four words of a line.
type field struct {
	name  string
	words int
	about string
}

// array follows the lines. Its count is a name that the host defines, or empty
// for as many as the buffer has.
type array struct {
	name, count, kind, writer, about string
	words                            int
}

const (
	lineWords     = 16
	sharedBinding = 5
	workBinding   = 6
)

// controlBlocks is the definition.
var controlBlocks = []block{
	{
		name: "ResidentShared", binding: sharedBinding, memory: "coherent volatile",
		about: "mapped memory, which the host and the kernel see",
		lines: []line{
			{"door", "host", []field{
				{"Door", 4, "x: bell, y z w: the newest message where the bell says so"},
				{"Taken", 1, "messages that the host has taken from the outbox"},
				{"TakenAside", 1, "messages that the host has taken of other groups"},
			}},
			{"order", "host", []field{
				{"Order", 4, "x: epoch, y: target, z: budget, w: poll; steps since the base"},
				{"Base", 4, "x y: first step of the epoch, low and high, z: mode, w: phases"},
			}},
			{"pulse", "leader of group 0", []field{
				{"Heartbeat", 1, "counts looks at the door"},
				{"Done", 1, "steps of group 0 since the base"},
				{"Received", 1, "messages that were taken from the inbox: the acknowledgement"},
				{"Sent", 1, "messages that were put into the outbox"},
			}},
			{"report", "leader of the last group to end a tick", []field{
				{"Ticks", 1, "ticks that have ended; written last"},
				{"Least", 1, "steps since the base that every group has done; all ones: all have halted"},
				{"Most", 1, "steps since the base of the group that has done most"},
				{"Kind", 1, "signal: 0 running, 1 halt, 2 syscall, 3 checkpoint, 4 breakpoint, 5 fault"},
				{"Argument", 1, "of the signal"},
				{"Source", 1, "group that raised the signal"},
				{"Halted", 1, "groups that have halted"},
				{"Idle", 1, "groups that had nothing to do in their last step"},
				{"Epoch", 1, "epoch of the order that was carried out"},
				{"Active", 1, "groups that did a step in this tick"},
			}},
		},
		arrays: []array{
			{"Inbox", "RESIDENT_INBOX", "uvec4", "host", "messages to the kernel: word, kind, a, b", 4},
			{"Outbox", "RESIDENT_OUTBOX", "uvec4", "leader of group 0", "messages to the host: word, kind, a, b", 4},
			{"Address", "RESIDENT_INBOX", "uint", "host", "group that a message of the inbox is for, where its word says that there is one", 1},
			{"Aside", "RESIDENT_OUTBOX", "uvec4", "leaders of other groups", "two for each message of theirs to the host: word, kind, a, b; group, 0, 0, 0", 8},
		},
	},
	{
		name: "ResidentWork", binding: workBinding, memory: "coherent volatile",
		about: "device memory, which groups share",
		lines: []line{
			{"arrivals", "atomics", []field{
				{"Arrived", 1, "groups that have ended the tick"},
				{"ArrivedLeast", 1, "least steps of those that have not halted"},
				{"ArrivedMost", 1, "most steps"},
				{"ArrivedHalted", 1, "groups that have halted"},
				{"ArrivedIdle", 1, "groups with nothing to do"},
				{"ArrivedActive", 1, "groups that did a step"},
			}},
			{"signal", "the group that raised it", []field{
				{"Raised", 1, "kind, set by compare and swap: the first one wins"},
				{"RaisedArgument", 1, "what the kernel says about it"},
				{"RaisedSource", 1, "group"},
			}},
			{"grid", "atomics", []field{
				{"GridArrived", 1, "groups at the grid barrier"},
				{"GridGeneration", 1, "barriers that were passed"},
				{"Verdict", 1, "1: phases of further steps do nothing"},
				{"RelayStop", 1, "what group 0 saw at the door"},
			}},
			{"arguments", "leader of the last group to end a tick", []field{
				{"NextGroups", 1, "groups of the next dispatch of a chain: 0 once there is nothing to do"},
				{"NextY", 1, "1"},
				{"NextZ", 1, "1"},
			}},
			{"claims", "atomics", []field{
				{"Claimed", 1, "steps since the base that were claimed"},
			}},
			{"counters", "atomics", []field{
				{"Logged", 1, "log entries since the session began"},
				{"LanesLow", 1, "lanes that had work, as the kernel says"},
				{"LanesHigh", 1, "the upper half"},
				{"Awaited", 1, "groups that have still to take the post"},
				{"AsideSent", 1, "messages to the host of other groups"},
				{"AsideClaimed", 1, "the same with those that there was no room for, until they are given back"},
			}},
			{"post", "leader of group 0", []field{
				{"Watch", 4, "what other groups look at, x: steps of group 0 since the base while it does steps, else all ones, y: number of the message that was passed on last, 0: none, or one is being written, z: 1: the host wants the tick to end"},
				{"PostTo", 1, "group that it is for; all ones: every group"},
				{"PostKind", 1, "kind"},
				{"PostA", 1, "a"},
				{"PostB", 1, "b"},
			}},
		},
		arrays: []array{
			{"LogRing", "RESIDENT_LOG", "uvec4", "atomics", "two for each entry: number + 1, step low, step high, group; a, b, c, 0", 8},
			{"Groups", "", "uvec4", "each group's leader", "four for each group: epoch, steps since the base, halted, idle; number of the post that it saw last, 0, 0, 0", 16},
		},
	},
}

// eachWord calls visit for every field of a block with its place, in words.
func (b block) eachWord(visit func(l line, f field, at int)) {
	for i, l := range b.lines {
		at := i * lineWords
		for _, f := range l.fields {
			visit(l, f, at)
			at += f.words
		}
		if at > (i+1)*lineWords {
			panic(fmt.Sprintf("resident: line %s is longer than 64 bytes", l.name))
		}
	}
}

// controlGLSL is kernels/resident_control.glsl.
func controlGLSL() string {
	var t strings.Builder
	t.WriteString("// Made from the table in control.go: do not edit.\n//\n" +
		"// The control blocks of a resident kernel. A line is 64 bytes and has one writer.\n")
	for _, b := range controlBlocks {
		fmt.Fprintf(&t, "\n// %s\nlayout(std430, binding = %d) %s buffer %s {\n", b.about, b.binding, b.memory, b.name)
		for _, l := range b.lines {
			l.writeGLSL(&t)
		}
		for _, a := range b.arrays {
			fmt.Fprintf(&t, "    // %s. Written by %s.\n    %s resident%s[%s];\n", a.about, a.writer, a.kind, a.name, a.countGLSL())
		}
		t.WriteString("};\n")
	}
	return t.String()
}

// countGLSL is the length of an array in elements of its kind.
func (a array) countGLSL() string {
	if a.count == "" || a.words <= 4 {
		return a.count
	}
	return fmt.Sprintf("%d * %s", a.words/4, a.count)
}

func (l line) writeGLSL(t *strings.Builder) {
	fmt.Fprintf(t, "    // Line %s, written by %s.\n", l.name, l.writer)
	used := 0
	for _, f := range l.fields {
		kind := "uint"
		if f.words == 4 {
			kind = "uvec4"
		}
		fmt.Fprintf(t, "    %s resident%s; // %s\n", kind, f.name, f.about)
		used += f.words
	}
	if used < lineWords {
		fmt.Fprintf(t, "    uint resident_%s[%d];\n", l.name, lineWords-used)
	}
}

// controlGo is control_words.go.
func controlGo() (string, error) {
	var t strings.Builder
	t.WriteString("// Code generated from the table in control.go; DO NOT EDIT.\n\npackage resident\n")
	for _, b := range controlBlocks {
		fmt.Fprintf(&t, "\n// Words of %s.\nconst (\n", b.name)
		b.eachWord(func(_ line, f field, at int) {
			fmt.Fprintf(&t, "\tword%s = %d // %s\n", f.name, at, f.about)
		})
		fmt.Fprintf(&t, "\n\twords%s = %d // of all lines; arrays follow\n)\n", b.name, len(b.lines)*lineWords)
	}
	text, err := format.Source([]byte(t.String()))
	return string(text), err
}

// controlTable is the part of docs/resident.md about a block.
func (b block) controlTable() string {
	var t strings.Builder
	t.WriteString("| byte | field | written by | what |\n|---|---|---|---|\n")
	b.eachWord(func(l line, f field, at int) {
		fmt.Fprintf(&t, "| %d | `resident%s` | %s | %s |\n", 4*at, f.name, l.writer, f.about)
	})
	for _, a := range b.arrays {
		count := a.count
		if count == "" {
			count = "groups"
		}
		fmt.Fprintf(&t, "| then %s x %d bytes | `resident%s` | %s | %s |\n", count, 4*a.words, a.name, a.writer, a.about)
	}
	return t.String()
}
