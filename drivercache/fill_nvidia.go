package drivercache

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/shadercache/shadercache/drivercache/nvidia"
)

// maxSlots limits the search for a free number.
const maxSlots = 1000

// nvidia adds the slots that have records which are missing, and merges them; while another
// process uses the directory, a later start merges. The folders of other drivers and GPUs
// are copied too: which one is this driver's shows only in the files that it makes.
func (f *filling) nvidia() error {
	if err := f.checkSlotFolders(); err != nil {
		return err
	}
	err := exclusively(f.dir, func() error {
		if err := f.addSlots(); err != nil {
			return err
		}
		_, err := mergeLocked(f.dir)
		return err
	})
	if errors.Is(err, ErrInUse) {
		return f.addSlots()
	}
	return err
}

// addSlots adds the slots that have records which are missing, with the lowest free
// numbers.
func (f *filling) addSlots() error {
	known := knownRecords(f.dir)
	_, err := nvidia.Snapshots(f.from, func(s nvidia.Snapshot) error {
		size := int64(len(s.Toc)) + s.Bin.Size()
		if hasAll(known, path.Dir(s.Path), s.Toc) || !f.take(size) {
			return nil
		}
		added, err := f.addSlot(s)
		if added {
			f.count(2, size)
		}
		return err
	})
	return err
}

// knownRecords returns the records of all slots below dir, by folder and name.
func knownRecords(dir string) map[string]bool {
	here, _ := nvidia.Records(dir)
	known := map[string]bool{}
	for _, r := range here {
		known[path.Dir(r.Slot)+r.Entry] = true
	}
	return known
}

// hasAll reports whether all records of a table of contents are known in a folder.
func hasAll(known map[string]bool, folder string, toc []byte) bool {
	ids, err := nvidia.RecordIDs(toc)
	return err == nil && !slices.ContainsFunc(ids, func(id nvidia.RecordID) bool { return !known[folder+id.Name()] })
}

// checkSlotFolders checks the owners of all that leads to a slot.
func (f *filling) checkSlotFolders() error {
	checked := map[string]bool{}
	for _, file := range nvidia.SlotFiles(f.from) {
		for parent := filepath.Dir(file); parent != f.from && !checked[parent]; parent = filepath.Dir(parent) {
			if err := checkFolders(parent); err != nil {
				return err
			}
			checked[parent] = true
		}
		info, err := os.Lstat(file)
		if err == nil {
			err = checkOwner(file, info)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// addSlot stages a slot and adds it.
func (f *filling) addSlot(s nvidia.Snapshot) (added bool, err error) {
	staged := filepath.Join(f.staging, filepath.FromSlash(s.Path))
	err = errors.Join(os.MkdirAll(filepath.Dir(staged), 0o700),
		writeCopy(staged+".bin", s.Bin, s.Bin.Size()),
		writeCopy(staged+".toc", bytes.NewReader(s.Toc), int64(len(s.Toc))))
	if err != nil {
		return false, err
	}
	return AddSlot(f.dir, path.Join(filepath.Base(f.staging), s.Path), path.Join(filepath.Base(f.dir), path.Dir(s.Path)))
}

// AddSlot moves the two files of a staged slot into a folder of dir, with the lowest number that is free, which
// 0 is not beside others, or with that of a call that was killed. Its .toc comes last: drivers ignore a .bin
// without one, which the next merge deletes. staged, which has no extension, and folder are paths with slashes
// below the directory that dir is in. Where the file system has links the staged files stay, and no file is
// replaced. The records are not deleted by a [Drop] that came before. It adds none, and reports false, where
// all records are there.
func AddSlot(dir, staged, folder string) (added bool, err error) {
	root, err := os.OpenRoot(filepath.Dir(dir))
	if err != nil {
		return false, err
	}
	defer root.Close()
	bin, err := root.Lstat(staged + ".bin")
	toc, tocErr := nvidia.ReadToc(root, staged)
	if err = errors.Join(err, tocErr); errors.Is(err, fs.ErrNotExist) {
		return true, nil // the killed call renamed it, on a file system without links, or had added and deleted it
	}
	listed, listErr := readDropList(dir)
	if err = errors.Join(err, listErr); err != nil {
		return false, err
	}
	below := strings.TrimPrefix(folder, filepath.Base(dir)+"/")
	if err = root.MkdirAll(folder, 0o700); err != nil {
		return false, err
	}
	others, _ := fs.Glob(root.FS(), path.Join(folder, nvidia.App+"*"))
	for n := range maxSlots {
		to := fmt.Sprintf("%s/%s%d", folder, nvidia.App, n)
		placed, binErr := root.Lstat(to + ".bin")
		_, tocErr := root.Lstat(to + ".toc")
		if binErr != nil && tocErr != nil {
			if n == 0 && len(others) > 0 {
				continue // a process that starts may be about to write it, from the others
			}
			if hasAll(knownRecords(dir), below, toc) {
				return false, nil
			}
			if err = linkOrRename(root, staged+".bin", to+".bin"); errors.Is(err, fs.ErrExist) {
				continue // a driver that started just now took it
			}
		} else if binErr != nil || !os.SameFile(placed, bin) {
			continue
		}
		if err == nil && tocErr != nil {
			if err = keep(dir, listed, path.Join(below, path.Base(to))); err == nil {
				err = linkOrRename(root, staged+".toc", to+".toc")
			}
		}
		return err == nil, err
	}
	return false, fmt.Errorf("%s has %d slots: merge or delete them", folder, maxSlots)
}

// linkOrRename gives a file a second name, or another one where the file system has no
// links. It replaces nothing where there are links.
func linkOrRename(root *os.Root, from, to string) error {
	err := root.Link(from, to)
	if err == nil || errors.Is(err, fs.ErrExist) {
		return err
	}
	return root.Rename(from, to)
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
