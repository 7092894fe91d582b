package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/binary/driverlock"
	"github.com/shadercache/shadercache/binary/nvslots"
	"github.com/shadercache/shadercache/cache"
)

// preloadChildName is the hidden command that compiles for another process.
const preloadChildName = "preload-child"

// isolationFlags are the flags of preload that have to do with children.
type isolationFlags struct {
	isolate bool
	jobs    int
	timeout time.Duration
}

// check refuses numbers that make no sense.
func (f isolationFlags) check(cmd *cobra.Command) error {
	switch {
	case !f.isolate && (cmd.Flags().Changed("jobs") || cmd.Flags().Changed("timeout")):
		return errors.New("--jobs and --timeout need --isolate")
	case f.jobs < 1 || f.jobs > 64:
		return errors.New("--jobs must be 1 to 64")
	case f.timeout <= 0:
		return errors.New("--timeout must be more than nothing")
	}
	return nil
}

// preloadIsolated does what preload does, in child processes. args and defines
// are what requests were read from.
func (o *options) preloadIsolated(f isolationFlags, args []string, defines binary.Defines) (*preloadResult, error) {
	path, err := o.directory()
	if err != nil {
		return nil, err
	}
	dir, err := binary.OpenDir(path)
	if err != nil {
		return nil, err
	}
	requests := readRequests(args, defines)
	r := &preloadResult{Programs: make([]preloadLine, len(requests))}
	var indices []int
	for i, q := range requests {
		r.Programs[i] = preloadLine{Name: q.name, err: q.err}
		if q.err == nil {
			indices = append(indices, i)
			r.Programs[i].Key = q.source.Key().String()
		}
	}
	bar := o.newProgress(len(indices), "preloading")
	s := isolation{
		timeout: f.timeout,
		command: func() (*exec.Cmd, error) {
			return o.childCommand(context.Background(), path, []string{preloadChildName}, childArguments(args, defines)...)
		},
		done: func(i int, got preloadLine) {
			_ = bar.Add(1)
			got.Name, got.Key = r.Programs[i].Name, r.Programs[i].Key
			r.Programs[i] = got
		},
	}
	ctx, stop := interruptible()
	defer stop()
	err = s.run(ctx, indices, f.jobs)
	_ = bar.Finish()
	if err := errors.Join(err, o.settle(dir)); err != nil {
		return nil, err
	}
	r.count()
	return r, nil
}

// childArguments are the arguments of preload again.
func childArguments(args []string, defines binary.Defines) (list []string) {
	for _, name := range slices.Sorted(maps.Keys(defines)) {
		list = append(list, "-D", name+"="+defines[name])
	}
	return append(append(list, "--"), args...)
}

// settle puts what children died of into quarantine, and merges what NVIDIA's
// driver kept for each child on its own.
func (o *options) settle(dir *binary.Dir) error {
	err := o.forStores(dir, func(_ string, store *binary.Store) error {
		_, err := store.Recover()
		return err
	})
	if _, mergeErr := nvslots.Merge(dir.DriverDir()); errors.Is(mergeErr, driverlock.ErrInUse) {
		o.logger().Warn("the driver's cache is in use, so its slots are merged at a later start")
	} else if mergeErr != nil && !errors.Is(mergeErr, os.ErrNotExist) {
		o.logger().Warn("the driver's slots were not merged", "reason", mergeErr)
	}
	return err
}

func newPreloadChild(o *options) *cobra.Command {
	defines := defineFlag{}
	cmd := &cobra.Command{
		Use:    preloadChildName,
		Short:  "Compile programs for preload --isolate",
		Hidden: true,
		Args:   usageArgs(someArgument),
		RunE: func(_ *cobra.Command, args []string) error {
			return o.preloadChild(readRequests(args, binary.Defines(defines)))
		},
	}
	cmd.Flags().VarP(defines, "define", "D", "define a preprocessor `NAME=VALUE` for all files")
	return cmd
}

// preloadChild answers until its input ends. An interrupt is the parent's
// business: dying of it would look as if the driver had died.
func (o *options) preloadChild(requests []request) error {
	signal.Ignore(os.Interrupt)
	out := json.NewEncoder(o.stdout)
	g, err := o.openGPU(cache.Options{})
	if err != nil {
		return out.Encode(isolatedReply{Error: err.Error(), Hint: hintFor(err)})
	}
	if reason := g.cache.Stats().MemoryOnly; reason != "" {
		err := out.Encode(isolatedReply{Error: "nothing can be kept: " + reason, Hint: "shadercache doctor"})
		return errors.Join(err, g.close())
	}
	if err := out.Encode(isolatedReply{Ready: true}); err != nil {
		return errors.Join(err, g.close())
	}
	for input := bufio.NewScanner(os.Stdin); input.Scan(); {
		index, err := strconv.Atoi(input.Text())
		if err != nil || index < 0 || index >= len(requests) {
			return errors.Join(fmt.Errorf("there is no program %q", input.Text()), g.close())
		}
		if err := out.Encode(isolatedReply{Program: o.preloadOne(g, requests[index])}); err != nil {
			return errors.Join(err, g.close())
		}
	}
	return g.close()
}

// preloadOne says what is wrong with a program on standard error.
func (o *options) preloadOne(g *gpu, q request) preloadLine {
	line := preloadLine{Name: q.name, err: q.err}
	if q.err == nil {
		loaded, err := g.cache.Preload(context.Background(), []*binary.Source{q.source}, nil)
		if len(loaded) == 1 {
			line = newPreloadLine(loaded[0])
		} else {
			line.err = err
		}
	}
	if line.err != nil {
		line.Error = line.err.Error()
		printError(o.stderr, line.failure())
	}
	return line
}
