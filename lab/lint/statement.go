package lint

import "github.com/shadercache/shadercache/shader"

type statementKind uint8

const (
	simple statementKind = iota // a declaration, an expression, or nothing
	block
	branch // if
	loop   // for, while, do
	choice // switch
	breakLoop
	continueLoop
	returnFunction
)

// statement is one statement, with what the rules need.
type statement struct {
	kind      statementKind
	at        shader.Position
	tokens    []token // of a simple one; the condition of others; the value of a return
	init      []token // of for
	post      []token // of for
	last      bool    // the condition is evaluated after the body: do
	body      []*statement
	otherwise []*statement // else
}

// maxDepth limits the nesting of statements, and of calls.
const maxDepth = 100

// statements parses tokens into statements.
type statements struct {
	tokens     []token
	i          int
	depth      int
	unreadable []shader.Position
}

// closed reports whether all tokens were read.
func (s *statements) closed() bool {
	return s.i >= len(s.tokens)
}

func (s *statements) is(text string) bool {
	return !s.closed() && s.tokens[s.i].text == text && s.tokens[s.i].kind != number
}

// all returns every statement.
func (s *statements) all() []*statement {
	var list []*statement
	for !s.closed() {
		list = append(list, s.next())
	}
	return list
}

// next reads a statement; closed must be false.
func (s *statements) next() *statement {
	t := s.tokens[s.i]
	s.depth++
	defer func() { s.depth-- }()
	if s.depth > maxDepth {
		s.unreadable = append(s.unreadable, t.at)
		s.i = len(s.tokens)
		return &statement{at: t.at}
	}
	switch t.text {
	case "{":
		return &statement{kind: block, at: t.at, body: s.inner(s.group())}
	case "if":
		s.i++
		st := &statement{kind: branch, at: t.at, tokens: s.group(), body: s.body()}
		if s.is("else") {
			s.i++
			st.otherwise = s.body()
		}
		return st
	case "while":
		s.i++
		return &statement{kind: loop, at: t.at, tokens: s.group(), body: s.body()}
	case "for":
		return s.forLoop()
	case "do":
		return s.doLoop()
	case "switch":
		s.i++
		return &statement{kind: choice, at: t.at, tokens: s.group(), body: s.body()}
	case "case", "default":
		return &statement{at: t.at, tokens: s.until(":")}
	case "break":
		s.until(";")
		return &statement{kind: breakLoop, at: t.at}
	case "continue":
		s.until(";")
		return &statement{kind: continueLoop, at: t.at}
	case "return":
		s.i++
		return &statement{kind: returnFunction, at: t.at, tokens: s.until(";")}
	}
	return &statement{at: t.at, tokens: s.until(";")}
}

// body reads the statement under a condition, or the statements in its braces.
func (s *statements) body() []*statement {
	if s.closed() {
		return nil
	}
	st := s.next()
	if st.kind == block {
		return st.body
	}
	return []*statement{st}
}

// inner reads the statements of a block.
func (s *statements) inner(tokens []token) []*statement {
	in := &statements{tokens: tokens, depth: s.depth}
	list := in.all()
	s.unreadable = append(s.unreadable, in.unreadable...)
	return list
}

func (s *statements) forLoop() *statement {
	st := &statement{kind: loop, at: s.tokens[s.i].at}
	s.i++
	parts := split(s.group(), ";")
	st.init = parts[0]
	if len(parts) > 1 {
		st.tokens = parts[1]
	}
	if len(parts) > 2 {
		st.post = parts[2]
	}
	st.body = s.body()
	return st
}

func (s *statements) doLoop() *statement {
	st := &statement{kind: loop, at: s.tokens[s.i].at, last: true}
	s.i++
	st.body = s.body()
	if s.is("while") {
		s.i++
		st.tokens = s.group()
		s.until(";")
	}
	return st
}

// group reads the tokens between the next bracket and the one that closes it. It
// returns none where the next token is no bracket.
func (s *statements) group() []token {
	if s.closed() || nesting(s.tokens[s.i]) != 1 {
		return nil
	}
	end := closing(s.tokens, s.i)
	inside := s.tokens[s.i+1 : max(end, s.i+1)]
	s.i = end + 1
	return inside
}

// until reads the tokens up to a mark outside brackets, and skips the mark.
func (s *statements) until(end string) []token {
	depth, start := 0, s.i
	for ; !s.closed(); s.i++ {
		t := s.tokens[s.i]
		depth += nesting(t)
		if depth <= 0 && t.kind == mark && t.text == end {
			s.i++
			return s.tokens[start : s.i-1]
		}
	}
	return s.tokens[start:s.i]
}
