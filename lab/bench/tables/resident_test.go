package tables

import "fmt"

// row returns the row of a workload, a strategy and a variant, or an empty one.
func (l residentLog) row(workload, strategy, variant string) residentRow {
	for _, r := range l.Rows {
		if r.Workload == workload && r.Strategy == strategy && r.Variant == variant {
			return r
		}
	}
	return residentRow{}
}

// latencyTable returns the waiting times of bench resident, in microseconds.
func latencyTable(l residentLog) string {
	t := newTable("what", "us, median", "99th percentile")
	t.row("a word to the kernel and back, probe", fmt.Sprintf("%.2f", float64(l.Capabilities.RoundTripNanos)/1e3), "")
	for _, r := range []struct{ what, workload, strategy, variant string }{
		{"a message and its answer, persistent", "round_trip", "persistent", "message and answer"},
		{"the same through dispatch and fence", "round_trip", "none", "dispatch and fence"},
		{"the same by ticks (re-dispatch)", "round_trip", "redispatch", "message and answer"},
		{"a message to the last of 132 groups and its answer, persistent", "round_trip", "persistent", "to group 131 and its answer"},
		{"a message to all 132 and their 132 answers, persistent", "round_trip", "persistent", "to all 132 groups and 132 answers"},
		{"the same by ticks", "round_trip", "redispatch", "to all 132 groups and 132 answers"},
		{"injection until acknowledged, persistent", "live", "persistent", "injection until acknowledged"},
		{"the same by ticks", "live", "redispatch", "injection until acknowledged"},
		{"frame of 20 steps, 60 a second, persistent", "live", "persistent", "frame of 20 steps at 60/s"},
		{"the same by ticks", "live", "redispatch", "frame of 20 steps at 60/s"},
		{"single step, persistent", "live", "persistent", "single step"},
		{"the same by ticks", "live", "redispatch", "single step"},
		{"grid barrier, 132 groups of 256, probe", "barrier", "none", "132 groups of 256, probe"},
		{"phase within a dispatch, mega", "barrier", "mega", "phase within a dispatch"},
		{"phase as a dispatch of its own", "barrier", "redispatch", "phase as a dispatch"},
		{"stop until another dispatch has run, persistent", "preempt", "persistent", "until another dispatch has run"},
		{"the same, ticks", "preempt", "redispatch", "until another dispatch has run"},
	} {
		row := l.row(r.workload, r.strategy, r.variant)
		t.row(r.what, micros(row.Median), micros(row.P99))
	}
	return t.String()
}

// micros returns a value with three digits, or "" for one that was not measured.
func micros(v float64) string {
	switch {
	case v == 0:
		return ""
	case v < 10:
		return fmt.Sprintf("%.2f", v)
	case v < 100:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.0f", v)
}
