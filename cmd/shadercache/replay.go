package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/cache/isolate"
	"github.com/shadercache/shadercache/cmd/cli"
	"github.com/shadercache/shadercache/cmd/internal/replay"
	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/recording"
	"github.com/shadercache/shadercache/shader"
)

// refused is the origin of a program that the driver does not link, and did not when it
// was recorded.
const refused = "refused"

// splitRecordings opens those arguments that are recordings, and returns the others.
func splitRecordings(arguments []string) (recordings []*recording.Recording, others []string, err error) {
	for _, argument := range arguments {
		if !recording.Is(argument) {
			others = append(others, argument)
			continue
		}
		r, err := recording.Open(argument)
		if err != nil {
			return nil, nil, err
		}
		recordings = append(recordings, r)
	}
	return recordings, others, nil
}

// openRecordings opens recordings, for arguments that can be nothing else.
func openRecordings(paths []string) (list []*recording.Recording, err error) {
	for _, path := range paths {
		r, err := recording.Open(path)
		if err != nil {
			if errors.Is(err, recording.ErrNotRecording) {
				err = cli.Hint(err, hintToRecord(path))
			}
			return nil, err
		}
		list = append(list, r)
	}
	return list, nil
}

// hintToRecord returns how a recording is made in a folder. What is no folder stays.
func hintToRecord(path string) string {
	if info, err := os.Stat(path); err == nil && !info.IsDir() {
		path = "DIR"
	}
	return "shadercache exec --record " + path + " -- PROGRAM makes one"
}

// replays are the programs of recordings among the lines of a result.
type replays struct {
	items []replay.Item
	lines []int        // of the result, by item
	known map[int]bool // lines whose program was refused when it was recorded
}

// addReplays adds a line for each program of recordings, the first limit of them. One that
// cannot be read has its error.
func (r *preloadResult) addReplays(recordings []*recording.Recording, limit int) (*replays, error) {
	added := &replays{known: map[int]bool{}}
	seen := map[shader.Digest]bool{}
	for _, rec := range recordings {
		logs := rec.Logs()
		items, err := replay.Items(rec)
		if err != nil {
			return nil, err
		}
		for _, item := range items {
			if seen[item.Program] || len(seen) >= limit {
				continue
			}
			seen[item.Program] = true
			p, err := rec.Program(item.Program)
			line := preloadLine{Key: item.Program.String(), File: rec.Path(), Name: "program", err: err, isRecorded: true}
			if err == nil {
				line.Name, line.Context = p.StageNames(), p.Context.String()
				added.items, added.lines = append(added.items, item), append(added.lines, len(r.Programs))
				added.known[len(r.Programs)] = logs.Of(item.Program).Failed > 0
			}
			r.Programs = append(r.Programs, line)
		}
	}
	added.group(r)
	return added, nil
}

// group puts the programs of one context beside each other: a child makes a context for
// each.
func (p *replays) group(r *preloadResult) {
	order := make([]int, len(p.items))
	first := map[string]int{}
	for i, line := range p.lines {
		order[i] = i
		if _, seen := first[r.Programs[line].Context]; !seen {
			first[r.Programs[line].Context] = i
		}
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return first[r.Programs[p.lines[a]].Context] - first[r.Programs[p.lines[b]].Context]
	})
	items, lines := make([]replay.Item, len(order)), make([]int, len(order))
	for to, from := range order {
		items[to], lines[to] = p.items[from], p.lines[from]
	}
	p.items, p.lines = items, lines
}

// replay has child processes compile programs of recordings, and fills in their results.
func (o *options) replay(dir *binary.Dir, f isolationFlags, r *preloadResult, programs *replays, begin time.Time) error {
	if len(programs.items) == 0 {
		return nil
	}
	driver, err := o.CurrentFingerprint()
	if err != nil {
		return err
	}
	read := time.Now()
	pool := o.pool(dir, f, "--replay")
	progress := o.NewPieces(len(programs.items), "replaying")
	pool.Begun = func(i int) { progress.Begin(r.Programs[programs.lines[i]].title()) }
	ctx, stop := o.Interruptible(progress.Waiting)
	defer stop()
	report, err := replay.Run(ctx, *pool, dir, driver, programs.items, func(got replay.Result) {
		index := programs.lines[got.Index]
		line := &r.Programs[index]
		progress.End(line.title())
		line.setReplayed(got, programs.known[index])
		if line.drawn() && strings.Contains(driver.Version, "Mesa") {
			r.NeedRun++
		}
	})
	progress.Finish()
	if r.Isolation == nil {
		r.Isolation = newIsolationTimes(begin, read, report)
	}
	if errors.As(err, new(*isolate.StartError)) || errors.As(err, new(*isolate.LostError)) {
		return cli.Hint(err, "shadercache doctor")
	}
	return err
}

// setReplayed fills in the result of a replay.
func (p *preloadLine) setReplayed(r replay.Result, refusedBefore bool) {
	p.err = r.Err
	switch {
	case r.Err != nil && refusedBefore && errors.As(r.Err, new(*shader.CompileError)):
		p.Origin, p.err = refused, nil
	case r.Err != nil:
	case r.Made:
		p.Origin = job.Compiled.String()
	default:
		p.Origin = job.Disk.String()
	}
	if p.err != nil || p.Origin == refused {
		return
	}
	p.LoadMillis = cli.Milliseconds(time.Duration(r.LinkNanos))
	p.PrimeMillis = cli.Milliseconds(time.Duration(r.PrimeNanos))
	p.Primed = r.Primed.String()
	if actual := r.Context.String(); actual != p.Context {
		p.Replayed = actual
	}
}

// drawn reports whether a recorded program is finished at a draw, with the state of that moment.
func (p *preloadLine) drawn() bool {
	return p.Primed != "" && p.Primed != glctx.Dispatched.String()
}

// forRecordings returns a usage error for flags that recordings cannot have.
func (f isolationFlags) forRecordings(cmd *cobra.Command, recordings []*recording.Recording) error {
	if f.NoIsolate && len(recordings) > 0 {
		return cli.Usage(cmd, fmt.Errorf("--no-isolate does not go with recordings: %s is compiled in child processes", recordings[0].Path()))
	}
	return nil
}
