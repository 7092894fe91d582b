package lint

import (
	"strings"
	"testing"
)

// attacks are texts of which each byte costs a little more than the one before where the
// lint reads tokens again and again. They take n repetitions.
var attacks = map[string]func(n int) string{
	"brackets": func(n int) string { return body("int a = " + nested("(", "1", ")", n) + ";") },
	"indices":  func(n int) string { return body("int a = " + nested("b[", "1", "]", n) + ";") },
	"calls": func(n int) string {
		return "int f(int x) { return x; }" + body("int a = "+nested("f(", "1", ")", n)+";")
	},
	"many deep calls": func(n int) string {
		return "int f(int x) { return x; }" + body(strings.Repeat("int a = "+nested("f(", "1", ")", 200)+";", n/200))
	},
	"open brackets":   func(n int) string { return "void main() {" + strings.Repeat("(", n) },
	"closed brackets": func(n int) string { return "void main() {" + strings.Repeat(")", n) },
	"blocks":          func(n int) string { return body(nested("{", "", "}", n)) },
	"else if":         func(n int) string { return body(strings.Repeat("if (x) {} else ", n) + ";") },
	"assignments":     func(n int) string { return body("int a;" + strings.Repeat("a = ", n) + "1;") },
	"other variables": func(n int) string { return body(numbered("a# = ", n) + "1;") },
	"comparisons":     func(n int) string { return body("a = " + strings.Repeat("b == ", n) + "1;") },
	"negations":       func(n int) string { return body("a = " + strings.Repeat("!", n) + "b;") },
	"components":      func(n int) string { return "buffer B { int a[]; };" + body("b = a"+strings.Repeat(".a", n)+";") },
	"conditions": func(n int) string {
		return nested("#if 1\n", "int a[] = {"+strings.Repeat("1,", n)+"};\n", "#endif\n", n)
	},
	"loop conditions":  func(n int) string { return body("while (" + strings.Repeat("a == ", n) + "b) { ++b; }") },
	"chain of loops":   func(n int) string { return "buffer B { int m; };" + body("while (a0 > 0) {"+chain(n)+"}") },
	"chain of calls":   func(n int) string { return "buffer B { int m; };" + functions(n) },
	"variables, ifs":   func(n int) string { return body(numbered("int a#; if (a#) { b = 1; }", n)) },
	"markers and loop": func(n int) string { return body(strings.Repeat("// lint:budget it ends\nwhile (x) {}\n", n)) },
}

func body(text string) string { return "layout(local_size_x = 8) in; void main() {" + text + "}\n" }

func nested(open, inner, end string, n int) string {
	return strings.Repeat(open, n) + inner + strings.Repeat(end, n)
}

// numbered repeats a text with # as a number.
func numbered(text string, n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.ReplaceAll(text, "#", letters(i)))
	}
	return b.String()
}

func letters(i int) string { return "v" + strings.Repeat("x", i%7) + string(rune('a'+i%26)) + hex(i) }

func hex(i int) string {
	const digits = "0123456789abcdef"
	text := ""
	for ; i > 0; i /= 16 {
		text += digits[i%16 : i%16+1]
	}
	return text
}

func chain(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString("a" + hex(i) + " = a" + hex(i+1) + ";")
	}
	return b.String() + "a" + hex(n) + " = m;"
}

func functions(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString("int f" + hex(i) + "() { return f" + hex(i+1) + "(); }\n")
	}
	return b.String() + "int f" + hex(n) + "() { return m; }\n"
}

// TestWorkIsLinear checks that the tokens that are read stay below the limit for texts
// that take hours where the work is quadratic.
func TestWorkIsLinear(t *testing.T) {
	const n = 1 << 12
	for name, text := range attacks {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := text(n)
			tokens, _ := tokenize(text)
			limit := freeEffort + (effortPerToken+2)*len(tokens)
			if spent := newCheck([]string{name}, text).effort.spent; spent > limit {
				t.Errorf("%d tokens were read for %d, and %d may be", spent, len(tokens), limit)
			}
		})
	}
}
