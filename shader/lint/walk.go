package lint

import "github.com/shadercache/shadercache/shader"

// maxSteps bounds the work on one text: a loop within a loop is walked through
// twice as often.
const maxSteps = 50_000

// walk follows a program from main, through its calls, as a group would.
type walk struct {
	*checker
	flow   *flow
	calls  []*call
	number int             // of the last call
	called map[string]bool // functions that were walked through
	silent int             // > 0: nothing is reported
	steps  int
}

// walkProgram follows the program from main; where functions are left that main
// does not call, as in a file to be included, from them.
func (c *checker) walkProgram() {
	w := &walk{checker: c, flow: newFlow(), called: map[string]bool{}}
	w.calls = []*call{{}}
	w.list(c.program.globals)
	w.calls = nil
	if mains := c.program.functions["main"]; len(mains) > 0 {
		w.call(mains[len(mains)-1], nil)
	}
	// Callers stand below what they call.
	for i := len(c.program.order) - 1; i >= 0; i-- {
		if f := c.program.order[i]; !w.called[f.name] {
			w.flow.settle()
			w.call(f, nil)
		}
	}
	if w.steps > maxSteps {
		c.report(Unreadable, shader.Position{Line: 1, Column: 1}, "too many loops within loops: not everything was checked")
	}
}

// tell reports a finding unless this is a first time through a loop.
func (w *walk) tell(rule Rule, at shader.Position, format string, values ...any) {
	if w.silent == 0 {
		w.report(rule, at, format, values...)
	}
}

func (w *walk) top() *call { return w.calls[len(w.calls)-1] }

// call walks through a function and returns what its result is to the group.
func (w *walk) call(f *function, arguments []class) class {
	w.called[f.name] = true
	for _, c := range w.calls {
		if c.function == f {
			return same
		}
	}
	if len(w.calls) > maxDepth || w.steps > maxSteps {
		return different
	}
	w.number++
	c := &call{number: w.number, function: f}
	for i, p := range f.params {
		if i < len(arguments) {
			w.flow.classes[variable{c.number, p.name}] = arguments[i]
		}
	}
	w.calls = append(w.calls, c)
	w.list(f.body)
	w.calls = w.calls[:len(w.calls)-1]
	for v := range w.flow.classes {
		if v.call == c.number {
			delete(w.flow.classes, v)
		}
	}
	return c.result
}

func (w *walk) list(statements []*statement) {
	opened := 0
	for _, s := range statements {
		c := w.statement(s)
		// if (not the leader) return: one lane goes on.
		if s.kind == branch && len(s.otherwise) == 0 && endsFunction(s.body) && c == others {
			w.enter(scope{kind: block, at: s.at, single: true})
			opened++
		}
	}
	for range opened {
		w.leave()
	}
}

func endsFunction(list []*statement) bool {
	return len(list) > 0 && list[len(list)-1].kind == leaveFunction
}

// statement returns what the condition of an if is to the group.
func (w *walk) statement(s *statement) class {
	if w.steps++; w.steps > maxSteps {
		return same
	}
	switch s.kind {
	case simple:
		w.expression(s.tokens)
	case block:
		w.list(s.body)
	case branch:
		return w.branch(s)
	case loop:
		w.loop(s)
	case choice:
		w.choice(s)
	case leaveLoop:
		w.leaveLoop(s)
	case nextTurn:
		if i := w.top().innermost(loop); i >= 0 && w.top().partial(i+1) != nil {
			w.top().scopes[i].missed = &s.at
		}
	case leaveFunction:
		w.leaveFunction(s)
	}
	return same
}

func (w *walk) enter(s scope) { w.top().scopes = append(w.top().scopes, s) }

func (w *walk) leave() scope {
	c := w.top()
	s := c.scopes[len(c.scopes)-1]
	c.scopes = c.scopes[:len(c.scopes)-1]
	return s
}

func (w *walk) branch(s *statement) class {
	c := w.expression(s.tokens)
	before := w.flow.clone()
	w.enter(scope{kind: branch, at: s.at, part: c.differs(), single: c == leader})
	w.list(s.body)
	w.leave()
	after := w.flow
	w.flow = before
	w.enter(scope{kind: branch, at: s.at, part: c.differs(), single: c == others})
	w.list(s.otherwise)
	w.leave()
	w.flow.merge(after)
	return c
}

// loop walks twice: the first time learns what the body leaves for the next
// turn and who leaves it, the second time reports.
func (w *walk) loop(s *statement) {
	w.expression(s.init)
	w.singleLane(s)
	entered := scope{kind: loop, at: s.at}
	for round := range 2 {
		w.silent += 1 - round
		before := w.flow.clone()
		w.enter(entered)
		w.turn(s)
		entered = w.leave()
		entered.missed = nil
		w.flow.merge(before)
		w.silent -= 1 - round
	}
	if entered.left != nil || entered.part {
		w.blur(s)
	}
}

// turn is one turn of a loop.
func (w *walk) turn(s *statement) {
	if !s.last {
		w.test(s)
	}
	w.list(s.body)
	w.expression(s.post)
	if s.last {
		w.test(s)
	}
}

// test is a loop's condition: who fails it is out.
func (w *walk) test(s *statement) {
	if w.expression(s.tokens).differs() {
		scopes := w.top().scopes
		scopes[len(scopes)-1].part = true
	}
}

// blur is for the variables of a loop that the group does not leave together:
// each invocation has counted to somewhere else.
func (w *walk) blur(s *statement) {
	for name := range changed(s) {
		if v, ok := w.find(name); ok {
			w.flow.classes[v] = different
		}
	}
}

// singleLane reports a loop that one lane runs alone.
func (w *walk) singleLane(s *statement) {
	if w.program.alone || isShort(s) || w.excused(markLeader, s.at) {
		return
	}
	for _, c := range w.calls {
		for _, sc := range c.scopes {
			if sc.single && !w.excused(markLeader, sc.at) {
				w.tell(SingleLaneLoop, s.at, "one lane runs this loop (%s), the others wait", w.line(sc.at, s.at))
				return
			}
		}
	}
}

func (w *walk) choice(s *statement) {
	c := w.expression(s.tokens)
	before := w.flow.clone()
	w.enter(scope{kind: choice, at: s.at, part: c.differs()})
	w.list(s.body)
	w.leave()
	w.flow.merge(before)
}

func (w *walk) leaveLoop(s *statement) {
	c := w.top()
	i := c.innermost(loop, choice)
	if i < 0 || c.partial(i+1) == nil {
		return
	}
	if c.scopes[i].kind == choice {
		c.scopes[i].missed = &s.at
		return
	}
	c.scopes[i].left = &s.at
}

func (w *walk) leaveFunction(s *statement) {
	result := w.expression(s.tokens)
	c := w.top()
	if c.results++; c.results > 1 {
		result = join(c.result, result)
	}
	c.result = result
	if c.partial(0) != nil {
		c.returned = &s.at
		c.result = different
	}
}

// barrier is a call of barrier(): the whole group has to be here.
func (w *walk) barrier(at shader.Position) {
	if !w.program.alone {
		for _, c := range w.calls {
			w.reached(c, at)
		}
	}
	w.flow.settle()
}

// reached reports why part of the group may not reach a barrier() in a call.
func (w *walk) reached(c *call, at shader.Position) {
	if c.returned != nil {
		w.tell(ReturnBeforeBarrier, *c.returned, "some invocations return here and miss the barrier() in %s", w.line(at, *c.returned))
	}
	for _, s := range c.scopes {
		switch {
		case s.kind == loop && s.left != nil:
			w.tell(DivergentLoop, at, "barrier() in a loop that some invocations leave by the break in %s", w.line(*s.left, at))
		case s.kind == loop && s.part:
			w.tell(DivergentLoop, at, "barrier() in a loop (%s) whose condition differs between invocations", w.line(s.at, at))
		case s.missed != nil:
			w.tell(DivergentLoop, at, "some invocations skip this barrier() by %s", w.line(*s.missed, at))
		case s.part:
			w.tell(DivergentBarrier, at, "barrier() under a condition (%s) that differs between invocations", w.line(s.at, at))
		}
	}
}
