package main

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/conv2d"
	"github.com/shadercache/shadercache/internal/cli"
	"github.com/shadercache/shadercache/shader"
	"github.com/shadercache/shadercache/shader/manifest"
)

const preloadUsage = `Put programs into the cache, so that the first start that needs them is fast.

Each argument is one of
  NAME            a built-in program: conv2d_3x3, conv2d_5x5, gemm_small
  FILE.comp       a GLSL compute shader
  DIR             every .comp file below a folder
  MANIFEST.json   {"programs": [{"name": "...", "file": "...", "defines": {"TILE": "32"}}]}
                  files are relative to the manifest; without a file the name
                  is that of a built-in program; "version" replaces the #version
                  line of a file, and "prefix" is text before that of the file, for
                  sources that are composed at run time

-D sets a preprocessor definition for all files; it overrides a manifest's.

#include "x" is searched in the folder of the including file, then in those of -I,
#include <x> in those of -I. resident.glsl and the other parts of shadercache are
found without -I. #pragma once works.

Programs that are not in the cache are compiled. Where one fails, the others are
put in, and the exit code is 1.

--isolate compiles in child processes, --jobs of them side by side. A child that
dies, or needs longer than --timeout for a program, is replaced. A program that
crashes its child, or with which two children were lost, is reported and put in
quarantine for a day, so that no start loads it; the others are compiled. What the
driver stored for each child is merged afterwards, so that the next start finds it.

load_ms is the time to compile or load, prime_ms the time of the first dispatch, which
makes the driver finish its work.

--keep-sources stores the text of each program too, about 1 KB, so that
shadercache rebuild can compile it again after a driver update.`

// preloadResult is what preload prints.
type preloadResult struct {
	Programs []preloadLine `json:"programs"`
	Failed   int           `json:"failed"` // programs

	Isolation *isolationTimes `json:"isolation,omitempty"` // with --isolate
}

// preloadLine is the result for one program.
type preloadLine struct {
	Name        string  `json:"name"`
	Key         string  `json:"key"`      // empty where the file could not be read
	Origin      string  `json:"origin"`   // compiled, disk or resident
	LoadMillis  float64 `json:"load_ms"`  // compiling or loading
	PrimeMillis float64 `json:"prime_ms"` // the first dispatch, which makes the driver finish its work
	Error       string  `json:"error,omitempty"`
	Quarantined bool    `json:"set_aside,omitempty"` // a process died of it

	err error // matches cli.ErrReported where a child has printed it
}

func newPreload(o *options) *cobra.Command {
	var how preloadFlags
	var f isolationFlags
	cmd := &cobra.Command{
		Use:                   "preload NAME|FILE.comp|DIR|MANIFEST.json ... [-D NAME=VALUE] [-I DIR] [--keep-sources] [--isolate [--jobs N] [--timeout D]]",
		DisableFlagsInUseLine: true,
		Short:                 "Put programs into the cache before they are needed",
		Long:                  preloadUsage,
		Example:               "  shadercache preload kernels/ conv2d_3x3 -D TILE=32",
		Args:                  cli.SomeArguments("name at least one program, file, folder or manifest"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.check(cmd); err != nil {
				return cli.Usage(cmd, err)
			}
			return o.preload(args, how, f)
		},
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return conv2d.BuiltinNames(), cobra.ShellCompDirectiveDefault
		},
	}
	how.add(cmd)
	f.add(cmd)
	return o.WithResult(cmd, preloadResult{})
}

// preloadFlags are the flags of preload alone.
type preloadFlags struct {
	sourceFlags
	keepSources bool
}

func (f *preloadFlags) add(cmd *cobra.Command) {
	f.sourceFlags.add(cmd)
	cmd.Flags().BoolVar(&f.keepSources, "keep-sources", false, "store the text of each program too, for rebuild and why")
}

func (o *options) preload(args []string, how preloadFlags, f isolationFlags) error {
	begin := time.Now()
	programs := how.reader().ReadAll(args)
	work := func() (*preloadResult, error) { return o.preloadHere(programs, how.keepSources) }
	if f.isolate {
		work = func() (*preloadResult, error) { return o.preloadIsolated(f, programs, how.keepSources, begin) }
	}
	r, err := work()
	if err != nil {
		return err
	}
	return o.reportPrograms(r, r, r.Print)
}

// preloadHere compiles in this process.
func (o *options) preloadHere(programs []manifest.Program, keepSources bool) (*preloadResult, error) {
	g, err := o.OpenGPU(cache.Options{KeepSources: keepSources, FillOnly: true})
	if err != nil {
		return nil, err
	}
	r, err := o.preloadWith(g, programs)
	if err := errors.Join(err, g.Close()); err != nil {
		return nil, err
	}
	return r, nil
}

// reportPrograms prints the failures of programs, which may be nil, and then the result
// that holds them.
func (o *options) reportPrograms(programs *preloadResult, result any, print func(io.Writer)) error {
	if programs == nil {
		return o.Result(result, print)
	}
	for _, p := range programs.Programs {
		if p.err != nil && !errors.Is(p.err, cli.ErrReported) {
			cli.PrintError(o.Stderr, p.failure())
		}
	}
	if err := o.Result(result, print); err != nil {
		return err
	}
	if programs.Failed > 0 {
		return cli.ErrReported
	}
	return nil
}

func (o *options) preloadWith(g *cli.GPU, programs []manifest.Program) (*preloadResult, error) {
	var sources []*shader.Source
	for _, q := range programs {
		if q.Err == nil {
			sources = append(sources, q.Source)
		}
	}
	bar := o.NewProgress(len(sources), "preloading")
	ctx, stop := cli.Interruptible()
	defer stop()
	loaded, err := g.Cache.Preload(ctx, sources, func(cache.PreloadResult) { _ = bar.Add(1) })
	_ = bar.Finish()
	if err != nil {
		return nil, err
	}
	r := &preloadResult{Programs: make([]preloadLine, 0, len(programs))}
	for _, q := range programs {
		line := preloadLine{Name: q.Name, err: q.Err}
		if q.Err == nil {
			line = newPreloadLine(loaded[0])
			loaded = loaded[1:]
		}
		r.Programs = append(r.Programs, line)
	}
	r.count()
	return r, nil
}

// count counts the failures and sets their texts.
func (r *preloadResult) count() {
	for i := range r.Programs {
		p := &r.Programs[i]
		if p.err != nil {
			r.Failed++
		}
		if p.err != nil && p.Error == "" {
			p.Error = p.err.Error()
		}
	}
}

func newPreloadLine(p cache.PreloadResult) preloadLine {
	line := preloadLine{Name: p.Name, Key: p.Key.String(), err: p.Err}
	if p.Err == nil {
		line.Origin = p.Origin.String()
		line.LoadMillis = cli.Milliseconds(time.Duration(p.LoadNanos + p.CompileNanos))
		line.PrimeMillis = cli.Milliseconds(time.Duration(p.PrimeNanos))
	}
	return line
}

// failure returns the error with the name of the program, which a compile error has.
func (p preloadLine) failure() error {
	if p.Name == "" || errors.As(p.err, new(*shader.CompileError)) {
		return p.err
	}
	return fmt.Errorf("%s: %w", p.Name, p.err)
}

func (r *preloadResult) Print(w io.Writer) {
	origins := map[string]int{}
	fmt.Fprint(w, "program\torigin\tload\tprime\tkey\n")
	for _, p := range r.Programs {
		if p.err != nil {
			fmt.Fprintf(w, "%s\tfailed\t-\t-\t-\n", cli.EscapeName(p.Name))
			continue
		}
		origins[p.Origin]++
		fmt.Fprintf(w, "%s\t%s\t%.2f ms\t%.2f ms\t%s\n", cli.EscapeName(p.Name), p.Origin, p.LoadMillis, p.PrimeMillis, p.Key[:12])
	}
	fmt.Fprintf(w, "\n%s: %d compiled, %d from disk, %d failed\n", cli.Plural(len(r.Programs), "program"),
		origins["compiled"], origins["disk"], r.Failed)
}

// defineFlag collects NAME=VALUE; NAME alone is NAME=1, as for compilers.
type defineFlag shader.Defines

func (d defineFlag) Type() string { return "NAME=VALUE" }

func (d defineFlag) String() string { return "" }

func (d defineFlag) Set(text string) error {
	name, value, found := strings.Cut(text, "=")
	if name == "" {
		return fmt.Errorf("%q is not NAME=VALUE", text)
	}
	if !found {
		value = "1"
	}
	d[name] = value
	return nil
}
