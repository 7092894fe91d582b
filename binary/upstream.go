package binary

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// OpenUpstream opens a cache directory that is only read. The directory must exist, and
// may belong to root; the other rules of OpenDir apply, and an error matches ErrUnsafeDir
// where one is broken. A directory that this user cannot read is an error too. Nothing is
// ever written there: methods that would write return ErrReadOnly, and Record does
// nothing.
func OpenUpstream(path string) (*Dir, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, wrap("open upstream directory", err)
	}
	d := &Dir{path: path, now: time.Now, readOnly: true}
	err = d.checkTrust()
	if err == nil {
		err = d.checkReadable()
	}
	if err != nil {
		return nil, wrap("open upstream directory", err)
	}
	return d, nil
}

// checkReadable returns an error where the directory, or that of a driver in it, cannot
// be read. Without this check a directory that root made for root alone would count as
// empty.
func (d *Dir) checkReadable() error {
	folders, err := d.folders()
	for _, s := range folders {
		if err == nil {
			_, err = os.ReadDir(s.path)
		}
	}
	if errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("%w; its owner can make it readable: chmod -R a+rX %s", err, d.path)
	}
	return err
}

// WithUpstream returns the same directory with an upstream directory, from which stores
// and Source read what this one does not have. Nothing is copied.
func (d *Dir) WithUpstream(upstream *Dir) *Dir {
	above := *d
	above.upstream = upstream
	return &above
}

// levels returns this directory and those upstream of it, in the order in which they are
// read.
func (d *Dir) levels() []*Dir {
	if d.upstream == nil {
		return []*Dir{d}
	}
	return append([]*Dir{d}, d.upstream.levels()...)
}
