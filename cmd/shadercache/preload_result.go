package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/cache/isolate"
	"github.com/shadercache/shadercache/cmd/cli"
	"github.com/shadercache/shadercache/cmd/internal/replay"
	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/shader"
	"github.com/shadercache/shadercache/shader/manifest"
)

// preloadResult is what preload prints.
type preloadResult struct {
	Programs []preloadLine `json:"programs"` // one for each program
	Failed   int           `json:"failed"`   // programs
	Recorded int           `json:"recorded"` // of them, those that failed in an earlier run and were not compiled again
	Skipped  int           `json:"skipped"`  // programs that were not begun within --budget; they have no line

	NeedRun int `json:"need_run"` // of recordings, graphics programs whose machine code Mesa makes at a draw: a run under exec makes it

	Server bool `json:"server"` // a server compiled or loaded them, and keeps them resident

	Isolation *isolationTimes `json:"isolation,omitempty"` // unless --no-isolate

	all     int            // programs: Programs may hold some of them only
	origins map[string]int // of those that did not fail
	begin   time.Time      // of the work
}

// preloadLine is the result for one program.
type preloadLine struct {
	Name        string  `json:"name"`                // label
	File        string  `json:"file,omitempty"`      // empty for a built-in program; of a recorded one the recording
	Key         string  `json:"key"`                 // empty where the file could not be read; of a recorded program the digest
	Origin      string  `json:"origin"`              // compiled, disk, resident or refused
	LoadMillis  float64 `json:"load_ms"`             // compiling or loading
	PrimeMillis float64 `json:"prime_ms"`            // the first dispatch, which makes the driver finish its work
	Error       string  `json:"error,omitempty"`     // what failed
	Cause       string  `json:"cause,omitempty"`     // of the error: see preload --help
	Quarantined bool    `json:"set_aside,omitempty"` // a process died of it
	Context     string  `json:"context,omitempty"`   // of a recorded program
	Replayed    string  `json:"replayed,omitempty"`  // the context of the replay, where the driver has none of that version
	Primed      string  `json:"primed,omitempty"`    // of a recorded program: dispatch, draw or not primed

	source *shader.Source // nil where the program cannot be tried, and for a recorded one
	err    error

	isRecorded    bool
	item          *replay.Item // nil where it is not to be replayed
	refusedBefore bool         // by the driver, when it was recorded
}

// addPrograms adds programs that are not tried yet.
func (r *preloadResult) addPrograms(programs []manifest.Program) {
	r.Programs = make([]preloadLine, 0, len(programs))
	for _, p := range programs {
		line := preloadLine{Name: p.Name, source: p.Source, err: p.Err}
		if p.Err == nil {
			line.Key = p.Source.Key().String()
			if files := p.Source.Files(); len(files) > 0 && files[0] != p.Name {
				line.File = files[0]
			}
		}
		r.Programs = append(r.Programs, line)
	}
}

// title returns what messages call the program.
func (p preloadLine) title() string {
	if p.isRecorded {
		return p.Name + " " + p.Key[:12]
	}
	return cmp.Or(p.File, p.Name, p.Key)
}

// set fills in the result of compiling or loading.
func (p *preloadLine) set(r cache.PreloadResult) {
	if p.err = r.Err; p.err == nil {
		p.Origin = r.Origin.String()
		p.LoadMillis = cli.Milliseconds(time.Duration(r.LoadNanos + r.CompileNanos))
		p.PrimeMillis = cli.Milliseconds(time.Duration(r.PrimeNanos))
	}
}

// copyFrom fills in the result of a program with the same text.
func (p *preloadLine) copyFrom(first preloadLine) {
	p.Origin, p.Quarantined, p.err = job.Resident.String(), first.Quarantined, first.err
	if p.err != nil {
		p.Origin = ""
	}
	if failure, ok := errors.AsType[*shader.CompileError](p.err); ok {
		p.err = &shader.CompileError{Name: p.Name, Log: failure.Log, Source: p.source}
	}
}

// unique returns the indices of the programs to compile, each text once.
func (r *preloadResult) unique() (indices []int) {
	seen := map[shader.Key]bool{}
	for i, p := range r.Programs {
		if p.source != nil && !seen[p.source.Key()] {
			seen[p.source.Key()] = true
			indices = append(indices, i)
		}
	}
	return indices
}

func (r *preloadResult) sources(indices []int) []*shader.Source {
	list := make([]*shader.Source, len(indices))
	for i, index := range indices {
		list[i] = r.Programs[index].source
	}
	return list
}

// finish fills in the duplicates, and counts, also what was not begun within a budget.
func (r *preloadResult) finish(budget time.Duration) {
	if budget > 0 {
		r.dropSkipped()
	}
	r.all, r.origins = len(r.Programs), map[string]int{}
	first := map[string]int{}
	for i := range r.Programs {
		p := &r.Programs[i]
		if before, listed := first[p.Key]; listed && p.Key != "" {
			p.copyFrom(r.Programs[before])
		} else {
			first[p.Key] = i
		}
		r.count(p)
	}
}

func (r *preloadResult) count(p *preloadLine) {
	if p.err != nil {
		r.Failed++
		p.Error, p.Cause = p.err.Error(), cause(p.err)
	} else {
		r.origins[p.Origin]++
	}
}

// cause returns the kind of a failure, as the help of preload lists them.
func cause(err error) string {
	lost, isLost := errors.AsType[*isolate.LostError](err)
	switch {
	case errors.As(err, new(*shader.CompileError)):
		return "compile"
	case errors.Is(err, binary.ErrQuarantined):
		return "quarantine"
	case errors.Is(err, isolate.ErrNotStored):
		return "store"
	case !isLost:
		return "other"
	case lost.TimedOut:
		return "timeout"
	case lost.OverMemory:
		return "memory"
	case lost.Crashed():
		return "crash"
	}
	return "lost"
}

// failure returns the error with the file of the program, or its name.
func (p preloadLine) failure() error {
	err := p.err
	if text := err.Error(); !strings.Contains(text, p.title()) {
		err = fmt.Errorf("%s: %w", p.title(), err)
	}
	if hint := p.hint(); hint != "" {
		err = cli.Hint(err, hint)
	}
	return err
}

// hint returns what the user can do about a failure, or "".
func (p preloadLine) hint() string {
	var hints []string
	switch cause(p.err) {
	case "timeout":
		hints = append(hints, "--timeout gives it longer")
	case "memory":
		hints = append(hints, "--memory gives it more")
	case "store":
		hints = append(hints, "shadercache doctor")
	}
	if p.Quarantined && !errors.Is(p.err, binary.ErrQuarantined) {
		hints = append(hints, "no start loads it for a day; shadercache verify --repair ends that")
	}
	return strings.Join(hints, "; ")
}

// whole returns the command that prints the whole log of a failure.
func (p preloadLine) whole() string {
	if p.isRecorded {
		return "shadercache recording inspect " + p.File + " " + p.Key[:min(len(p.Key), 12)]
	}
	return "shadercache why " + p.Key[:min(len(p.Key), 12)]
}

// failed returns the programs that failed.
func (r *preloadResult) failed() []preloadLine {
	list := []preloadLine{}
	for _, p := range r.Programs {
		if p.err != nil {
			list = append(list, p)
		}
	}
	return list
}

func (r *preloadResult) Print(w io.Writer) {
	if len(r.Programs) > 0 {
		fmt.Fprint(w, "program\torigin\tload\tprime\tkey\n")
	}
	label := r.labels()
	for _, p := range r.Programs {
		if p.err == nil {
			fmt.Fprintf(w, "%s\t%s\t%.2f ms\t%.2f ms\t%s\n", label(p), p.Origin, p.LoadMillis, p.PrimeMillis, p.Key[:12])
		}
	}
	for _, p := range r.Programs {
		if p.err != nil {
			fmt.Fprintf(w, "%s\tfailed: %s\t-\t-\t%s\n", label(p), cause(p.err), cmp.Or(p.Key[:min(len(p.Key), 12)], "-"))
		}
	}
	if len(r.Programs) > 0 {
		fmt.Fprintln(w)
	}
	r.printSummary(w)
}

// needsRun is what warms the programs that a replay does not. Mesa writes its entries on a
// thread of its own and drops those that wait when the process ends, so a run may leave some.
const needsRun = "machine code depends on state that a replay does not know; " +
	"run the program under shadercache exec --report until it adds nothing, then export or push"

// labels returns a function that returns the first column of a program: its name, or
// its file where several have the name.
func (r *preloadResult) labels() func(preloadLine) string {
	programs := map[string]int{}
	for _, p := range r.Programs {
		programs[p.Name]++
	}
	return func(p preloadLine) string {
		if programs[p.Name] > 1 {
			return cli.EscapeName(p.title())
		}
		return cli.EscapeName(p.Name)
	}
}

// printSummary prints counts that add up to the number of programs.
func (r *preloadResult) printSummary(w io.Writer) {
	compiled, disk := r.origins[job.Compiled.String()], r.origins[job.Disk.String()]
	fmt.Fprintf(w, "%s: %d compiled, %d from disk", cli.Plural(r.all, "program"), compiled, disk)
	if resident := r.all - r.Failed - compiled - disk - r.origins[refused]; resident > 0 {
		fmt.Fprintf(w, ", %d %s", resident, map[bool]string{false: "listed twice", true: "resident before"}[r.Server])
	}
	if r.origins[refused] > 0 {
		fmt.Fprintf(w, ", %d refused as when they were recorded", r.origins[refused])
	}
	if r.Skipped > 0 {
		fmt.Fprintf(w, ", %d not begun within the budget", r.Skipped)
	}
	fmt.Fprintf(w, ", %d failed\n", r.Failed)
	if r.Recorded > 0 {
		fmt.Fprintf(w, "%d of them failed before and were not compiled again: see --retry-failed\n", r.Recorded)
	}
	if r.NeedRun > 0 {
		fmt.Fprintf(w, "%s: %s\n", cli.Plural(r.NeedRun, "graphics program"), needsRun)
	}
}
