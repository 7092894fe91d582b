package main

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
		{"query, persistent", "live", "persistent", "query"},
		{"the same by ticks", "live", "redispatch", "query"},
		{"frame of 20 steps, 60 a second, persistent", "live", "persistent", "frame of 20 steps at 60/s"},
		{"the same by ticks", "live", "redispatch", "frame of 20 steps at 60/s"},
		{"single step, persistent", "live", "persistent", "single step"},
		{"the same by ticks", "live", "redispatch", "single step"},
		{"grid barrier, 132 groups of 256, probe", "barrier", "none", "132 groups of 256, probe"},
		{"phase within a dispatch, mega", "barrier", "mega", "phase within a dispatch"},
		{"phase within a dispatch, persistent", "barrier", "persistent", "phase within a dispatch"},
		{"phase as a dispatch of its own", "barrier", "redispatch", "phase as a dispatch"},
		{"stop until another dispatch has run, persistent", "preempt", "persistent", "until another dispatch has run"},
		{"the same, ticks", "preempt", "redispatch", "until another dispatch has run"},
		{"the same, ticks, triple-buffered", "preempt", "triple", "until another dispatch has run"},
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

// persistenceTable returns one kernel's work by each strategy.
func persistenceTable(l residentLog) string {
	t := newTable("strategy", "variant", "iterations/s", "dispatches", "bound by", "CPU of one core")
	for _, r := range l.Rows {
		if r.Workload == "persistence" {
			t.row(r.Strategy, r.Variant, fmt.Sprintf("%.3g", r.PerSecond), fmt.Sprint(r.Dispatches), r.BoundBy, fmt.Sprintf("%.0f%%", r.CPUPercent))
		}
	}
	return t.String()
}

// soakTable returns the soak test of each strategy.
func soakTable(l residentLog) string {
	t := newTable("strategy", "iterations/s", "heartbeat, ms, median and longest", "longest tick, ms", "CPU of one core", "state")
	for _, r := range l.Rows {
		state := "WRONG"
		if r.Verified {
			state = "exact"
		}
		t.row(r.Strategy, fmt.Sprintf("%.3g", r.PerSecond), fmt.Sprintf("%.0f, %.0f", r.BeatMedian, r.BeatMax), micros(r.LongestTick), fmt.Sprintf("%.0f%%", r.CPUPercent), state)
	}
	return t.String()
}

// interpreterTable returns the instructions a second of the default build.
func interpreterTable(l interpreterLog) string {
	forms := []string{"standard", "continuous", "mega", "chained"}
	t := newTable(append([]string{"program", "machines"}, forms...)...)
	for _, program := range []string{"tight", "store"} {
		for _, machines := range []int{1, 10_000} {
			cells := []string{program, map[int]string{1: "1", 10_000: "10,000"}[machines]}
			for _, form := range forms {
				cells = append(cells, fmt.Sprintf("%.3g/s", l.perSecond(program, form, machines)))
			}
			t.row(cells...)
		}
	}
	return t.String()
}

// perSecond returns that of the first row: those of other builds come last.
func (l interpreterLog) perSecond(program, form string, machines int) float64 {
	for _, r := range l.Rows {
		if r.Program == program && r.Form == form && r.Machines == machines {
			return r.PerSecond
		}
	}
	return 0
}

// stealTable returns the rows of bench steal; a group's tasks are those of all repeats.
func stealTable(l stealLog) string {
	t := newTable("tasks", "groups", "stealing", "us", "tasks of a group, least and most", "stolen")
	for _, r := range l.Rows {
		stealing := "off"
		if r.Steal {
			stealing = "on"
		}
		t.row(fmt.Sprint(r.Tasks), fmt.Sprint(r.Groups), stealing, fmt.Sprintf("%.0f", r.Micros), fmt.Sprintf("%d, %d", r.Least, r.Most), fmt.Sprint(r.Stolen))
	}
	return t.String()
}
