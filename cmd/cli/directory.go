package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/shadercache/shadercache/binary"
)

// Directory returns the absolute path of the cache directory that the flags choose, which
// may not exist. Without --dir it is the one that processes use: a private place where the
// usual directory cannot be, see binary.Place.
func (o *Options) Directory() (string, error) {
	path := o.Dir
	if path == "" {
		l := o.Place().Find()
		if l.Private() {
			return l.Dir.Path(), nil
		}
		p, err := binary.Place{}.FromEnvironment()
		if err != nil {
			return "", err
		}
		path = p.Dir
	}
	return filepath.Abs(path)
}

// Place returns the place of the cache directory that the flags and the environment choose,
// for a process that uses a GPU.
func (o *Options) Place() binary.Place {
	return binary.Place{Dir: o.Dir, Filled: os.Getenv("SHADERCACHE_REMOTE") != ""}
}

// WarnOfPlace says once where the cache directory is not the one that the environment names.
func (o *Options) WarnOfPlace() {
	if l := o.Place().Find(); o.Dir == "" && l.Private() && !o.placeSaid {
		o.placeSaid = true
		o.Logger().Warn("a private place is used as the cache directory: --dir names another one", "directory", l.Dir.Path(), "reason", l.Err)
	}
}

// OpenDirectory opens the cache directory for commands that change an existing one. A
// missing directory is not made: dir is nil then.
func (o *Options) OpenDirectory() (path string, dir *binary.Dir, err error) {
	return o.openExisting(OpenDir)
}

// ReadDirectory is OpenDirectory for commands that change nothing.
func (o *Options) ReadDirectory() (path string, dir *binary.Dir, err error) {
	return o.openExisting(OpenToRead)
}

// DirectoryToSend is FilledDirectory for commands that sign and send what they read. Without --dir
// they send no private place, which all directories that cannot be written share.
func (o *Options) DirectoryToSend() (*binary.Dir, error) {
	if l := o.Place().Find(); o.Dir == "" && l.Private() {
		return nil, Hint(fmt.Errorf("%w: processes use %s in its place", l.Err, l.Dir.Path()), "name what to send with --dir")
	}
	return o.FilledDirectory()
}

// FilledDirectory is ReadDirectory for commands that need a cache to read.
func (o *Options) FilledDirectory() (*binary.Dir, error) {
	path, dir, err := o.ReadDirectory()
	if err == nil && dir == nil {
		err = Hint(fmt.Errorf("there is no cache in %s", path), "shadercache preload fills one")
	}
	return dir, err
}

func (o *Options) openExisting(open func(path string) (*binary.Dir, error)) (path string, dir *binary.Dir, err error) {
	if path, err = o.Directory(); err != nil {
		return "", nil, err
	}
	o.WarnOfPlace()
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return path, nil, nil
	}
	dir, err = open(path)
	return path, dir, err
}

// MakeDirectory opens the cache directory, and makes it where it is missing.
func (o *Options) MakeDirectory() (*binary.Dir, error) {
	path, err := o.Directory()
	if err != nil {
		return nil, err
	}
	return OpenDir(path)
}

// OpenDir is binary.OpenDir, with a hint for each error.
func OpenDir(path string) (*binary.Dir, error) {
	dir, err := binary.OpenDir(path)
	if err != nil && HintFor(err) == "" {
		err = Hint(err, "choose another directory with --dir or $SHADERCACHE_DIR")
	}
	return dir, err
}

// OpenToRead opens a directory to read it, also one of root's, which is safe to read:
// an upstream directory, for instance.
func OpenToRead(path string) (*binary.Dir, error) {
	dir, err := OpenDir(path)
	if errors.Is(err, binary.ErrUnsafeDir) {
		if roots, rootsErr := binary.OpenUpstream(path); rootsErr == nil {
			return roots, nil
		}
	}
	return dir, err
}

// Upstream opens $SHADERCACHE_UPSTREAM. It returns nil where there is none, or where it
// cannot be used, which is logged.
func (o *Options) Upstream() *binary.Dir {
	p, _ := binary.Place{}.FromEnvironment()
	if p.Upstream == "" {
		return nil
	}
	dir, err := binary.OpenUpstream(p.Upstream)
	if err != nil {
		o.Logger().Warn("the upstream directory is left out", "reason", err)
		return nil
	}
	return dir
}

// WithUpstream returns dir with the upstream directory behind it, as cache.New opens
// it.
func (o *Options) WithUpstream(dir *binary.Dir) *binary.Dir {
	if upstream := o.Upstream(); upstream != nil {
		return dir.WithUpstream(upstream)
	}
	return dir
}

// ForStores calls visit with the store of each driver, in the order of their names. A
// driver whose fingerprint is lost is logged and left out.
func (o *Options) ForStores(dir *binary.Dir, visit func(name string, store *binary.Store) error) error {
	return dir.EachStore(visit, func(name string) {
		o.Logger().Warn("left out a driver whose fingerprint.json is lost", "driver", name)
	})
}
