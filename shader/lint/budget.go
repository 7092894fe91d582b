package lint

import "strconv"

// shortLoop is the number of turns up to which a loop costs about as much as
// the barrier() behind it: nobody minds who runs it.
const shortLoop = 16

// change is what a loop does to a variable, all its assignments together.
type change struct {
	steps  bool // a step that every turn takes
	memory bool // it comes from memory that others write, or waits for it
}

// checkBudgets reports loops that no counter ends.
func (c *checker) checkBudgets() {
	readers := c.program.memoryReaders()
	for _, f := range c.program.order {
		c.checkLoops(f.body, readers)
	}
}

func (c *checker) checkLoops(list []*statement, readers map[string]bool) {
	for _, s := range list {
		if s.kind == loop && !c.excused(markBudget, s.at) {
			b := &budget{program: c.program, readers: readers, changes: changed(s)}
			b.trace(s)
			if !b.ends(s) {
				c.report(UnboundedLoop, s.at, "no counter ends this loop: %s", b.why(s))
			}
		}
		c.checkLoops(s.body, readers)
		c.checkLoops(s.otherwise, readers)
	}
}

// memoryReaders are the functions whose results may come from memory.
func (p *program) memoryReaders() map[string]bool {
	readers := map[string]bool{}
	for range len(p.order) {
		before := len(readers)
		for _, f := range p.order {
			if !readers[f.name] && p.reads(f.body, readers) {
				readers[f.name] = true
			}
		}
		if len(readers) == before {
			break
		}
	}
	return readers
}

func (p *program) reads(list []*statement, readers map[string]bool) bool {
	for _, s := range list {
		if p.fromMemory(s.init, readers) || p.fromMemory(s.tokens, readers) || p.fromMemory(s.post, readers) ||
			p.reads(s.body, readers) || p.reads(s.otherwise, readers) {
			return true
		}
	}
	return false
}

func (p *program) fromMemory(tokens []token, readers map[string]bool) bool {
	for i, t := range tokens {
		if t.kind != word {
			continue
		}
		if _, ok := p.memory[t.text]; ok && !endsInLength(tokens[i+1:]) || readers[t.text] || isAtomic(t.text) || t.text == "imageLoad" {
			return true
		}
	}
	return false
}

// changed are the variables that a loop changes.
func changed(s *statement) map[string]*change {
	changes := map[string]*change{}
	note := func(tokens []token, always bool) {
		for _, a := range assignments(tokens) {
			if changes[a.name] == nil {
				changes[a.name] = &change{}
			}
			if a.step && a.whole && always {
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
			// The condition of an if runs every turn.
			note(inner.tokens, always || inner.kind == branch)
			note(inner.post, always)
			visit(inner.body, always)
			visit(inner.otherwise, always)
		}
	}
	visit(s.body, true)
	return changes
}

// budget judges one loop.
type budget struct {
	program *program
	readers map[string]bool
	changes map[string]*change
}

// trace finds out which variables get their values from memory: by assignment,
// or by a constant that they are set to when memory says so.
func (b *budget) trace(s *statement) {
	for range len(b.changes) + 1 {
		before := b.fromMemory()
		b.traceList([]*statement{s}, false)
		if b.fromMemory() == before {
			return
		}
	}
}

func (b *budget) fromMemory() int {
	n := 0
	for _, c := range b.changes {
		if c.memory {
			n++
		}
	}
	return n
}

func (b *budget) traceList(list []*statement, waits bool) {
	for _, s := range list {
		for _, tokens := range [][]token{s.init, s.tokens, s.post} {
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

func (b *budget) hasMemory(tokens []token) bool {
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

// ends says whether the loop's condition or one of its exits ends it.
func (b *budget) ends(s *statement) bool {
	return len(s.tokens) == 1 && s.tokens[0].text == "false" || b.bounds(s.tokens, false) || b.exits(s.body, true, true)
}

// exits looks for an if that leaves the loop. A break of an inner loop or a
// switch leaves only that; a return leaves them all. always says that every turn
// comes here.
func (b *budget) exits(list []*statement, breaks, always bool) bool {
	for _, s := range list {
		switch s.kind {
		case branch:
			if leaves(s.body, breaks) && b.bounds(s.tokens, true) || leaves(s.otherwise, breaks) && b.bounds(s.tokens, false) ||
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
		case leaveFunction:
			return always
		case leaveLoop:
			return always && breaks
		case nextTurn:
			return false
		}
	}
	return false
}

// leaves says whether statements end in leaving the loop.
func leaves(list []*statement, breaks bool) bool {
	if len(list) == 0 {
		return false
	}
	last := list[len(list)-1]
	return last.kind == leaveFunction || breaks && last.kind == leaveLoop || last.kind == block && leaves(last.body, breaks)
}

// bounds says whether a condition counts: its loop ends when it is what exit
// says. Of conditions that all must hold one is enough, of others each must count.
func (b *budget) bounds(tokens []token, exit bool) bool {
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

// alwaysHolds says whether a condition is "x >= 0u": unsigned numbers go round.
func alwaysHolds(tokens []token) bool {
	n := len(tokens)
	unsignedZero := func(t token) bool { return t.text == "0u" || t.text == "0U" }
	return n > 2 && (tokens[n-2].text == ">=" && unsignedZero(tokens[n-1]) || tokens[1].text == "<=" && unsignedZero(tokens[0]))
}

func (b *budget) someOrAll(parts [][]token, exit, some bool) bool {
	for _, p := range parts {
		if b.bounds(p, exit) == some {
			return some
		}
	}
	return !some
}

// counts says whether a condition without && and || is a matter of counting: it
// names a variable that every turn steps, or one that the loop changes without
// asking memory.
func (b *budget) counts(tokens []token) bool {
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

func (b *budget) why(s *statement) string {
	switch {
	case len(s.tokens) == 0 || len(s.tokens) == 1 && s.tokens[0].text == "true":
		return "it is left only when something else says so"
	case b.hasMemory(s.tokens):
		return "its condition waits for memory"
	case alwaysHolds(s.tokens):
		return "no unsigned number is less than 0"
	}
	return "nothing in it changes its condition"
}

// isShort says whether a loop counts to a small number that stands in the text:
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
