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
//	README.md, CACHEDIR.TAG   describe the directory, for people and for backup programs
//	cache_stats.json          lifetime counters: see statsFile
//	starts.jsonl              what each start did: see Starts
//	exec.jsonl                what programs of exec --report found: see Runs
//	history.jsonl             what starts asked for: see PutHistory
//	compiled.json             what starts compiled: see Recompiled
//	stats_zero.json           the counters at the last Zero
//	settings.json             limits of the directory: see Settings
//	NVIDIA_H200-1f0c3a2b/     one per fingerprint: see Store
//	opening/                  processes that make a GL context: see MarkOpening
//	driver/                   the driver's own cache: see package drivercache
//	driver.filled             upstream directories that were copied there: see drivercache.Fill
//	sources/                  texts of programs: see PutSource
//	remote/                   what is known of remotes: see package fleet
//	last_trim                 time of the last Trim
const (
	statsName           = "cache_stats.json"
	driverName          = "driver"
	dirEnvironment      = "SHADERCACHE_DIR"
	upstreamEnvironment = "SHADERCACHE_UPSTREAM"
	lastTrimName        = "last_trim"
)

const readmeText = `This directory is a cache of compiled GPU programs, kept by shadercache.

It holds nothing that cannot be made again, but the limits in settings.json: delete
it, or any part of it, at any time, also while programs run. The next start then
compiles again.

  <driver>-<digest>/   programs that one driver compiled
  driver/              the driver's own cache of machine code
  sources/             the programs' texts, where keeping them was asked for
  cache_stats.json     how often programs were found here
  starts.jsonl         what the latest starts found and compiled
  exec.jsonl           what programs of "shadercache exec --report" found
  settings.json        limits, where "shadercache config set" stored any

"shadercache stats", "list" and "prune" show and trim it.
`

const cachedirTag = `Signature: 8a477f597d28d172789f06886806bc55
# This file marks a cache directory of shadercache.
# About cache directory tags see https://bford.info/cachedir/
`

// Dir is a cache directory that is safe to use. It holds no open files and no locks,
// needs no Close, and may be used from any goroutine and by any number of processes.
type Dir struct {
	path     string
	now      func() time.Time
	readOnly bool // see OpenUpstream
	upstream *Dir // see WithUpstream

	claims *claims // of Claim
}

// defaultDir returns the path to use where the user names none: $SHADERCACHE_DIR, else
// "shadercache" in the user's cache directory. It returns ErrNoDir where neither exists,
// and does not open the directory.
func defaultDir() (string, error) {
	if path := os.Getenv(dirEnvironment); path != "" {
		return path, nil
	}
	base, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("%w: set %s to keep programs on disk (%v)", ErrNoDir, dirEnvironment, err)
	}
	return filepath.Join(base, "shadercache"), nil
}

// OpenDir opens the cache directory at path and creates it, for the user alone, where it
// is missing. It returns an error that matches ErrUnsafeDir when path, or driver/, sources/
// or remote/ in it, is no directory, is a symbolic link, belongs to another user or can be
// written by others: a user who can write there decides what the driver runs. The same
// holds for folders of drivers in driver/, and for parents of path that belong to another
// user than root. It accepts a directory that can be read but not written.
func OpenDir(path string) (*Dir, error) {
	if path == "" {
		return nil, fmt.Errorf("%w: the path is empty", ErrNoDir)
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, wrap("open cache directory", err)
	}
	d := newDir(path)
	if err := d.create(); err != nil {
		return nil, err
	}
	return d, nil
}

// newDir returns the directory with an absolute path, which is not checked.
func newDir(path string) *Dir { return &Dir{path: path, now: time.Now, claims: &claims{}} }

// Path returns the absolute path of the directory.
func (d *Dir) Path() string { return d.path }

// DriverDir returns the directory of the driver's own cache, which may not exist yet.
func (d *Dir) DriverDir() string { return filepath.Join(d.path, driverName) }

// DriverBytes returns the bytes of the driver's own cache that a limit counts.
func (d *Dir) DriverBytes() int64 { return drivercache.Bytes(d.DriverDir()) }

// create makes the directory where it is missing and checks it.
func (d *Dir) create() error {
	err := d.checkTrust()
	if errors.Is(err, fs.ErrNotExist) {
		if err := os.MkdirAll(d.path, 0o700); err != nil {
			return fmt.Errorf("binary: create cache directory (set %s to choose another): %w", dirEnvironment, err)
		}
		err = d.checkTrust()
	}
	switch {
	case errors.Is(err, ErrUnsafeDir):
		return err
	case err != nil:
		return wrap("open cache directory", err)
	}
	// The cache does not read these files, so errors are ignored.
	_ = writeMissing(filepath.Join(d.path, "README.md"), readmeText)
	_ = writeMissing(filepath.Join(d.path, "CACHEDIR.TAG"), cachedirTag)
	return nil
}

// writeMissing writes a text file unless its name is taken.
func writeMissing(path, text string) error {
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return osfile.WriteFile(path, []byte(text))
}
