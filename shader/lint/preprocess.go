package lint

import "github.com/shadercache/shadercache/shader"

// maxTokens bounds what macros may grow a text to.
const maxTokens = 1 << 18

// macro is a #define.
type macro struct {
	params []string
	call   bool // it has a parameter list
	body   []token
}

// preprocess obeys directives: macros are replaced, and every branch of an #if
// counts. Branches that open a bracket and leave it to the common text to close
// it are alternatives of each other: then the first one stands for all. whole is
// false where macros grew out of bounds.
func preprocess(tokens []token) (expanded []token, whole bool) {
	macros := map[string]macro{}
	merged := mergeBranches(tokens, macros)
	e := expander{macros: macros, left: maxTokens}
	expanded = e.expand(merged, nil)
	return expanded, e.left > 0
}

// branches is an #if that is open.
type branches struct {
	done    [][]token
	current []token
}

func mergeBranches(tokens []token, macros map[string]macro) []token {
	open := []*branches{{}}
	for _, t := range tokens {
		top := open[len(open)-1]
		if t.kind != directive {
			top.current = append(top.current, t)
			continue
		}
		switch t.text {
		case "if", "ifdef", "ifndef":
			open = append(open, &branches{})
		case "elif", "else":
			top.done, top.current = append(top.done, top.current), nil
		case "endif":
			if len(open) > 1 {
				open = open[:len(open)-1]
				below := open[len(open)-1]
				below.current = append(below.current, top.merge()...)
			}
		case "define":
			define(macros, t.rest)
		}
	}
	for len(open) > 1 {
		top := open[len(open)-1]
		open = open[:len(open)-1]
		below := open[len(open)-1]
		below.current = append(below.current, top.merge()...)
	}
	return append(flatten(open[0].done), open[0].current...)
}

// merge is what an #if leaves of its branches.
func (b *branches) merge() []token {
	all := append(b.done, b.current)
	for _, branch := range all {
		if !balanced(branch) {
			return all[0]
		}
	}
	return flatten(all)
}

func flatten(all [][]token) []token {
	var tokens []token
	for _, branch := range all {
		tokens = append(tokens, branch...)
	}
	return tokens
}

// balanced says whether every bracket has its other half.
func balanced(tokens []token) bool {
	depth := 0
	for _, t := range tokens {
		depth += nesting(t)
		if depth < 0 {
			return false
		}
	}
	return depth == 0
}

// nesting is how much deeper a token leads.
func nesting(t token) int {
	if t.kind == mark {
		switch t.text {
		case "(", "[", "{":
			return 1
		case ")", "]", "}":
			return -1
		}
	}
	return 0
}

// define notes a macro. The first definition stays: those that follow are other
// branches of an #if as a rule.
func define(macros map[string]macro, rest []token) {
	if len(rest) == 0 || rest[0].kind != word {
		return
	}
	name, body := rest[0].text, rest[1:]
	if _, known := macros[name]; known {
		return
	}
	m := macro{body: body}
	if len(body) > 0 && body[0].text == "(" && body[0].tight {
		m.call = true
		for i, t := range body {
			if t.text == ")" {
				m.body = body[i+1:]
				break
			}
			if t.kind == word {
				m.params = append(m.params, t.text)
			}
		}
	}
	macros[name] = m
}

// expander replaces macros. Everything that a macro gives stands where the
// macro was used, so that findings point at the code.
type expander struct {
	macros map[string]macro
	left   int // tokens that may still be written
}

func (e *expander) expand(tokens []token, busy []string) []token {
	var out []token
	for i := 0; i < len(tokens) && e.left > 0; i++ {
		t := tokens[i]
		m, ok := e.macros[t.text]
		if t.kind != word || !ok || isIn(busy, t.text) || len(busy) > 32 {
			e.left--
			out = append(out, t)
			continue
		}
		var arguments [][]token
		if m.call {
			if i+1 >= len(tokens) || tokens[i+1].text != "(" {
				out = append(out, t)
				continue
			}
			end := closing(tokens, i+1)
			arguments = split(tokens[i+2:max(end, i+2)], ",")
			i = end
		}
		body := e.fill(m, arguments, t.at)
		out = append(out, e.expand(body, append(busy[:len(busy):len(busy)], t.text))...)
	}
	return out
}

// fill is the body of a macro with its arguments, at the place of its use.
func (e *expander) fill(m macro, arguments [][]token, at shader.Position) []token {
	var body []token
	for _, t := range m.body {
		if e.left <= 0 {
			break
		}
		index := -1
		for i, p := range m.params {
			if t.kind == word && t.text == p && i < len(arguments) {
				index = i
			}
		}
		if index >= 0 {
			body = append(body, arguments[index]...)
			e.left -= len(arguments[index])
			continue
		}
		t.at = at
		body = append(body, t)
		e.left--
	}
	return body
}

func isIn(names []string, name string) bool {
	for _, n := range names {
		if n == name {
			return true
		}
	}
	return false
}

// closing is the index of the bracket that closes the one at open, or of the
// last token where there is none.
func closing(tokens []token, open int) int {
	depth := 0
	for i := open; i < len(tokens); i++ {
		depth += nesting(tokens[i])
		if depth <= 0 {
			return i
		}
	}
	return len(tokens) - 1
}

// split cuts tokens at every separator outside brackets.
func split(tokens []token, separator string) [][]token {
	var parts [][]token
	depth, start := 0, 0
	for i, t := range tokens {
		depth += nesting(t)
		if depth == 0 && t.kind == mark && t.text == separator {
			parts = append(parts, tokens[start:i])
			start = i + 1
		}
	}
	return append(parts, tokens[start:])
}
