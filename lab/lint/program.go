package lint

import (
	"strconv"

	"github.com/shadercache/shadercache/shader"
)

// program is a parsed text.
type program struct {
	functions     map[string][]*function
	order         []*function
	memory        map[string]memory // storage buffers' members or instances, and shared variables
	globals       []*statement      // variables of each invocation
	oneInvocation bool              // a group has one invocation
	unreadable    []shader.Position
}

// memory is a variable that several invocations access.
type memory struct {
	shared  bool // within the group, not in a buffer
	array   bool
	written bool // by this program, or possibly by another at the same time
}

type function struct {
	name   string
	at     shader.Position
	params []parameter
	body   []*statement
}

type parameter struct {
	name string
	out  bool // out or inout
}

// parse returns the declarations in tokens.
func parse(tokens []token) *program {
	p := &program{functions: map[string][]*function{}, memory: map[string]memory{}}
	readable, bad := unmatched(tokens)
	tokens = tokens[:readable]
	if bad != nil {
		p.unreadable = append(p.unreadable, bad.at)
	}
	for i := 0; i < len(tokens); {
		i = p.declaration(tokens, i)
	}
	for _, f := range p.order {
		p.markWrites(f.body)
	}
	return p
}

// unmatched returns a bracket without its other half, or one that is nested too deeply,
// and how many tokens can be read: those before the latter.
func unmatched(tokens []token) (readable int, bad *token) {
	var open []*token
	for i := range tokens {
		t := &tokens[i]
		switch nesting(*t) {
		case 1:
			if open = append(open, t); len(open) > maxNesting {
				return i, t
			}
		case -1:
			if len(open) == 0 {
				return len(tokens), t
			}
			last := open[len(open)-1]
			if closers[last.text] != t.text {
				return len(tokens), last
			}
			open = open[:len(open)-1]
		}
	}
	if len(open) > 0 {
		return len(tokens), open[len(open)-1]
	}
	return len(tokens), nil
}

// closers maps opening brackets to closing ones.
var closers = map[string]string{"(": ")", "[": "]", "{": "}"}

// declaration reads the declaration at i, outside functions, and returns the index
// after it.
func (p *program) declaration(tokens []token, i int) int {
	start := i
	for ; i < len(tokens) && tokens[i].text != ";" && tokens[i].text != "{"; i++ {
		if nesting(tokens[i]) > 0 {
			i = closing(tokens, i)
		}
	}
	head := tokens[start:min(i, len(tokens))]
	if i >= len(tokens) || tokens[i].text == ";" {
		p.variable(head)
		return i + 1
	}
	end := closing(tokens, i)
	inside := tokens[i+1 : max(end, i+1)]
	if len(head) > 0 && head[len(head)-1].text == ")" {
		p.define(head, inside)
		return end + 1
	}
	tail := end + 1
	for tail < len(tokens) && tokens[tail].text != ";" {
		tail++
	}
	if has(head, "buffer") {
		p.buffer(head, inside, tokens[min(end+1, tail):min(tail, len(tokens))])
	}
	return tail + 1
}

// define adds a function with its body.
func (p *program) define(head, body []token) {
	open := firstMark(head, "(")
	if open < 1 {
		return
	}
	f := &function{name: head[open-1].text, at: head[open-1].at}
	for _, param := range split(head[open+1:max(closing(head, open), open+1)], ",") {
		names := wordsOutside(param)
		if len(names) > 1 {
			f.params = append(f.params, parameter{names[len(names)-1], has(param, "out") || has(param, "inout")})
		}
	}
	s := &statements{tokens: body}
	f.body = s.all()
	p.unreadable = append(p.unreadable, s.unreadable...)
	p.functions[f.name] = append(p.functions[f.name], f)
	p.order = append(p.order, f)
}

// buffer adds the names of a storage block: of its instance or of its members.
func (p *program) buffer(head, members, instance []token) {
	m := memory{written: has(head, "volatile") || has(head, "coherent")}
	if names := wordsOutside(instance); len(names) > 0 {
		m.array = true
		p.memory[names[0]] = m
		return
	}
	for _, member := range split(members, ";") {
		for _, d := range declarators(member) {
			m := m
			m.array = d.array
			m.written = m.written || has(member, "volatile") || has(member, "coherent")
			p.memory[d.name] = m
		}
	}
}

// variable adds a declaration that ends in a semicolon: shared variables, the size
// of the group, private variables. All others are uniform.
func (p *program) variable(head []token) {
	switch {
	case has(head, "shared"):
		for _, d := range declarators(head) {
			p.memory[d.name] = memory{shared: true, array: d.array, written: true}
		}
	case has(head, "local_size_x"):
		p.oneInvocation = hasOneInvocation(head)
	case len(head) > 0 && !has(head, "uniform") && firstMark(head, "(") < 0 || firstMark(head, "=") > 0:
		p.globals = append(p.globals, &statement{at: head[0].at, tokens: head})
	}
}

// hasOneInvocation reports whether a group of this layout has one invocation.
func hasOneInvocation(layout []token) bool {
	for i, t := range layout {
		switch t.text {
		case "local_size_x", "local_size_y", "local_size_z":
			if i+2 >= len(layout) || i+3 < len(layout) && layout[i+3].text != "," && layout[i+3].text != ")" {
				return false
			}
			if n, err := strconv.Atoi(layout[i+2].text); err != nil || n != 1 {
				return false
			}
		}
	}
	return true
}

// declarator is one name of a declaration.
type declarator struct {
	name  string
	array bool
	value []token // its initial value
}

// declarators returns the names of "type a = 1, b[3]", and none where the tokens are
// no declaration.
func declarators(tokens []token) []declarator {
	var list []declarator
	for i, part := range split(tokens, ",") {
		name, value := part, []token(nil)
		if at := firstMark(part, "="); at >= 0 {
			name, value = part[:at], part[at+1:]
		}
		names := wordsOutside(name)
		if i == 0 && (len(names) < 2 || !declares(name)) || len(names) == 0 {
			return list
		}
		list = append(list, declarator{names[len(names)-1], firstMark(name, "[") >= 0, value})
	}
	return list
}

// declares reports whether all tokens outside brackets are words: "const uint x[3]".
func declares(tokens []token) bool {
	for i := 0; i < len(tokens); i++ {
		if nesting(tokens[i]) > 0 {
			i = closing(tokens, i)
			continue
		}
		if tokens[i].kind != word || tokens[i].text == "return" || tokens[i].text == "case" {
			return false
		}
	}
	return true
}

// wordsOutside returns the words outside brackets.
func wordsOutside(tokens []token) []string {
	var names []string
	for i := 0; i < len(tokens); i++ {
		if nesting(tokens[i]) > 0 {
			i = closing(tokens, i)
			continue
		}
		if tokens[i].kind == word {
			names = append(names, tokens[i].text)
		}
	}
	return names
}

// firstMark returns the index of the first such mark outside brackets, or -1.
func firstMark(tokens []token, text string) int {
	depth := 0
	for i, t := range tokens {
		if depth == 0 && t.kind == mark && t.text == text {
			return i
		}
		depth += nesting(t)
	}
	return -1
}

func has(tokens []token, text string) bool {
	for _, t := range tokens {
		if t.kind == word && t.text == text {
			return true
		}
	}
	return false
}

// markWrites marks the memory that statements write.
func (p *program) markWrites(list []*statement) {
	for _, s := range list {
		for _, tokens := range [][]token{s.init, s.tokens, s.post} {
			for _, a := range assignments(tokens) {
				p.markWritten(a.name)
			}
			for i, t := range tokens {
				if isAtomic(t.text) && i+2 < len(tokens) {
					p.markWritten(tokens[i+2].text)
				}
			}
		}
		p.markWrites(s.body)
		p.markWrites(s.otherwise)
	}
}

func (p *program) markWritten(name string) {
	if m, ok := p.memory[name]; ok {
		m.written = true
		p.memory[name] = m
	}
}
