package lint

import (
	"maps"

	"github.com/shadercache/shadercache/shader"
)

// class is how a value varies over the invocations of a group.
type class uint8

const (
	uniform   class = iota // the same for all
	divergent              // may differ between invocations
	lane                   // differs between any two: an invocation's index
	oneLane                // true for one invocation at most
	allButOne              // false for one invocation at most
)

func (c class) isDivergent() bool { return c != uniform }

// join returns the class of a value that has one class or the other.
func join(a, b class) class {
	if a == b {
		return a
	}
	return divergent
}

// variable names a local by the call that it belongs to; 0 is the program.
type variable struct {
	call int
	name string
}

// flow is the state of the analysis at a point of the text.
type flow struct {
	classes map[variable]class
	// unsynchronized shared variables were written since the last barrier().
	unsynchronized map[string]bool
	// read has the shared variables that all invocations have read since the last
	// barrier(), and where.
	read map[string]shader.Position
}

func newFlow() *flow {
	return &flow{map[variable]class{}, map[string]bool{}, map[string]shader.Position{}}
}

func (f *flow) clone() *flow {
	return &flow{maps.Clone(f.classes), maps.Clone(f.unsynchronized), maps.Clone(f.read)}
}

// merge adds the state on another path to the same point.
func (f *flow) merge(other *flow) {
	for v, c := range other.classes {
		if mine, ok := f.classes[v]; ok {
			c = join(mine, c)
		}
		f.classes[v] = c
	}
	maps.Copy(f.unsynchronized, other.unsynchronized)
	maps.Copy(f.read, other.read)
}

// passBarrier is a barrier(): all invocations see what was written before it.
func (f *flow) passBarrier() {
	clear(f.unsynchronized)
	clear(f.read)
}

// call is a function call on the stack of the walk.
type call struct {
	number   int
	function *function
	result   class
	results  int // return statements so far
	// returned is a return statement that part of the group has executed.
	returned *shader.Position
	scopes   []scope
}

// scope is an if, a loop or a switch on the stack of the walk.
type scope struct {
	kind statementKind
	at   shader.Position
	// part is set where part of the group is in the scope, single where one lane is.
	part, single bool
	// left is a break, missed a continue or a switch's break, that part of the
	// group has executed.
	left, missed *shader.Position
}

// partial returns the innermost scope from scopes[from] on that only part of the
// group is in, or nil.
func (c *call) partial(from int) *scope {
	for i := len(c.scopes) - 1; i >= from; i-- {
		if c.scopes[i].part {
			return &c.scopes[i]
		}
	}
	return nil
}

// innermost returns the index of the innermost scope of these kinds, or -1.
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
