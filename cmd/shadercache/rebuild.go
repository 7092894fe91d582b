package main

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/spf13/cobra"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/cmd/cli"
	"github.com/shadercache/shadercache/recording"
)

const rebuildUsage = `Compile the programs that the current driver does not have, after a driver
update or on another GPU.

It needs the texts of the programs, stored by preload --keep-sources or by an
application that sets Options.KeepSources. Programs that are in quarantine, that
failed to compile before, or that are in the upstream directory are left out.
Programs of other drivers stay until shadercache prune --other-drivers.

Recordings, which exec --record wrote, are replayed as preload does, after the
programs of texts: the driver compiles what it does not have.

It may run beside programs that use the directory. Programs are compiled in
child processes: see preload.

An application does the same in the background with Cache.Rebuild.`

const rebuildExample = `  shadercache rebuild --limit 500 && shadercache prune --other-drivers
  shadercache rebuild recordings/app`

// rebuildResult is what rebuild prints.
type rebuildResult struct {
	Driver  string        `json:"driver"`  // folder in the cache directory
	Sources int           `json:"sources"` // texts that are stored
	Missing []cli.Program `json:"missing"` // that the current driver does not have: key, name, and hits and last use of all drivers

	*preloadResult // nil with --dry-run
}

type rebuildFlags struct {
	isolationFlags
	reportFlags
	Limit  int  `flag:"limit" help:"programs to compile at most, the most used first (default all)" must:"at least 0"`
	DryRun bool `flag:"dry-run" help:"list the missing programs and compile nothing"`
}

func (o *options) rebuildCommand() cli.Command {
	f := rebuildFlags{isolationFlags: defaultIsolation()}
	return cli.Command{
		Use:     "rebuild [RECORDING ...] [--limit N] [--dry-run] [--failed-only|--quiet] " + isolationUsage,
		Short:   "Compile again after a driver update",
		Long:    rebuildUsage,
		Example: rebuildExample,
		Args:    cobra.ArbitraryArgs,
		Flags:   &f, GPUs: cli.EachModel, Result: rebuildResult{},
		Run: func(cmd *cobra.Command, args []string) (cli.Result, error) {
			recordings, err := openRecordings(args)
			if err == nil {
				err = f.forRecordings(cmd, recordings)
			}
			if err != nil {
				return nil, err
			}
			return nil, o.rebuild(f, recordings)
		},
	}
}

// replays returns how many recorded programs to compile after others.
func (f *rebuildFlags) replays(others int) int {
	if f.Limit == 0 {
		return math.MaxInt
	}
	return max(f.Limit-others, 0)
}

func (o *options) rebuild(f rebuildFlags, recordings []*recording.Recording) error {
	begin := time.Now()
	path, dir, err := o.OpenDirectory()
	if err == nil && (dir == nil && len(recordings) > 0 || dir != nil && !f.DryRun) {
		dir, err = o.openToFill()
	}
	if err != nil {
		return err
	}
	if dir == nil {
		return cli.Hint(fmt.Errorf("there is no cache in %s", path), "shadercache preload --keep-sources kernels/")
	}
	fill := func() error { return o.rebuildIn(dir, f, recordings, begin) }
	if f.DryRun || f.NoIsolate {
		return fill()
	}
	return o.withRemote(dir, fill)
}

func (o *options) rebuildIn(dir *binary.Dir, f rebuildFlags, recordings []*recording.Recording, begin time.Time) error {
	stored := o.WithUpstream(dir)
	r, err := o.missing(stored, f.Limit)
	if err != nil {
		return err
	}
	if !f.DryRun {
		r.preloadResult = &preloadResult{begin: begin}
		r.addMissing(stored, r.Missing)
		if err := r.addReplays(o.Logger(), recordings, f.replays(len(r.Missing))); err != nil {
			return err
		}
		how := preloadFlags{isolationFlags: f.isolationFlags, driver: r.Driver}
		if err := (filling{o, how, dir, r.preloadResult}).compile(); err != nil {
			return err
		}
	}
	return o.reportPrograms(f.reportFlags, r.preloadResult, r)
}

// addMissing adds programs that are not tried yet, with the texts that the directory keeps.
func (r *preloadResult) addMissing(dir *binary.Dir, missing []cli.Program) {
	r.Programs = make([]preloadLine, 0, len(missing))
	for _, m := range missing {
		line := preloadLine{Name: cmp.Or(m.Name, m.Key.Short()), Key: m.Key.String()} // no driver may have the program any more
		if line.source, line.err = dir.Source(m.Key); line.err != nil {
			line.err = fmt.Errorf("%s: %w", m.Key.Short(), line.err)
		}
		r.Programs = append(r.Programs, line)
	}
}

// currentStore opens the store of the driver of this machine.
func (o *options) currentStore(dir *binary.Dir) (*binary.Store, error) {
	fingerprint, err := o.CurrentFingerprint()
	if err != nil {
		return nil, err
	}
	return dir.Store(fingerprint)
}

// missing returns the programs that the current driver does not have.
func (o *options) missing(dir *binary.Dir, limit int) (*rebuildResult, error) {
	store, err := o.currentStore(dir)
	if err != nil {
		return nil, err
	}
	defer store.Close()
	r := &rebuildResult{Driver: store.Fingerprint().DirName(), Sources: dir.SourceCount()}
	missing, err := store.Missing()
	if err != nil {
		return nil, err
	}
	if limit > 0 {
		missing = missing[:min(limit, len(missing))]
	}
	r.Missing = make([]cli.Program, len(missing))
	for i, m := range missing {
		r.Missing[i] = cli.NewProgram(r.Driver, m)
	}
	return r, nil
}

func (r *rebuildResult) Print(w io.Writer) {
	switch {
	case r.preloadResult != nil && len(r.Programs) > 0:
		r.preloadResult.Print(w)
	case r.Sources == 0:
		fmt.Fprint(w, "no sources are stored: see shadercache rebuild --help\n")
	case len(r.Missing) == 0:
		fmt.Fprintf(w, "%s has the programs of all %s\n", r.Driver, cli.Plural(r.Sources, "stored source"))
	default:
		fmt.Fprint(w, "key\thits\tlast use\tname\n")
		for _, m := range r.Missing {
			fmt.Fprintf(w, "%s\t%d\t%s\t%s\n", m.Key.Short(), m.Hits, lastUse(m.LastUse), cli.EscapeName(m.Name))
		}
		fmt.Fprintf(w, "\n%s to compile for %s\n", cli.Plural(len(r.Missing), "program"), r.Driver)
	}
}

// lastUse returns an age for a table, "-" where no driver has the program any more.
func lastUse(at time.Time) string {
	if at.IsZero() {
		return "-"
	}
	return cli.ReadableAge(time.Since(at))
}
