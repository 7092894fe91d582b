//go:build linux

package executor

import (
	"math/bits"
	"time"

	"github.com/shadercache/shadercache/glctx"
)

// stage is what the GPU is given at once, with one fence behind it: a batch as a
// whole, or the parts of up to three batches that run side by side.
type stage struct {
	whole *batch // all of it, one part after the other

	up, run, down *batch // copy up, kernels, copy down

	fence      glctx.Fence
	begin, end glctx.Query
	began      time.Duration // when it was handed over, since the pipeline was made
	awaited    bool          // it was looked at when it was expected to be complete, and was not
}

// complete calls fn for the batches that are complete when the stage is, in the
// order of Submit.
func (s *stage) complete(fn func(*batch)) {
	if s.down != nil {
		fn(s.down)
	}
	if s.run != nil && s.run.downBytes() == 0 {
		fn(s.run)
	}
	if s.whole != nil {
		fn(s.whole)
	}
}

// class numbers the stages that may be expected to take equally long: by the
// parts at work, and whole batches by their number of jobs to a power of 2.
func (s *stage) class() int {
	if s.whole != nil {
		return 8 + min(bits.Len(uint(len(s.whole.jobs))), classes-9)
	}
	class := 0
	for i, part := range [...]*batch{s.up, s.run, s.down} {
		if part != nil {
			class |= 1 << i
		}
	}
	return class
}

const classes = 8 + 16

// expectations are how long the stages of each class are expected to take.
type expectations [classes]expectation

type expectation struct {
	took   time.Duration
	met    bool // a stage was looked at in vain once, so took is no guess
	streak int  // stages in a row that were complete at the first look
}

// of is what is expected of stages like s.
func (x *expectations) of(s *stage) *expectation { return &x[s.class()] }

// learn takes in a stage that was seen complete after took. Where it had been
// awaited, looked at in vain, that is about the truth. Where it was complete at
// the first look, it may have been for long: then the expectation shrinks, so
// that the next look comes earlier. It is halved while it is a guess, since the
// first stages wait for much that later ones do not. Each look in vain wakes the
// GL thread, which matters for long stages: their expectation shrinks by a
// thousandth at first, and faster the longer nothing is found to be too early. So
// about one look in ten is in vain.
func (e *expectation) learn(awaited bool, took time.Duration) {
	e.streak++
	switch {
	case awaited && e.met:
		e.took += (took - e.took) / 4
		e.streak = 0
	case awaited:
		e.took, e.met, e.streak = took, true, 0
	case e.took == 0:
		e.took = took / 2
	case !e.met:
		e.took = min(took, e.took) / 2
	case e.took < hotStage:
		e.took = min(took, e.took) * 31 / 32
	default:
		e.took = min(took, e.took)
		e.took -= e.took >> max(2, 10-e.streak/4)
	}
}

// oversleep takes in several stages that were seen complete in one look, the first
// of them after so long. Where the look came when it should, the expectation was
// too large. Where it came late, nothing is known.
func (e *expectation) oversleep(together time.Duration) {
	if together < e.took*3/2 {
		e.took -= e.took / 8
	}
}

// bound takes in a look that was not meant to come at once: n stages were
// complete after so long together, and perhaps one more was not.
func (e *expectation) bound(n int, together time.Duration, oneMore bool) {
	e.took = min(e.took, together/time.Duration(n))
	if oneMore {
		e.took = max(e.took, together/time.Duration(n+1))
	}
}
