package trace_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/shadercache/shadercache/trace"
)

func TestNothingIsMeasuredWithoutATracer(t *testing.T) {
	allocations := testing.AllocsPerRun(100, func() {
		r := trace.Begin(nil, trace.GL, 0, trace.Load)
		inner := r.Begin(trace.Prime)
		inner.End()
		r.End()
	})
	if allocations != 0 {
		t.Errorf("a region without a tracer allocates %v times", allocations)
	}
}

// ours returns what was recorded but the start of the process.
func ours(r *trace.Recorder) []trace.Event {
	return slices.DeleteFunc(r.Recording().Events, func(e trace.Event) bool { return e.Name == trace.Start })
}

func TestRegions(t *testing.T) {
	recorder := trace.NewRecorder(0)
	outer := trace.Begin(recorder, trace.Loads, 0, trace.Load)
	outer.About("blur", "5e88")
	inner := outer.Begin(trace.ReadBlob)
	inner.End(trace.Int("bytes", 42))
	outer.End(trace.String("origin", "disk"))
	events := ours(recorder)
	if len(events) != 2 {
		t.Fatalf("%d events, want 2", len(events))
	}
	load, read := events[0], events[1]
	if load.Name != trace.Load || load.Program != "blur" || load.Key != "5e88" || load.Attr("origin") != "disk" {
		t.Errorf("the outer event is %+v", load)
	}
	if read.Name != trace.ReadBlob || read.Attr("bytes") != int64(42) || read.Program != "blur" || read.Key != "5e88" || read.Task != load.Task || read.Lane != load.Lane {
		t.Errorf("the inner event is %+v", read)
	}
	if read.Begin.Before(load.Begin) || read.End().After(load.End()) {
		t.Error("the inner event is not within the outer one")
	}
}

func TestRecorderIsBounded(t *testing.T) {
	recorder := trace.NewRecorder(3)
	for range 5 {
		trace.Instant(recorder, trace.Writes, trace.Evict, "", "")
	}
	if kept, dropped := len(ours(recorder)), recorder.Recording().Dropped; kept != 3 || dropped != 2 {
		t.Errorf("%d events and %d dropped, want 3 and 2", kept, dropped)
	}
}

// TestJobsDoNotFillARecorder checks that what a start does has room beside any number of jobs.
func TestJobsDoNotFillARecorder(t *testing.T) {
	recorder := trace.NewRecorder(10)
	for range 20 {
		recorder.Event(trace.Event{Lane: trace.Executor, Name: trace.Batch, Begin: time.Now()})
	}
	trace.Instant(recorder, trace.Requests, trace.Unused, "a", "01")
	events := ours(recorder)
	if len(events) != 6 || events[5].Name != trace.Unused || recorder.Recording().Dropped != 15 {
		t.Errorf("%d events and %d dropped: %v", len(events), recorder.Recording().Dropped, events)
	}
}

// recorded returns a recording with tasks that overlap, nest and follow one another.
func recorded() trace.Recording {
	began := time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC)
	at := func(ms int) time.Time { return began.Add(time.Duration(ms) * time.Millisecond) }
	ms := time.Millisecond
	return trace.Recording{Executable: "app", PID: 7, Began: began, Ended: at(100), Dropped: 1,
		About: []trace.Attr{trace.String("driver", "llvmpipe")},
		Events: []trace.Event{
			{Lane: trace.Loads, Task: 1, Name: trace.Load, Program: "a", Key: "01", Begin: at(10), Took: 30 * ms},
			{Lane: trace.Loads, Task: 1, Name: trace.ReadBlob, Begin: at(10), Took: 5 * ms, Attrs: []trace.Attr{trace.Bool("upstream", true)}},
			{Lane: trace.Loads, Task: 2, Name: trace.Load, Program: "b", Begin: at(20), Took: 30 * ms},
			{Lane: trace.Writes, Name: trace.Evict, Begin: at(25), Instant: true},
			{Lane: trace.Loads, Task: 3, Name: trace.Load, Program: "c", Begin: at(40), Took: 20 * ms},
			{Lane: trace.GL, Task: 9, Name: trace.Prime, Begin: at(41), Took: 2 * ms, Attrs: []trace.Attr{trace.Float("us", 1.5)}},
		}}
}

func TestChromeReadsWhatItWrote(t *testing.T) {
	var first, second bytes.Buffer
	if err := trace.WriteChrome(&first, recorded()); err != nil {
		t.Fatal(err)
	}
	read, err := trace.ReadChrome(bytes.NewReader(first.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	if len(read.Events) != len(recorded().Events) || read.Dropped != 1 || !read.Ended.Equal(recorded().Ended) {
		t.Errorf("read %+v", read)
	}
	if err := trace.WriteChrome(&second, read); err != nil {
		t.Fatal(err)
	}
	if first.String() != second.String() {
		t.Errorf("written again it is another file:\n%s\n%s", first.String(), second.String())
	}
}

// TestRowsNest checks what viewers demand: events of one tid lie one after another or
// within each other.
func TestRowsNest(t *testing.T) {
	var b bytes.Buffer
	if err := trace.WriteChrome(&b, recorded()); err != nil {
		t.Fatal(err)
	}
	var f struct {
		Events []struct {
			Name, Ph string
			Ts, Dur  float64
			Tid      int
			Args     struct{ Name, Program string }
		} `json:"traceEvents"`
	}
	if err := json.Unmarshal(b.Bytes(), &f); err != nil {
		t.Fatal(err)
	}
	rows := map[string]int{}
	names := map[int]string{}
	for i, e := range f.Events {
		if e.Name == "thread_name" {
			names[e.Tid] = e.Args.Name
		}
		if e.Ph != "X" {
			continue
		}
		rows[e.Args.Program] = e.Tid
		for _, other := range f.Events[:i] {
			if other.Ph == "X" && other.Tid == e.Tid && e.Ts < other.Ts+other.Dur && e.Ts+e.Dur > other.Ts+other.Dur {
				t.Errorf("%s and %s overlap on tid %d", other.Name, e.Name, e.Tid)
			}
		}
	}
	if rows["a"] == rows["b"] || rows["a"] != rows["c"] {
		t.Errorf("rows %v: a and b overlap, c begins when a ends", rows)
	}
	if names[rows["a"]] != "loads" || names[rows["b"]] != "loads 2" {
		t.Errorf("the rows are named %v", names)
	}
}

func FuzzReadChrome(f *testing.F) {
	var b bytes.Buffer
	if err := trace.WriteChrome(&b, recorded()); err != nil {
		f.Fatal(err)
	}
	f.Add(b.String())
	f.Add(`{"traceEvents":[{"ph":"X","ts":1e300,"dur":-1}],"otherData":{"began":"2026-01-02T03:04:05Z"}}`)
	f.Fuzz(func(t *testing.T, text string) {
		r, err := trace.ReadChrome(strings.NewReader(text))
		if err != nil {
			if !errors.Is(err, trace.ErrFormat) {
				t.Errorf("%v is not ErrFormat", err)
			}
			return
		}
		if err := trace.WriteChrome(&bytes.Buffer{}, r); err != nil {
			t.Errorf("what was read cannot be written: %v", err)
		}
	})
}
