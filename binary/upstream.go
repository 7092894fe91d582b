package binary

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

const upstreamEnvironment = "SHADERCACHE_UPSTREAM"

// DefaultUpstream is $SHADERCACHE_UPSTREAM: a cache directory below the private
// one, such as one that came with a container image. "" = none.
func DefaultUpstream() string { return os.Getenv(upstreamEnvironment) }

// OpenUpstream opens a cache directory that is only read. It must exist, and
// belong to us or to root; otherwise it is as safe as OpenDir demands, or the
// error matches ErrUnsafeDir; one that we may not read is an error as well.
// Nothing is ever written there: what would do so
// returns ErrReadOnly, and Record drops what it is given.
func OpenUpstream(path string) (*Dir, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("binary: open upstream directory: %w", err)
	}
	d := &Dir{path: path, now: time.Now, readOnly: true}
	info, err := os.Lstat(path)
	if err == nil {
		err = d.check(path, info)
	}
	if err == nil {
		err = d.checkBelow(path, driverName, sourcesName)
	}
	if err == nil {
		err = d.readable()
	}
	if err != nil {
		return nil, fmt.Errorf("binary: open upstream directory: %w", err)
	}
	return d, nil
}

// readable is why the directory, or the part of a driver in it, cannot be read:
// root makes it for root alone, and that would look like a directory that has
// nothing.
func (d *Dir) readable() error {
	list, err := os.ReadDir(d.path)
	for _, e := range list {
		if err == nil && e.IsDir() && fingerprintDir.MatchString(e.Name()) {
			_, err = os.ReadDir(filepath.Join(d.path, e.Name()))
		}
	}
	if errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("%w; who owns it lets others read it: chmod -R a+rX %s", err, d.path)
	}
	return err
}

// WithUpstream is the same directory, whose stores and sources look into
// upstream for what they do not have. Nothing is copied.
func (d *Dir) WithUpstream(upstream *Dir) *Dir {
	above := *d
	above.upstream = upstream
	return &above
}

// levels are the directories to look into, this one first.
func (d *Dir) levels() []*Dir {
	if d.upstream == nil {
		return []*Dir{d}
	}
	return append([]*Dir{d}, d.upstream.levels()...)
}
