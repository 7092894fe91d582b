package lint

// maxNesting limits the nesting of brackets, and of #if. Compilers stop at 256 too.
const maxNesting = 256

// effort limits the work on one text. Rules read tokens again: in every iteration that a
// loop is followed for, and for every call of a function. What they read in all is linear
// in the size of the text.
type effort struct {
	left  int // tokens that may still be read
	spent int
}

// Tokens that may be read: some for any text, and for each token of it. The kernels of
// this repository need 240 for each of theirs at most.
const (
	freeEffort     = 1 << 18
	effortPerToken = 750
)

func newEffort(tokens int) *effort {
	return &effort{left: freeEffort + effortPerToken*tokens}
}

// spend reports whether n more tokens may be read.
func (e *effort) spend(n int) bool {
	if e.left <= 0 {
		return false
	}
	e.left -= n + 1
	e.spent += n + 1
	return e.left > 0
}
