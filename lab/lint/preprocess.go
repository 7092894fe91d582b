package lint

import (
	"slices"

	"github.com/shadercache/shadercache/shader"
)

// maxTokens limits the size of a text with its macros replaced.
const maxTokens = 1 << 18

// macro is a #define.
type macro struct {
	params []string
	call   bool // it has a parameter list
	body   []token
}

// preprocess replaces macros and keeps every branch of an #if. Branches with
// brackets that the text after the #endif closes are alternatives: of these only the
// first is kept. complete is false where macros grew beyond maxTokens, and where an #if
// is nested deeper than maxNesting.
//
// This is not the preprocessing of shader.ReadSource, which inserts includes and
// leaves conditions and macros to the driver. A lint needs the expanded text, and
// all branches at once, since it has no values for the conditions.
func preprocess(tokens []token) (expanded []token, complete bool) {
	macros := map[string]macro{}
	merged, shallow := mergeBranches(tokens, macros)
	e := expander{macros: macros, left: maxTokens}
	expanded = e.expand(merged, nil)
	return expanded, shallow && e.left > 0
}

// branches is an #if without its #endif so far.
type branches struct {
	done    [][]token
	current []token
}

func mergeBranches(tokens []token, macros map[string]macro) (merged []token, complete bool) {
	open := []*branches{{}}
	for _, t := range tokens {
		if len(open) > maxNesting {
			break
		}
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
	complete = len(open) <= maxNesting
	for len(open) > 1 {
		top := open[len(open)-1]
		open = open[:len(open)-1]
		below := open[len(open)-1]
		below.current = append(below.current, top.merge()...)
	}
	return append(flatten(open[0].done), open[0].current...), complete
}

// merge returns the tokens of the branches that are kept.
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

// balanced reports whether every bracket is matched.
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

// nesting returns 1 for an opening bracket, -1 for a closing one, and 0 for others.
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

// define adds a macro. The first definition is kept: later ones are mostly other
// branches of an #if.
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

// expander replaces macros. The tokens of a macro get the position of its use, so
// that findings point at the code.
type expander struct {
	macros map[string]macro
	left   int // tokens that may still be produced
}

func (e *expander) expand(tokens []token, busy []string) []token {
	var out []token
	for i := 0; i < len(tokens) && e.left > 0; i++ {
		t := tokens[i]
		m, ok := e.macros[t.text]
		if t.kind != word || !ok || slices.Contains(busy, t.text) || len(busy) > 32 {
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

// fill returns the body of a macro with its arguments, at the position of its use.
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

// closing returns the index of the bracket that closes the one at open, or of the
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

// split splits tokens at every separator outside brackets.
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
