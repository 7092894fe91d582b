package main

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/cmd/cli"
	"github.com/shadercache/shadercache/drivercache/mesa"
	"github.com/shadercache/shadercache/drivercache/nvidia"
	"github.com/shadercache/shadercache/shader"
)

const auditUsage = `Compile some of the programs again, in a directory that is removed, and compare
what the driver makes with what the cache has: the program binaries, and the
machine code in NVIDIA's own cache.

The programs are the arguments, read as preload reads them; without any, those
whose texts are stored. --sample of them are chosen by chance. What differs is
compiled a third time: where the driver itself makes other bytes each time, it
cannot be compared, and neither can a program that is not in the cache, and
Mesa's machine code, which has addresses of the process that made it. There
selftest runs kernels whose answers are known.

In a nightly job on another machine than the one that pushes, after a pull, it
finds a writer that was tampered with.

The exit code is 1 when something differs.`

const auditExample = `  shadercache pull && shadercache audit --sample 50 kernels/`

type auditFlags struct {
	sourceFlags
	Sample int `flag:"sample" help:"programs to compile at most; 0 for all"`
}

// auditResult is what audit prints.
type auditResult struct {
	Driver      string      `json:"driver"`       // folder in the cache directory
	Programs    int         `json:"programs"`     // that were chosen
	Same        int         `json:"same"`         // of them, program binaries that are the same
	MachineCode int         `json:"machine_code"` // entries of the driver's own cache that are the same
	Differs     []auditLine `json:"differs"`
	NotCompared []auditLine `json:"not_compared"`
}

// auditLine is a program, or an entry of the driver's own cache.
type auditLine struct {
	Name   string `json:"name"`
	Key    string `json:"key,omitempty"` // of a program
	Reason string `json:"reason,omitempty"`
}

func (o *options) auditCommand() cli.Command {
	f := auditFlags{Sample: 20}
	return cli.Command{
		Use:   "audit [NAME|FILE.comp|DIR|MANIFEST.json ...] [--sample N] [-D NAME=VALUE] [-I DIR]",
		Short: "Compile a sample again and compare it", Long: auditUsage, Example: auditExample,
		Args: cobra.ArbitraryArgs, Flags: &f, Result: auditResult{},
		Check: func(*cobra.Command, []string) error {
			if f.Sample < 0 {
				return errors.New("--sample must be 1 or more, or 0 for all")
			}
			return nil
		},
		Run: func(_ *cobra.Command, args []string) (cli.Result, error) {
			r, err := o.audit(f, args)
			if r == nil {
				return nil, err
			}
			return r, err
		},
	}
}

func (o *options) audit(f auditFlags, args []string) (*auditResult, error) {
	path, dir, err := o.ReadDirectory()
	if err == nil && dir == nil {
		err = fmt.Errorf("there is no cache in %s", path)
	}
	if err != nil {
		return nil, err
	}
	fingerprint, err := o.CurrentFingerprint()
	if err != nil {
		return nil, err
	}
	store, err := dir.Store(fingerprint)
	if err != nil {
		return nil, err
	}
	defer store.Close()
	chosen, err := o.toAudit(dir, f, args)
	if err != nil {
		return nil, err
	}
	if len(chosen) == 0 {
		return nil, cli.Hint(errors.New("no text of a program is known"), "name files or folders as for preload, or preload with --keep-sources")
	}
	a := &audit{options: o, driver: fingerprint, cached: store, dir: dir,
		r: auditResult{Driver: fingerprint.DirName(), Programs: len(chosen), Differs: []auditLine{}, NotCompared: []auditLine{}}}
	return &a.r, a.run(chosen)
}

// toAudit returns a sample of the programs of the arguments, or of the stored texts.
func (o *options) toAudit(dir *binary.Dir, f auditFlags, args []string) (chosen []*shader.Source, err error) {
	if len(args) > 0 {
		programs, err := o.programs(preloadFlags{sourceFlags: f.sourceFlags}, args)
		if err != nil {
			return nil, err
		}
		r := &preloadResult{}
		r.addPrograms(programs)
		chosen = r.sources(r.unique())
	} else {
		for src, err := range dir.Sources() {
			if err == nil {
				chosen = append(chosen, src)
			}
		}
	}
	rand.Shuffle(len(chosen), func(i, j int) { chosen[i], chosen[j] = chosen[j], chosen[i] })
	if f.Sample > 0 {
		chosen = chosen[:min(f.Sample, len(chosen))]
	}
	return chosen, nil
}

// audit compares one driver's programs.
type audit struct {
	*options
	driver binary.Fingerprint
	dir    *binary.Dir
	cached *binary.Store
	r      auditResult
}

// made is what the driver makes of programs when it has nothing of them.
type made struct {
	binaries map[shader.Key][]byte
	code     map[string][sha256.Size]byte
	errors   map[shader.Key]error
}

func (a *audit) run(chosen []*shader.Source) error {
	now, err := a.compileAnew(chosen)
	if err != nil {
		return err
	}
	before := made{map[shader.Key][]byte{}, machineCode(a.dir.DriverDir(), now.code), nil}
	differ := []*shader.Source{}
	for _, src := range chosen {
		key := src.Key()
		had, err := a.cached.Get(key)
		switch {
		case now.errors[key] != nil:
			a.skip(src, now.errors[key].Error())
		case err != nil:
			a.skip(src, "it is not in the cache")
		case bytes.Equal(mesa.ComparableBinary(had.Payload), now.binaries[key]):
			a.r.Same++
		default:
			differ = append(differ, src)
		}
		if err == nil {
			before.binaries[key] = mesa.ComparableBinary(had.Payload)
		}
	}
	codeDiffers := false
	for name, sum := range before.code {
		codeDiffers = codeDiffers || sum != now.code[name]
	}
	again := now
	if codeDiffers {
		differ = chosen // which of them an entry belongs to is not known
	}
	if len(differ) > 0 {
		if again, err = a.compileAnew(differ); err != nil {
			return err
		}
	}
	a.compare(before, now, again, differ)
	if mesa.CountEntries(filepath.Join(a.dir.DriverDir(), mesa.Folder, mesa.ItemsFolder)) > 0 {
		a.r.NotCompared = append(a.r.NotCompared, auditLine{Name: "machine code", Reason: "Mesa's depends on the process that made it"})
	}
	return nil
}

// compare judges what differs: the driver makes the same each time, or not.
func (a *audit) compare(before, now, again made, differ []*shader.Source) {
	const varies = "the driver makes other bytes each time"
	for _, src := range differ {
		key := src.Key()
		switch had, known := before.binaries[key]; {
		case !known || bytes.Equal(had, now.binaries[key]):
		case bytes.Equal(now.binaries[key], again.binaries[key]):
			a.r.Differs = append(a.r.Differs, auditLine{src.Name(), key.String(), "the driver makes another program binary"})
		default:
			a.skip(src, varies)
		}
	}
	for name, sum := range before.code {
		switch {
		case sum == now.code[name]:
			a.r.MachineCode++
		case again.code[name] == now.code[name]:
			a.r.Differs = append(a.r.Differs, auditLine{Name: name, Reason: "the driver makes other machine code"})
		default:
			a.r.NotCompared = append(a.r.NotCompared, auditLine{Name: name, Reason: varies})
		}
	}
}

func (a *audit) skip(src *shader.Source, reason string) {
	a.r.NotCompared = append(a.r.NotCompared, auditLine{src.Name(), src.Key().String(), reason})
}

// compileAnew compiles programs in a directory that is removed, in child processes.
func (a *audit) compileAnew(sources []*shader.Source) (m made, err error) {
	folder, err := os.MkdirTemp("", "shadercache-audit-")
	if err != nil {
		return m, err
	}
	defer os.RemoveAll(folder)
	dir, err := binary.OpenDir(filepath.Join(folder, "cache"))
	if err != nil {
		return m, err
	}
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
	m = made{map[shader.Key][]byte{}, machineCode(dir.DriverDir(), nil), map[shader.Key]error{}}
	for _, p := range r.Programs {
		key := p.source.Key()
		blob, err := store.Get(key)
		if err = errors.Join(p.err, err); err != nil {
			m.errors[key] = err
		} else {
			m.binaries[key] = mesa.ComparableBinary(blob.Payload)
		}
	}
	return m, nil
}

// machineCode returns the sums of the entries of NVIDIA's own cache: of those with the names
// that only has, unless it is nil. Mesa's have addresses of the process that made them.
func machineCode(driverDir string, only map[string][sha256.Size]byte) map[string][sha256.Size]byte {
	sums := map[string][sha256.Size]byte{}
	add := func(name string, data func() ([]byte, error)) {
		if _, wanted := only[name]; only != nil && !wanted {
			return
		}
		if content, err := data(); err == nil {
			sums[name] = sha256.Sum256(content)
		}
	}
	_, _ = nvidia.Snapshots(driverDir, func(s nvidia.Snapshot) error {
		ids, err := nvidia.RecordIDs(s.Toc)
		for _, id := range ids {
			add(fmt.Sprintf("%s/%x", nvidia.Folder, id), func() ([]byte, error) {
				one, _, err := s.Select(func(other nvidia.RecordID) bool { return other == id })
				if err != nil {
					return nil, err
				}
				return io.ReadAll(one.Bin)
			})
		}
		return err
	})
	return sums
}

// Verdict returns an error where something differs.
func (r *auditResult) Verdict() error {
	if len(r.Differs) == 0 {
		return nil
	}
	return cli.Hint(fmt.Errorf("%d of what was compared is not what this driver makes", len(r.Differs)),
		"find out who wrote it before anything runs it; shadercache clear, and push --replace from a machine that is trusted")
}

func (r *auditResult) Print(w io.Writer) {
	fmt.Fprintf(w, "%s of %s: %d the same, %s of machine code the same\n", cli.Plural(r.Programs, "program"), cli.EscapeName(r.Driver), r.Same, entries(r.MachineCode))
	for _, part := range []struct {
		title string
		lines []auditLine
	}{{"differs", r.Differs}, {"not compared", r.NotCompared}} {
		for _, l := range part.lines {
			fmt.Fprintf(w, "%s\t%s\t%s\n", part.title, cli.EscapeName(l.Name), cli.EscapeName(l.Reason))
		}
	}
}

func entries(n int) string {
	if n == 1 {
		return "1 entry"
	}
	return fmt.Sprintf("%d entries", n)
}
