package binary

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/shadercache/shadercache/drivercache"
	"github.com/shadercache/shadercache/drivercache/nvidia"
	"github.com/shadercache/shadercache/internal/osfile"
)

// A misplaced file is one in the place of a directory, or the reverse. Nothing can be
// written there, so that programs stay in memory, and a FIFO or a device may block its
// reader. Verify reports misplaced files. A repair moves those in a store to rejected/,
// and removes the others; it removes only empty directories.

const (
	dirReason  = "is not a directory"
	fileReason = "is not a regular file"
)

// isMisplaced reports whether path has neither the type that it has to have, directory
// or regular file, nor that of a link, which verifying.link reports.
func isMisplaced(path string, wantDir bool) bool {
	info, err := os.Lstat(path)
	if err != nil || info.Mode()&fs.ModeSymlink != 0 {
		return false
	}
	if wantDir {
		return !info.IsDir()
	}
	return !info.Mode().IsRegular()
}

// misplaced reports a path that is misplaced, and clears it in a repair.
func (v *verifying) misplaced(path string, wantDir bool, clear func(path, reason string) error) {
	if !isMisplaced(path, wantDir) {
		return
	}
	reason := fileReason
	if wantDir {
		reason = dirReason
	}
	v.damaged(path, reason, func() error { return clear(path, reason) })
}

// Repair makes room for driver/, sources/ and remote/ in the directory, without which Open
// fails: it renames a file in their place to <name>.rejected, and removes special files, such
// as a FIFO. It returns what it changed. It changes nothing in a directory that is unsafe
// otherwise.
func (p Place) Repair() (fixed []Problem, err error) {
	if p, err = p.FromEnvironment(); err != nil {
		return nil, err
	}
	d := &Dir{path: p.Dir}
	info, err := os.Lstat(d.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil {
		err = d.checkSafe(d.path, info)
	}
	if err != nil {
		return nil, wrap("repair cache directory", err)
	}
	for _, name := range subfolders {
		place := filepath.Join(d.path, name)
		if !isMisplaced(place, true) {
			continue
		}
		if isMisplaced(place, false) {
			err = os.Remove(place)
		} else {
			err = os.Rename(place, place+".rejected")
		}
		if err != nil {
			return fixed, wrap("repair cache directory", err)
		}
		fixed = append(fixed, Problem{place, dirReason})
	}
	return fixed, nil
}

// names checks the names in the directory of a store, except those that other checks read:
// fingerprint.json, blobs and tunings. Files that this package did not make are unknown; those
// whose names start with a dot are temporary.
func (v *verifying) names(s *Store) {
	check := func(dir string, e fs.DirEntry, known, wantDir bool) {
		switch path := filepath.Join(dir, e.Name()); {
		case !known:
			v.countUnknown(dir, e)
		case e.Type()&fs.ModeSymlink != 0:
			v.link(path)
		case e.Name() != fingerprintName:
			v.misplaced(path, wantDir, s.rejectFile)
		}
	}
	for _, e := range osfile.List(s.path) {
		isDir := slices.Contains(storeDirs, e.Name())
		check(s.path, e, isDir || storeForm(e.Name()), isDir)
	}
	blobs := filepath.Join(s.path, blobsName)
	for _, shard := range osfile.List(blobs) {
		check(blobs, shard, shardForm(shard.Name()), true)
		for _, file := range osfile.List(filepath.Join(blobs, shard.Name())) {
			if _, known := blobsOf(s.digest).key(shard.Name(), file.Name()); !known {
				v.countUnknown(filepath.Join(blobs, shard.Name()), file)
			}
		}
	}
	for _, name := range []string{quarantineName, failedName, checkedName} {
		for _, e := range osfile.List(s.file(name)) {
			if storeDirForms[name](e.Name()) {
				v.misplaced(filepath.Join(s.path, name, e.Name()), false, s.rejectFile)
			}
		}
	}
}

func (v *verifying) countUnknown(dir string, e fs.DirEntry) {
	if !strings.HasPrefix(e.Name(), ".") {
		v.Unknown++
		v.problem(filepath.Join(dir, e.Name()), "is not a file of the cache")
	}
}

// misplacedInDir checks the names in the cache directory.
func (v *verifying) misplacedInDir(d *Dir) {
	check := func(path string, wantDir bool) {
		v.misplaced(path, wantDir, func(path, _ string) error { return os.Remove(path) })
	}
	for _, name := range slices.Concat(dirFiles, []string{
		driverName + ".lock", driverName + ".drop", driverName + ".drop.lock", driverName + ".filled", driverName + ".filling.lock", importName + ".lock",
	}) {
		path := filepath.Join(d.path, name)
		if osfile.IsLink(path) {
			v.link(path)
		}
		check(path, false)
	}
	check(filepath.Join(d.path, importName), true)
	check(filepath.Join(d.path, importName, importReady), true)
	check(filepath.Join(d.DriverDir(), nvidia.Folder), true)
	check(filepath.Join(d.DriverDir(), "mesa"), true)
	for _, e := range osfile.List(d.path) {
		if e.Type().IsRegular() && fingerprintDir.MatchString(e.Name()) {
			v.Unknown++ // it may be the user's
			v.problem(filepath.Join(d.path, e.Name()), "is a file with the name form of a driver's directory; move it away if the programs of a driver are not stored")
		}
	}
	sources := filepath.Join(d.path, sourcesName)
	for _, e := range osfile.List(sources) {
		if shardForm(e.Name()) {
			check(filepath.Join(sources, e.Name()), true)
		}
	}
}

// importName is the directory in which an import unpacks a bundle, with a lock file
// beside it: see package bundle. The files in importNew are not completely checked.
const (
	importName  = ".import"
	importNew   = "new"
	importReady = "ready"
)

// sweepImport deletes the files of an import that was killed while it unpacked. An import
// that was killed later is completed by the next: its files count as leftovers and stay, but for Clear.
func (p *pruning) sweepImport(d *Dir) {
	dir := filepath.Join(d.path, importName)
	if isMisplaced(dir, true) || len(osfile.List(dir)) == 0 {
		return
	}
	lock, err := drivercache.TryExclusive(dir)
	if err != nil {
		return // an import is under way
	}
	defer func() { _ = lock.Release() }()
	below := dir
	if !p.all {
		below = filepath.Join(dir, importNew)
		if isRegular(filepath.Join(dir, importReady, manifestName)) {
			p.report.Leftovers++
		}
	}
	for path := range osfile.Files(below) {
		p.deleteLeftover(path)
	}
	if !p.DryRun {
		_ = os.RemoveAll(below)
		_ = os.Remove(dir) // stays while something is in it
	}
}
