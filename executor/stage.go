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
	awaited    bool          // somebody looked at the fence too early
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
	took time.Duration
	met  bool // somebody looked too early once, so it is no more than it should be
}

// learn takes in a stage that was seen complete after took. Where nobody had
// looked before, it may have been complete for long: then the expectation
// shrinks, so that the next look comes earlier. It is halved until it is known
// to be no more than it should be, since the first stages wait for much that
// later ones do not; then it shrinks a little only, since each look that comes
// too early costs CPU time.
func (x *expectations) learn(s *stage, took time.Duration) {
	e := &x[s.class()]
	switch {
	case s.awaited && e.met:
		e.took += (took - e.took) / 4
	case s.awaited:
		e.took, e.met = took, true
	case e.took == 0:
		e.took = took / 2
	case e.met:
		e.took = min(took, e.took) * 31 / 32
	default:
		e.took = min(took, e.took) / 2
	}
}
