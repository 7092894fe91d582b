package lint

import (
	"strings"

	"github.com/shadercache/shadercache/shader"
)

// builtins that differ between the invocations of a group. A lane's number is
// one that no other lane has.
var builtins = map[string]class{
	"gl_LocalInvocationID":            lane,
	"gl_LocalInvocationIndex":         lane,
	"gl_GlobalInvocationID":           lane,
	"gl_SubgroupID":                   different,
	"gl_SubgroupInvocationID":         lane,
	"gl_SubgroupEqMask":               different,
	"gl_SubgroupGeMask":               different,
	"gl_SubgroupGtMask":               different,
	"gl_SubgroupLeMask":               different,
	"gl_SubgroupLtMask":               different,
	"gl_SubGroupInvocationARB":        lane,
	"gl_ThreadInWarpNV":               lane,
	"gl_WarpIDNV":                     different,
	"clockARB":                        different,
	"clock2x32ARB":                    different,
	"subgroupElect":                   leader,
	"subgroupBallot":                  different,
	"subgroupBroadcastFirst":          different,
	"imageLoad":                       different,
	"gl_HelperInvocation":             different,
	"atomicCounter":                   different,
	"atomicCounterIncrement":          different,
	"atomicCounterDecrement":          different,
	"subgroupInclusiveAdd":            different,
	"subgroupExclusiveAdd":            different,
	"subgroupBallotExclusiveBitCount": different,
}

// find is the variable that a name means here.
func (w *walk) find(name string) (variable, bool) {
	if len(w.calls) > 0 {
		if v := (variable{w.top().number, name}); w.knows(v) {
			return v, true
		}
	}
	v := variable{0, name}
	return v, w.knows(v)
}

func (w *walk) knows(v variable) bool {
	_, ok := w.flow.classes[v]
	return ok
}

// results of the calls in an expression, by the place of the function's name.
type results map[*token]class

// expression does what an expression does, calls, assignments, declarations, and
// returns what it is to the group.
func (w *walk) expression(tokens []token) class {
	r := w.runCalls(tokens)
	for _, d := range declarators(tokens) {
		w.flow.classes[variable{w.top().number, d.name}] = same
	}
	for _, a := range assignments(tokens) {
		w.assign(a, r)
	}
	return w.class(tokens, r)
}

// runCalls runs the calls in an expression, inner ones first.
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
				w.write(root[0].text, root[0].at, different)
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
			if v, ok := w.find(a.text); ok && r[t].differs() {
				w.flow.classes[v] = different
			}
		}
	}
}

// overload is the function of that name, with so many parameters if there are
// several.
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
	if len(a.index) > 0 && w.class(a.index, r).differs() {
		c = different
	}
	if w.top().partial(0) != nil && c != lane {
		c = different
	}
	v, known := w.find(a.name)
	if !known {
		w.write(a.name, a.at, c)
		return
	}
	if a.step || !a.whole {
		c = join(w.flow.classes[v], c)
	}
	w.flow.classes[v] = c
}

// write is for a shared variable: others may read it before or after. Where all
// write the same, it makes no difference.
func (w *walk) write(name string, at shader.Position, c class) {
	m, ok := w.program.memory[name]
	if !ok || !m.shared || w.program.alone {
		return
	}
	if c == same && w.top().partial(0) == nil {
		return
	}
	if read, ok := w.flow.read[name]; ok && !m.array {
		w.tell(SharedRace, at, "%s may change while other invocations still read it in %s", name, w.line(read, at))
	}
	w.flow.unsettled[name] = true
}

// class is what a value is to the group.
func (w *walk) class(tokens []token, r results) class {
	for len(tokens) > 1 && tokens[0].text == "(" && closing(tokens, 0) == len(tokens)-1 {
		tokens = tokens[1 : len(tokens)-1]
	}
	if parts := split(tokens, "||"); len(parts) > 1 {
		return w.anyOf(parts, others, r)
	}
	if parts := split(tokens, "&&"); len(parts) > 1 {
		return w.anyOf(parts, leader, r)
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

// anyOf is a chain of || or &&: one part that holds for one lane at most, or for
// all but one, decides.
func (w *walk) anyOf(parts [][]token, decides class, r results) class {
	result := same
	for _, p := range parts {
		c := w.class(p, r)
		if c == decides {
			return c
		}
		if c.differs() {
			result = different
		}
	}
	return result
}

func not(c class) class {
	switch c {
	case leader:
		return others
	case others:
		return leader
	}
	return c
}

// compared is a comparison. A lane's number equals something for one lane.
func (w *walk) compared(operator string, left, right []token, r results) class {
	a, b := w.class(left, r), w.class(right, r)
	if !a.differs() && !b.differs() {
		return same
	}
	one := a == lane && b == same
	switch {
	case operator == "==" && (one || a == same && b == lane), operator == "<" && one && isLiteral(right, "1"):
		return leader
	case operator == "!=" && (one || a == same && b == lane), operator == ">" && one && isLiteral(right, "0"),
		operator == ">=" && one && isLiteral(right, "1"):
		return others
	}
	return different
}

func isLiteral(tokens []token, text string) bool {
	return len(tokens) == 1 && strings.TrimRight(tokens[0].text, "uU") == text
}

// single is a value that is one name, perhaps converted, called, or a component
// of it.
func (w *walk) single(tokens []token, r results) (class, bool) {
	if len(tokens) > 2 && tokens[0].kind == word && tokens[1].text == "(" && closing(tokens, 1) == len(tokens)-1 {
		if c, ok := r[&tokens[0]]; ok {
			return c, true
		}
		switch tokens[0].text {
		case "int", "uint", "bool":
			return w.class(tokens[2:len(tokens)-1], r), true
		case "subgroupElect":
			return leader, true
		}
	}
	if len(tokens) == 1 || len(tokens) == 3 && tokens[1].text == "." {
		return w.name(&tokens[0], tokens[1:], r), true
	}
	return same, false
}

// mixed is a value made of several.
func (w *walk) mixed(tokens []token, r results) class {
	for i := 0; i < len(tokens); i++ {
		if tokens[i].kind != word || i > 0 && tokens[i-1].text == "." {
			continue
		}
		if c, ok := r[&tokens[i]]; ok && !c.differs() {
			i = closing(tokens, i+1) // its arguments are in the result
			continue
		}
		if w.name(&tokens[i], tokens[i+1:], r).differs() {
			return different
		}
	}
	return same
}

// name is the value of a name, with what follows it.
func (w *walk) name(t *token, rest []token, r results) class {
	if c, ok := r[t]; ok {
		return c
	}
	if isAtomic(t.text) {
		return w.unlessAlone(different)
	}
	if v, ok := w.find(t.text); ok {
		return w.flow.classes[v]
	}
	if m, ok := w.program.memory[t.text]; ok {
		return w.load(t, m, rest)
	}
	return w.unlessAlone(builtins[t.text])
}

// load is a read from memory. The index is a part of the expression of its own.
func (w *walk) load(t *token, m memory, rest []token) class {
	switch {
	case endsInLength(rest):
		return same
	case !m.shared && m.written:
		return w.unlessAlone(different)
	case !m.shared:
		return same
	case w.flow.unsettled[t.text]:
		return w.unlessAlone(different)
	}
	if w.top().partial(0) == nil {
		w.flow.read[t.text] = t.at
	}
	return same
}

// unlessAlone is c, or same where a group has one invocation.
func (w *walk) unlessAlone(c class) class {
	if w.program.alone {
		return same
	}
	return c
}

// endsInLength says whether .length() follows a name and its indices.
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
