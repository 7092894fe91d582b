package lint

import (
	"maps"

	"github.com/shadercache/shadercache/shader"
)

// class says what the invocations of a group see of a value.
type class uint8

const (
	same      class = iota // all the same
	different              // each possibly something else
	lane                   // different, and no two the same: an invocation's number
	leader                 // true for one at most
	others                 // false for one at most
)

func (c class) differs() bool { return c != same }

// join is what is known of a value that is one or the other.
func join(a, b class) class {
	if a == b {
		return a
	}
	return different
}

// variable names a local by the call that it belongs to; 0 is the program.
type variable struct {
	call int
	name string
}

// flow is what is known at a point of the text.
type flow struct {
	classes map[variable]class
	// unsettled shared variables were written since the last barrier().
	unsettled map[string]bool
	// read shared variables were read by all since the last barrier(), here.
	read map[string]shader.Position
}

func newFlow() *flow {
	return &flow{map[variable]class{}, map[string]bool{}, map[string]shader.Position{}}
}

func (f *flow) clone() *flow {
	return &flow{maps.Clone(f.classes), maps.Clone(f.unsettled), maps.Clone(f.read)}
}

// merge adds what is known on another way to the same point.
func (f *flow) merge(other *flow) {
	for v, c := range other.classes {
		if mine, ok := f.classes[v]; ok {
			c = join(mine, c)
		}
		f.classes[v] = c
	}
	maps.Copy(f.unsettled, other.unsettled)
	maps.Copy(f.read, other.read)
}

// settle is a barrier(): what was written is there for all.
func (f *flow) settle() {
	clear(f.unsettled)
	clear(f.read)
}

// call is a function that is being walked through.
type call struct {
	number   int
	function *function
	result   class
	results  int // returns that were seen
	// returned is a return that part of the group has taken.
	returned *shader.Position
	scopes   []scope
}

// scope is a condition, a loop or a switch that is being walked through.
type scope struct {
	kind statementKind
	at   shader.Position
	// part says that part of the group is in here; single that it is one lane.
	part, single bool
	// left is a break, missed a continue or a switch's break, that part of the
	// group has taken.
	left, missed *shader.Position
}

// partial returns the innermost condition under which only part of the group
// is here, looking outwards no further than scopes[from], or nil.
func (c *call) partial(from int) *scope {
	for i := len(c.scopes) - 1; i >= from; i-- {
		if c.scopes[i].part {
			return &c.scopes[i]
		}
	}
	return nil
}

// innermost is the index of the innermost loop, or loop or switch, or -1.
func (c *call) innermost(kinds ...statementKind) int {
	for i := len(c.scopes) - 1; i >= 0; i-- {
		for _, k := range kinds {
			if c.scopes[i].kind == k {
				return i
			}
		}
	}
	return -1
}
