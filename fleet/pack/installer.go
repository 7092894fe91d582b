package pack

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/drivercache"
	"github.com/shadercache/shadercache/drivercache/nvidia"
	"github.com/shadercache/shadercache/internal/osfile"
	"github.com/shadercache/shadercache/shader"
)

// installer moves the files of a complete staging folder into the cache directory.
// Every step is idempotent, so that an import which was killed here is completed by
// the next.
type installer struct {
	dir    *binary.Dir
	root   *os.Root     // the cache directory
	report ImportReport // of the bundle that is installed

	mergeSlots func(driverDir string) (nvidia.Report, error)
	unrecorded bool // see ImportOptions

	adopted map[string]bool // folders that were moved as a whole
}

// install installs the staging folder, if it is complete, and deletes it. After an
// error the folder remains for the next import.
func (i *installer) install() error {
	manifest := path.Join(stagingReady, manifestName)
	for name, is := range map[string]fs.FileMode{stagingName: fs.ModeDir, stagingReady: fs.ModeDir, manifest: 0} {
		info, err := i.root.Lstat(name)
		if errors.Is(err, fs.ErrNotExist) || err == nil && info.Mode().Type() != is {
			return i.root.RemoveAll(stagingName)
		}
	}
	data, err := i.readRegular(manifest)
	if err != nil {
		return err
	}
	m, err := decodeManifest(data)
	if err != nil {
		return i.root.RemoveAll(stagingName) // what is not whole was not committed
	}
	return i.installManifest(m)
}

// installManifest installs the files of a complete staging folder, and deletes it.
func (i *installer) installManifest(m *Manifest) error {
	for _, step := range []func(*Manifest) error{i.identify, i.adoptFolders, i.programs, i.sources, i.mesa, i.nvidia} {
		if err := step(m); err != nil {
			return fmt.Errorf("the bundle is valid, but installing it failed; the next import completes it: %w", err)
		}
	}
	return i.root.RemoveAll(stagingName)
}

// identify writes the fingerprint of each store, without which no process can tell the
// driver of its programs.
func (i *installer) identify(m *Manifest) error {
	for _, f := range m.Fingerprints {
		store, err := i.dir.Store(f.Fingerprint)
		if err == nil {
			err = store.Identify()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// programs moves programs and tunings into the stores of their fingerprints.
func (i *installer) programs(m *Manifest) error {
	for _, f := range m.Fingerprints {
		store, err := i.dir.Store(f.Fingerprint)
		if err != nil {
			return err
		}
		if err := i.installMissing(m, Tuning, f.Dir, func(t File) bool { return i.has(f.Digest, t) }); err != nil {
			return err
		}
		uses := i.adoptedUses(m, f.Dir)
		if err := i.installMissing(m, Program, f.Dir, func(p File) bool {
			uses = append(uses, binary.Use{Key: p.key()})
			return i.has(f.Digest, p)
		}); err != nil {
			return err
		}
		if i.unrecorded {
			continue
		}
		// The next Record reconciles a busy index.
		if err := store.Record(uses, binary.Counters{}); err != nil {
			return err
		}
	}
	return nil
}

// readRegular returns the content of a regular file of the directory.
func (i *installer) readRegular(name string) ([]byte, error) {
	return osfile.ReadRegular(name, kindLimits[Mesa], i.root.Lstat, i.root.OpenFile) // the largest that it reads
}

// sources moves sources into the directory.
func (i *installer) sources(m *Manifest) error {
	return i.installMissing(m, Source, "sources", func(f File) bool { return i.has(shader.Digest{}, f) })
}

// has reports whether the directory itself, not one upstream of it, has a sound file of a driver.
func (i *installer) has(of shader.Digest, f File) bool {
	data, err := i.readRegular(f.Path)
	return err == nil && binary.CheckFile(of, f.Path, data) == nil
}

// installMissing moves the files of a kind below a folder into the directory, except
// those of which present reports that the directory has a valid one.
func (i *installer) installMissing(m *Manifest, kind Kind, folder string, present func(File) bool) error {
	for _, f := range m.Files {
		if f.Kind != kind || f.topFolder() != folder || i.isAdopted(f) {
			continue
		}
		if present(f) {
			i.count(f, false)
			continue
		}
		if err := i.replaceFile(f); err != nil {
			return err
		}
	}
	return nil
}

// replaceFile moves a file into its place and counts it.
func (i *installer) replaceFile(f File) error {
	if err := i.root.MkdirAll(path.Dir(f.Path), 0o700); err != nil {
		return err
	}
	err := i.root.Rename(path.Join(stagingReady, f.Path), f.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // a killed import moved it, and it was deleted since
	}
	if err == nil {
		i.count(f, true)
	}
	return err
}

// mesa adds files that are missing, and entries that are cut: each has its own, and an index is only a hint.
func (i *installer) mesa(m *Manifest) error {
	for _, f := range m.Files {
		if f.Kind != Mesa || i.isAdopted(f) {
			continue
		}
		if data, err := i.readRegular(f.Path); err == nil {
			if whole, err := i.readRegular(path.Join(stagingReady, f.Path)); err == nil && !bytes.Equal(data, whole) && isCutEntry(f.Path, data, whole) {
				_ = i.root.Remove(f.Path)
			}
		}
		added, err := i.linkIfMissing(f.Path)
		if err != nil {
			return err
		}
		i.count(f, added)
	}
	return nil
}

// nvidia adds the bundle's slots with the next free numbers, and merges all slots.
func (i *installer) nvidia(m *Manifest) error {
	added := map[string]bool{}
	for _, f := range m.Files {
		if stem, isBin := strings.CutSuffix(f.Path, ".bin"); f.Kind == NVIDIA && isBin {
			added[stem] = false
		}
	}
	if len(added) == 0 {
		return nil
	}
	if err := i.addSlots(added); err != nil {
		return err
	}
	for _, f := range m.Files {
		if f.Kind == NVIDIA {
			i.count(f, added[strings.TrimSuffix(f.Path, path.Ext(f.Path))])
		}
	}
	merge, err := i.mergeSlots(i.dir.DriverDir())
	i.report.Merge = merge
	if errors.Is(err, drivercache.ErrInUse) || osfile.IsNoSpace(err) { // the slots are there
		i.report.MergePending = true
		return nil
	}
	return err
}

// addSlots adds slots, and notes which had something that is missing. It waits for one that rewrites slots, at
// most two seconds.
func (i *installer) addSlots(slots map[string]bool) (err error) {
	if lock, err := drivercache.Share(i.dir.DriverDir()); err == nil {
		defer lock.Release() // it only closes a file
	}
	for _, slot := range slices.Sorted(maps.Keys(slots)) {
		if slots[slot], err = drivercache.AddSlot(i.dir.DriverDir(), path.Join(stagingReady, slot), path.Dir(slot)); err != nil {
			return err
		}
	}
	return nil
}

// count counts a file that was added, or was there before.
func (i *installer) count(f File, added bool) {
	if !added {
		i.report.Present++
		return
	}
	*f.Kind.counter(&i.report.Programs, &i.report.Sources, &i.report.Tunings, &i.report.DriverFiles)++
	i.report.Bytes += f.Size
}

// linkIfMissing links a staged file into the directory, and reports false if the name
// exists, or a file of another bundle has the place of its folder, which would fail each later import.
func (i *installer) linkIfMissing(to string) (bool, error) {
	err := i.root.MkdirAll(path.Dir(to), 0o700)
	if errors.Is(err, fs.ErrExist) || errors.Is(err, syscall.ENOTDIR) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if _, err := i.root.Lstat(to); err == nil {
		return false, nil
	}
	from := path.Join(stagingReady, to)
	err = i.root.Link(from, to)
	if errors.Is(err, fs.ErrExist) {
		return false, nil
	}
	if err != nil {
		// Some file systems have no links.
		err = i.root.Rename(from, to)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil // a killed import renamed it, and it was deleted since
	}
	return err == nil, err
}
