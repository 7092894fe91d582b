package report

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"sync"

	"github.com/shadercache/shadercache/cmd/cli"
	"github.com/shadercache/shadercache/internal/style"
)

// pageText is the page: one file, without scripts.
//
//go:embed page.html
var pageText string

var pageTemplate = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("page").Funcs(template.FuncMap{
		"ms": readableMillis, "short": shortMillis, "rate": readableRate, "bytes": cli.ReadableBytes,
	}).Parse(style.In(pageText)))
})

// page is what the template shows.
type page struct {
	*Report
	Start           *Start // empty where the report has none
	Title, Subtitle string
	Compare         []compared
	Scale           float64 // milliseconds that a bar's width stands for
	Timeline        timeline
}

type (
	compared struct {
		Name        string
		Before, Now float64
		Count       bool // not milliseconds
	}
	bar struct {
		Class       string
		Left, Width string // percent
	}
)

// WriteHTML writes the report as a page that needs no other file.
func (r *Report) WriteHTML(w io.Writer) error {
	p := &page{Report: r, Start: &Start{}, Title: "What the cache holds"}
	if s := r.Start; s != nil {
		p.addStart(s)
	}
	if r.Start != nil && r.Before != nil {
		p.addBefore(r.Before, r.Start)
	}
	if err := pageTemplate().Execute(w, p); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	return nil
}

func (p *page) addStart(s *Start) {
	p.Start, p.Title = s, "A start of "+s.Executable
	p.Subtitle = s.Began.UTC().Format("2006-01-02 15:04:05 UTC") + ", " + readableMillis(s.TotalMillis) + " in all"
	for _, about := range []string{s.About["driver"], s.About["gpu"]} {
		if about != "" {
			p.Subtitle = about + ", " + p.Subtitle
		}
	}
	p.Scale = s.scale()
	p.Timeline = p.timeline(s)
}

func (p *page) addBefore(before, now *Start) {
	p.Compare = []compared{
		{"first program ready", before.FirstMillis, now.FirstMillis, false},
		{"last program ready", before.ReadyMillis, now.ReadyMillis, false},
		{"callers waited", before.WaitedMillis, now.WaitedMillis, false},
		{"whole process", before.TotalMillis, now.TotalMillis, false},
		{"compiled", float64(before.Origins.Compiled), float64(now.Origins.Compiled), true},
		{"from disk", float64(before.Origins.Disk), float64(now.Origins.Disk), true},
	}
}

// Width returns the width of a bar in percent of the larger one.
func (c compared) Width(value float64) string { return percent(value, max(c.Before, c.Now)) }

// Class returns the style of a use.
func (u Use) Class() string {
	return map[Use]string{Resident: "u-time", Late: "u-late", Asked: "u-asked", Unused: "u-unused", Filled: "u-filled"}[u]
}

// PhaseBar returns the bar of a phase.
func (p *page) PhaseBar(f Phase) bar { return p.bar("f", f.BeginMillis, f.TookMillis) }

// Bars returns the bars of a program, which end where it is ready.
func (p *page) Bars(program Program) (bars []bar) {
	if program.WaitedMillis > 0 {
		bars = append(bars, p.bar("w", program.AskedMillis, program.WaitedMillis))
	}
	at := program.ReadyMillis - program.MadeMillis()
	for _, step := range []struct {
		class string
		took  float64
	}{{"r", program.ReadMillis}, {"l", program.LoadMillis}, {"c", program.CompileMillis}, {"p", program.PrimeMillis}} {
		if step.took > 0 {
			bars = append(bars, p.bar(step.class, at, step.took))
			at += step.took
		}
	}
	return bars
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
	from, to := max(0, min(begin, p.Scale)), max(0, min(begin+took, p.Scale))
	return bar{class, percent(from, p.Scale), percent(to-from, p.Scale)}
}
