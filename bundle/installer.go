package bundle

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"regexp"
	"strings"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/drivercache"
	"github.com/shadercache/shadercache/drivercache/nvidia"
)

// installer moves what is ready in the staging folder to its places. Every step
// may be done again, so an import that was killed here is completed by another.
type installer struct {
	dir    *binary.Dir
	root   *os.Root // the cache directory
	report ImportReport
}

// install installs what is ready, if anything is, and deletes the staging
// folder. After an error the folder stays, for the next to try.
func (i *installer) install() (ImportReport, error) {
	i.report = ImportReport{}
	data, err := i.root.ReadFile(path.Join(stagingReady, manifestName))
	if errors.Is(err, fs.ErrNotExist) {
		return i.report, i.root.RemoveAll(stagingName)
	}
	if err != nil {
		return i.report, err
	}
	m, err := decodeManifest(data)
	if err != nil {
		return i.report, errors.Join(err, i.root.RemoveAll(stagingName))
	}
	i.report.Fingerprints = m.Fingerprints
	for _, step := range []func(*Manifest) error{i.programs, i.sources, i.mesa, i.nvidia} {
		if err := step(m); err != nil {
			return i.report, fmt.Errorf("the bundle is well, but putting it into place failed; the next import completes it: %w", err)
		}
	}
	return i.report, i.root.RemoveAll(stagingName)
}

// programs puts programs into the stores of their fingerprints. One that is
// here already and sound stays.
func (i *installer) programs(m *Manifest) error {
	for _, f := range m.Fingerprints {
		store, err := i.dir.Store(f.Fingerprint)
		if err != nil {
			return err
		}
		uses, err := i.programsOf(store, f.Dir, m.Files)
		if err != nil {
			return err
		}
		// A busy index is reconciled by whoever records next.
		if err := store.Record(uses, binary.Counters{}); err != nil && !errors.Is(err, binary.ErrBusy) {
			return err
		}
	}
	return nil
}

func (i *installer) programsOf(store *binary.Store, dir string, files []File) ([]binary.Use, error) {
	var uses []binary.Use
	if err := i.tunings(store, dir, files); err != nil {
		return nil, err
	}
	for _, f := range files {
		if f.Kind != Program || f.fingerprintDir() != dir {
			continue
		}
		uses = append(uses, binary.Use{Key: f.key()})
		if _, err := store.Get(f.key()); err == nil {
			i.report.Present++
			continue
		}
		if err := i.move(f, &i.report.Programs); err != nil {
			return nil, err
		}
	}
	return uses, nil
}

// tunings puts what was measured into a store. What was measured on this machine
// stays.
func (i *installer) tunings(store *binary.Store, dir string, files []File) error {
	for _, f := range files {
		if f.Kind != Tuning || f.fingerprintDir() != dir {
			continue
		}
		present, err := i.root.ReadFile(f.Path)
		if err == nil && binary.CheckTuning(store.Fingerprint().Digest(), path.Base(f.Path), present) == nil {
			i.report.Present++
			continue
		}
		if err := i.move(f, &i.report.Tunings); err != nil {
			return err
		}
	}
	return nil
}

func (i *installer) sources(m *Manifest) error {
	for _, f := range m.Files {
		if f.Kind != Source {
			continue
		}
		if _, err := i.dir.Source(f.key()); err == nil {
			i.report.Present++
			continue
		}
		if err := i.move(f, &i.report.Sources); err != nil {
			return err
		}
	}
	return nil
}

// move puts a file into its place and replaces what is there.
func (i *installer) move(f File, count *int) error {
	if err := i.root.MkdirAll(path.Dir(f.Path), 0o700); err != nil {
		return err
	}
	err := i.root.Rename(path.Join(stagingReady, f.Path), f.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // moved before, and deleted since
	}
	if err == nil {
		*count++
		i.report.Bytes += f.Size
	}
	return err
}

// mesaItem is one of the files that Mesa keeps for one program, named by its
// hash.
var mesaItem = regexp.MustCompile(`/[0-9a-f]{32,}$`)

// mesa copies what is missing. Mesa's other files, indexes and data bases,
// belong together: those of one folder are copied only where none is there.
func (i *installer) mesa(m *Manifest) error {
	occupied := map[string]bool{}
	for _, f := range m.Files {
		if f.Kind == Mesa && !mesaItem.MatchString(f.Path) {
			_, err := i.root.Lstat(f.Path)
			occupied[path.Dir(f.Path)] = occupied[path.Dir(f.Path)] || err == nil
		}
	}
	for _, f := range m.Files {
		if f.Kind != Mesa {
			continue
		}
		if !mesaItem.MatchString(f.Path) && occupied[path.Dir(f.Path)] {
			i.report.Present++
			continue
		}
		placed, err := i.place(f.Path, f.Path)
		if err != nil {
			return err
		}
		i.countDriverFile(f, placed)
	}
	return nil
}

// nvidia adds the bundle's slots behind those that are here, and merges all.
func (i *installer) nvidia(m *Manifest) error {
	var added bool
	for _, f := range m.Files {
		stem, isBin := strings.CutSuffix(f.Path, ".bin")
		if f.Kind != NVIDIA || !isBin {
			continue
		}
		if err := i.slot(stem); err != nil {
			return err
		}
		added = true
	}
	for _, f := range m.Files {
		if f.Kind == NVIDIA {
			i.countDriverFile(f, true)
		}
	}
	if !added {
		return nil
	}
	merge, err := drivercache.Merge(i.dir.DriverDir())
	i.report.Merge = merge
	if errors.Is(err, drivercache.ErrInUse) {
		i.report.MergePending = true
		return nil
	}
	return err
}

// slot places the two files of a slot under the lowest number that is free, or
// under the one that a death interrupted.
func (i *installer) slot(stem string) error {
	staged, err := i.root.Lstat(path.Join(stagingReady, stem+".bin"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil // placed before a death, where there are no links
	}
	if err != nil {
		return err
	}
	folder := path.Dir(stem)
	for n := range maxSlots {
		to := fmt.Sprintf("%s/%s%d", folder, nvidia.App, n)
		bin, binErr := i.root.Lstat(to + ".bin")
		_, tocErr := i.root.Lstat(to + ".toc")
		ours := binErr == nil && os.SameFile(bin, staged)
		if !ours && (binErr == nil || tocErr == nil) {
			continue
		}
		if _, err := i.place(stem+".bin", to+".bin"); err != nil {
			return err
		}
		_, err := i.place(stem+".toc", to+".toc")
		return err
	}
	return fmt.Errorf("%s has %d slots: merge or delete them", folder, maxSlots)
}

// maxSlots is more than any number of processes leaves.
const maxSlots = 1000

func (i *installer) countDriverFile(f File, placed bool) {
	if !placed {
		i.report.Present++
		return
	}
	i.report.DriverFiles++
	i.report.Bytes += f.Size
}

// place gives a staged file its name for the driver, and reports false where
// something has that name. The staged file stays, so that the other file of a
// slot finds it again after a death.
func (i *installer) place(from, to string) (bool, error) {
	if err := i.root.MkdirAll(path.Dir(to), 0o700); err != nil {
		return false, err
	}
	if _, err := i.root.Lstat(to); err == nil {
		return false, nil
	}
	from = path.Join(stagingReady, from)
	err := i.root.Link(from, to)
	if errors.Is(err, fs.ErrExist) {
		return false, nil
	}
	if err != nil {
		// Some file systems have no links.
		err = i.root.Rename(from, to)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil // placed before, and deleted since
	}
	return err == nil, err
}
