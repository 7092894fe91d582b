package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/cmd/cli"
	"github.com/shadercache/shadercache/drivercache/mesa"
	"github.com/shadercache/shadercache/drivercache/nvidia"
	"github.com/shadercache/shadercache/shader"
)

const auditUsage = `Compile some of the programs again, in a directory that is removed, and compare
the program binaries that the driver makes with those of the cache.

The programs are the arguments, read as preload reads them; without any, those
whose texts are stored. --sample of them are chosen by chance. What differs is
compiled a third time: where the driver itself makes other bytes each time, it
cannot be compared, and neither can a program that is not in the cache. Machine
code in the driver's own cache is not compared: NVIDIA and Mesa make other bytes
of it in each process. selftest runs kernels whose answers are known.

In a nightly job on another machine than the one that pushes, after a pull, it
finds a writer that was tampered with.

The exit code is 1 when something differs or cannot be read, or nothing could be
compared.`

const auditExample = `  shadercache pull && shadercache audit --sample 50 kernels/`

type auditFlags struct {
	cli.SourceFlags
	Sample int `flag:"sample" help:"programs to compile at most; 0 for all" must:"at least 0"`
}

// auditResult is what audit prints.
type auditResult struct {
	Driver      string      `json:"driver"`   // folder in the cache directory
	Programs    int         `json:"programs"` // that were chosen
	Same        int         `json:"same"`     // of them, program binaries that are the same
	Differs     []auditLine `json:"differs"`
	NotCompared []auditLine `json:"not_compared"`

	unread int // of NotCompared, what could not be read
}

// auditLine is a program that is not the same.
type auditLine struct {
	Name   string `json:"name"`
	Key    string `json:"key"`
	Reason string `json:"reason"`
}

func (o *options) auditCommand() cli.Command {
	f := auditFlags{Sample: 20}
	return cli.Command{
		Use:   "audit [NAME|FILE.comp|DIR|MANIFEST.json ...] [--sample N] [-D NAME=VALUE] [-I DIR]",
		Short: "Compile a sample again and compare it", Long: auditUsage, Example: auditExample,
		Args: cobra.ArbitraryArgs, Flags: &f, Result: auditResult{},
		Run: func(_ *cobra.Command, args []string) (cli.Result, error) { return o.audit(f, args) },
	}
}

func (o *options) audit(f auditFlags, args []string) (*auditResult, error) {
	dir, err := o.FilledDirectory()
	if err != nil {
		return nil, err
	}
	store, err := o.currentStore(dir)
	if err != nil {
		return nil, err
	}
	defer store.Close()
	chosen, unread, err := o.toAudit(dir, f, args)
	if err != nil {
		return nil, err
	}
	if len(chosen)+len(unread) == 0 {
		return nil, cli.Hint(errors.New("no text of a program is known"), "name files or folders as for preload, or preload with --keep-sources")
	}
	a := &audit{options: o, driver: store.Fingerprint(), cached: store,
		r: auditResult{Driver: store.Fingerprint().DirName(), Programs: len(chosen), Differs: []auditLine{}, NotCompared: unread, unread: len(unread)}}
	return &a.r, a.run(chosen)
}

// toAudit returns a sample of the programs of the arguments, or of the stored texts, and what of
// them could not be read.
func (o *options) toAudit(dir *binary.Dir, f auditFlags, args []string) (chosen []*shader.Source, unread []auditLine, err error) {
	unread = []auditLine{}
	if len(args) > 0 {
		programs, err := o.programs(preloadFlags{SourceFlags: f.SourceFlags}, args)
		if err != nil {
			return nil, nil, err
		}
		r := &preloadResult{}
		r.addPrograms(programs)
		chosen = r.sources(r.unique())
		for _, p := range r.Programs {
			if p.err != nil {
				unread = append(unread, auditLine{Name: p.Name, Reason: p.err.Error()})
			}
		}
	} else {
		for src, err := range dir.Sources() {
			if err != nil {
				unread = append(unread, auditLine{Reason: err.Error()})
			} else {
				chosen = append(chosen, src)
			}
		}
	}
	rand.Shuffle(len(chosen), func(i, j int) { chosen[i], chosen[j] = chosen[j], chosen[i] })
	if f.Sample > 0 {
		chosen = chosen[:min(f.Sample, len(chosen))]
	}
	return chosen, unread, nil
}

// audit compares one driver's programs.
type audit struct {
	*options
	driver binary.Fingerprint
	cached *binary.Store
	r      auditResult
}

func (a *audit) run(chosen []*shader.Source) error {
	now, err := a.compileAnew(chosen)
	if err != nil {
		return err
	}
	differ := []*shader.Source{}
	for _, src := range chosen {
		had, err := a.cached.Get(src.Key())
		switch {
		case now[src.Key()] == nil: // compileAnew has skipped it
		case err != nil:
			a.skip(src, "it is not in the cache")
		case a.isSame(had.Payload, now[src.Key()]):
			a.r.Same++
		default:
			differ = append(differ, src)
		}
	}
	if len(differ) == 0 {
		return nil
	}
	again, err := a.compileAnew(differ)
	if err != nil {
		return err
	}
	for _, src := range differ {
		switch {
		case again[src.Key()] == nil:
		case a.isSame(now[src.Key()], again[src.Key()]):
			a.r.Differs = append(a.r.Differs, auditLine{src.Name(), src.Key().String(), "the driver makes another program binary"})
		default:
			a.skip(src, "the driver makes other bytes each time")
		}
	}
	return nil
}

// isSame compares program binaries without what differs between processes.
func (a *audit) isSame(x, y []byte) bool {
	if strings.HasPrefix(a.driver.Vendor, "NVIDIA") {
		return bytes.Equal(nvidia.ComparableBinary(x), nvidia.ComparableBinary(y))
	}
	return mesa.SameBinary(x, y)
}

func (a *audit) skip(src *shader.Source, reason string) {
	a.r.NotCompared = append(a.r.NotCompared, auditLine{src.Name(), src.Key().String(), reason})
}

// compileAnew compiles programs in a directory that is removed, in child processes. It returns
// their binaries, and skips what does not compile.
func (a *audit) compileAnew(sources []*shader.Source) (m map[shader.Key][]byte, err error) {
	folder, err := os.MkdirTemp("", "shadercache-audit-")
	if err != nil {
		return m, err
	}
	defer os.RemoveAll(folder)
	dir, err := binary.OpenDir(filepath.Join(folder, "cache"))
	if err != nil {
		return m, err
	}
	_ = os.Unsetenv("SHADERCACHE_UPSTREAM") // the children would load from it what they are to compile
	r := &preloadResult{begin: time.Now()}
	for _, src := range sources {
		r.Programs = append(r.Programs, preloadLine{Name: src.Name(), Key: src.Key().String(), source: src})
	}
	if err := (filling{a.options, preloadFlags{isolationFlags: defaultIsolation()}, dir, r}).compilePrograms(); err != nil {
		return m, err
	}
	store, err := dir.Store(a.driver)
	if err != nil {
		return m, err
	}
	defer store.Close()
	m = map[shader.Key][]byte{}
	for _, p := range r.Programs {
		blob, err := store.Get(p.source.Key())
		if err = errors.Join(p.err, err); err != nil {
			a.skip(p.source, err.Error())
		} else {
			m[p.source.Key()] = blob.Payload
		}
	}
	return m, nil
}

// Verdict returns an error where something differs, and where nothing was compared: a job of
// every night would not notice.
func (r *auditResult) Verdict() error {
	switch {
	case len(r.Differs) > 0:
		return cli.Hint(fmt.Errorf("%d of what was compared is not what this driver makes", len(r.Differs)),
			"find out who wrote it before anything runs it; shadercache clear, and push --replace from a machine that is trusted")
	case r.unread > 0:
		return fmt.Errorf("%s could not be read", cli.Plural(r.unread, "text"))
	case r.Same == 0:
		return cli.Hint(errors.New("none of the programs could be compared"), "shadercache pull, or preload, before")
	}
	return nil
}

func (r *auditResult) Print(w io.Writer) {
	fmt.Fprintf(w, "%s of %s: %d the same\n", cli.Plural(r.Programs, "program"), cli.EscapeName(r.Driver), r.Same)
	for _, part := range []struct {
		title string
		lines []auditLine
	}{{"differs", r.Differs}, {"not compared", r.NotCompared}} {
		for _, l := range part.lines {
			fmt.Fprintf(w, "%s\t%s\t%s\n", part.title, cli.EscapeName(l.Name), cli.EscapeName(l.Reason))
		}
	}
}
