package report

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/shadercache/shadercache/cmd/startup/chart"
	"github.com/shadercache/shadercache/trace"
)

// timeline is the picture at the top of a page: what the process did, by lane, until the
// last program was ready.
type timeline struct {
	Ticks []tick
	Lanes []lane
}

type (
	tick struct {
		Left string // percent
		Text string
	}
	lane struct {
		Name string
		Rows [][]block
	}
	// block is a piece of work, or several of a kind that lie close together.
	block struct {
		bar
		Name, Title string
	}
)

// interval is a piece of work in milliseconds.
type interval struct {
	class, name string
	begin, end  float64
	count       int
}

// shownShare is the share of the width below which blocks of a kind are put together, and
// labelled the share from which one has room for its name.
const (
	shownShare = 0.002
	labelled   = 0.07
)

func (p *page) timeline(s *Start) timeline {
	t := timeline{Ticks: p.ticks()}
	for _, l := range []trace.Lane{trace.Process, trace.GL, trace.Remote} {
		if rows := p.phaseRows(s, l); len(rows) > 0 {
			t.Lanes = append(t.Lanes, lane{string(l), rows})
		}
	}
	for _, of := range []struct {
		name string
		list []interval
	}{{"programs made", made(s.Programs)}, {"callers wait", waits(s.Programs)}} {
		if len(of.list) > 0 {
			t.Lanes = append(t.Lanes, lane{of.name, p.blockRows(p.together(of.list))})
		}
	}
	return t
}

// phaseRows returns the phases of a lane: those within others are below them, and so are
// those that overlap others.
func (p *page) phaseRows(s *Start, l trace.Lane) [][]block {
	var list []interval
	for _, phase := range s.Phases {
		if phase.Lane == l && !slices.Contains(enclosing, phase.Name) && phase.BeginMillis <= p.Scale {
			list = append(list, interval{"f", phase.Name, phase.BeginMillis, phase.BeginMillis + phase.TookMillis, 1})
		}
	}
	return p.blockRows(list)
}

// made returns when programs were made, and how.
func made(programs []Program) (list []interval) {
	for _, m := range programs {
		if m.ReadyMillis == 0 || m.MadeMillis() == 0 {
			continue
		}
		class, name := "l", "loaded"
		if m.Origin == "compiled" {
			class, name = "c", "compiled"
		}
		list = append(list, interval{class, name, m.ReadyMillis - m.MadeMillis(), m.ReadyMillis, 1})
	}
	return list
}

// waits returns when callers waited.
func waits(programs []Program) (list []interval) {
	for _, w := range programs {
		if w.WaitedMillis > 0 {
			list = append(list, interval{"w", "waiting", w.AskedMillis, w.AskedMillis + w.WaitedMillis, 1})
		}
	}
	return list
}

// together returns intervals with those of a class that overlap or nearly touch as one.
func (p *page) together(list []interval) (joined []interval) {
	slices.SortFunc(list, func(a, b interval) int { return cmp.Compare(a.begin, b.begin) })
	last := map[string]int{}
	for _, v := range list {
		i, known := last[v.class]
		if known && v.begin-joined[i].end < shownShare*p.Scale {
			joined[i].end = max(joined[i].end, v.end)
			joined[i].count++
			continue
		}
		last[v.class] = len(joined)
		joined = append(joined, v)
	}
	return joined
}

// blockRows returns intervals in as few rows as they fit into.
func (p *page) blockRows(list []interval) (rows [][]block) {
	var until []float64
	for _, v := range list {
		row := slices.IndexFunc(until, func(end float64) bool { return end <= v.begin })
		if row < 0 {
			row = len(until)
			until, rows = append(until, 0), append(rows, nil)
		}
		until[row] = v.end
		rows[row] = append(rows[row], p.block(v))
	}
	return rows
}

func (p *page) block(v interval) block {
	b := block{bar: p.bar(v.class, v.begin, v.end-v.begin), Name: v.name}
	if v.count > 1 {
		b.Name = strconv.Itoa(v.count) + " " + v.name
	}
	b.Title = b.Name + ": " + readableMillis(v.end-v.begin) + " from " + readableMillis(v.begin)
	if min(v.end, p.Scale)-v.begin < labelled*p.Scale {
		b.Name = ""
	}
	return b
}

// ticks returns the marks of the axis.
func (p *page) ticks() (list []tick) {
	for _, at := range chart.Marks(0.97 * p.Scale) {
		list = append(list, tick{percent(at, p.Scale), axisMillis(at)})
	}
	return list
}

// axisMillis returns a round time.
func axisMillis(ms float64) string {
	if ms >= 1000 {
		return strconv.FormatFloat(ms/1e3, 'g', 4, 64) + " s"
	}
	return strconv.FormatFloat(ms, 'g', 4, 64) + " ms"
}
