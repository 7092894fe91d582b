package binary

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/shadercache/shadercache/drivercache"
	"github.com/shadercache/shadercache/internal/osfile"
	"github.com/shadercache/shadercache/shader"
)

// DeletePrograms deletes the programs with these keys, of every driver: their blobs, the
// machine code that no other program uses, their sources, and the notes on them, such as
// a quarantine. Of the options it uses DryRun and Deleted. A process that uses a program
// is not affected.
func (d *Dir) DeletePrograms(keys []shader.Key, o PruneOptions) (PruneReport, error) {
	p, stores, err := d.startDeleting(PruneOptions{DryRun: o.DryRun, Deleted: o.Deleted})
	if err != nil {
		return PruneReport{}, err
	}
	items := d.pruneItems(stores)
	for _, it := range items.list {
		if it.store != nil && slices.Contains(keys, it.key) {
			p.deleteItem(items.release(it))
		}
	}
	p.finishDriver(d.DriverDir())
	for _, key := range keys {
		p.deleteIfThere(sources.path(d.path, key))
		for _, s := range stores {
			p.deleteIfThere(notes.path(s.path, key))
			p.deleteIfThere(failures.path(s.path, key))
			p.deleteIfThere(answers.path(s.path, key))
		}
	}
	p.reconcile(stores)
	return p.report, p.err()
}

// Clear deletes everything that this package and the driver made in the directory but its
// settings: programs of every driver, machine code, sources, tunings and statistics.
// Files of others stay. Of the options it uses DryRun and Deleted. A process that uses
// the directory goes on, and stores what it compiles from now on. Where a folder cannot be
// read, it deletes the rest and returns that error.
func (d *Dir) Clear(o PruneOptions) (PruneReport, error) {
	p, stores, err := d.startDeleting(PruneOptions{DryRun: o.DryRun, Deleted: o.Deleted})
	if err != nil {
		return PruneReport{}, err
	}
	p.deleteOthers(stores)
	for _, part := range drivercache.Items(d.DriverDir()) {
		p.deleteDriverItem(&part)
	}
	p.finishDriver(d.DriverDir())
	for key := range sources.files(d.path) {
		p.deleteIfThere(sources.path(d.path, key))
	}
	p.all = true
	p.sweep(d, nil)
	for _, name := range append([]string{driverName + ".filled"}, dirFiles...) { // it is to be filled again
		if name != settingsName {
			p.deleteIfThere(filepath.Join(d.path, name))
		}
	}
	if !p.DryRun {
		d.removeEmptyShards()
	}
	p.errs = append(p.errs, d.unread())
	return p.report, p.err()
}

// unread returns an error where a folder cannot be read, another user's for example: what
// it holds was taken for nothing, and stays.
func (d *Dir) unread() (err error) {
	folders := []string{d.DriverDir(), filepath.Join(d.path, sourcesName), filepath.Join(d.path, "remote"), filepath.Join(d.path, importName)}
	stores, _ := d.folders() // which were listed before
	for _, s := range stores {
		folders = append(folders, s.path)
	}
	for _, folder := range folders {
		err = errors.Join(err, filepath.WalkDir(folder, func(_ string, e fs.DirEntry, err error) error {
			if err == nil {
				_, err = e.Info() // a folder may give names alone
			}
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			return err
		}))
	}
	return err
}

func (d *Dir) startDeleting(o PruneOptions) (*pruning, []*Store, error) {
	if d.readOnly {
		return nil, nil, ErrReadOnly
	}
	if o.Now.IsZero() {
		o.Now = d.now()
	}
	stores, err := d.stores()
	return &pruning{PruneOptions: o, touched: map[*Store]bool{}}, stores, err
}

// deleteIfThere deletes a regular file and counts it as a leftover.
func (p *pruning) deleteIfThere(path string) {
	if isRegular(path) {
		p.deleteLeftover(path)
	}
}

func isRegular(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.Mode().IsRegular()
}

// removeEmptyShards removes the directories of two digits that are empty.
func (d *Dir) removeEmptyShards() {
	for _, dir := range []string{filepath.Join(d.path, sourcesName), filepath.Join(d.DriverDir(), "mesa")} {
		if osfile.IsLink(dir) {
			continue
		}
		for _, shard := range shards(dir) {
			_ = os.Remove(filepath.Join(dir, shard.Name())) // stays while something is in it
		}
	}
}
