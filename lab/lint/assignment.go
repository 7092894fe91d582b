package lint

import (
	"strings"

	"github.com/shadercache/shadercache/shader"
)

// assignment is one write to a variable inside an expression.
type assignment struct {
	name     string
	at       shader.Position
	complete bool    // the whole variable, not an element or a component
	step     bool    // relative to what it was: ++, +=, x = x + 1
	index    []token // the brackets behind the name
	value    []token // the value assigned; empty for ++ and --
	operand  int     // index of the name among the tokens
}

// assignments returns the writes in an expression, from right to left, the order of
// a = b = c. The initial values of declarations are among them.
func assignments(tokens []token) []assignment {
	var list []assignment
	ends := []int{len(tokens)} // of the value that i is in, in each open bracket
	next := map[string]int{}   // the next place of each word
	for i := len(tokens) - 1; i >= 0; i-- {
		t := tokens[i]
		if t.kind == word {
			next[t.text] = i
		}
		if t.kind != mark {
			continue
		}
		end := ends[len(ends)-1]
		switch t.text {
		case "(", "[", "{":
			ends = ends[:max(1, len(ends)-1)]
		case ")", "]", "}":
			ends = append(ends, i)
		case ",":
			ends[len(ends)-1] = i
		case "=", "+=", "-=", "*=", "/=", "%=", "<<=", ">>=", "&=", "|=", "^=":
			a, ok := lvalueBefore(tokens, i)
			if !ok {
				continue
			}
			a.value = tokens[min(i+1, end):end]
			at, named := next[a.name]
			a.step = t.text != "=" || a.complete && len(a.value) > 1 && named && at < end
			list = append(list, a)
		case "++", "--":
			a, ok := lvalueBefore(tokens, i)
			if !ok {
				a, ok = lvalueAfter(tokens, i+1)
			}
			if ok {
				a.step = true
				list = append(list, a)
			}
		}
	}
	return list
}

// lvalueBefore reads backwards from end: name, or name.part[index].part and so on.
func lvalueBefore(tokens []token, end int) (assignment, bool) {
	a := assignment{complete: true}
	i := end - 1
	for i >= 0 {
		switch {
		case tokens[i].text == "]":
			open := opening(tokens, i)
			a.index = append(a.index, tokens[min(open+1, i):i]...)
			a.complete = false
			i = open - 1
			continue
		case tokens[i].kind == word && i > 0 && tokens[i-1].text == ".":
			a.complete = false
			i -= 2
			continue
		case tokens[i].kind == word:
			a.name, a.at, a.operand = tokens[i].text, tokens[i].at, i
			return a, true
		}
		return a, false
	}
	return a, false
}

// lvalueAfter returns the variable after a prefix operator.
func lvalueAfter(tokens []token, i int) (assignment, bool) {
	if i >= len(tokens) || tokens[i].kind != word {
		return assignment{}, false
	}
	a := assignment{name: tokens[i].text, at: tokens[i].at, operand: i, complete: true}
	if i+1 < len(tokens) && tokens[i+1].text == "[" {
		a.complete = false
		a.index = tokens[i+2 : max(closing(tokens, i+1), i+2)]
	}
	if i+1 < len(tokens) && tokens[i+1].text == "." {
		a.complete = false
	}
	return a, true
}

// opening returns the index of the bracket that the one at end closes, or 0.
func opening(tokens []token, end int) int {
	depth := 0
	for i := end; i > 0; i-- {
		depth -= nesting(tokens[i])
		if depth <= 0 {
			return i
		}
	}
	return 0
}

// isAtomic reports whether a function changes memory and returns the previous value.
func isAtomic(name string) bool {
	return strings.HasPrefix(name, "atomic") && !strings.HasPrefix(name, "atomicCounter") || strings.HasPrefix(name, "imageAtomic")
}
