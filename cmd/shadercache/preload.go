package main

import (
	"cmp"
	"errors"
	"math"
	"time"

	"github.com/spf13/cobra"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/cmd/cli"
	"github.com/shadercache/shadercache/conv2d"
	"github.com/shadercache/shadercache/server/client"
)

const preloadUsage = `Put programs into the cache, so that the first start that needs them is fast.

Each argument is one of
  NAME            a built-in program: conv2d_3x3, conv2d_5x5, gemm_small
  FILE.comp       a GLSL compute shader
  DIR             every .comp file below a folder
  MANIFEST.json   {"programs": [{"name": "...", "file": "...",
                  "defines": {"TILE": "32"}}]}
                  files are relative to the manifest; without a file the name is
                  that of a built-in program; "version" replaces the #version
                  line of a file, and "prefix" is text before that of the file,
                  for sources that are composed at run time. In place of a
                  file, "text" is the final text and "text_file" a file with it,
                  and "key" alone a program whose text the directory keeps, as
                  in the list at the end of a report
  RECORDING       a folder that exec --record wrote: every program of it, also
                  vertex and fragment shaders

A final text reaches the driver byte for byte, and so does a file that begins
with #version, without defines and #include. So a program in any language that
gives the same text to OpenGL, started by shadercache exec, finds its machine
code on its first start: write to text_file what it compiles, after its own
preprocessing.

--from-history takes what starts asked for that ran with SHADERCACHE_HISTORY=1,
of as many starts first what was asked for earlier. What --budget leaves out is
counted as skipped. -D overrides a manifest, and changes no final text.

#include "x" is searched in the folder of the including file, then in those of
-I, #include <x> in those of -I. resident.glsl and the other parts of
shadercache are found without -I. #pragma once works.

Programs that are not in the cache are compiled in child processes. Where one
fails, the others are put in, and the exit code is 1. In JSON, "cause" is
  compile      the driver does not compile or link it. This is recorded for the
               driver, and the program is not compiled again without
               --retry-failed. shadercache why KEY prints the whole log.
  crash        the driver crashed, and the program is in quarantine for a day:
               no start loads it
  timeout      it took longer than --timeout, and is in quarantine for a minute,
               longer each time
  memory       it took more memory than --memory; both limits are for one
               program
  lost         its process ended twice without a signal of the driver. Where it
               ended itself it is in quarantine as after a timeout; else it was
               killed, for instance by a system without memory
  quarantine   it is in quarantine, from an earlier run or another program
  store        it was compiled, but the cache directory could not be written
  other        it could not be read, or OpenGL reported another error

The first interrupt waits for the programs that are being compiled and stores
them, a second one ends at once. What the driver stored for each child is merged
at the end, so that the next start finds it.

load_ms is the time to compile or load, prime_ms the time of the first dispatch,
which makes the driver finish its work.

With --server, a server compiles or loads the programs, and keeps them resident
and in its own directory: its first client that needs one finds it. load_ms is
then the time of the request.

The programs of a recording are linked in contexts of the API, version, profile
and flags that they were recorded in, for the driver's own cache alone: what a
program that exec starts will find. "primed" is how the driver was made to
finish one: by a dispatch of no groups, by a draw of no fragment, or not, for a
part of a pipeline. "need_run" counts programs of graphics whose machine code
Mesa makes at a draw, from state that a recording does not have: the result says
how they become warm. One that the driver refused when it was recorded, and
refuses again, is no failure: its origin is "refused". Recordings have no
quarantine, and are always compiled in child processes.`

func (o *options) preloadCommand() cli.Command {
	how := preloadFlags{isolationFlags: defaultIsolation()}
	return cli.Command{
		Use: "preload NAME|FILE.comp|DIR|MANIFEST.json|RECORDING|--from-history ... [--budget D] [-D NAME=VALUE] [-I DIR] [--server PATH] [--keep-sources] [--retry-failed] [--failed-only|--quiet] " +
			isolationUsage,
		Short:   "Put programs into the cache before they are needed",
		Long:    preloadUsage,
		Example: "  shadercache preload kernels/ conv2d_3x3 -D TILE=32",
		Args: func(cmd *cobra.Command, args []string) error {
			if how.FromHistory {
				return nil
			}
			return cli.SomeArguments("name at least one program, file, folder, manifest or recording")(cmd, args)
		},
		Complete: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return conv2d.BuiltinNames(), cobra.ShellCompDirectiveDefault
		},
		Flags: &how, GPUs: cli.EachModel, Result: preloadResult{},
		Check: func(cmd *cobra.Command, _ []string) error { return how.check(cmd) },
		Run: func(cmd *cobra.Command, args []string) (cli.Result, error) {
			return nil, o.preload(cmd, args, how)
		},
	}
}

// preloadFlags are the flags of preload.
type preloadFlags struct {
	isolationFlags
	reportFlags
	cli.SourceFlags
	historyFlags
	KeepSources bool   `flag:"keep-sources" help:"store the text of each program too, about 1 KB, for rebuild and why"`
	RetryFailed bool   `flag:"retry-failed" help:"compile again what did not compile in an earlier run"`
	Server      string `flag:"server" help:"make the programs resident in the server at this socket; auto: where one runs; start: start one where none runs (default none)" words:"auto start off"`

	driver string // that compiles, where it is known: see isolate.Pool.Driver
}

// check returns an error for flags that mean nothing beside others, or where a server compiles.
func (f *preloadFlags) check(cmd *cobra.Command) error {
	here := f.Server == "" || f.Server == client.Off
	return cmp.Or(cli.RefuseUnused(cmd, here, "programs that this process compiles: a server has settings of its own",
		"jobs", "timeout", "memory", "no-isolate", "keep-sources", "retry-failed", "dir", "device"),
		cli.RefuseUnused(cmd, f.FromHistory, "--from-history", "executable"))
}

// cacheOptions returns the options of the caches that compile.
func (f *preloadFlags) cacheOptions() cache.Options {
	return cache.Options{KeepSources: f.KeepSources, KeepCompileErrors: true, FillOnly: true}
}

func (o *options) preload(cmd *cobra.Command, args []string, how preloadFlags) error {
	r := &preloadResult{begin: time.Now()}
	recordings, others, err := splitRecordings(args)
	if err == nil {
		err = how.forRecordings(cmd, recordings)
	}
	if err != nil {
		return err
	}
	programs, err := o.programs(how, others)
	if err != nil {
		return err
	}
	r.addPrograms(programs)
	if served, err := o.preloadServed(how, r, len(recordings)); served || err != nil {
		return err
	}
	if err := r.addReplays(o.Logger(), recordings, math.MaxInt); err != nil {
		return err
	}
	dir, err := o.openToFill()
	if err != nil {
		return err
	}
	if how.RetryFailed {
		if err := forgetFailures(dir, r); err != nil {
			return err
		}
	}
	f := filling{o, how, dir, r}
	if how.NoIsolate || len(r.unique()) == 0 && len(r.replays()) == 0 {
		err = f.compile()
	} else {
		err = o.withRemote(dir, f.compile)
	}
	if err != nil {
		return err
	}
	return o.reportPrograms(how.reportFlags, r, r)
}

// openToFill opens the cache directory for a command that is useless without one. Of a
// directory that --dir names a private place does not take the place.
func (o *options) openToFill() (*binary.Dir, error) {
	if l := o.Place().Find(); o.Dir != "" && l.Private() {
		return nil, cli.Hint(l.Err, "choose another directory with --dir")
	}
	return o.MakeDirectory()
}

// forgetFailures deletes the compile errors that earlier runs recorded, of all drivers.
func forgetFailures(dir *binary.Dir, r *preloadResult) error {
	return dir.EachStore(func(_ string, store *binary.Store) error {
		var errs []error
		for _, p := range r.Programs {
			if p.source != nil {
				errs = append(errs, store.ForgetFailure(p.source.Key()))
			}
		}
		return errors.Join(errs...)
	}, nil)
}
