package trace

import (
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"
)

// defaultEvents is how many events a Recorder keeps by default: 20,000 programs have about
// ten each.
const defaultEvents = 200_000

// Recorder is a Tracer that keeps events in memory, about 200 bytes each. When it is full
// it drops later ones and counts them; jobs and ticks, of which a process may have any
// number, fill half of it at most. Its methods may be called from any goroutine.
type Recorder struct {
	limit int
	began time.Time

	mu struct {
		sync.Mutex
		events  []Event
		jobs    int // of events, in lanes of jobs
		dropped uint64
	}
}

var _ Tracer = (*Recorder)(nil)

// NewRecorder returns a recorder of at most limit events, 0 being 200,000.
func NewRecorder(limit int) *Recorder {
	if limit <= 0 {
		limit = defaultEvents
	}
	return &Recorder{limit: limit, began: time.Now()}
}

// Event keeps an event.
func (r *Recorder) Event(e Event) {
	e.Attrs = slices.Clone(e.Attrs)
	r.mu.Lock()
	defer r.mu.Unlock()
	isJob := slices.Contains(jobLanes, e.Lane)
	if len(r.mu.events) >= r.limit || isJob && r.mu.jobs >= r.limit/2 {
		r.mu.dropped++
		return
	}
	if isJob {
		r.mu.jobs++
	}
	r.mu.events = append(r.mu.events, e)
}

// Recording is what a process did.
type Recording struct {
	Executable string    // name of the executable's file
	PID        int       // of the process
	Began      time.Time // of the process where the system tells, else of the recorder
	Ended      time.Time
	Events     []Event // in order of their begin; what encloses others comes first
	Dropped    uint64  // events that did not fit
	About      []Attr  // of the whole: the driver, the cache directory
}

// initialized is when this package was, which is before main.
var initialized = time.Now()

// BeginMain records, for package main, the time since this package was initialised.
func BeginMain(t Tracer) {
	t.Event(Event{Lane: Process, Task: NewTask(), Name: Packages, Begin: initialized, Took: time.Since(initialized)})
}

// Recording returns what was recorded until now, and the start of the process where the
// system tells when that was. attrs are those of the whole.
func (r *Recorder) Recording(attrs ...Attr) Recording {
	r.mu.Lock()
	events, dropped := slices.Clone(r.mu.events), r.mu.dropped
	r.mu.Unlock()
	began, known := processBegan()
	if known && began.Before(initialized) {
		events = append(events, Event{Lane: Process, Task: NewTask(), Name: Start, Begin: began, Took: initialized.Sub(began)})
	}
	slices.SortStableFunc(events, byBegin)
	recording := Recording{PID: os.Getpid(), Began: r.began, Ended: time.Now(), Events: events, Dropped: dropped, About: attrs}
	if known && began.Before(r.began) {
		recording.Began = began
	}
	if path, err := os.Executable(); err == nil {
		recording.Executable = filepath.Base(path)
	}
	return recording
}

// byBegin orders events by their begin, an event before those that it encloses.
func byBegin(a, b Event) int {
	if c := a.Begin.Compare(b.Begin); c != 0 {
		return c
	}
	return b.End().Compare(a.End())
}
