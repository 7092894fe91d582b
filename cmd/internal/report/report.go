package report

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/shadercache/shadercache/cmd/cli"
	"github.com/shadercache/shadercache/cmd/internal/doctor"
	"github.com/shadercache/shadercache/cmd/internal/top"
	"github.com/shadercache/shadercache/trace"
)

// Report is what a page shows of one process, beside another one where there is one.
type Report struct {
	Start  *Start           `json:"start,omitempty"`  // of the trace; none: no trace was given
	Before *Start           `json:"before,omitempty"` // of the trace to compare with
	Cache  *top.Snapshot    `json:"cache,omitempty"`  // of the cache directory; none: it was not read
	Checks []doctor.Finding `json:"checks,omitempty"` // what doctor found
}

// Start is what one process did, from its trace.
type Start struct {
	Executable   string            `json:"executable"`
	Began        time.Time         `json:"began"`
	TotalMillis  float64           `json:"total_ms"`  // from the begin of the process to the writing of the trace
	Explained    float64           `json:"explained"` // share of that time in which an event was under way, 0 to 1
	FirstMillis  float64           `json:"first_ms"`  // until the first program was ready, 0: there was none
	ReadyMillis  float64           `json:"ready_ms"`  // until the last program was ready
	WaitedMillis float64           `json:"waited_ms"` // that callers waited for programs, one after another or side by side
	About        map[string]string `json:"about"`     // of the whole: GPU, driver
	Phases       []Phase           `json:"phases"`    // in order of their begin
	Programs     []Program         `json:"programs"`  // in order of their first event
	Origins      Origins           `json:"origins"`
	Evictions    int               `json:"evictions"`
	Dropped      uint64            `json:"dropped_events"` // events that the trace had no room for
	Advice       []Advice          `json:"advice"`         // the largest gain first
}

// Phase is a piece of work that is about no program.
type Phase struct {
	Lane        trace.Lane `json:"lane"`
	Name        string     `json:"name"`
	BeginMillis float64    `json:"begin_ms"`
	TookMillis  float64    `json:"took_ms"`
	Depth       int        `json:"depth"` // how many other phases enclose it
}

// Origins counts programs by where they came from.
type Origins struct {
	Compiled int `json:"compiled"`
	Disk     int `json:"disk"`
	Upstream int `json:"upstream"` // of Disk
	Memory   int `json:"memory"`   // from bytes that stayed after an eviction
	Failed   int `json:"failed"`
}

// ReadFile returns the report of the trace in a file, in Chrome's format.
func ReadFile(path string) (*Start, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	recording, err := trace.ReadChrome(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return New(recording), nil
}

// New returns the report of a trace.
func New(r trace.Recording) *Start {
	s := &Start{Executable: r.Executable, Began: r.Began, TotalMillis: cli.Milliseconds(r.Ended.Sub(r.Began)),
		Explained: explained(r), About: map[string]string{}, Dropped: r.Dropped,
		Phases: []Phase{}, Programs: []Program{}}
	for _, a := range r.About {
		if text, ok := a.Value.(string); ok {
			s.About[a.Name] = text
		}
	}
	s.Phases = phases(r)
	s.Programs = programs(r)
	for i := range s.Programs {
		s.count(&s.Programs[i])
	}
	for _, e := range r.Events {
		if e.Name == trace.Evict {
			s.Evictions++
		}
	}
	s.Advice = s.Advise()
	return s
}

// count adds a program to the sums.
func (s *Start) count(p *Program) {
	s.WaitedMillis += p.WaitedMillis
	if p.ReadyMillis > 0 {
		s.ReadyMillis = max(s.ReadyMillis, p.ReadyMillis)
		if s.FirstMillis == 0 || p.ReadyMillis < s.FirstMillis {
			s.FirstMillis = p.ReadyMillis
		}
	}
	switch {
	case p.Error != "":
		s.Origins.Failed++
	case p.Origin == "compiled":
		s.Origins.Compiled++
	case p.Origin == "disk":
		s.Origins.Disk++
	case p.Origin == "memory":
		s.Origins.Memory++
	}
	if p.Upstream {
		s.Origins.Upstream++
	}
}

// HitRate returns the share of the programs that did not have to be compiled, 0 to 1, or
// -1 without programs.
func (o Origins) HitRate() float64 {
	all := o.Compiled + o.Disk + o.Memory + o.Failed
	if all == 0 {
		return -1
	}
	return float64(o.Disk+o.Memory) / float64(all)
}

// enclosing are events that only enclose others: they explain nothing by themselves.
var enclosing = []string{trace.Command, trace.Preload}

// explained returns the share of the process's time in which an event was under way.
func explained(r trace.Recording) float64 {
	total := r.Ended.Sub(r.Began)
	if total <= 0 {
		return 0
	}
	var covered time.Duration
	until := r.Began
	for _, e := range r.Events { // in order of their begin
		if slices.Contains(enclosing, e.Name) || !e.End().After(until) {
			continue
		}
		begin := e.Begin
		if begin.Before(until) {
			begin = until
		}
		covered += e.End().Sub(begin)
		until = e.End()
	}
	return min(1, covered.Seconds()/total.Seconds())
}

// phases returns the events of the process and of the GL thread that are about no program,
// but for those within the work on one.
func phases(r trace.Recording) []Phase {
	list := []Phase{}
	type open struct {
		lane  trace.Lane
		task  uint64
		until time.Time
	}
	var stack []open
	for _, e := range r.Events {
		if e.Instant || e.Lane != trace.Process && e.Lane != trace.GL && e.Lane != trace.Remote && e.Name != trace.BeforeFirst {
			continue
		}
		stack = slices.DeleteFunc(stack, func(o open) bool { return !o.until.After(e.Begin) })
		depth := 0
		for _, o := range stack {
			if o.lane == e.Lane && o.task == e.Task {
				depth++
			}
		}
		if e.Program != "" && e.Name != trace.Command || isProgramWork(e.Name) {
			continue
		}
		stack = append(stack, open{e.Lane, e.Task, e.End()})
		list = append(list, Phase{Lane: e.Lane, Name: e.Name, Depth: depth,
			BeginMillis: cli.Milliseconds(e.Begin.Sub(r.Began)), TookMillis: cli.Milliseconds(e.Took)})
	}
	return list
}

// isProgramWork reports whether events of a name are the GL thread's work on a program.
func isProgramWork(name string) bool {
	switch name {
	case trace.Prime, trace.BinaryOut, trace.FrontEnd, trace.BackEnd, trace.ProgramBinary, trace.Interface, trace.Callback:
		return true
	}
	return false
}

// Slowest returns the n programs that took longest to be made.
func (s *Start) Slowest(n int) []Program {
	return most(s.Programs, n, Program.MadeMillis)
}

// Largest returns the n programs with the largest binaries.
func (s *Start) Largest(n int) []Program {
	return most(s.Programs, n, func(p Program) float64 { return float64(p.Bytes) })
}

// most returns the n programs with the largest values above 0.
func most(all []Program, n int, value func(Program) float64) []Program {
	sorted := slices.Clone(all)
	sorted = slices.DeleteFunc(sorted, func(p Program) bool { return value(p) <= 0 })
	slices.SortStableFunc(sorted, func(a, b Program) int { return cmp.Compare(value(b), value(a)) })
	return sorted[:min(n, len(sorted))]
}
