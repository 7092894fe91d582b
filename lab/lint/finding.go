package lint

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/shadercache/shadercache/shader"
)

// Rule names a kind of mistake: see the package documentation.
type Rule string

// The rules.
const (
	divergentBarrier    Rule = "divergent-barrier"
	returnBeforeBarrier Rule = "return-before-barrier"
	divergentLoop       Rule = "divergent-loop"
	sharedRace          Rule = "shared-race"
	singleLaneLoop      Rule = "single-lane-loop"
	unboundedLoop       Rule = "unbounded-loop"
	markerRule          Rule = "marker"
	unreadable          Rule = "unreadable"
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

// String returns the finding in the form of a compiler's message.
func (f Finding) String() string {
	return fmt.Sprintf("%s:%d:%d: %s: %s", f.File, f.Line, f.Column, f.Rule, f.Message)
}

// hints is the advice about a finding, by rule.
var hints = map[Rule]string{
	divergentBarrier:    "move the barrier() out of the condition, or make the condition one that all invocations share",
	returnBeforeBarrier: "keep every invocation until the last barrier(): put the work in an if instead of returning",
	divergentLoop:       "let one invocation write a shared flag, barrier(), and have all leave by the flag",
	sharedRace:          "put a barrier() between the reading and the next write",
	singleLaneLoop:      "spread the loop over the invocations, or give the reason: // lint:leader REASON",
	unboundedLoop:       "count the iterations and leave at a limit, or write what ends the loop: // lint:budget REASON",
	markerRule:          "write // lint:leader REASON or // lint:budget REASON",
	unreadable:          "check that the text compiles; simplify deeply nested code",
}

// Check returns the mistakes in GLSL text, in the order of the text. name is the
// file of the findings, also where a #line directive selects another source string:
// see CheckSource. It accepts any text and does not report syntax errors, which the
// driver's compiler finds. It may be called from any goroutine.
func Check(name, text string) []Finding {
	return check([]string{name}, text)
}

// CheckSource checks a source with the files that it includes. Each finding names
// the file that it is in.
func CheckSource(source *shader.Source) []Finding {
	return check(source.Files(), source.Text())
}

func check(files []string, text string) []Finding {
	c := newCheck(files, text)
	slices.SortStableFunc(c.findings, func(a, b located) int {
		return cmp.Or(cmp.Compare(a.at.File, b.at.File), cmp.Compare(a.at.Line, b.at.Line), cmp.Compare(a.at.Column, b.at.Column))
	})
	findings := make([]Finding, len(c.findings))
	for i, f := range c.findings {
		findings[i] = f.Finding
	}
	return findings
}

// newCheck checks a text.
func newCheck(files []string, text string) *checker {
	c := &checker{files: files, seen: map[seenKey]bool{}}
	tokens, markers := tokenize(text)
	c.effort = newEffort(len(tokens))
	c.addMarkers(markers)
	c.checkMarkers()
	tokens, complete := preprocess(tokens)
	p := parse(tokens)
	start := shader.Position{Line: 1, Column: 1}
	if !complete {
		p.unreadable = nil
		c.report(unreadable, start, "macros that grow too large, or #if nested too deeply: not everything was checked")
	}
	for _, at := range p.unreadable {
		c.report(unreadable, at, "a bracket without its other half, or code nested too deeply: what follows was not checked")
	}
	c.program = p
	c.checkLoopBounds()
	c.walkProgram()
	if c.effort.left <= 0 {
		c.report(unreadable, start, "too many loops and calls within others, or expressions too long: not everything was checked")
	}
	return c
}

// checker is one check of one text.
type checker struct {
	files    []string
	markers  []marker
	excuses  map[excuse]bool
	effort   *effort
	program  *program
	findings []located
	seen     map[seenKey]bool
}

// located is a finding with the position that it is sorted by.
type located struct {
	Finding
	at shader.Position
}

type seenKey struct {
	rule Rule
	at   shader.Position
}

// report adds a finding, once for each rule and position.
func (c *checker) report(rule Rule, at shader.Position, format string, values ...any) {
	if c.seen[seenKey{rule, at}] {
		return
	}
	c.seen[seenKey{rule, at}] = true
	c.findings = append(c.findings, located{Finding{
		File:    c.file(at),
		Line:    at.Line,
		Column:  at.Column,
		Rule:    rule,
		Message: fmt.Sprintf(format, values...),
		Hint:    hints[rule],
	}, at})
}

func (c *checker) file(at shader.Position) string {
	if at.File < len(c.files) {
		return c.files[at.File]
	}
	return c.files[0]
}

// line formats at for a message about from: only the line, or file and line where
// the files differ.
func (c *checker) line(at, from shader.Position) string {
	if at.File == from.File {
		return fmt.Sprintf("line %d", at.Line)
	}
	return fmt.Sprintf("%s line %d", c.file(at), at.Line)
}
