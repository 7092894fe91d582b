package executor

import (
	"time"

	"github.com/shadercache/shadercache/glctx"
)

// stage is work that the GPU is given at once, with one fence behind it: a whole
// batch, or one part each of up to three batches, which run side by side.
type stage struct {
	whole *batch // all parts, one after the other

	up, run, down *batch // copy up, kernels, copy down

	fence      glctx.Fence
	begin, end glctx.Query
	marks      [marks]glctx.Query // of a whole batch, with a Tracer
	began      time.Duration      // when it was given to the GPU, since pipeline.created
	estimate   *estimate          // of its duration; nil: not looked up yet
	missedPoll bool               // it was not complete at a poll after its estimated time
	form       form               // of a whole batch
	tried      bool               // its time counts for the trial of the forms
}

// complete calls fn for the batches that are complete with the stage, in the order
// of Submit.
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
