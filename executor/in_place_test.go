//go:build linux

package executor

import (
	"encoding/binary"
	"testing"
	"time"

	"github.com/shadercache/shadercache/glctx"
)

// A small job that is alone in its batch uses mapped memory, and leaves that of the device as
// it was; a larger one, and a chain, whose second dispatch would read through the bus, do not.
func TestSmallJobsUseMappedMemory(t *testing.T) {
	const words = mostInPlace / 4
	f := newFixture(t, Options{Depth: 1, SlotBytes: 1 << 16, test: testOptions{poison: true, inPlace: true}})
	h := f.affine()
	for name, test := range map[string]struct {
		words int
		chain bool
		want  bool
	}{
		"small":  {words, false, true},
		"larger": {words + 1, false, false},
		"chain":  {words, true, false},
	} {
		k := newTask(h, 3, test.words)
		if test.chain {
			k.job.Then = []Dispatch{k.job.Dispatch}
		}
		k.pending = f.submit(k.job)
		f.finish(k)
		var first [4]byte
		err := f.context.Do(func(gl *glctx.GL) error {
			gl.MemoryBarrier(glctx.BarrierAllKinds)
			gl.Download(f.slots[0].outputs, 0, first[:])
			return gl.Err()
		})
		if err != nil {
			t.Fatal(err)
		}
		if got := binary.NativeEndian.Uint32(first[:]) == poisonWord; got != test.want {
			t.Errorf("%s: used in place: %v", name, got)
		}
	}
}

// The faster form is used once both were measured, and a slow one is not tried again soon.
func TestTrialFindsTheFasterForm(t *testing.T) {
	const us = time.Microsecond
	for name, test := range map[string]struct {
		took  [dataForms]time.Duration
		want  form
		tried int // jobs in place among the first 2*trialJobs
	}{
		"in place is faster": {[dataForms]time.Duration{22 * us, 17 * us}, inPlace, trialJobs},
		"copies are faster":  {[dataForms]time.Duration{22 * us, 24 * us}, copied, trialJobs},
		"in place is slow":   {[dataForms]time.Duration{31 * us, 70 * us}, copied, 1},
		"not worth a trial":  {[dataForms]time.Duration{mostTrial + us, us}, copied, 0},
	} {
		var x trial
		jobs := func(n int) (inPlaces int) {
			for range n {
				f := x.next()
				x.observe(f, test.took[f]+time.Duration(x.jobs[f])*us) // the first was the fastest
				inPlaces += int(f)
			}
			return inPlaces
		}
		if got := jobs(2 * trialJobs); got != test.tried {
			t.Errorf("%s: %d jobs of the trial in place, not %d", name, got, test.tried)
		}
		if got := jobs(100); got != 100*int(test.want) {
			t.Errorf("%s: %d of 100 jobs in place", name, got)
		}
		jobs(trialAgain)
		test.took = [dataForms]time.Duration{20 * us, 10 * us} // the kernels do other work
		if got := jobs(3 * trialAgain); name != "not worth a trial" && got < trialAgain {
			t.Errorf("%s: the trial is not repeated: %d jobs in place", name, got)
		}
	}
}
