package cache

import (
	"errors"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/shader"
)

// The policy says what may be done with a program here, why, and who says so. It is asked
// three times, so that a Get that finds a binary reads nothing from the disk for it:
//
//	join        the compile errors in memory
//	beforeFind  the notes of crashes, and the choice of Options.Binaries: in memory
//	beforeMake  the notes again, then the directory: notes of other processes, compile errors
//	            and wrong answers
//
// A trial in another process changes the answer: beforeFind is asked again after it.
type answer struct {
	may    may
	source evidence // what says so
	err    error    // of refused: a *binary.Quarantined or a *shader.CompileError

	alone    bool // a suspect: the device does nothing else meanwhile
	unstored bool // its binary is neither read from the driver nor stored
	recheck  bool // a binary of it gave a wrong answer: check what was compiled too
}

// may is what may be done with a program.
type may uint8

const (
	mayLoad    may = iota // load its binary; without one, ask beforeMake
	mayCompile            // compile its source, and load no binary
	onlyApart             // have another process try it, and ask again
	refused               // nothing
)

// evidence is what an answer of the policy follows from.
type evidence string

const (
	crashNote     evidence = "the note of a crash"
	binaryChoice  evidence = "program binaries are not used"
	keptError     evidence = "its compile error is in the directory"
	wrongAnswer   evidence = "its binary gave a wrong answer"
	endedByTrials evidence = "it was tried in another process"
)

// beforeFind answers from memory. tried: another
// process has tried the program for this request.
func (c *Cache) beforeFind(src *shader.Source, tried bool) answer {
	n, _ := c.guard.note(src.Key())
	a := c.noteAnswer(src, n, tried)
	if a.may == refused && n.source != endedByTrials && n.Action != binary.ActionDispatch {
		a = answer{} // its source is refused: a binary needs no compile
	}
	if a.may == mayLoad && c.sourceOnly != "" {
		a.may, a.source = mayCompile, binaryChoice
	}
	return a
}

// beforeMake answers whether a program may be compiled, for which there is no binary.
func (c *Cache) beforeMake(src *shader.Source) answer {
	if q, noted := c.guard.owner.store.Note(src.Key()); noted { // perhaps of another process
		c.guard.addNote(q)
	}
	n, _ := c.guard.note(src.Key())
	a := c.noteAnswer(src, n, true)
	if a.may == refused {
		return a
	}
	a.may = mayCompile
	if c.options.KeepCompileErrors {
		if failure := c.store.Failure(src); failure != nil {
			return answer{may: refused, source: keptError, err: failure}
		}
	}
	if src.Check() != nil && c.isWrong(src.Key()) {
		a.recheck, a.source = true, wrongAnswer
	}
	return a
}

// noteAnswer answers from a note, which is zero where there is none.
func (c *Cache) noteAnswer(src *shader.Source, n note, tried bool) answer {
	switch {
	case n.isUndispatched() || n.Key == shader.Key{}:
		return answer{}
	case n.Refused():
		return answer{may: refused, source: n.source, err: n.refusal(src.Name())}
	case n.IsOfBinary():
		return answer{may: mayCompile, source: crashNote, unstored: true}
	case c.guard.trier != nil && !tried:
		return answer{may: onlyApart, source: crashNote, alone: true}
	case n.Action == binary.ActionLoad && !c.options.InTrial:
		// Compiling costs little, and a process that dies again costs much.
		return answer{may: mayCompile, source: crashNote, alone: true}
	}
	return answer{source: crashNote, alone: true}
}

// knownFailure returns and counts the compile error of a source that did not
// compile before in this process, or nil. The caller holds mu.
func (c *Cache) knownFailure(src *shader.Source) error {
	if err, failed := c.mu.failures.Get(src.Key()); failed {
		c.mu.counters.total.NegativeHits++
		return err.For(src)
	}
	return nil
}

// isWrong reports whether a binary of a program gave a wrong answer, in this process or an
// earlier one.
func (c *Cache) isWrong(key shader.Key) bool {
	c.mu.Lock()
	_, wrong := c.mu.wrong[key]
	c.mu.Unlock()
	return wrong || c.isAlwaysWrong(key)
}

// isAlwaysWrong reports whether a program gave a wrong answer right after a compile too: see
// putWrong.
func (c *Cache) isAlwaysWrong(key shader.Key) bool {
	_, wrong := c.store.Wrong(key)
	return wrong
}

// maxFailures bounds the compile errors in memory. Each holds its source and
// the driver's log, some 10 KB.
const (
	maxFailures     = 256
	maxFailureBytes = 256 << 10 // of its source and its log; larger ones are not kept
)

// addFailure counts and keeps the compile error of a flight, unless its reason may be another
// next time. The caller holds mu.
func (c *Cache) addFailure(f *flight, err error) {
	stored := f.answer.source == keptError
	if stored {
		c.mu.counters.total.NegativeHits++
	} else {
		c.mu.counters.total.CompileErrors++
	}
	compileError, _ := errors.AsType[*shader.CompileError](err)
	if !stored && !compileError.BlamesSource() {
		return
	}
	src := f.src
	if len(compileError.Log)+len(src.Text()) <= maxFailureBytes {
		c.mu.failures.Add(src.Key(), compileError)
	}
	if c.options.KeepCompileErrors && !stored {
		c.addTask(task{what: "writing a compile error", do: func() error { return c.store.PutFailure(src, compileError.Log) }})
	}
}
