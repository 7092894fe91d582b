package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/cmd/cli"
	"github.com/shadercache/shadercache/shader"
	"github.com/shadercache/shadercache/shader/manifest"
)

// historyFlags select programs by what starts asked for.
type historyFlags struct {
	FromHistory bool          `flag:"from-history" help:"take what starts asked for, the most used first"`
	Executable  string        `flag:"executable" help:"with --from-history: starts of the program with this file NAME only" value:"NAME"`
	Budget      time.Duration `flag:"budget" help:"begin no program after this time, as in 2s (default none)" must:"above 0"`
}

// programs returns the programs of the history, where it is wanted, and of the arguments.
func (o *options) programs(how preloadFlags, arguments []string) ([]manifest.Program, error) {
	path, dir, err := o.ReadDirectory()
	if err != nil && how.FromHistory {
		return nil, err
	}
	reader := sourceReader(&how.SourceFlags)
	if dir != nil {
		dir = o.WithUpstream(dir)
		reader.Stored = func(key shader.Key) (*shader.Source, error) { return keptSource(dir, key) }
	}
	var programs []manifest.Program
	if how.FromHistory {
		if programs = historyPrograms(dir, how.Executable); len(programs) == 0 {
			return nil, cli.Hint(fmt.Errorf("%s has no history of such starts", path), "SHADERCACHE_HISTORY=1 ./app")
		}
	}
	return append(programs, reader.ReadAll(arguments)...), nil
}

// historyPrograms returns what starts asked for, which is in dir; nil is none.
func historyPrograms(dir *binary.Dir, executable string) (programs []manifest.Program) {
	if dir == nil {
		return nil
	}
	for _, p := range dir.StartSet(executable) {
		source, err := keptSource(dir, p.Key)
		if err == nil {
			source = source.WithName(p.Name)
		}
		programs = append(programs, manifest.Program{Name: p.Name, Source: source, Err: err})
	}
	return programs
}

// keptSource returns a program whose text dir keeps.
func keptSource(dir *binary.Dir, key shader.Key) (*shader.Source, error) {
	source, err := dir.Source(key)
	if errors.Is(err, binary.ErrNotFound) {
		return nil, cli.Hint(fmt.Errorf("the directory does not keep the text of %s", key.Short()),
			"name its file, or run the program with SHADERCACHE_HISTORY=1")
	}
	return source, err
}

// dropSkipped removes and counts the programs that were not begun within a budget.
func (r *preloadResult) dropSkipped() {
	ended := map[string]bool{}
	for _, p := range r.Programs {
		if p.Origin != "" || p.err != nil && !errors.Is(p.err, context.DeadlineExceeded) {
			ended[p.Key] = true
		}
	}
	all := len(r.Programs)
	r.Programs = slices.DeleteFunc(r.Programs, func(p preloadLine) bool { return p.source != nil && !ended[p.Key] })
	r.Skipped = all - len(r.Programs)
}
