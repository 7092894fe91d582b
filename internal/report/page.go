package report

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"math"
	"slices"
	"strconv"

	"github.com/shadercache/shadercache/internal/cli"
	"github.com/shadercache/shadercache/internal/style"
)

// pageText is the page: one file, without scripts.
//
//go:embed page.html
var pageText string

var pageTemplate = template.Must(template.New("page").Funcs(template.FuncMap{
	"ms": readableMillis, "rate": readableRate, "bytes": cli.ReadableBytes, "style": style.Sheet,
}).Parse(pageText))

// page is what the template shows.
type page struct {
	*Report
	Title, Subtitle string
	Parts           []part
	Advice          []string
	Compare         []compared
	Scale           float64 // milliseconds that a bar's width stands for
	Phases          phaseTable
	BeforePhases    *phaseTable
	Programs        []programRow
	Slowest         []Program
	Largest         []Program
	Manifest        string
}

type (
	part     struct{ ID, Name string }
	compared struct{ Name, Before, Now string }
	bar      struct {
		Class       string
		Left, Width string // percent
	}
	phaseRow struct {
		Phase
		Bar    bar
		Indent int
	}
	phaseTable struct {
		Of   string
		Rows []phaseRow
	}
	programRow struct {
		Name, Key, From            string
		Use                        Use
		Bad                        bool
		Asked, Ready, Waited, Made string
		Bars                       []bar
	}
)

// shownExtremes is how many programs the lists of the slowest and largest have.
const shownExtremes = 10

// WriteHTML writes the report as a page that needs no other file.
func (r *Report) WriteHTML(w io.Writer) error {
	p := &page{Report: r, Title: "What the cache holds", Advice: r.Advice()}
	if s := r.Start; s != nil {
		p.addStart(s)
	}
	if r.Start != nil && r.Before != nil {
		p.addBefore(r.Before, r.Start)
	}
	p.addParts()
	if err := pageTemplate.Execute(w, p); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	return nil
}

func (p *page) addStart(s *Start) {
	p.Title = "A start of " + s.Executable
	p.Subtitle = fmt.Sprintf("%s, %s; %s in all", s.About["gpu"], s.About["driver"], readableMillis(s.TotalMillis))
	p.Scale = s.scale()
	if p.Before != nil {
		p.Scale = max(p.Scale, p.Before.scale())
	}
	p.Phases = p.phases("This start", s)
	for _, program := range s.Programs {
		p.Programs = append(p.Programs, p.row(program))
	}
	p.Slowest, p.Largest = s.Slowest(shownExtremes), s.Largest(shownExtremes)
	p.Manifest = s.Manifest()
}

func (p *page) addBefore(before, now *Start) {
	add := func(name, before, now string) { p.Compare = append(p.Compare, compared{name, before, now}) }
	add("first program ready", readableMillis(before.FirstMillis), readableMillis(now.FirstMillis))
	add("last program ready", readableMillis(before.ReadyMillis), readableMillis(now.ReadyMillis))
	add("callers waited", readableMillis(before.WaitedMillis), readableMillis(now.WaitedMillis))
	add("compiled", strconv.Itoa(before.Origins.Compiled), strconv.Itoa(now.Origins.Compiled))
	add("from disk", strconv.Itoa(before.Origins.Disk), strconv.Itoa(now.Origins.Disk))
	add("whole process", readableMillis(before.TotalMillis), readableMillis(now.TotalMillis))
	phases := p.phases("Before", before)
	p.BeforePhases = &phases
}

func (p *page) phases(of string, s *Start) phaseTable {
	t := phaseTable{Of: of}
	for _, phase := range s.Phases {
		t.Rows = append(t.Rows, phaseRow{phase, p.bar("f", phase.BeginMillis, phase.TookMillis), 14 * phase.Depth})
	}
	return t
}

// row returns a program's row. Its bars end where the program is ready.
func (p *page) row(program Program) programRow {
	row := programRow{Name: program.Name, Key: program.Key, From: program.Origin, Use: program.Use,
		Bad:   slices.Contains([]Use{Late, Asked, Unused}, program.Use),
		Asked: shortMillis(program.AskedMillis), Ready: shortMillis(program.ReadyMillis),
		Waited: shortMillis(program.WaitedMillis), Made: shortMillis(program.MadeMillis())}
	if program.Error != "" {
		row.From = "failed"
	}
	if program.WaitedMillis > 0 {
		row.Bars = append(row.Bars, p.bar("w", program.AskedMillis, program.WaitedMillis))
	}
	at := program.ReadyMillis - program.MadeMillis()
	for _, step := range []struct {
		class string
		took  float64
	}{{"r", program.ReadMillis}, {"l", program.LoadMillis}, {"c", program.CompileMillis}, {"p", program.PrimeMillis}} {
		if step.took > 0 {
			row.Bars = append(row.Bars, p.bar(step.class, at, step.took))
			at += step.took
		}
	}
	return row
}

// scale returns the milliseconds that a picture of the start has room for: until the last
// program was ready, since the process may run for hours after it.
func (s *Start) scale() float64 {
	if s.ReadyMillis > 0 {
		return min(s.TotalMillis, s.ReadyMillis*1.02)
	}
	return max(s.TotalMillis, 0.001)
}

// bar returns a bar, cut at the end of the scale.
func (p *page) bar(class string, begin, took float64) bar {
	percent := func(ms float64) string {
		return strconv.FormatFloat(100*ms/p.Scale, 'f', 2, 64)
	}
	from, to := max(0, min(begin, p.Scale)), max(0, min(begin+took, p.Scale))
	return bar{class, percent(from), percent(to - from)}
}

// addParts lists the parts that the page has, for its navigation.
func (p *page) addParts() {
	for _, has := range []struct {
		is       bool
		id, name string
	}{
		{len(p.Advice) > 0, "advice", "What to do"}, {len(p.Compare) > 0, "compare", "Side by side"},
		{len(p.Phases.Rows) > 0, "phases", "The process"}, {len(p.Programs) > 0, "programs", "Programs"},
		{len(p.Slowest) > 0, "slowest", "Slowest and largest"}, {p.Cache != nil, "cache", "The cache directory"},
		{len(p.Checks) > 0, "checks", "Findings"}, {p.Manifest != "", "manifest", "What to preload"},
	} {
		if has.is {
			p.Parts = append(p.Parts, part{has.id, has.name})
		}
	}
}

// Manifest returns the programs that callers asked for, in that order, as a manifest in
// which the files are to be filled in, or "" where there is none.
func (s *Start) Manifest() string {
	type entry struct {
		Name string `json:"name"`
		Key  string `json:"key,omitempty"`
	}
	asked := slices.DeleteFunc(slices.Clone(s.Programs), func(p Program) bool { return p.AskedMillis == 0 || p.Error != "" })
	if len(asked) == 0 {
		return ""
	}
	slices.SortStableFunc(asked, func(a, b Program) int { return int(math.Copysign(1, a.AskedMillis-b.AskedMillis)) })
	var m struct {
		Programs []entry `json:"programs"`
	}
	for _, p := range asked {
		m.Programs = append(m.Programs, entry{p.Name, p.Key})
	}
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return ""
	}
	return string(text)
}

func readableMillis(ms float64) string {
	switch {
	case ms == 0:
		return "-"
	case ms < 10:
		return strconv.FormatFloat(ms, 'f', 2, 64) + " ms"
	case ms < 10_000:
		return strconv.FormatFloat(ms, 'f', 0, 64) + " ms"
	}
	return strconv.FormatFloat(ms/1e3, 'f', 1, 64) + " s"
}

// shortMillis is readableMillis without the unit, for columns that name it.
func shortMillis(ms float64) string {
	if ms == 0 {
		return ""
	}
	return strconv.FormatFloat(ms, 'f', 1, 64)
}

func readableRate(rate float64) string {
	if rate < 0 {
		return "-"
	}
	return strconv.FormatFloat(100*rate, 'f', 1, 64) + "%"
}
