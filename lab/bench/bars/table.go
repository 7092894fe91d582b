package bars

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Table has the figures of folders of logs beside the bars that they were compared with.
type Table struct {
	Folders []string `json:"folders"` // one for each cell of a row
	Rows    []Row    `json:"rows"`
}

// Row is what bars that follow each other measure.
type Row struct {
	Row   string `json:"row"`   // what it measures
	Unit  string `json:"unit"`  // of all figures; "" for a ratio
	Bars  []Bar  `json:"bars"`  // one for each figure
	Cells []Cell `json:"cells"` // one for each folder
}

// Cell are the figures of a folder.
type Cell struct {
	Figures []*float64 `json:"figures"`           // one for each bar; null: none
	Verdict Verdict    `json:"verdict"`           // met, missed, not measured, or no bar
	Missing string     `json:"missing,omitempty"` // why there is no figure, where the bar is for the device
	Origin  *Origin    `json:"origin"`            // of the log

	software bool // the log is of a software driver
}

// Verdict compares the figures of a cell with their bars.
type Verdict string

// The verdicts. A figure that falls short weighs more than one that is missing.
const (
	Met         Verdict = "met"
	Missed      Verdict = "missed"
	NotMeasured Verdict = "not measured"
	NoBar       Verdict = "no bar"
)

// NewTable compares the logs of folders with bars. Bars without a row are left out. A log,
// or a figure, that is missing is one of a cell, and no error.
func NewTable(list []Bar, folders []string) *Table {
	t := &Table{Folders: folders, Rows: []Row{}}
	for _, b := range list {
		if last := len(t.Rows) - 1; last >= 0 && t.Rows[last].Row == b.Row {
			t.Rows[last].Bars = append(t.Rows[last].Bars, b)
		} else if b.Row != "" {
			t.Rows = append(t.Rows, Row{Row: b.Row, Unit: b.Unit, Bars: []Bar{b}})
		}
	}
	for i := range t.Rows {
		for _, folder := range folders {
			t.Rows[i].Cells = append(t.Rows[i].Cells, newCell(t.Rows[i].Bars, folder))
		}
	}
	for i := range folders {
		t.forgiveSoftware(i)
	}
	return t
}

// forgiveSoftware drops the reasons for missing logs that a folder of a software driver need
// not have.
func (t *Table) forgiveSoftware(folder int) {
	if !slices.ContainsFunc(t.Rows, func(r Row) bool { return r.Cells[folder].software }) {
		return
	}
	for _, r := range t.Rows {
		if c := &r.Cells[folder]; r.Bars[0].On == OnGPU && c.Origin == nil {
			c.Missing = ""
		}
	}
}

// newCell compares a folder's log with the bars of a row.
func newCell(list []Bar, folder string) Cell {
	c := Cell{Verdict: NoBar, Figures: make([]*float64, len(list))}
	l, err := readLog(filepath.Join(folder, list[0].Log))
	if err != nil {
		c.Verdict, c.Missing = NotMeasured, list[0].Log+": "+err.Error()
		return c
	}
	c.Origin, c.software = l.origin, isSoftware(l.gpu())
	for i, b := range list {
		if !b.isFor(l.root) {
			c.Verdict = NotMeasured
			continue
		}
		values, err := b.values(l.root)
		if err != nil || len(values) > 1 {
			c.Missing = fmt.Sprintf("%s: %v", b.Log, b.oneFigure(err, len(values)))
			c.Verdict = worse(c.Verdict, NotMeasured)
			continue
		}
		c.Figures[i] = &values[0]
		c.Verdict = worse(c.Verdict, b.verdict(values[0]))
	}
	return c
}

// oneFigure returns err, or what is wrong with several figures.
func (b Bar) oneFigure(err error, n int) error {
	if err == nil {
		err = fmt.Errorf("%s has %d figures", b.Figure, n)
	}
	return err
}

func (b Bar) verdict(v float64) Verdict {
	switch {
	case b.AtLeast == nil && b.AtMost == nil:
		return NoBar
	case b.missed(v) != "":
		return Missed
	}
	return Met
}

// worse returns the verdict that weighs more.
func worse(a, b Verdict) Verdict {
	weights := []Verdict{NoBar, Met, NotMeasured, Missed}
	return weights[max(slices.Index(weights, a), slices.Index(weights, b))]
}

// Verdict returns nil: a bar that is missed is no failure of the table.
func (t *Table) Verdict() error { return nil }

// Print writes the table for people.
func (t *Table) Print(w io.Writer) {
	fmt.Fprintln(w, strings.Join(append([]string{"", "bar"}, t.names()...), "\t"))
	origins := &origins{}
	for _, r := range t.Rows {
		cells := []string{r.title(), r.bounds()}
		for _, c := range r.Cells {
			cells = append(cells, c.text(origins))
		}
		fmt.Fprintln(w, strings.Join(cells, "\t"))
	}
	for _, line := range append(origins.lines(), t.reasons()...) {
		fmt.Fprintf(w, "\n%s", line)
	}
	fmt.Fprintln(w)
}

// Markdown returns the table for a page, with the figures that fall short in bold.
func (t *Table) Markdown() string {
	var b strings.Builder
	row := func(cells ...string) { b.WriteString("| " + strings.Join(cells, " | ") + " |\n") }
	row(append([]string{"what", "bar"}, t.names()...)...)
	b.WriteString(strings.Repeat("|---", len(t.Folders)+2) + "|\n")
	origins := &origins{}
	for _, r := range t.Rows {
		cells := []string{r.title(), r.bounds()}
		for _, c := range r.Cells {
			text := c.text(origins)
			if c.Verdict == Missed {
				text = "**" + text + "**"
			}
			cells = append(cells, text)
		}
		row(cells...)
	}
	b.WriteString("\n")
	for _, line := range append(origins.lines(), t.reasons()...) {
		b.WriteString("- " + line + "\n")
	}
	return b.String()
}

// names returns the names of the folders.
func (t *Table) names() (names []string) {
	for _, folder := range t.Folders {
		names = append(names, filepath.Base(folder))
	}
	return names
}

// reasons returns why figures are missing, each once, and the logs that there are not in one
// line.
func (t *Table) reasons() (lines []string) {
	for i, name := range t.names() {
		var logs, others []string
		for _, r := range t.Rows {
			switch c := r.Cells[i]; {
			case c.Missing == r.Bars[0].Log+": "+errNoLog.Error():
				logs = append(logs, r.Bars[0].Log)
			case c.Missing != "":
				others = append(others, name+": "+c.Missing)
			}
		}
		if len(logs) > 0 {
			lines = append(lines, name+": there is no "+strings.Join(slices.Compact(logs), ", "))
		}
		lines = append(lines, slices.Compact(others)...)
	}
	return lines
}

func (r Row) title() string {
	if r.Unit == "" {
		return r.Row
	}
	return r.Row + ", " + r.Unit
}

// bounds returns the bars of a row, those that are equal once.
func (r Row) bounds() string {
	var bounds []string
	for _, b := range r.Bars {
		switch {
		case b.AtLeast != nil:
			bounds = append(bounds, "at least "+digits(*b.AtLeast))
		case b.AtMost != nil:
			bounds = append(bounds, digits(*b.AtMost))
		default:
			bounds = append(bounds, "-")
		}
	}
	return joined(bounds)
}

// joined returns texts of a cell, once where they are equal.
func joined(texts []string) string {
	if len(slices.Compact(slices.Clone(texts))) == 1 {
		return texts[0]
	}
	return strings.Join(texts, "; ")
}

// text returns the figures of a cell with its verdict, and the number of its origin.
func (c Cell) text(o *origins) string {
	var figures []string
	for _, f := range c.Figures {
		if f == nil {
			figures = append(figures, "-")
		} else {
			figures = append(figures, digits(*f))
		}
	}
	text := strings.Join(figures, "; ")
	if !slices.ContainsFunc(figures, func(f string) bool { return f != "-" }) {
		return "-"
	}
	if c.Verdict == Met || c.Verdict == Missed {
		text += " " + string(c.Verdict)
	}
	if c.Origin != nil {
		text += fmt.Sprintf(" [%d]", o.number(*c.Origin))
	}
	return text
}

// digits returns a value with three digits at least.
func digits(v float64) string {
	switch {
	case v >= 100 || v <= -100:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case v >= 10 || v <= -10:
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	return strconv.FormatFloat(v, 'f', 2, 64)
}

// origins numbers where logs were made, those of one day and revision together.
type origins []Origin

func (o *origins) number(origin Origin) int {
	origin.Date, _, _ = strings.Cut(origin.Date, "T")
	at := slices.Index(*o, origin)
	if at < 0 {
		at = len(*o)
		*o = append(*o, origin)
	}
	return at + 1
}

func (o *origins) lines() (lines []string) {
	for i, origin := range *o {
		lines = append(lines, fmt.Sprintf("[%d] %s", i+1, origin))
	}
	return lines
}
