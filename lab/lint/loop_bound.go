package lint

import "strconv"

// shortLoop is the number of iterations up to which a loop costs about as much as
// the barrier() after it, so that one lane may run it.
const shortLoop = 16

// change is how a loop changes a variable, in all its assignments together.
type change struct {
	steps  bool // every iteration steps it
	memory bool // its value comes from, or depends on, memory that others write
}

// checkLoopBounds reports loops that no counter ends.
func (c *checker) checkLoopBounds() {
	readers := c.program.memoryReaders()
	for _, f := range c.program.order {
		c.checkLoops(f.body, readers)
	}
}

func (c *checker) checkLoops(list []*statement, readers map[string]bool) {
	for _, s := range list {
		if s.kind == loop && !c.excused(markBudget, s.at) {
			b := &loopBound{program: c.program, readers: readers, changes: changed(s), effort: c.effort}
			b.trace(s)
			if !b.ends(s) && c.effort.left > 0 {
				c.report(unboundedLoop, s.at, "no counter ends this loop: %s", b.reason(s))
			}
		}
		c.checkLoops(s.body, readers)
		c.checkLoops(s.otherwise, readers)
	}
}

// memoryReaders returns the functions whose results may come from memory: those that
// read it, and their callers.
func (p *program) memoryReaders() map[string]bool {
	readers := map[string]bool{}
	callers := map[string][]string{}
	var found []string
	for _, f := range p.order {
		eachExpression(f.body, func(tokens []token) {
			if p.fromMemory(tokens, nil) {
				found = append(found, f.name)
			}
			for _, t := range tokens {
				if t.kind == word && p.functions[t.text] != nil {
					callers[t.text] = append(callers[t.text], f.name)
				}
			}
		})
	}
	for len(found) > 0 {
		name := found[len(found)-1]
		found = found[:len(found)-1]
		if !readers[name] {
			readers[name] = true
			found = append(found, callers[name]...)
		}
	}
	return readers
}

// eachExpression calls do with every expression of statements.
func eachExpression(list []*statement, do func([]token)) {
	for _, s := range list {
		do(s.init)
		do(s.tokens)
		do(s.post)
		eachExpression(s.body, do)
		eachExpression(s.otherwise, do)
	}
}

func (p *program) fromMemory(tokens []token, readers map[string]bool) bool {
	for i, t := range tokens {
		if t.kind != word || i > 0 && tokens[i-1].text == "." {
			continue
		}
		if _, ok := p.memory[t.text]; ok && !endsInLength(tokens[i+1:]) || readers[t.text] || isAtomic(t.text) || t.text == "imageLoad" {
			return true
		}
	}
	return false
}

// changed returns the variables that a loop changes.
func changed(s *statement) map[string]*change {
	changes := map[string]*change{}
	note := func(tokens []token, always bool) {
		for _, a := range assignments(tokens) {
			if changes[a.name] == nil {
				changes[a.name] = &change{}
			}
			if a.step && a.complete && always {
				changes[a.name].steps = true
			}
		}
	}
	note(s.tokens, true)
	note(s.post, true)
	var visit func(list []*statement, always bool)
	visit = func(list []*statement, always bool) {
		for _, inner := range list {
			always := always && (inner.kind == simple || inner.kind == block)
			note(inner.init, always)
			// The condition of an if is evaluated in every iteration.
			note(inner.tokens, always || inner.kind == branch)
			note(inner.post, always)
			visit(inner.body, always)
			visit(inner.otherwise, always)
		}
	}
	visit(s.body, true)
	return changes
}

// loopBound decides whether one loop ends.
type loopBound struct {
	program *program
	readers map[string]bool
	changes map[string]*change
	effort  *effort
}

// trace marks the variables whose values come from memory: by assignment, or by a
// constant that they are set to under a condition on memory.
func (b *loopBound) trace(s *statement) {
	for range len(b.changes) + 1 {
		before := b.fromMemory()
		b.traceList([]*statement{s}, false)
		if b.fromMemory() == before || b.effort.left <= 0 {
			return
		}
	}
}

func (b *loopBound) fromMemory() int {
	n := 0
	for _, c := range b.changes {
		if c.memory {
			n++
		}
	}
	return n
}

func (b *loopBound) traceList(list []*statement, waits bool) {
	for _, s := range list {
		for _, tokens := range [][]token{s.init, s.tokens, s.post} {
			if !b.effort.spend(4 * len(tokens)) {
				return
			}
			for _, a := range assignments(tokens) {
				if c := b.changes[a.name]; c != nil && (b.hasMemory(a.value) || waits && isConstant(a.value)) {
					c.memory = true
				}
			}
		}
		within := waits || (s.kind == branch || s.kind == choice) && b.hasMemory(s.tokens)
		b.traceList(s.body, within)
		b.traceList(s.otherwise, within)
	}
}

func isConstant(tokens []token) bool {
	return len(tokens) == 1 && (tokens[0].kind == number || tokens[0].text == "true" || tokens[0].text == "false")
}

func (b *loopBound) hasMemory(tokens []token) bool {
	if !b.effort.spend(len(tokens)) {
		return false
	}
	if b.program.fromMemory(tokens, b.readers) {
		return true
	}
	for _, t := range tokens {
		if c := b.changes[t.text]; t.kind == word && c != nil && c.memory {
			return true
		}
	}
	return false
}

// ends reports whether the loop's condition or one of its exits ends it.
func (b *loopBound) ends(s *statement) bool {
	return len(s.tokens) == 1 && s.tokens[0].text == "false" || b.isBound(s.tokens, false) || b.exits(s.body, true, true)
}

// exits reports whether an if leaves the loop on a condition that is bound. A break
// of an inner loop or a switch leaves only that; a return leaves all loops. always
// is set where every iteration executes the list.
func (b *loopBound) exits(list []*statement, breaks, always bool) bool {
	for _, s := range list {
		switch s.kind {
		case branch:
			if leaves(s.body, breaks) && b.isBound(s.tokens, true) || leaves(s.otherwise, breaks) && b.isBound(s.tokens, false) ||
				b.exits(s.body, breaks, false) || b.exits(s.otherwise, breaks, false) {
				return true
			}
		case block:
			if b.exits(s.body, breaks, always) {
				return true
			}
		case loop, choice:
			if b.exits(s.body, false, false) {
				return true
			}
		case returnFunction:
			return always
		case breakLoop:
			return always && breaks
		case continueLoop:
			return false
		}
	}
	return false
}

// leaves reports whether the last statement leaves the loop.
func leaves(list []*statement, breaks bool) bool {
	if len(list) == 0 {
		return false
	}
	last := list[len(list)-1]
	return last.kind == returnFunction || breaks && last.kind == breakLoop || last.kind == block && leaves(last.body, breaks)
}

// isBound reports whether a condition takes the value exit, at which the loop ends,
// by counting. Of conditions that must all hold one is enough, of others each has to
// count.
func (b *loopBound) isBound(tokens []token, exit bool) bool {
	if !b.effort.spend(len(tokens)) {
		return true
	}
	for len(tokens) > 0 {
		if len(tokens) > 1 && tokens[0].text == "(" && closing(tokens, 0) == len(tokens)-1 {
			tokens = tokens[1 : len(tokens)-1]
		} else if len(tokens) > 2 && tokens[0].text == "!" && tokens[1].text == "(" && closing(tokens, 1) == len(tokens)-1 {
			tokens, exit = tokens[1:], !exit
		} else {
			break
		}
	}
	if parts := split(tokens, "||"); len(parts) > 1 {
		return b.someOrAll(parts, exit, exit)
	}
	if parts := split(tokens, "&&"); len(parts) > 1 {
		return b.someOrAll(parts, exit, !exit)
	}
	return b.counts(tokens) && (exit || !alwaysHolds(tokens))
}

// alwaysHolds reports whether a condition is "x >= 0u", which is true of every
// unsigned number.
func alwaysHolds(tokens []token) bool {
	n := len(tokens)
	unsignedZero := func(t token) bool { return t.text == "0u" || t.text == "0U" }
	return n > 2 && (tokens[n-2].text == ">=" && unsignedZero(tokens[n-1]) || tokens[1].text == "<=" && unsignedZero(tokens[0]))
}

func (b *loopBound) someOrAll(parts [][]token, exit, some bool) bool {
	for _, p := range parts {
		if b.isBound(p, exit) == some {
			return some
		}
	}
	return !some
}

// counts reports whether a condition without && and || depends on counting: it
// names a variable that every iteration steps, or one that the loop changes without
// reading memory.
func (b *loopBound) counts(tokens []token) bool {
	for i, t := range tokens {
		c := b.changes[t.text]
		if t.kind != word || c == nil || i > 0 && tokens[i-1].text == "." {
			continue
		}
		if _, isMemory := b.program.memory[t.text]; isMemory {
			continue
		}
		if c.steps && !c.memory || !b.hasMemory(tokens) {
			return true
		}
	}
	return false
}

func (b *loopBound) reason(s *statement) string {
	switch {
	case len(s.tokens) == 0 || len(s.tokens) == 1 && s.tokens[0].text == "true":
		return "only something outside it ends it"
	case b.hasMemory(s.tokens):
		return "its condition waits for memory"
	case alwaysHolds(s.tokens):
		return "no unsigned number is less than 0"
	}
	return "nothing in it changes its condition"
}

// isShort reports whether a loop counts to a small literal, as in
// for (int i = 0; i < 4; ++i).
func isShort(s *statement) bool {
	if at := firstMark(s.tokens, "<"); at > 0 && at+2 == len(s.tokens) {
		n, err := strconv.Atoi(trimUnsigned(s.tokens[at+1].text))
		return err == nil && n <= shortLoop && len(s.init) > 0 && len(s.post) > 0
	}
	return false
}

func trimUnsigned(text string) string {
	if n := len(text); n > 1 && (text[n-1] == 'u' || text[n-1] == 'U') {
		return text[:n-1]
	}
	return text
}
