package binary

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/shadercache/shadercache/drivercache"
	"github.com/shadercache/shadercache/internal/osfile"
)

// A cache directory:
//
//	README.md, CACHEDIR.TAG   say what this is, to people and to backup programs
//	cache_stats.json          lifetime counters, see statsFile
//	NVIDIA_H200-1f0c3a2b/     one per fingerprint, see Store
//	driver/                   what the driver keeps for itself
//	sources/                  what was compiled, see PutSource
//	last_trim                 when limits were last enforced, see Trim
const (
	statsName      = "cache_stats.json"
	driverName     = "driver"
	dirEnvironment = "SHADERCACHE_DIR"
	lastTrimName   = "last_trim"
)

const readmeText = `This directory is a cache of compiled GPU programs, kept by shadercache.

It holds nothing that cannot be made again: delete it, or any part of it, at
any time, also while programs run. The next start then compiles again.

  <driver>-<digest>/   programs that one driver compiled
  driver/              the driver's own cache of machine code
  sources/             the programs' texts, where keeping them was asked for
  cache_stats.json     how often programs were found here

"shadercache stats", "list" and "prune" show and trim it.
`

const cachedirTag = `Signature: 8a477f597d28d172789f06886806bc55
# This file marks a cache directory of shadercache.
# About cache directory tags see https://bford.info/cachedir/
`

// Dir is a cache directory that was found safe to use. It holds no open files
// and no locks, needs no Close, and may be used from any goroutine and by any
// number of processes at once.
type Dir struct {
	path     string
	now      func() time.Time
	readOnly bool // see OpenUpstream
	upstream *Dir // see WithUpstream
}

// DefaultDir is the directory to use where the user named none:
// $SHADERCACHE_DIR, else "shadercache" in the user's cache directory. It
// returns ErrNoDir where neither exists, and does not look at the directory.
func DefaultDir() (string, error) {
	if path := os.Getenv(dirEnvironment); path != "" {
		return path, nil
	}
	base, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("%w: set %s to keep programs on disk (%v)", ErrNoDir, dirEnvironment, err)
	}
	return filepath.Join(base, "shadercache"), nil
}

// OpenDir opens the cache directory at path and creates it, for the user
// alone, where it is missing. It returns an error that matches ErrUnsafeDir
// when path, or driver/ or sources/ in it, is no directory, is a symbolic link,
// belongs to another user or can be written by others: whoever writes there
// decides what the driver runs. A directory that can be read but not written is accepted.
func OpenDir(path string) (*Dir, error) {
	if path == "" {
		return nil, fmt.Errorf("%w: the path is empty", ErrNoDir)
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("binary: open cache directory: %w", err)
	}
	d := &Dir{path: path, now: time.Now}
	if err := d.create(); err != nil {
		return nil, err
	}
	return d, nil
}

// Path is the absolute path of the directory.
func (d *Dir) Path() string { return d.path }

// DriverDir is where the driver's own cache belongs. It may not exist yet.
func (d *Dir) DriverDir() string { return filepath.Join(d.path, driverName) }

// DriverBytes returns the size of everything the driver keeps for itself.
func (d *Dir) DriverBytes() int64 { return drivercache.Bytes(d.DriverDir()) }

// create makes the directory where it is missing and checks it.
func (d *Dir) create() error {
	info, err := os.Lstat(d.path)
	if errors.Is(err, fs.ErrNotExist) {
		if err := os.MkdirAll(d.path, 0o700); err != nil {
			return fmt.Errorf("binary: create cache directory (set %s to choose another): %w", dirEnvironment, err)
		}
		info, err = os.Lstat(d.path)
	}
	if err != nil {
		return fmt.Errorf("binary: open cache directory: %w", err)
	}
	if err := d.check(d.path, info); err != nil {
		return err
	}
	if err := d.checkBelow(d.path, driverName, sourcesName); err != nil {
		return err
	}
	// Both files are for others; a read-only cache does without.
	_ = writeMissing(filepath.Join(d.path, "README.md"), readmeText)
	_ = writeMissing(filepath.Join(d.path, "CACHEDIR.TAG"), cachedirTag)
	return nil
}

// check returns an error that matches ErrUnsafeDir unless info, not followed
// through a link, is of a directory that only we can change; or root, if it is
// only read.
func (d *Dir) check(path string, info fs.FileInfo) error {
	if info.Mode()&(fs.ModeSymlink|fs.ModeIrregular) != 0 {
		return unsafeDir(path, "is a symbolic link", "name the directory that it leads to")
	}
	if !info.IsDir() {
		return unsafeDir(path, "is not a directory", "move the file away, or choose another directory")
	}
	return checkOwner(path, info, d.readOnly)
}

// checkOwner refuses a directory of another user, and one that others can write to. A
// directory that is only read may belong to root.
func checkOwner(path string, info fs.FileInfo, readOnly bool) error {
	if uid, ok := osfile.Owner(info); ok && uid != os.Geteuid() && (!readOnly || uid != 0) {
		return unsafeDir(path, fmt.Sprintf("belongs to user %d, and we are user %d", uid, os.Geteuid()),
			"choose another directory with "+dirEnvironment)
	}
	if osfile.WritableByOthers(info) {
		return unsafeDir(path, fmt.Sprintf("can be written by others (mode %04o)", info.Mode().Perm()), "chmod 700 it")
	}
	return nil
}

// checkBelow is check of directories in path, those of them that are there.
func (d *Dir) checkBelow(path string, names ...string) error {
	for _, name := range names {
		below := filepath.Join(path, name)
		info, err := os.Lstat(below)
		switch {
		case err == nil && info.Mode()&fs.ModeSymlink != 0:
			err = unsafeDir(below, "is a symbolic link", "remove the link")
		case err == nil:
			err = d.check(below, info)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

func unsafeDir(path, reason, hint string) error {
	return fmt.Errorf("%w: %s %s; %s", ErrUnsafeDir, path, reason, hint)
}

// writeMissing writes a small text file unless something has its name.
func writeMissing(path, text string) error {
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return osfile.WriteFile(path, []byte(text))
}
