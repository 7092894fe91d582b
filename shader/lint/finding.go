package lint

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/shadercache/shadercache/shader"
)

// Rule names what is wrong: see the package documentation.
type Rule string

// The rules.
const (
	DivergentBarrier    Rule = "divergent-barrier"
	ReturnBeforeBarrier Rule = "return-before-barrier"
	DivergentLoop       Rule = "divergent-loop"
	SharedRace          Rule = "shared-race"
	SingleLaneLoop      Rule = "single-lane-loop"
	UnboundedLoop       Rule = "unbounded-loop"
	Marker              Rule = "marker"
	Unreadable          Rule = "unreadable"
)

// Finding is one mistake.
type Finding struct {
	File    string `json:"file"`
	Line    int    `json:"line"`   // from 1, as #line directives count
	Column  int    `json:"column"` // from 1, in bytes
	Rule    Rule   `json:"rule"`
	Message string `json:"message"`
	Hint    string `json:"hint"`
}

// String is the finding as compilers print theirs.
func (f Finding) String() string {
	return fmt.Sprintf("%s:%d:%d: %s: %s", f.File, f.Line, f.Column, f.Rule, f.Message)
}

// hints say what to do about a finding, by rule.
var hints = map[Rule]string{
	DivergentBarrier:    "move the barrier() out of the condition, or make the condition one that all invocations share",
	ReturnBeforeBarrier: "keep every invocation until the last barrier(): put the work in an if instead of returning",
	DivergentLoop:       "let one invocation write a shared flag, barrier(), and have all leave by the flag",
	SharedRace:          "put a barrier() between the reading and the next write",
	SingleLaneLoop:      "spread the loop over the invocations, or say why not: // lint:leader REASON",
	UnboundedLoop:       "count the turns and leave at a budget, or say what ends the loop: // lint:budget REASON",
	Marker:              "write // lint:leader REASON or // lint:budget REASON",
	Unreadable:          "see whether the text compiles; deeply nested code may have to be made simpler",
}

// Check looks for mistakes in GLSL text, which is called name in the findings.
// They come in the order of the text. It may be called from any goroutine, takes
// any text, and leaves errors of syntax to the driver's compiler. Lines that #line
// directives give to other source strings are findings in name too: see
// CheckSource.
func Check(name, text string) []Finding {
	return check([]string{name}, text)
}

// CheckSource is Check for a source with what it includes: findings name the
// file that they are in.
func CheckSource(source *shader.Source) []Finding {
	return check(source.Files(), source.Text())
}

func check(files []string, text string) []Finding {
	c := &checker{files: files, seen: map[seenKey]bool{}}
	s := scan(text)
	c.markers = s.markers
	c.checkMarkers()
	tokens, whole := preprocess(s.tokens)
	p := parse(tokens)
	if !whole {
		p.unreadable = nil
		c.report(Unreadable, position{line: 1, column: 1}, "macros that grow without end: not everything was checked")
	}
	for _, at := range p.unreadable {
		c.report(Unreadable, at, "a bracket without its other half, or code nested too deeply: what follows was not checked")
	}
	c.program = p
	c.checkBudgets()
	c.walkProgram()
	slices.SortStableFunc(c.findings, func(a, b located) int {
		return cmp.Or(cmp.Compare(a.at.source, b.at.source), cmp.Compare(a.at.line, b.at.line), cmp.Compare(a.at.column, b.at.column))
	})
	findings := make([]Finding, len(c.findings))
	for i, f := range c.findings {
		findings[i] = f.Finding
	}
	return findings
}

// checker is one run over one text.
type checker struct {
	files    []string
	markers  []marker
	program  *program
	findings []located
	seen     map[seenKey]bool
}

// located is a finding with what it is sorted by.
type located struct {
	Finding
	at position
}

type seenKey struct {
	rule Rule
	at   position
}

// report notes a finding once, however often the walk comes past it.
func (c *checker) report(rule Rule, at position, format string, values ...any) {
	if c.seen[seenKey{rule, at}] {
		return
	}
	c.seen[seenKey{rule, at}] = true
	c.findings = append(c.findings, located{Finding{
		File:    c.file(at),
		Line:    at.line,
		Column:  at.column,
		Rule:    rule,
		Message: fmt.Sprintf(format, values...),
		Hint:    hints[rule],
	}, at})
}

func (c *checker) file(at position) string {
	if at.source < len(c.files) {
		return c.files[at.source]
	}
	return c.files[0]
}

// line is a place for a message about another one: only its line, or with the
// file where that differs.
func (c *checker) line(at, from position) string {
	if at.source == from.source {
		return fmt.Sprintf("line %d", at.line)
	}
	return fmt.Sprintf("%s line %d", c.file(at), at.line)
}
