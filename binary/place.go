package binary

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/shadercache/shadercache/internal/osfile"
)

// Place chooses the cache directory of a process, for both layers: a context and a cache
// over it open the same Place. The zero value is that of the environment.
//
//	Dir can be written                          it is used
//	else, with something that fills a cache     a private place is used
//	else, or where there is no private place    Dir is read, or memory alone is used
//
// What fills a cache is an upstream directory, Filled, or Dir itself where it holds programs
// and can only be read: then it is upstream of the private place. A private place is
// kept, so that the next process finds what this one compiled. It is the first of these
// that is a safe directory of this user with free space:
//
//	$XDG_RUNTIME_DIR/shadercache
//	/dev/shm/shadercache-UID
//	$TMPDIR/shadercache-UID, or that in /tmp
type Place struct {
	// Dir is the path of the directory. Default: $SHADERCACHE_DIR, else "shadercache" in the
	// user's cache directory.
	Dir string
	// Upstream is the path of a directory that is only read, such as one in a container
	// image. Default: $SHADERCACHE_UPSTREAM, else none.
	Upstream string
	// Filled reports that something else than an upstream directory will fill the
	// directory, so that a private place is worth having. Default: false.
	Filled bool
}

// Location is an open Place.
type Location struct {
	// Dir is the directory to use, with the upstream directories behind it. It is nil
	// where there is none.
	Dir *Dir
	// Upstream are the directories that are only read, in the order in which they are.
	Upstream []*Dir
	// Err is why the directory that was asked for is not used, or nil.
	Err error
	// UpstreamErr is why the upstream directory is not used, or nil.
	UpstreamErr error
}

// Private reports whether a private place is used instead of the directory that was asked
// for. Err has the reason.
func (l Location) Private() bool { return l.Dir != nil && l.Err != nil }

// FromEnvironment returns p with the paths that are used where it has none, which need not
// exist. It returns ErrNoDir, wrapped, where there is none for the directory.
func (p Place) FromEnvironment() (Place, error) {
	if p.Upstream == "" {
		p.Upstream = os.Getenv(upstreamEnvironment)
	}
	var err error
	if p.Dir == "" {
		p.Dir, err = defaultDir()
	}
	return p, err
}

// Open opens the directory and makes it where it is missing.
func (p Place) Open() Location { return p.open(OpenDir) }

// Find is Open, except that a missing directory is not made: Dir has its path.
func (p Place) Find() Location { return p.open(findDir) }

func (p Place) open(openDir func(path string) (*Dir, error)) Location {
	l := Location{}
	p, noDir := p.FromEnvironment()
	var upstream *Dir
	if p.Upstream != "" {
		upstream, l.UpstreamErr = OpenUpstream(p.Upstream)
	}
	if upstream != nil {
		l.Upstream = []*Dir{upstream}
	}
	dir, err := p.openDir(openDir, noDir)
	if errors.Is(err, errNotWritable) && dir.holdsPrograms() && (upstream == nil || upstream.path != dir.path) {
		l.Upstream = append([]*Dir{dir.asUpstream()}, l.Upstream...)
	}
	if err != nil && (len(l.Upstream) > 0 || p.Filled) {
		l.Err = err
		var privateErr error
		if l.Dir, privateErr = openPrivate(openDir); privateErr == nil {
			return l.join()
		}
		l.Err = errors.Join(err, privateErr)
	}
	if l.Dir, l.Err = dir, err; dir != nil {
		l.Err = nil // it can be read
	}
	return l.join()
}

// join puts the upstream directories behind the directory, without the directory itself.
func (l Location) join() Location {
	var behind *Dir
	for _, up := range slices.Backward(l.Upstream) {
		behind = up.WithUpstream(behind)
	}
	if l.Dir != nil {
		l.Dir = l.Dir.WithUpstream(behind)
	}
	return l
}

// errNotWritable is returned with a directory that can be read alone.
var errNotWritable = errors.New("cannot be written")

// openDir opens the directory that was asked for. With an error that matches errNotWritable
// it returns one that can be read.
func (p Place) openDir(openDir func(path string) (*Dir, error), noDir error) (*Dir, error) {
	if noDir != nil {
		return nil, noDir
	}
	dir, err := openDir(p.Dir)
	if err != nil {
		return nil, fmt.Errorf("the cache directory cannot be used: %w", err)
	}
	if _, err := os.Lstat(dir.path); !errors.Is(err, fs.ErrNotExist) && !osfile.IsWritable(dir.path) {
		return dir, fmt.Errorf("the cache directory %s %w", dir.path, errNotWritable)
	}
	return dir, nil
}

// findDir is OpenDir for a directory that is not to be made. It returns an error where it
// is missing and could not be made.
func findDir(path string) (*Dir, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return OpenDir(path)
	}
	above := filepath.Dir(path)
	for {
		if _, err := os.Lstat(above); !errors.Is(err, fs.ErrNotExist) {
			break
		}
		above = filepath.Dir(above)
	}
	if !osfile.IsWritable(above) {
		return nil, fmt.Errorf("%s cannot be made in %s", path, above)
	}
	return newDir(path), nil
}

// holdsPrograms reports whether there is the directory of a driver.
func (d *Dir) holdsPrograms() bool {
	folders, _ := d.folders()
	return len(folders) > 0
}

// asUpstream returns the directory as one that is only read.
func (d *Dir) asUpstream() *Dir {
	below := *d
	below.readOnly = true
	return &below
}

// minPrivateBytes is the least free space for a private place: that of an index of Mesa's
// and of some hundred programs.
const minPrivateBytes = 8 << 20

// openPrivate opens the first private place that can be used.
func openPrivate(openDir func(path string) (*Dir, error)) (*Dir, error) {
	var reasons []error
	for _, path := range osfile.PrivatePlaces("shadercache") {
		dir, err := openPrivateDir(path, openDir)
		if err == nil {
			return dir, nil
		}
		reasons = append(reasons, err)
	}
	return nil, fmt.Errorf("there is no private place either: %w", errors.Join(reasons...))
}

func openPrivateDir(path string, openDir func(path string) (*Dir, error)) (*Dir, error) {
	above := filepath.Dir(path)
	if info, err := os.Stat(above); err != nil || !info.IsDir() {
		return nil, fmt.Errorf("%s is not a directory", above) // no more than the last folder is made
	}
	if free, known := osfile.FreeBytes(above); known && free < minPrivateBytes {
		return nil, fmt.Errorf("%s has %d bytes left", above, free)
	}
	_, missing := os.Lstat(path)
	dir, err := openDir(path)
	if err != nil {
		return nil, err
	}
	if missing == nil && !osfile.IsWritable(path) {
		return nil, fmt.Errorf("%s cannot be written", path)
	}
	if _, err := os.Lstat(path); missing != nil && err == nil {
		// A new one is most often in memory that other programs need too: its limit is half of what
		// is free there. Without it the usual limit applies.
		if free, known := osfile.FreeBytes(path); known && free/2 < defaultMaxBytes {
			_ = dir.PutSettings(Settings{MaxBytes: free / 2})
		}
	}
	return dir, nil
}
