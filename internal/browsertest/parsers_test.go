package browsertest_test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/shadercache/shadercache/internal/browsertest"
	"github.com/shadercache/shadercache/trace"
)

// written returns a recording as its file.
func written(t *testing.T, r trace.Recording) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := trace.WriteChrome(&b, r); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestPerfettoReadsTraces gives traces to Perfetto's own engine, and compares what it has
// read, event by event.
func TestPerfettoReadsTraces(t *testing.T) {
	r := recording(10)
	page := browsertest.Open(t).Page(800, 600)
	p := newPerfetto(t, page)
	if err := p.load(written(t, r)); err != nil {
		t.Fatalf("Perfetto refuses the trace: %v", err)
	}
	for _, row := range p.query(2, `select name, value from stats where severity in ('error', 'data_loss') and value > 0`) {
		t.Errorf("Perfetto counts %s %s", row[1], row[0])
	}
	var want []string
	for _, e := range r.Events {
		want = append(want, fmt.Sprint(e.Lane, " ", e.Name, " ", e.Begin.Sub(r.Began).Nanoseconds(), " ", e.Took.Nanoseconds(), " ", e.Program))
	}
	var got []string
	for _, row := range p.query(5, `select category, name, ts, dur, coalesce(extract_arg(arg_set_id, 'args.program'), '') from slice`) {
		got = append(got, strings.Join(row, " "))
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("Perfetto has %d events of %d", len(got), len(want))
		for i := range min(len(got), len(want)) {
			if got[i] != want[i] {
				t.Fatalf("the first that differs: %q, want %q", got[i], want[i])
			}
		}
	}
	names := p.query(1, `select distinct thread.name from slice join thread_track on slice.track_id = thread_track.id join thread using (utid)`)
	for _, lane := range []trace.Lane{trace.Process, trace.GL, trace.Requests, trace.Loads} {
		if !slices.ContainsFunc(names, func(row []string) bool { return row[0] == string(lane) }) {
			t.Errorf("no thread of Perfetto is called %q: %q", lane, names)
		}
	}
	if process := p.query(1, `select name from process where name is not null`); len(process) != 1 || process[0][0] != r.Executable {
		t.Errorf("Perfetto calls the process %q", process)
	}
	wantNoErrors(t, page)
}

func TestPerfettoRefusesWhatIsNoTrace(t *testing.T) {
	p := newPerfetto(t, browsertest.Open(t).Page(800, 600))
	if err := p.load([]byte("this is no trace")); err == nil {
		t.Error("the engine takes anything for a trace")
	}
}

// TestSpeedscopeReadsTraces opens a trace in speedscope, which shows a profile for each
// thread.
func TestSpeedscopeReadsTraces(t *testing.T) {
	folder := browsertest.NPM(t, "speedscope")
	r := recording(10)
	file := written(t, r)
	page := browsertest.Open(t).Page(1200, 700)
	page.Go(browsertest.FileURL(t, filepath.Join(folder, "dist", "release", "index.html")) + "#localProfilePath=none.js")
	page.Eval(`new Promise(r => { const wait = () => window.speedscope ? r(true) : setTimeout(wait, 10); wait() })`, nil)
	page.Eval(`speedscope.loadFileFromBase64("start.json", `+strconv.Quote(base64.StdEncoding.EncodeToString(file))+`)`, nil)
	var title string
	page.Eval(`new Promise((resolve, reject) => {
		const began = Date.now()
		const wait = () => {
			if (/error|failed/i.test(document.body.innerText)) reject(new Error(document.body.innerText))
			else if (document.title !== "speedscope" && document.body.innerText.includes("/")) resolve(document.title + "\n" + document.body.innerText)
			else if (Date.now() - began > 30000) reject(new Error("nothing is shown: " + document.title + " " + document.body.innerText))
			else setTimeout(wait, 20)
		}
		wait()
	})`, &title)
	t.Log(title)
	keepShot(t, page, "speedscope")
}
