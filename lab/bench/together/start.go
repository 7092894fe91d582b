package together

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/shadercache/shadercache/cmd/cli"
	"github.com/shadercache/shadercache/cmd/startup"
)

// process is one that has ended.
type process struct {
	millis float64 // from its start to its end
	output []byte
}

// atOnce starts a process for each directory, all at the same time, and waits for their
// ends. mayFail allows an exit code of 1.
func atOnce(dirs []string, mayFail bool, command func(dir string) (*exec.Cmd, error)) ([]process, error) {
	all := make([]process, len(dirs))
	var started errgroup.Group
	for i, dir := range dirs {
		cmd, err := command(dir)
		if err != nil {
			return nil, errors.Join(err, started.Wait())
		}
		var out bytes.Buffer
		cmd.Stdout = &out
		began := time.Now()
		if err := cmd.Start(); err != nil {
			return nil, errors.Join(err, started.Wait())
		}
		started.Go(func() error {
			err := cmd.Wait()
			all[i] = process{cli.Milliseconds(time.Since(began)), out.Bytes()}
			if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() == 1 && mayFail {
				return nil
			}
			return err
		})
	}
	return all, started.Wait()
}

// millisOf returns the times of processes, the shortest first.
func millisOf(all []process) (millis []float64) {
	for _, p := range all {
		millis = append(millis, p.millis)
	}
	slices.Sort(millis)
	return millis
}

// same returns a directory n times.
func same(dir string, n int) []string { return slices.Repeat([]string{dir}, n) }

// starts starts processes at once that load or compile all programs, run each once, and
// verify the results. It returns how many programs each compiled.
func (r *run) starts(ctx context.Context, dirs []string, environment ...string) (all []process, compiled []uint64, err error) {
	all, err = atOnce(dirs, false, func(dir string) (*exec.Cmd, error) {
		return r.command(ctx, dir, environment, []string{"bench", startup.ChildCommand}, "--programs", strconv.Itoa(r.Programs), "--preload")
	})
	if err != nil {
		return nil, nil, err
	}
	for _, p := range all {
		var c startup.ChildResult
		if err := json.Unmarshal(p.output, &c); err != nil {
			return nil, nil, fmt.Errorf("the child printed no result: %w", err)
		}
		r.result.GPU, r.result.Driver = c.GPU, c.Driver
		r.result.Verified = r.result.Verified && c.Verified
		compiled = append(compiled, c.Compiles)
	}
	return all, compiled, nil
}

// preloads starts preloads of a manifest at once.
func (r *run) preloads(ctx context.Context, dirs []string, manifest string, arguments ...string) ([]process, error) {
	return atOnce(dirs, manifest == r.failures, func(dir string) (*exec.Cmd, error) {
		cmd, err := r.command(ctx, dir, nil, []string{"preload", manifest}, append(arguments, "--failed-only")...)
		if err == nil && manifest == r.failures {
			cmd.Stderr = nil
		}
		return cmd, err
	})
}

// command returns a command of shadercache, without settings of the environment that would
// override the directory's.
func (r *run) command(ctx context.Context, dir string, environment, words []string, arguments ...string) (*exec.Cmd, error) {
	own := *r.cli
	own.JSON = false
	cmd, err := own.ChildCommand(ctx, dir, words, arguments...)
	if err == nil {
		cmd.Path, cmd.Args[0] = r.shadercache, r.shadercache
		cmd.Env = append(startup.ScenarioEnvironment(cmd.Environ()), environment...)
	}
	return cmd, err
}

// findShadercache returns the executable of shadercache: beside this one, else in the PATH.
func findShadercache() (string, error) {
	if own, err := os.Executable(); err == nil {
		if found, err := exec.LookPath(filepath.Join(filepath.Dir(own), "shadercache")); err == nil {
			return found, nil
		}
	}
	found, err := exec.LookPath("shadercache")
	if err != nil {
		return "", cli.Hint(err, "make build builds bin/shadercache, whose starts are measured")
	}
	return filepath.Abs(found)
}
