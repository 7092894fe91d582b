package browsertest_test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/shadercache/shadercache/cmd/internal/browsertest"
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
	b := browsertest.Open(t)
	if err := newPerfetto(t, b.Page(800, 600)).load([]byte("this is no trace")); err == nil {
		t.Error("Perfetto takes anything for a trace")
	}
	page := b.Page(800, 600)
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
	page.WantNoErrors()
}

// TestSpeedscopeReadsTraces opens a trace in speedscope, which shows a profile for each
// thread. What it draws needs WebGL, which a browser without a GPU may not have: the text is
// compared.
func TestSpeedscopeReadsTraces(t *testing.T) {
	folder := browsertest.NPM(t, "speedscope")
	r := recording(10)
	file := written(t, r)
	page := browsertest.Open(t).Page(1200, 700)
	// Its command opens a profile in the same way.
	script := filepath.Join(t.TempDir(), "profile.js")
	text := `speedscope.loadFileFromBase64("start.json", "` + base64.StdEncoding.EncodeToString(file) + `")`
	if err := os.WriteFile(script, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	page.Go(browsertest.FileURL(t, filepath.Join(folder, "dist", "release", "index.html")) + "#localProfilePath=" + script)
	var shown string
	page.Eval(`new Promise((resolve, reject) => {
		const began = Date.now()
		const wait = () => {
			const text = document.title + " " + document.body.innerText
			if (/error|failed|unrecognized/i.test(text)) reject(new Error(text))
			else if (document.title !== "speedscope" && text.includes("/")) resolve(text)
			else if (Date.now() - began > 30000) reject(new Error("nothing is shown: " + text))
			else setTimeout(wait, 20)
		}
		wait()
	})`, &shown)
	var threads int
	for _, line := range strings.Split(string(file), "{") {
		if strings.Contains(line, `"thread_name"`) {
			threads++
		}
	}
	for _, want := range []string{"start.json", r.Executable, "process", fmt.Sprintf("(1/%d)", threads)} {
		if !strings.Contains(shown, want) {
			t.Errorf("speedscope shows no %q in %q", want, shown)
		}
	}
	keepShot(t, page, "speedscope")
}
