package trace

import (
	"cmp"
	"slices"
	"time"
)

// row is one line of a picture: tasks of a lane that do not overlap.
type row struct {
	lane   Lane
	number int // of the rows of a lane, from 1
	until  time.Time
}

// rows puts events into rows: those of a task into one, tasks that overlap into several.
// The result has the index of the row of each event. Instants without a task are in the
// first row of their lane.
func rows(events []Event) (all []row, of []int) {
	type task struct {
		lane       Lane
		id         uint64
		begin, end time.Time
	}
	tasks := map[[2]any]*task{}
	var list []*task
	for _, e := range events {
		id := [2]any{e.Lane, e.Task}
		t := tasks[id]
		if t == nil {
			t = &task{e.Lane, e.Task, e.Begin, e.End()}
			tasks[id] = t
			list = append(list, t)
		}
		if e.Begin.Before(t.begin) {
			t.begin = e.Begin
		}
		if e.End().After(t.end) {
			t.end = e.End()
		}
	}
	slices.SortStableFunc(list, func(a, b *task) int {
		return cmp.Or(cmp.Compare(order(a.lane), order(b.lane)), a.begin.Compare(b.begin))
	})
	place := map[[2]any]int{}
	for _, t := range list {
		found := -1
		count := 0
		for i := range all {
			if all[i].lane != t.lane {
				continue
			}
			count++
			if found < 0 && (t.id == 0 || !all[i].until.After(t.begin)) {
				found = i
			}
		}
		if found < 0 {
			all = append(all, row{lane: t.lane, number: count + 1})
			found = len(all) - 1
		}
		if t.id != 0 {
			all[found].until = t.end
		}
		place[[2]any{t.lane, t.id}] = found
	}
	of = make([]int, len(events))
	for i, e := range events {
		of[i] = place[[2]any{e.Lane, e.Task}]
	}
	return all, of
}

// order is where a lane stands; lanes that this package does not know come last.
func order(l Lane) int {
	if i := slices.Index(lanes, l); i >= 0 {
		return i
	}
	return len(lanes)
}
