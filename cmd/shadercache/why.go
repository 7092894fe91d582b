package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/binary/explain"
	"github.com/shadercache/shadercache/cmd/cli"
	"github.com/shadercache/shadercache/shader"
)

const whyUsage = `Explain why the current driver finds a program or does not.

The argument is one of preload's, or the key, or its first digits, of a program
that is stored for any driver. For each program it prints whether it is stored,
damaged, rejected, in quarantine, or failed to compile before, and compares:
  - with other drivers that have the program: the fields of the fingerprint that
    differ, such as the version after a driver update;
  - with programs of the same name that have another key: the first line that
    differs in the text, where both texts are stored.

Of a folder or manifest, what cannot be read is reported after the others, and
the exit code is 1. Programs of $SHADERCACHE_UPSTREAM are included. It needs
OpenGL, compiles nothing, and changes no program on disk.`

// whyResult is what why prints.
type whyResult struct {
	Driver   string            `json:"driver"`
	Programs []explain.Program `json:"programs"`
	partial                    // files that could not be read
}

func (o *options) whyCommand() cli.Command {
	var f cli.SourceFlags
	return cli.Command{
		Use:      "why FILE.comp|NAME|KEY [-D NAME=VALUE] [-I DIR]",
		Short:    "Explain why a program is found or not",
		Long:     whyUsage,
		Example:  "  shadercache why kernels/blur.comp -D RADIUS=3",
		Args:     cli.OneArgument("name one program: a file, a name, or a key"),
		Complete: o.completePrograms(cobra.ShellCompDirectiveDefault),
		Flags:    &f, GPUs: cli.EachModel, Result: whyResult{},
		Run: func(_ *cobra.Command, args []string) (cli.Result, error) {
			return o.why(args[0], f)
		},
	}
}

func (o *options) why(typed string, f cli.SourceFlags) (*whyResult, error) {
	fingerprint, err := o.CurrentFingerprint()
	if err != nil {
		return nil, err
	}
	path, err := o.Directory()
	if err != nil {
		return nil, err
	}
	dir, err := cli.OpenToRead(path)
	upstream := o.Upstream()
	if err != nil && upstream != nil {
		dir, upstream, err = upstream, nil, nil // as glctx and cache do
	}
	if err != nil {
		return nil, err
	}
	dirs := []*binary.Dir{dir}
	if upstream != nil {
		dir = dir.WithUpstream(upstream)
		dirs = append(dirs, upstream)
	}
	programs, unread, err := o.findPrograms(dirs, typed, f)
	if err != nil {
		return nil, err
	}
	store, err := dir.Store(fingerprint)
	if err != nil {
		return nil, err
	}
	defer store.Close()
	r := &whyResult{Driver: fingerprint.DirName(), Programs: []explain.Program{}, partial: partial{cli.Several(unread)}}
	x, err := explain.New(store, dirs)
	if err != nil {
		return nil, err
	}
	for _, w := range programs {
		r.Programs = append(r.Programs, x.Explain(w.key, w.source))
	}
	return r, nil
}

// explained is a program to explain.
type explained struct {
	key    shader.Key
	source *shader.Source // nil: unknown
}

// findPrograms returns the programs that an argument names: files or a built-in
// program, else those on disk with that key or name. unread has an error for each file
// that could not be read, where others could.
func (o *options) findPrograms(dirs []*binary.Dir, typed string, f cli.SourceFlags) (list []explained, unread []error, err error) {
	for _, p := range sourceReader(&f).Read(typed) {
		if p.Err != nil {
			unread = append(unread, fmt.Errorf("%s: %w", p.Name, p.Err))
			continue
		}
		list = append(list, explained{p.Source.Key(), p.Source})
	}
	if len(list) > 0 {
		return list, unread, nil
	}
	if list, err = o.storedPrograms(dirs, typed); err == nil && len(list) == 0 {
		err = cli.Hint(errors.Join(unread...), "shadercache list shows the keys of stored programs")
	}
	return list, nil, err
}

// storedPrograms returns the programs of all drivers with a key or name, each once.
func (o *options) storedPrograms(dirs []*binary.Dir, typed string) (list []explained, err error) {
	seen := map[shader.Key]bool{}
	add := func(name string, key shader.Key) {
		if names(typed, name, key) && !seen[key] {
			seen[key] = true
			list = append(list, explained{key: key})
		}
	}
	for _, dir := range dirs {
		err = errors.Join(err, o.eachProgram(dir, add))
		for source, err := range dir.Sources() {
			if err == nil {
				add(source.Name(), source.Key())
			}
		}
	}
	return list, err
}

func (r *whyResult) Print(w io.Writer) {
	for i, e := range r.Programs {
		if i > 0 {
			fmt.Fprintln(w)
		}
		printExplanation(w, r.Driver, e)
	}
}

func printExplanation(w io.Writer, driver string, e explain.Program) {
	state := "is not stored for"
	switch {
	case e.Upstream:
		state = "is stored upstream for"
	case e.Stored:
		state = "is stored for"
	}
	fmt.Fprintf(w, "%s %s %s %s\n", cli.EscapeName(e.Name), e.Key.Short(), state, driver)
	if e.Checked {
		fmt.Fprintln(w, "  passed its check")
	}
	if e.Damage != "" {
		fmt.Fprintf(w, "  damaged: %s\n", cli.EscapeName(e.Damage))
	}
	if e.Rejected != "" {
		fmt.Fprintf(w, "  was rejected: %s\n", cli.EscapeName(e.Rejected))
	}
	if e.Quarantine != nil {
		fmt.Fprintf(w, "  %s: %s\n", e.Quarantine.Consequence(), cli.EscapeName(e.Quarantine.Reason))
	}
	if e.Quarantine != nil && e.Quarantine.IsOfBinary() {
		fmt.Fprintln(w, "    until then no binary of it is loaded or stored")
	}
	if e.Failure != "" {
		fmt.Fprintf(w, "  does not compile: %s\n", strings.ReplaceAll(cli.EscapeText(strings.TrimSpace(e.Failure)), "\n", "\n    "))
	}
	for _, other := range e.Others {
		fmt.Fprintf(w, "  %s has it\n", other.Dir)
		for _, d := range other.Diffs {
			fmt.Fprintf(w, "    %s\tnow %q\tthere %q\n", d.Field, d.Ours, d.Theirs)
		}
	}
	for _, similar := range e.Similar {
		fmt.Fprintf(w, "  %s has the same name and another text\n", similar.Key.Short())
		if d := similar.Diff; d != nil {
			fmt.Fprintf(w, "    line %d\tnow %q\tthere %q\n", d.Line, d.Ours, d.Theirs)
		}
	}
}
