package lint

import "github.com/shadercache/shadercache/shader"

// maxSteps limits the work on one text: every level of nested loops doubles it.
const maxSteps = 50_000

// walk follows the execution of a program by a group, from main through its calls.
type walk struct {
	*checker
	flow   *flow
	calls  []*call
	number int             // of the last call
	called map[string]bool // functions that were walked through
	silent int             // > 0: findings are not reported
	steps  int
}

// walkProgram follows the program from main, and from the functions that main does
// not call, as in a file to be included.
func (c *checker) walkProgram() {
	w := &walk{checker: c, flow: newFlow(), called: map[string]bool{}}
	w.calls = []*call{{}}
	w.list(c.program.globals)
	w.calls = nil
	if mains := c.program.functions["main"]; len(mains) > 0 {
		w.call(mains[len(mains)-1], nil)
	}
	// GLSL defines functions before their callers.
	for i := len(c.program.order) - 1; i >= 0; i-- {
		if f := c.program.order[i]; !w.called[f.name] {
			w.flow.passBarrier()
			w.call(f, nil)
		}
	}
	if w.steps > maxSteps {
		c.report(unreadable, shader.Position{Line: 1, Column: 1}, "too many loops within loops: not everything was checked")
	}
}

// reportLast reports a finding, except in the first walk through a loop.
func (w *walk) reportLast(rule Rule, at shader.Position, format string, values ...any) {
	if w.silent == 0 {
		w.report(rule, at, format, values...)
	}
}

func (w *walk) exhausted() bool { return w.steps > maxSteps || w.effort.left <= 0 }

// fork returns a copy of the state, for another path.
func (w *walk) fork() *flow {
	const copied = 6 // tokens that are read in the time of copying an entry
	w.effort.spend(copied * (len(w.flow.classes) + len(w.flow.unsynchronized) + len(w.flow.read)))
	return w.flow.clone()
}

func (w *walk) top() *call { return w.calls[len(w.calls)-1] }

// call walks through a function and returns the class of its result.
func (w *walk) call(f *function, arguments []class) class {
	w.called[f.name] = true
	for _, c := range w.calls {
		if c.function == f {
			return uniform
		}
	}
	if len(w.calls) > maxDepth || w.exhausted() {
		return divergent
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
	w.effort.spend(len(w.flow.classes))
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
		// if (not the leader) return: one lane executes the rest.
		if s.kind == branch && len(s.otherwise) == 0 && endsFunction(s.body) && c == allButOne {
			w.enter(scope{kind: block, at: s.at, single: true})
			opened++
		}
	}
	for range opened {
		w.leave()
	}
}

func endsFunction(list []*statement) bool {
	return len(list) > 0 && list[len(list)-1].kind == returnFunction
}

// statement walks through a statement, and returns the class of an if's condition.
func (w *walk) statement(s *statement) class {
	if w.steps++; w.exhausted() {
		return uniform
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
	case breakLoop:
		w.breakLoop(s)
	case continueLoop:
		if i := w.top().innermost(loop); i >= 0 && w.top().partial(i+1) != nil {
			w.top().scopes[i].missed = &s.at
		}
	case returnFunction:
		w.returnFunction(s)
	}
	return uniform
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
	before := w.fork()
	w.enter(scope{kind: branch, at: s.at, part: c.isDivergent(), single: c == oneLane})
	w.list(s.body)
	w.leave()
	after := w.flow
	w.flow = before
	w.enter(scope{kind: branch, at: s.at, part: c.isDivergent(), single: c == allButOne})
	w.list(s.otherwise)
	w.leave()
	w.flow.merge(after)
	return c
}

// loop walks through a loop twice. The first walk finds the state that an iteration
// leaves for the next one, and the exits; the second one reports.
func (w *walk) loop(s *statement) {
	w.expression(s.init)
	w.singleLane(s)
	entered := scope{kind: loop, at: s.at}
	for round := range 2 {
		w.silent += 1 - round
		before := w.fork()
		w.enter(entered)
		w.iteration(s)
		entered = w.leave()
		entered.missed = nil
		w.flow.merge(before)
		w.silent -= 1 - round
	}
	if entered.left != nil || entered.part {
		w.divergeChanged(s)
	}
}

// iteration walks through one iteration of a loop.
func (w *walk) iteration(s *statement) {
	if !s.last {
		w.test(s)
	}
	w.list(s.body)
	w.expression(s.post)
	if s.last {
		w.test(s)
	}
}

// test evaluates a loop's condition: invocations for which it is false leave.
func (w *walk) test(s *statement) {
	if w.expression(s.tokens).isDivergent() {
		scopes := w.top().scopes
		scopes[len(scopes)-1].part = true
	}
}

// divergeChanged marks the variables that a loop changes as divergent. It is called
// for a loop that invocations leave after different numbers of iterations.
func (w *walk) divergeChanged(s *statement) {
	for name := range changed(s) {
		if v, ok := w.find(name); ok {
			w.flow.classes[v] = divergent
		}
	}
}

// singleLane reports a loop that only one lane runs.
func (w *walk) singleLane(s *statement) {
	if w.program.oneInvocation || isShort(s) || w.excused(markLeader, s.at) {
		return
	}
	for _, c := range w.calls {
		for _, sc := range c.scopes {
			if sc.single && !w.excused(markLeader, sc.at) {
				w.reportLast(singleLaneLoop, s.at, "one lane runs this loop (%s), the others wait", w.line(sc.at, s.at))
				return
			}
		}
	}
}

func (w *walk) choice(s *statement) {
	c := w.expression(s.tokens)
	before := w.fork()
	w.enter(scope{kind: choice, at: s.at, part: c.isDivergent()})
	w.list(s.body)
	w.leave()
	w.flow.merge(before)
}

func (w *walk) breakLoop(s *statement) {
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

func (w *walk) returnFunction(s *statement) {
	result := w.expression(s.tokens)
	c := w.top()
	if c.results++; c.results > 1 {
		result = join(c.result, result)
	}
	c.result = result
	if c.partial(0) != nil {
		c.returned = &s.at
		c.result = divergent
	}
}

// barrier checks a call of barrier(), which the whole group has to execute.
func (w *walk) barrier(at shader.Position) {
	if !w.program.oneInvocation {
		for _, c := range w.calls {
			w.reached(c, at)
		}
	}
	w.flow.passBarrier()
}

// reached reports the reasons why part of the group may miss a barrier() in a call.
func (w *walk) reached(c *call, at shader.Position) {
	if c.returned != nil {
		w.reportLast(returnBeforeBarrier, *c.returned, "some invocations return here and miss the barrier() in %s", w.line(at, *c.returned))
	}
	for _, s := range c.scopes {
		switch {
		case s.kind == loop && s.left != nil:
			w.reportLast(divergentLoop, at, "barrier() in a loop that some invocations leave by the break in %s", w.line(*s.left, at))
		case s.kind == loop && s.part:
			w.reportLast(divergentLoop, at, "barrier() in a loop (%s) whose condition differs between invocations", w.line(s.at, at))
		case s.missed != nil:
			w.reportLast(divergentLoop, at, "some invocations skip this barrier() by %s", w.line(*s.missed, at))
		case s.part:
			w.reportLast(divergentBarrier, at, "barrier() under a condition (%s) that differs between invocations", w.line(s.at, at))
		}
	}
}
