package lint

import (
	"strings"

	"github.com/shadercache/shadercache/shader"
)

// builtins lists the built-in values that differ between the invocations of a group.
var builtins = map[string]class{
	"gl_LocalInvocationID":            lane,
	"gl_LocalInvocationIndex":         lane,
	"gl_GlobalInvocationID":           lane,
	"gl_SubgroupID":                   divergent,
	"gl_SubgroupInvocationID":         lane,
	"gl_SubgroupEqMask":               divergent,
	"gl_SubgroupGeMask":               divergent,
	"gl_SubgroupGtMask":               divergent,
	"gl_SubgroupLeMask":               divergent,
	"gl_SubgroupLtMask":               divergent,
	"gl_SubGroupInvocationARB":        lane,
	"gl_ThreadInWarpNV":               lane,
	"gl_WarpIDNV":                     divergent,
	"clockARB":                        divergent,
	"clock2x32ARB":                    divergent,
	"subgroupElect":                   oneLane,
	"subgroupBallot":                  divergent,
	"subgroupBroadcastFirst":          divergent,
	"imageLoad":                       divergent,
	"gl_HelperInvocation":             divergent,
	"atomicCounter":                   divergent,
	"atomicCounterIncrement":          divergent,
	"atomicCounterDecrement":          divergent,
	"subgroupInclusiveAdd":            divergent,
	"subgroupExclusiveAdd":            divergent,
	"subgroupBallotExclusiveBitCount": divergent,
}

// find returns the variable with a name in the current call or in the program.
func (w *walk) find(name string) (variable, bool) {
	if len(w.calls) > 0 {
		if v := (variable{w.top().number, name}); w.isLocal(v) {
			return v, true
		}
	}
	v := variable{0, name}
	return v, w.isLocal(v)
}

func (w *walk) isLocal(v variable) bool {
	_, ok := w.flow.classes[v]
	return ok
}

// results are the classes of the calls in an expression, by the function's name token.
type results map[*token]class

// expression applies the calls, assignments and declarations of an expression, and
// returns its class.
func (w *walk) expression(tokens []token) class {
	if !w.effort.spend(len(tokens)) {
		return uniform
	}
	r := w.runCalls(tokens)
	for _, d := range declarators(tokens) {
		w.flow.classes[variable{w.top().number, d.name}] = uniform
	}
	for _, a := range assignments(tokens) {
		w.assign(a, r)
	}
	return w.class(tokens, r)
}

// runCalls walks through the calls in an expression, inner ones first.
func (w *walk) runCalls(tokens []token) results {
	r := results{}
	for i := len(tokens) - 2; i >= 0; i-- {
		t := &tokens[i]
		if t.kind != word || tokens[i+1].text != "(" {
			continue
		}
		arguments := split(tokens[i+2:max(closing(tokens, i+1), i+2)], ",")
		switch {
		case t.text == "barrier":
			w.barrier(t.at)
		case isAtomic(t.text):
			if root := arguments[0]; len(root) > 0 {
				w.write(root[0].text, root[0].at, divergent)
			}
		default:
			w.runCall(t, arguments, r)
		}
	}
	return r
}

func (w *walk) runCall(t *token, arguments [][]token, r results) {
	f := w.program.overload(t.text, len(arguments))
	if f == nil {
		return
	}
	classes := make([]class, len(arguments))
	for i, a := range arguments {
		classes[i] = w.class(a, r)
	}
	r[t] = w.call(f, classes)
	for i, p := range f.params {
		if p.out && i < len(arguments) && len(arguments[i]) > 0 {
			a := arguments[i][0]
			w.assign(assignment{name: a.text, at: a.at, step: true}, results{})
			if v, ok := w.find(a.text); ok && r[t].isDivergent() {
				w.flow.classes[v] = divergent
			}
		}
	}
}

// overload returns the function with that name and n parameters, else the first with
// that name.
func (p *program) overload(name string, n int) *function {
	list := p.functions[name]
	for _, f := range list {
		if len(f.params) == n {
			return f
		}
	}
	if len(list) > 0 {
		return list[0]
	}
	return nil
}

func (w *walk) assign(a assignment, r results) {
	c := w.class(a.value, r)
	if len(a.index) > 0 && w.class(a.index, r).isDivergent() {
		c = divergent
	}
	if w.top().partial(0) != nil && c != lane {
		c = divergent
	}
	v, known := w.find(a.name)
	if !known {
		w.write(a.name, a.at, c)
		return
	}
	if a.step || !a.complete {
		c = join(w.flow.classes[v], c)
	}
	w.flow.classes[v] = c
}

// write records a write to a shared variable. A write of the same value by all
// invocations is no race.
func (w *walk) write(name string, at shader.Position, c class) {
	m, ok := w.program.memory[name]
	if !ok || !m.shared || w.program.oneInvocation {
		return
	}
	if c == uniform && w.top().partial(0) == nil {
		return
	}
	if read, ok := w.flow.read[name]; ok && !m.array {
		w.reportLast(sharedRace, at, "%s may change while other invocations still read it in %s", name, w.line(read, at))
	}
	w.flow.unsynchronized[name] = true
}

// class returns the class of a value.
func (w *walk) class(tokens []token, r results) class {
	if !w.effort.spend(len(tokens)) {
		return uniform
	}
	for len(tokens) > 1 && tokens[0].text == "(" && closing(tokens, 0) == len(tokens)-1 {
		tokens = tokens[1 : len(tokens)-1]
	}
	if parts := split(tokens, "||"); len(parts) > 1 {
		return w.anyOf(parts, allButOne, r)
	}
	if parts := split(tokens, "&&"); len(parts) > 1 {
		return w.anyOf(parts, oneLane, r)
	}
	if firstMark(tokens, "?") >= 0 {
		return w.mixed(tokens, r)
	}
	if len(tokens) > 1 && tokens[0].text == "!" {
		return not(w.class(tokens[1:], r))
	}
	for _, operator := range []string{"==", "!=", "<", ">", ">="} {
		if at := firstMark(tokens, operator); at > 0 {
			return w.compared(operator, tokens[:at], tokens[at+1:], r)
		}
	}
	if c, ok := w.single(tokens, r); ok {
		return c
	}
	return w.mixed(tokens, r)
}

// anyOf returns the class of a chain of || or &&: that of a part with the class
// decides, if there is one.
func (w *walk) anyOf(parts [][]token, decides class, r results) class {
	result := uniform
	for _, p := range parts {
		c := w.class(p, r)
		if c == decides {
			return c
		}
		if c.isDivergent() {
			result = divergent
		}
	}
	return result
}

func not(c class) class {
	switch c {
	case oneLane:
		return allButOne
	case allButOne:
		return oneLane
	}
	return c
}

// compared returns the class of a comparison. A lane's index equals a uniform value in
// one lane at most.
func (w *walk) compared(operator string, left, right []token, r results) class {
	a, b := w.class(left, r), w.class(right, r)
	if !a.isDivergent() && !b.isDivergent() {
		return uniform
	}
	oneValue := a == lane && b == uniform
	switch {
	case operator == "==" && (oneValue || a == uniform && b == lane), operator == "<" && oneValue && isLiteral(right, "1"):
		return oneLane
	case operator == "!=" && (oneValue || a == uniform && b == lane), operator == ">" && oneValue && isLiteral(right, "0"),
		operator == ">=" && oneValue && isLiteral(right, "1"):
		return allButOne
	}
	return divergent
}

func isLiteral(tokens []token, text string) bool {
	return len(tokens) == 1 && strings.TrimRight(tokens[0].text, "uU") == text
}

// single returns the class of a value that is one name: converted, called, or with a
// component selected. It reports false for others.
func (w *walk) single(tokens []token, r results) (class, bool) {
	if len(tokens) > 2 && tokens[0].kind == word && tokens[1].text == "(" && closing(tokens, 1) == len(tokens)-1 {
		if c, ok := r[&tokens[0]]; ok {
			return c, true
		}
		switch tokens[0].text {
		case "int", "uint", "bool":
			return w.class(tokens[2:len(tokens)-1], r), true
		case "subgroupElect":
			return oneLane, true
		}
	}
	if len(tokens) == 1 || len(tokens) == 3 && tokens[1].text == "." {
		return w.name(&tokens[0], tokens[1:], r), true
	}
	return uniform, false
}

// mixed returns the class of a value made of several names.
func (w *walk) mixed(tokens []token, r results) class {
	for i := 0; i < len(tokens); i++ {
		if tokens[i].kind != word || i > 0 && tokens[i-1].text == "." {
			continue
		}
		if c, ok := r[&tokens[i]]; ok && !c.isDivergent() {
			i = closing(tokens, i+1) // the result depends on its arguments
			continue
		}
		if w.name(&tokens[i], tokens[i+1:], r).isDivergent() {
			return divergent
		}
	}
	return uniform
}

// name returns the class of a name with the tokens after it.
func (w *walk) name(t *token, rest []token, r results) class {
	if c, ok := r[t]; ok {
		return c
	}
	if isAtomic(t.text) {
		return w.inGroup(divergent)
	}
	if v, ok := w.find(t.text); ok {
		return w.flow.classes[v]
	}
	if m, ok := w.program.memory[t.text]; ok {
		return w.load(t, m, rest)
	}
	return w.inGroup(builtins[t.text])
}

// load returns the class of a read from memory. The index is classified separately.
func (w *walk) load(t *token, m memory, rest []token) class {
	switch {
	case endsInLength(rest):
		return uniform
	case !m.shared && m.written:
		return w.inGroup(divergent)
	case !m.shared:
		return uniform
	case w.flow.unsynchronized[t.text]:
		return w.inGroup(divergent)
	}
	if w.top().partial(0) == nil {
		w.flow.read[t.text] = t.at
	}
	return uniform
}

// inGroup returns c, or uniform where a group has one invocation.
func (w *walk) inGroup(c class) class {
	if w.program.oneInvocation {
		return uniform
	}
	return c
}

// endsInLength reports whether .length() follows a name and its indices.
func endsInLength(rest []token) bool {
	for i := 0; i+1 < len(rest); i++ {
		switch {
		case rest[i].text == "[":
			i = closing(rest, i)
		case rest[i].text == "." && rest[i+1].text == "length":
			return true
		case rest[i].text == ".":
			i++
		default:
			return false
		}
	}
	return false
}
