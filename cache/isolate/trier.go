package isolate

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os/exec"
	"time"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/shader"
)

// Trier is a [cache.Trier] whose processes are the children of a [Pool].
type Trier struct {
	// Dir is the directory of the cache.
	Dir *binary.Dir

	// Command returns a command that starts a child: see Pool.Command. The child's
	// cache has cache.Options.InTrial set. Without a Stderr of the command, what the
	// child prints is discarded.
	Command func() (*exec.Cmd, error)

	// Logger gets what Dir could not take. Default: nothing is logged.
	Logger *slog.Logger
}

var _ cache.Trier = (*Trier)(nil)

// Try implements [cache.Trier] with one child at a time.
func (t *Trier) Try(ctx context.Context, sources []*shader.Source, limit time.Duration, done func(int, cache.Trial)) {
	pool := Pool{Jobs: 1, Timeout: limit, Command: t.command, Dir: t.Dir, Logger: t.Logger}
	tried := make([]bool, len(sources))
	_, err := pool.Compile(ctx, sources, func(r Result) {
		tried[r.Index] = true
		done(r.Index, trialOf(r))
	})
	for i := range sources {
		if !tried[i] {
			done(i, cache.Trial{Err: errors.Join(err, io.ErrUnexpectedEOF)})
		}
	}
}

func (t *Trier) command() (*exec.Cmd, error) {
	command, err := t.Command()
	if err == nil && command.Stderr == nil {
		command.Stderr = io.Discard // the pool reads there of which signal a child died
	}
	return command, err
}

// trialOf returns what the result of a child shows about its program.
func trialOf(r Result) cache.Trial {
	lost, isLost := errors.AsType[*LostError](r.Err)
	switch {
	case r.BadDriverCache:
		return cache.Trial{Verdict: cache.BadDriverCache}
	case isLost && lost.Crashed():
		return cache.Trial{Verdict: cache.Crashed, Signal: lost.Signal}
	case isLost && (lost.TimedOut || lost.OverMemory || lost.Signal == ""):
		return cache.Trial{Verdict: cache.Hung}
	case isLost, errors.Is(r.Err, ErrNotStored):
		return cache.Trial{Err: r.Err}
	}
	return cache.Trial{Verdict: cache.Survived}
}
