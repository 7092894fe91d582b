package trace

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"time"
)

// The trace-event format of Chrome's viewer, in its JSON object form, which Perfetto and
// speedscope read too (docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU):
// times are microseconds, "X" is an event with a duration, "i" an instant, "M" a name.
// Events of one tid nest. There is no displayTimeUnit: it says how times are to be shown, and
// versions of Perfetto take it for the unit of the times.
type (
	chromeFile struct {
		Events    []chromeEvent  `json:"traceEvents"`
		OtherData map[string]any `json:"otherData"`
	}
	chromeEvent struct {
		Name     string         `json:"name"`
		Category string         `json:"cat,omitempty"`
		Phase    string         `json:"ph"`
		Time     float64        `json:"ts"`
		Duration *float64       `json:"dur,omitempty"`
		Process  int            `json:"pid"`
		Thread   int            `json:"tid"`
		Scope    string         `json:"s,omitempty"`
		Args     map[string]any `json:"args,omitempty"`
	}
)

// Names of args and of otherData that ReadChrome needs again.
const (
	argProgram = "program"
	argKey     = "key"
	dataOrigin = "began"
	dataDrops  = "dropped_events"
	dataName   = "executable"
	dataTook   = "took_us"
)

// WriteChrome writes a recording in the trace-event format. The time 0 of the file is the
// begin of the process; otherData has it, and the attributes of the whole.
func WriteChrome(w io.Writer, r Recording) error {
	f := chromeFile{OtherData: map[string]any{
		dataOrigin: r.Began.UTC().Format(time.RFC3339Nano),
		dataName:   r.Executable,
		dataTook:   micros(r.Ended.Sub(r.Began)),
	}}
	if r.Dropped > 0 {
		f.OtherData[dataDrops] = r.Dropped
	}
	for _, a := range r.About {
		f.OtherData[a.Name] = a.Value
	}
	all, of := rows(r.Events)
	f.Events = append(f.Events, chromeEvent{Name: "process_name", Phase: "M", Process: r.PID, Args: map[string]any{"name": r.Executable}})
	for i, row := range all {
		name := string(row.lane)
		if row.number > 1 {
			name = fmt.Sprintf("%s %d", name, row.number)
		}
		f.Events = append(f.Events,
			chromeEvent{Name: "thread_name", Phase: "M", Process: r.PID, Thread: i + 1, Args: map[string]any{"name": name}},
			chromeEvent{Name: "thread_sort_index", Phase: "M", Process: r.PID, Thread: i + 1, Args: map[string]any{"sort_index": i}})
	}
	for i, e := range r.Events {
		f.Events = append(f.Events, chromeOf(r, e, of[i]+1))
	}
	b := bufio.NewWriter(w)
	if err := json.NewEncoder(b).Encode(f); err != nil {
		return fmt.Errorf("trace: %w", err)
	}
	return b.Flush()
}

func chromeOf(r Recording, e Event, thread int) chromeEvent {
	c := chromeEvent{Name: e.Name, Category: string(e.Lane), Phase: "X", Time: micros(e.Begin.Sub(r.Began)),
		Process: r.PID, Thread: thread, Args: map[string]any{}}
	if e.Instant {
		c.Phase, c.Scope = "i", "t"
	} else {
		took := micros(e.Took)
		c.Duration = &took
	}
	if e.Program != "" {
		c.Args[argProgram] = e.Program
	}
	if e.Key != "" {
		c.Args[argKey] = e.Key
	}
	for _, a := range e.Attrs {
		c.Args[a.Name] = a.Value
	}
	return c
}

func micros(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e3 }
