package browsertest_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/shadercache/shadercache/cmd/cli"
	"github.com/shadercache/shadercache/cmd/internal/browsertest"
	"github.com/shadercache/shadercache/cmd/internal/doctor"
	"github.com/shadercache/shadercache/cmd/internal/report"
	"github.com/shadercache/shadercache/cmd/internal/top"
	"github.com/shadercache/shadercache/trace"
)

// recording returns a start with n programs of each use: loaded in time, asked for too late,
// compiled by a caller, and never used; the first one does not compile.
func recording(n int) trace.Recording {
	began := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	at := 40 * time.Millisecond
	event := func(lane trace.Lane, task int, name, program string, begin, took time.Duration, attrs ...trace.Attr) trace.Event {
		key := ""
		if program != "" {
			key = fmt.Sprintf("%064x", program)[:64]
		}
		return trace.Event{Lane: lane, Task: uint64(task), Name: name, Program: program, Key: key, Begin: began.Add(begin), Took: took,
			Instant: took == 0, Attrs: attrs}
	}
	ms := time.Millisecond
	r := trace.Recording{Executable: "app <b>", Began: began, About: []trace.Attr{trace.String("gpu", "llvmpipe"), trace.String("driver", "Mesa 22.3.6")},
		Events: []trace.Event{
			event(trace.Process, 1, trace.Start, "", 0, 9*ms), event(trace.Process, 2, trace.Open, "", 10*ms, 26*ms),
			event(trace.Process, 2, trace.OpenContext, "", 10*ms, 25*ms), event(trace.GL, 3, trace.EGLInitialize, "", 11*ms, 12*ms),
			event(trace.GL, 3, trace.EGLContext, "", 23*ms, 8*ms),
			event(trace.Requests, 4, trace.Get, "broken", 36*ms, ms, trace.String("error", "0:1: syntax error, <i>unexpected</i>")),
		}}
	for i := range n {
		name := func(use string) string { return fmt.Sprintf("%s_with_a_usual_name_%04d", use, i) }
		loaded := []trace.Attr{trace.String("outcome", "loaded"), trace.String("origin", "disk")}
		r.Events = append(r.Events,
			event(trace.Loads, 10, trace.Load, name("in_time"), at, 3*ms, loaded...),
			event(trace.Loads, 10, trace.ReadBlob, name("in_time"), at, ms, trace.String("origin", "disk"), trace.Int("bytes", int64(1000+i))),
			event(trace.Requests, 0, trace.FirstUse, name("in_time"), at+5*ms, 0),
			event(trace.Loads, 10, trace.Load, name("late"), at+4*ms, 4*ms, loaded...),
			event(trace.Requests, 11, trace.Get, name("late"), at+6*ms, 2*ms, trace.String("origin", "resident")),
			event(trace.Requests, 12, trace.Get, name("asked"), at+8*ms, 9*ms, trace.String("origin", "compiled")),
			event(trace.Loads, 13, trace.Compile, name("asked"), at+8*ms, 9*ms, trace.Int("compile_ns", 2_100_000), trace.Int("prime_ns", 6_900_000)),
			event(trace.Loads, 10, trace.Load, name("unused"), at+9*ms, 2*ms, loaded...),
			event(trace.Requests, 0, trace.Unused, name("unused"), at+11*ms, 0))
		at += 13 * ms
	}
	r.Ended = began.Add(at + 20*ms)
	return r
}

// newReport returns a report with all parts.
func newReport(n int) *report.Report {
	r := &report.Report{Start: report.New(recording(n)), Before: report.New(recording(n / 2)),
		Cache: &top.Snapshot{Dir: "/home/user/.cache/shadercache", Programs: n, ProgramBytes: 123456, DriverBytes: 7654321, LimitBytes: 2 << 30},
		Checks: []doctor.Finding{{Check: "driver cache", Level: "wrong", Detail: "the driver's own cache is off: MESA_SHADER_CACHE_DISABLE is set, so each start makes all machine code again", Fix: "unset MESA_SHADER_CACHE_DISABLE"},
			{Check: "directory", Level: "good", Detail: "it can be used"}, {Check: "volume", Level: "note", Detail: "the directory is on a network volume"}}}
	for i := range 5 {
		r.Cache.Starts = append(r.Cache.Starts, top.Start{Time: recording(0).Began.Add(-time.Duration(i) * time.Hour), Driver: "llvmpipe-1f0c3a2b",
			Figures: cli.Figures{Starts: 1, Compiles: uint64(i), DiskHits: uint64(5 - i), MadeMillis: 12.5 * float64(5-i)}})
	}
	return r
}

// writePage writes a report and returns the URL of its page and its size in bytes.
func writePage(t *testing.T, r *report.Report) (url string, size int) {
	t.Helper()
	var b bytes.Buffer
	if err := r.WriteHTML(&b); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "report.html")
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return browsertest.FileURL(t, path), b.Len()
}

// keepShot writes a screenshot where SHADERCACHE_SCREENSHOTS names a folder, for people to
// look at.
func keepShot(t *testing.T, p *browsertest.Page, name string) {
	t.Helper()
	if dir := os.Getenv("SHADERCACHE_SCREENSHOTS"); dir != "" {
		p.Screenshot(filepath.Join(dir, name+".png"), true)
	}
}

func TestReport(t *testing.T) {
	b := browsertest.Open(t)
	r := newReport(12)
	url, _ := writePage(t, r)
	for _, width := range []int{1280, 360} {
		p := b.Page(width, 800)
		for _, dark := range []bool{false, true} {
			p.Dark(dark)
			p.Go(url)
			p.WantLegible(fmt.Sprintf("%d pixels, dark %v", width, dark))
			keepShot(t, p, fmt.Sprintf("report-%d-dark-%v", width, dark))
		}
		p.WantNoScroll()
		p.WantNoErrors()
	}
	p := b.Page(1280, 800)
	p.Go(url)
	wantFigures(t, p, r)
	wantRows(t, p, r)
	wantKeys(t, p)
	p.WantNoErrors()
}

// wantFigures compares the figures at the top of the page with the JSON.
func wantFigures(t *testing.T, p *browsertest.Page, r *report.Report) {
	t.Helper()
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var figures struct {
		Start struct {
			FirstMillis  float64 `json:"first_ms"`
			ReadyMillis  float64 `json:"ready_ms"`
			WaitedMillis float64 `json:"waited_ms"`
			Explained    float64
			Programs     []any
			Advice       []struct {
				Title string
				MS    float64
			}
			Origins struct{ Compiled, Disk, Memory, Failed int }
		}
	}
	if err := json.Unmarshal(text, &figures); err != nil {
		t.Fatal(err)
	}
	s := figures.Start
	o := s.Origins
	for id, want := range map[string]float64{"first": s.FirstMillis, "ready": s.ReadyMillis, "waited": s.WaitedMillis, "explained": 100 * s.Explained,
		"count": float64(len(s.Programs)), "compiled": float64(o.Compiled), "disk": float64(o.Disk),
		"rate": 100 * float64(o.Disk+o.Memory) / float64(o.Compiled+o.Disk+o.Memory+o.Failed)} {
		var shown string
		p.Eval(`document.getElementById(`+strconv.Quote(id)+`).textContent`, &shown)
		wantShown(t, id, shown, want)
	}
	var advice [][2]string
	p.Eval(`[...document.querySelectorAll(".advice li")].map(a => [a.querySelector("h3").textContent, a.querySelector(".cost").textContent])`, &advice)
	if len(advice) != len(s.Advice) || len(advice) < 3 {
		t.Fatalf("the page has %d pieces of advice, the JSON %d", len(advice), len(s.Advice))
	}
	for i, a := range s.Advice {
		if advice[i][0] != a.Title {
			t.Errorf("advice %d is %q on the page and %q in the JSON", i, advice[i][0], a.Title)
		}
		wantShown(t, a.Title, advice[i][1], a.MS)
	}
}

// wantShown checks a figure to as many digits as are shown.
func wantShown(t *testing.T, name, shown string, want float64) {
	t.Helper()
	number, unit, _ := strings.Cut(strings.TrimSuffix(shown, "%"), " ")
	got, err := strconv.ParseFloat(number, 64)
	if err != nil {
		t.Errorf("%s: the page shows %q", name, shown)
		return
	}
	_, decimals, _ := strings.Cut(number, ".")
	precision := math.Pow(10, -float64(len(decimals)))
	if unit == "s" {
		got, precision = got*1e3, precision*1e3
	}
	if math.Abs(got-want) > precision/2+1e-9 {
		t.Errorf("%s: the page shows %q, the JSON has %v", name, shown, want)
	}
}

// wantRows compares the table of programs with the JSON.
func wantRows(t *testing.T, p *browsertest.Page, r *report.Report) {
	t.Helper()
	var rows [][]string
	p.Eval(`[...document.querySelectorAll("#program-table tbody tr")].map(r => [r.cells[0].title, ...[...r.cells].slice(0, 7).map(c => c.textContent)])`, &rows)
	if len(rows) != len(r.Start.Programs) {
		t.Fatalf("%d rows of %d programs", len(rows), len(r.Start.Programs))
	}
	for i, program := range r.Start.Programs {
		row := rows[i]
		origin := program.Origin
		if program.Error != "" {
			origin = "failed"
		}
		if row[0] != program.Key || row[1] != program.Name || row[2] != string(program.Use) || row[3] != origin {
			t.Errorf("row %d is %q of %+v", i, row, program)
		}
		for k, want := range []float64{program.AskedMillis, program.ReadyMillis, program.WaitedMillis, program.MadeMillis()} {
			if shown := row[4+k]; shown != "" || want != 0 {
				wantShown(t, program.Name, shown, want)
			}
		}
	}
}

// wantKeys goes through the page with the keyboard alone: the first Tab reaches the link
// that skips the navigation, and each part can be reached, scrolled and left.
func wantKeys(t *testing.T, p *browsertest.Page) {
	t.Helper()
	const tab = 9
	focused := func() (what string) {
		p.Eval(`(() => { const a = document.activeElement; return a === document.body ? "" : a.getAttribute("aria-label") || a.textContent.trim() })()`, &what)
		return what
	}
	p.Press("Tab", tab)
	if got := focused(); got != "Skip to the figures" {
		t.Errorf("the first Tab goes to %q", got)
	}
	var visible bool
	p.Eval(`document.activeElement.getBoundingClientRect().left >= 0`, &visible)
	if !visible {
		t.Error("the link that has the focus is not visible")
	}
	p.Enter()
	var id string
	p.Eval(`new Promise(r => setTimeout(() => r(document.activeElement.id), 50))`, &id)
	if id != "main" {
		t.Errorf("the link leads to %q", id)
	}
	reached := map[string]bool{}
	for range 40 {
		p.Press("Tab", tab)
		what := focused()
		reached[what] = true
		var outline string
		p.Eval(`getComputedStyle(document.activeElement).outlineStyle`, &outline)
		if what != "" && outline == "none" {
			t.Errorf("%q shows no focus", what)
		}
	}
	for _, want := range []string{"Programs in the order in which they were needed", "Two starts side by side", "Slowest programs", "Phases of the process", "Manifest", "What doctor found"} {
		if !reached[want] {
			t.Errorf("Tab does not reach %q, but %v", want, reached)
		}
	}
}

// TestLargeReport opens a page of 2,000 programs. The time goes to the log.
func TestLargeReport(t *testing.T) {
	r := newReport(500)
	if n := len(r.Start.Programs); n < 2000 {
		t.Fatalf("%d programs", n)
	}
	url, size := writePage(t, r)
	if size > 2_000_000 {
		t.Errorf("the page has %d bytes", size)
	}
	p := browsertest.Open(t).Page(1280, 800)
	took := p.Go(url)
	var rows int
	p.Eval(`new Promise(r => requestAnimationFrame(() => r(document.querySelectorAll("#program-table tbody tr").length)))`, &rows)
	if rows != len(r.Start.Programs) {
		t.Errorf("%d rows", rows)
	}
	t.Logf("%d programs, %d bytes: loaded in %v", rows, size, took.Round(time.Millisecond))
	keepShot(t, p, "report-large")
	p.WantNoErrors()
}
