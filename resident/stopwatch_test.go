package resident

import (
	"testing"
	"time"
)

// ms is so many milliseconds.
func ms(n int) time.Duration { return time.Duration(n) * time.Millisecond }

// seen is a flight that was handed over, last found under way, and found ended at
// so many milliseconds, and began and ended by the GPU's clock.
func seen(at, missed, found, begin, end int) sighting {
	v := sighting{at: date(ms(at)), seen: date(ms(found)), begin: ms(begin), end: ms(end)}
	if missed > 0 {
		v.missed = date(ms(missed))
	}
	return v
}

// TestTheHostsLooksAreBounds has no clock but the host's.
func TestTheHostsLooksAreBounds(t *testing.T) {
	for name, c := range map[string]struct {
		flights []sighting
		want    span // of the last one
	}{
		"seen to end":              {[]sighting{seen(10, 50, 60, 0, 0)}, span{ms(40), ms(50)}},
		"found ended":              {[]sighting{seen(10, 0, 60, 0, 0)}, span{0, ms(50)}},
		"after a rest":             {[]sighting{seen(10, 50, 60, 0, 0), seen(100, 140, 150, 0, 0)}, span{ms(40), ms(50)}},
		"behind one seen to end":   {[]sighting{seen(10, 59, 60, 0, 0), seen(10, 100, 102, 0, 0)}, span{ms(40), ms(43)}},
		"behind one found late":    {[]sighting{seen(10, 20, 60, 0, 0), seen(10, 65, 70, 0, 0)}, span{ms(5), ms(50)}},
		"found with the one ahead": {[]sighting{seen(10, 50, 90, 0, 0), seen(10, 0, 90, 0, 0)}, span{0, ms(40)}},
		"both found ended":         {[]sighting{seen(10, 0, 90, 0, 0), seen(10, 0, 90, 0, 0)}, span{0, ms(80)}},
	} {
		var w stopwatch
		var steps uint64
		var took span
		for _, v := range c.flights {
			w.add(v, work{5, 7, 1, 1})
			steps, took, _ = w.take()
		}
		if steps != 5 || took != c.want {
			t.Errorf("%s: %d steps took %v, not 5 and %v", name, steps, took, c.want)
		}
	}
}

// TestALapIsFlightsThatAreNotToldApart has the report of two flights come with the
// first one.
func TestALapIsFlightsThatAreNotToldApart(t *testing.T) {
	var w stopwatch
	w.add(seen(10, 50, 90, 0, 0), work{2005, 1000, 2, 1})
	w.add(seen(10, 0, 90, 0, 0), work{0, 1000, 0, 1})
	steps, took, longest := w.take()
	if steps != 2005 || took != (span{ms(40), ms(80)}) || longest != ms(40) {
		t.Errorf("%d steps took %v, the longest flight %v", steps, took, longest)
	}
	if w.lead != 0 {
		t.Errorf("%d ticks of other flights", w.lead)
	}
	if steps, took, longest := w.take(); steps != 0 || took != (span{}) || longest != 0 {
		t.Errorf("an empty lap has %d steps in %v, the longest flight %v", steps, took, longest)
	}
}

// TestTheGPUsClockIsExact has it say when flights began and ended, however late the
// host looks: each counts from the end of the one ahead.
func TestTheGPUsClockIsExact(t *testing.T) {
	var w stopwatch
	for i, c := range []struct {
		sighting
		want time.Duration
	}{
		{seen(10, 50, 60, 5010, 5055), ms(45)},
		{seen(10, 0, 190, 5020, 5095), ms(40)},
		{seen(300, 0, 490, 5310, 5340), ms(30)},
	} {
		w.add(c.sighting, work{5, 5, 1, 1})
		if _, took, longest := w.take(); took != (span{c.want, c.want}) || longest != c.want {
			t.Errorf("flight %d took %v and %v, not %v", i, took, longest, c.want)
		}
	}
}

// TestAClockThatMakesNoSenseIsNotBelieved has clocks of drivers that do not know,
// and one that fits again after it did not.
func TestAClockThatMakesNoSenseIsNotBelieved(t *testing.T) {
	for name, v := range map[string]sighting{
		"stands at 0":             seen(10, 50, 60, 0, 0),
		"stands still":            seen(10, 50, 60, 5010, 5010),
		"goes back":               seen(10, 50, 60, 5010, 5009),
		"gives the time of calls": seen(10, 50, 60, 5010, 5011),
		"runs too fast":           seen(10, 50, 60, 5010, 5061),
	} {
		var w stopwatch
		w.add(v, work{5, 5, 1, 1})
		if _, took, _ := w.take(); took != (span{ms(40), ms(50)}) {
			t.Errorf("a clock that %s: %v", name, took)
		}
	}
	var w stopwatch
	w.add(seen(10, 50, 60, 5010, 5011), work{5, 5, 1, 1})
	w.take()
	for i := range 5 {
		at := 100 * (i + 1)
		w.add(seen(at, at+45, at+60, 5000+at, 5050+at), work{5, 5, 1, 1})
		if _, took, _ := w.take(); (took == span{ms(50), ms(50)}) != (i >= -disproved) {
			t.Errorf("after %d laps that fit: %v", i+1, took)
		}
	}
}

// TestNobodyBelievesWhoIsNotObserved has the host find flights ended that it never
// saw under way: their clock may say anything.
func TestNobodyBelievesWhoIsNotObserved(t *testing.T) {
	var w stopwatch
	for i := range 5 {
		at := 100 * (i + 1)
		w.add(seen(at, 0, at+60, 5000+at, 5001+at), work{5, 5, 1, 1})
		if _, took, _ := w.take(); took != (span{0, ms(60)}) {
			t.Errorf("lap %d took %v", i, took)
		}
	}
}

// TestASoftwareDriverWorksDuringCalls has the calls take as long as the work.
func TestASoftwareDriverWorksDuringCalls(t *testing.T) {
	var w stopwatch
	v := seen(10, 0, 60, 0, 0)
	v.issue = ms(49)
	w.add(v, work{5, 5, 1, 1})
	if _, took, _ := w.take(); took != (span{ms(49), ms(50)}) {
		t.Errorf("took %v", took)
	}
	v = seen(20, 0, 65, 0, 0) // the GPU is busy with the one ahead
	v.issue = ms(30)
	w.add(v, work{5, 5, 1, 1})
	if _, took, _ := w.take(); took != (span{0, ms(45)}) {
		t.Errorf("behind another one: %v", took)
	}
}
