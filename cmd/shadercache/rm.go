package main

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/cmd/cli"
	"github.com/shadercache/shadercache/shader"
)

const rmUsage = `Delete programs of every driver: their binaries, the machine code that no other
program uses, their stored texts, and the notes on them, such as a quarantine.

NAME deletes all programs of that name, KEY one program; of a key the first
digits are enough, at least four, where they are those of one program. A program
that is needed again is compiled. It needs no OpenGL.

The exit code is 1 when there is no such program; then nothing is deleted.`

func (o *options) rmCommand() cli.Command {
	var f struct {
		DryRun bool `flag:"dry-run" help:"list what would be deleted and delete nothing"`
	}
	return cli.Command{
		Use:      "rm NAME|KEY ... [--dry-run]",
		Short:    "Delete programs by name or key",
		Long:     rmUsage,
		Example:  "  shadercache rm conv2d_3x3",
		Args:     cli.SomeArguments("name at least one program: a name, a key or its first digits"),
		Complete: o.completePrograms(cobra.ShellCompDirectiveNoFileComp),
		Flags:    &f, Unused: cli.GPUFlags, Result: pruneResult{},
		Run: func(_ *cobra.Command, args []string) (cli.Result, error) { return o.rm(args, f.DryRun) },
	}
}

func (o *options) rm(args []string, dryRun bool) (*pruneResult, error) {
	path, dir, err := o.OpenDirectory()
	if err != nil {
		return nil, err
	}
	if dir == nil {
		return nil, noSuchProgram(args[0], path)
	}
	var keys []shader.Key
	for _, arg := range args {
		found, err := o.programKeys(dir, arg)
		if err != nil {
			return nil, err
		}
		keys = append(keys, found...)
	}
	r := &pruneResult{Dir: path, DryRun: dryRun}
	r.PruneReport, err = dir.DeletePrograms(keys, r.listing(binary.PruneOptions{}))
	return r, err
}

// programKeys returns the keys of the programs with a name, else of the one whose key
// begins with what was typed.
func (o *options) programKeys(dir *binary.Dir, typed string) ([]shader.Key, error) {
	var named, keyed []shader.Key
	add := func(name string, key shader.Key) {
		keys := &keyed
		if name == typed {
			keys = &named
		}
		if names(typed, name, key) && !slices.Contains(*keys, key) {
			*keys = append(*keys, key)
		}
	}
	err := o.eachProgram(dir, add)
	switch {
	case err != nil:
		return nil, err
	case len(named) > 0:
		return named, nil
	case len(keyed) == 0:
		return nil, noSuchProgram(typed, dir.Path())
	case len(keyed) > 1:
		err = fmt.Errorf("%s have a key that begins with %s", cli.Plural(len(keyed), "program"), typed)
		return nil, cli.Hint(err, "shadercache inspect "+typed)
	}
	return keyed, nil
}
