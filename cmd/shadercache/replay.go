package main

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/shadercache/shadercache/cmd/cli"
	"github.com/shadercache/shadercache/cmd/internal/replay"
	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/recording"
	"github.com/shadercache/shadercache/shader"
)

// refused is the origin of a program that the driver does not link, and did not when it
// was recorded.
const refused = "refused"

// splitRecordings opens those arguments that are recordings, and returns the others.
func splitRecordings(arguments []string) (recordings []*recording.Recording, others []string, err error) {
	var paths []string
	for _, argument := range arguments {
		if recording.Is(argument) {
			paths = append(paths, argument)
		} else {
			others = append(others, argument)
		}
	}
	recordings, err = openRecordings(paths)
	return recordings, others, err
}

// openRecordings opens recordings, for arguments that can be nothing else.
func openRecordings(paths []string) (list []*recording.Recording, err error) {
	for _, path := range paths {
		r, err := openRecording(path)
		if err != nil {
			return nil, err
		}
		list = append(list, r)
	}
	return list, nil
}

// openRecording opens one recording.
func openRecording(path string) (*recording.Recording, error) {
	r, err := recording.Open(path)
	if errors.Is(err, recording.ErrNotRecording) {
		if info, statErr := os.Stat(path); statErr == nil && !info.IsDir() {
			path = "DIR" // what is no folder stays
		}
		err = cli.Hint(err, "shadercache exec --record "+path+" -- PROGRAM makes one")
	}
	return r, err
}

// addReplays adds a line for each program of recordings, the first limit of them. One that
// cannot be read has its error; those that could not be recorded are logged.
func (r *preloadResult) addReplays(logger *slog.Logger, recordings []*recording.Recording, limit int) error {
	seen := map[shader.Digest]bool{}
	for _, rec := range recordings {
		logs := rec.Logs()
		if n := len(logs.Lost); n > 0 {
			logger.Warn("the recording is not whole", "recording", rec.Path(), "lost", n, "first", logs.Lost[0].Reason)
		}
		digests, err := rec.Digests()
		if err != nil {
			return err
		}
		logs.Sort(digests)
		for _, d := range digests {
			if seen[d] || len(seen) >= limit {
				continue
			}
			seen[d] = true
			p, err := rec.Program(d)
			line := preloadLine{Key: d.String(), File: rec.Path(), Name: "program", err: err, isRecorded: true}
			if err == nil {
				line.Name, line.Context = p.StageNames(), p.Context.String()
				line.item, line.refusedBefore = &replay.Item{Recording: rec.Path(), Program: d}, logs.Of(d).Failed > 0
			}
			r.Programs = append(r.Programs, line)
		}
	}
	return nil
}

// replays returns the indices of the programs to replay, those of one context beside each other: a
// child makes a context for each.
func (r *preloadResult) replays() (indices []int) {
	order := map[string]int{} // of contexts
	for i, p := range r.Programs {
		if p.item == nil {
			continue
		}
		if indices = append(indices, i); order[p.Context] == 0 {
			order[p.Context] = len(order) + 1
		}
	}
	slices.SortStableFunc(indices, func(a, b int) int { return order[r.Programs[a].Context] - order[r.Programs[b].Context] })
	return indices
}

// setReplayed fills in the result of a replay.
func (p *preloadLine) setReplayed(r replay.Result) {
	if p.refusedBefore && errors.As(r.Err, new(*shader.CompileError)) {
		p.Origin = refused
		return
	}
	if p.set(r.PreloadResult); p.err != nil {
		return
	}
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
