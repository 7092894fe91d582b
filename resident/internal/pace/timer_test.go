package pace

import (
	"testing"
	"time"
)

// ms returns n milliseconds.
func ms(n int) time.Duration { return time.Duration(n) * time.Millisecond }

// sample returns a Sample with times in milliseconds: of the submission, of the last
// poll before its end, of the poll that found it ended, and its timestamps.
func sample(at, missed, seen, begin, end int) Sample {
	s := Sample{Submitted: date(ms(at)), Seen: date(ms(seen)), Begin: ms(begin), End: ms(end)}
	if missed > 0 {
		s.Missed = date(ms(missed))
	}
	return s
}

// TestPollsAreBounds has no clock but the host's.
func TestPollsAreBounds(t *testing.T) {
	for name, c := range map[string]struct {
		submissions []Sample
		want        Bounds // of the last one
	}{
		"polled at its end":        {[]Sample{sample(10, 50, 60, 0, 0)}, Bounds{ms(40), ms(50)}},
		"found ended":              {[]Sample{sample(10, 0, 60, 0, 0)}, Bounds{0, ms(50)}},
		"after a rest":             {[]Sample{sample(10, 50, 60, 0, 0), sample(100, 140, 150, 0, 0)}, Bounds{ms(40), ms(50)}},
		"behind one seen to end":   {[]Sample{sample(10, 59, 60, 0, 0), sample(10, 100, 102, 0, 0)}, Bounds{ms(40), ms(43)}},
		"behind one found late":    {[]Sample{sample(10, 20, 60, 0, 0), sample(10, 65, 70, 0, 0)}, Bounds{ms(5), ms(50)}},
		"found with the one ahead": {[]Sample{sample(10, 50, 90, 0, 0), sample(10, 0, 90, 0, 0)}, Bounds{0, ms(40)}},
		"both found ended":         {[]Sample{sample(10, 0, 90, 0, 0), sample(10, 0, 90, 0, 0)}, Bounds{0, ms(80)}},
	} {
		var timer TickTimer
		var steps uint64
		var took Bounds
		for _, v := range c.submissions {
			timer.Observe(v, Work{5, 7, false})
			steps, took, _ = timer.Take()
		}
		if steps != 5 || took != c.want {
			t.Errorf("%s: %d steps took %v, not 5 and %v", name, steps, took, c.want)
		}
	}
}

// TestWindowHoldsSubmissionsOfOneStatus has the status of two submissions come with
// the first one.
func TestWindowHoldsSubmissionsOfOneStatus(t *testing.T) {
	var timer TickTimer
	timer.Observe(sample(10, 50, 90, 0, 0), Work{2005, 1000, true})
	timer.Observe(sample(10, 0, 90, 0, 0), Work{0, 1000, false})
	steps, took, longest := timer.Take()
	if steps != 2005 || took != (Bounds{ms(40), ms(80)}) || longest != ms(40) {
		t.Errorf("%d steps took %v, the longest submission %v", steps, took, longest)
	}
	if timer.leads {
		t.Error("the last status leads")
	}
	if steps, took, longest := timer.Take(); steps != 0 || took != (Bounds{}) || longest != 0 {
		t.Errorf("an empty window has %d steps in %v, the longest submission %v", steps, took, longest)
	}
}

// TestTimestampsAreExact has timestamps of the begin and end of submissions, and a host
// that polls late: each counts from the end of the one before.
func TestTimestampsAreExact(t *testing.T) {
	var timer TickTimer
	for i, c := range []struct {
		Sample
		want time.Duration
	}{
		{sample(10, 50, 60, 5010, 5055), ms(45)},
		{sample(10, 0, 190, 5020, 5095), ms(40)},
		{sample(300, 0, 490, 5310, 5340), ms(30)},
	} {
		timer.Observe(c.Sample, Work{5, 5, false})
		if _, took, longest := timer.Take(); took != (Bounds{c.want, c.want}) || longest != c.want {
			t.Errorf("submission %d took %v and %v, not %v", i, took, longest, c.want)
		}
	}
}

// TestImplausibleTimestampsAreNotUsed has clocks of drivers that do not measure, and one
// that becomes plausible again.
func TestImplausibleTimestampsAreNotUsed(t *testing.T) {
	for name, v := range map[string]Sample{
		"stands at 0":             sample(10, 50, 60, 0, 0),
		"stands still":            sample(10, 50, 60, 5010, 5010),
		"goes back":               sample(10, 50, 60, 5010, 5009),
		"gives the time of calls": sample(10, 50, 60, 5010, 5011),
		"runs too fast":           sample(10, 50, 60, 5010, 5061),
	} {
		var timer TickTimer
		timer.Observe(v, Work{5, 5, false})
		if _, took, _ := timer.Take(); took != (Bounds{ms(40), ms(50)}) {
			t.Errorf("a clock that %s: %v", name, took)
		}
	}
	var timer TickTimer
	timer.Observe(sample(10, 50, 60, 5010, 5011), Work{5, 5, false})
	timer.Take()
	for i := range 5 {
		at := 100 * (i + 1)
		timer.Observe(sample(at, at+45, at+60, 5000+at, 5050+at), Work{5, 5, false})
		if _, took, _ := timer.Take(); (took == Bounds{ms(50), ms(50)}) != (i >= -untrusted) {
			t.Errorf("after %d plausible windows: %v", i+1, took)
		}
	}
}

// TestTimestampsWithoutPollsAreNotTrusted has the host find submissions ended that it
// never polled before: any timestamp is plausible then.
func TestTimestampsWithoutPollsAreNotTrusted(t *testing.T) {
	var timer TickTimer
	for i := range 5 {
		at := 100 * (i + 1)
		timer.Observe(sample(at, 0, at+60, 5000+at, 5001+at), Work{5, 5, false})
		if _, took, _ := timer.Take(); took != (Bounds{0, ms(60)}) {
			t.Errorf("window %d took %v", i, took)
		}
	}
}

// TestSoftwareDriversWorkDuringCalls has the calls take as long as the work.
func TestSoftwareDriversWorkDuringCalls(t *testing.T) {
	var timer TickTimer
	v := sample(10, 0, 60, 0, 0)
	v.Issue = ms(49)
	timer.Observe(v, Work{5, 5, false})
	if _, took, _ := timer.Take(); took != (Bounds{ms(49), ms(50)}) {
		t.Errorf("took %v", took)
	}
	v = sample(20, 0, 65, 0, 0) // the GPU is busy with the one before
	v.Issue = ms(30)
	timer.Observe(v, Work{5, 5, false})
	if _, took, _ := timer.Take(); took != (Bounds{0, ms(45)}) {
		t.Errorf("behind another one: %v", took)
	}
}
