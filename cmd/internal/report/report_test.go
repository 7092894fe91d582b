package report

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/shadercache/shadercache/cmd/internal/doctor"
	"github.com/shadercache/shadercache/cmd/internal/top"
	"github.com/shadercache/shadercache/trace"
)

var began = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func at(ms float64) time.Time { return began.Add(took(ms)) }

func took(ms float64) time.Duration { return time.Duration(ms * float64(time.Millisecond)) }

// event returns an event of a program, whose key is its name.
func event(lane trace.Lane, task uint64, name, program string, begin, ms float64, attrs ...trace.Attr) trace.Event {
	return trace.Event{Lane: lane, Task: task, Name: name, Program: program, Key: program, Begin: at(begin), Took: took(ms),
		Instant: ms == 0, Attrs: attrs}
}

// started is a start with a program of each use: compiled by a Get, loaded by a preload in
// time, asked for too late, and never used.
func started() trace.Recording {
	loaded := []trace.Attr{trace.String("outcome", "loaded"), trace.String("origin", "disk")}
	r := trace.Recording{Executable: "app", Began: began, Ended: at(100), Events: []trace.Event{
		{Lane: trace.Process, Task: 1, Name: trace.Start, Begin: at(0), Took: took(10)},
		{Lane: trace.Process, Task: 2, Name: trace.Open, Begin: at(10), Took: took(20)},
		{Lane: trace.Process, Task: 2, Name: trace.OpenContext, Begin: at(11), Took: took(18)},
		event(trace.Requests, 3, trace.Get, "asked", 30, 40, trace.String("origin", "compiled")),
		event(trace.Loads, 4, trace.Compile, "asked", 32, 36, trace.Int("compile_ns", 6e6), trace.Int("prime_ns", 30e6)),
		event(trace.Loads, 5, trace.Load, "in time", 40, 5, loaded...),
		event(trace.Loads, 5, trace.ReadBlob, "in time", 40, 2, trace.Int("bytes", 1000)),
		event(trace.Requests, 0, trace.FirstUse, "in time", 60, 0),
		event(trace.Loads, 6, trace.Load, "late", 50, 30, loaded...),
		event(trace.Requests, 7, trace.Get, "late", 70, 10, trace.String("origin", "resident")),
		event(trace.Loads, 8, trace.Load, "unused", 80, 4, loaded...),
		event(trace.Requests, 9, trace.Get, "broken", 85, 1, trace.String("error", "0:1: syntax error")),
		event(trace.Requests, 0, trace.Unused, "unused", 95, 0),
	}}
	return r
}

func TestUses(t *testing.T) {
	s := New(started())
	want := map[string]Use{"asked": Asked, "in time": Resident, "late": Late, "unused": Unused, "broken": Asked}
	for _, p := range s.Programs {
		if p.Use != want[p.Name] {
			t.Errorf("%s is %q, want %q", p.Name, p.Use, want[p.Name])
		}
		delete(want, p.Name)
	}
	if len(want) > 0 {
		t.Errorf("no program %v", want)
	}
	if s.Origins != (Origins{Compiled: 1, Disk: 3, Failed: 1}) {
		t.Errorf("%+v", s.Origins)
	}
	if s.FirstMillis != 45 || s.ReadyMillis != 84 || s.WaitedMillis != 51 {
		t.Errorf("first %v, ready %v, waited %v", s.FirstMillis, s.ReadyMillis, s.WaitedMillis)
	}
	if rate := s.Origins.HitRate(); rate != 0.6 {
		t.Errorf("hit rate %v", rate)
	}
}

func TestStepsOfPrograms(t *testing.T) {
	for _, p := range New(started()).Programs {
		switch p.Name {
		case "asked":
			if p.CompileMillis != 6 || p.PrimeMillis != 30 || p.WaitedMillis != 40 || p.AskedMillis != 30 {
				t.Errorf("%+v", p)
			}
		case "in time":
			if p.ReadMillis != 2 || p.LoadMillis != 3 || p.Bytes != 1000 || p.AskedMillis != 60 || p.WaitedMillis != 0 {
				t.Errorf("%+v", p)
			}
		case "broken":
			if p.Error == "" || p.ReadyMillis != 0 {
				t.Errorf("%+v", p)
			}
		}
	}
}

// TestExplained checks that overlapping events count once, and what encloses others not.
func TestExplained(t *testing.T) {
	r := started()
	r.Events = append(r.Events, trace.Event{Lane: trace.Process, Task: 99, Name: trace.Command, Begin: at(0), Took: took(100)})
	// 0 to 30, 30 to 70, 70 to 80, 80 to 84, 85 to 86
	if s := New(r); s.Explained != 0.85 {
		t.Errorf("explained %v, want 0.85", s.Explained)
	}
}

func TestPhasesNest(t *testing.T) {
	s := New(started())
	var got []string
	for _, p := range s.Phases {
		got = append(got, fmt.Sprint(p.Name, " ", p.Depth))
	}
	if want := []string{"start 0", "open 0", "context 1"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestManifestIsInTheOrderOfUse(t *testing.T) {
	m := New(started()).Manifest()
	if a, b, c := strings.Index(m, "asked"), strings.Index(m, "in time"), strings.Index(m, "late"); a < 0 || b < a || c < b {
		t.Errorf("the order is wrong: %s", m)
	}
	if strings.Contains(m, "unused") || strings.Contains(m, "broken") {
		t.Errorf("it has programs that were not used: %s", m)
	}
}

func TestPage(t *testing.T) {
	r := Report{Start: New(started()), Before: New(started()), Cache: &top.Snapshot{Dir: "/tmp/<u>"},
		Checks: []doctor.Finding{{Check: "driver cache", Level: "wrong", Detail: "off", Fix: "unset MESA_SHADER_CACHE_DISABLE"}}}
	r.Before.Origins.Compiled = 1_234_567
	var b bytes.Buffer
	if err := r.WriteHTML(&b); err != nil {
		t.Fatal(err)
	}
	page := b.String()
	for _, want := range []string{"in time", "never preloaded", "never used", "unset MESA_SHADER_CACHE_DISABLE", "/tmp/&lt;u&gt;", `id="compare"`, ">1234567<"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page has no %q", want)
		}
	}
	for _, bad := range []string{"<script", "http://", "https://", "<u>", "ZgotmplZ"} {
		if strings.Contains(page, bad) {
			t.Errorf("the page has %q", bad)
		}
	}
}

// TestLargePage checks that 2,000 programs take less than 2 MB.
func TestLargePage(t *testing.T) {
	r := trace.Recording{Executable: "app", Began: began, Ended: at(5000)}
	for i := range 2000 {
		name := fmt.Sprintf("program_with_a_usual_name_%04d", i)
		r.Events = append(r.Events, event(trace.Requests, uint64(i), trace.Get, name, float64(i), 2, trace.String("origin", "disk")))
	}
	var b bytes.Buffer
	if err := (&Report{Start: New(r)}).WriteHTML(&b); err != nil {
		t.Fatal(err)
	}
	if b.Len() > 2_000_000 {
		t.Errorf("the page has %d bytes", b.Len())
	}
}
