package drivercache

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/shadercache/shadercache/drivercache/nvidia"
	"github.com/shadercache/shadercache/internal/osfile"
)

// maxFillSlots limits the search for a free number.
const maxFillSlots = 1000

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
	known, missing := map[string]bool{}, map[string]bool{}
	here, _ := nvidia.Records(f.dir)
	for _, r := range here {
		known[path.Dir(r.Slot)+r.Entry] = true
	}
	there, _ := nvidia.Records(f.from)
	for _, r := range there {
		if !known[path.Dir(r.Slot)+r.Entry] {
			missing[r.Slot] = true
		}
	}
	if len(missing) == 0 {
		return nil
	}
	_, err := nvidia.Snapshots(f.from, func(s nvidia.Snapshot) error {
		size := int64(len(s.Toc)) + s.Bin.Size()
		if !missing[s.Path] || !f.take(size) {
			return nil
		}
		err := Keep(f.dir, s.Toc)
		if err == nil {
			err = f.addSlot(s)
		}
		if err == nil {
			f.count(2, size)
		}
		return err
	})
	return err
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

// addSlot adds a slot with the lowest free number. Its .toc comes last: drivers ignore a
// .bin without one. The staged .bin stays beside it until both are in place, so that
// removeLeftovers finds a lone one after a kill.
func (f *filling) addSlot(s nvidia.Snapshot) error {
	staged := filepath.Join(f.staging, filepath.FromSlash(s.Path))
	folder := filepath.Join(f.dir, filepath.FromSlash(path.Dir(s.Path)))
	err := errors.Join(os.MkdirAll(filepath.Dir(staged), 0o700), os.MkdirAll(folder, 0o700))
	if err == nil {
		err = writeCopy(staged+".bin", s.Bin, s.Bin.Size())
	}
	if err == nil {
		err = writeCopy(staged+".toc", bytes.NewReader(s.Toc), int64(len(s.Toc)))
	}
	if err != nil {
		return err
	}
	for n := range maxFillSlots {
		to := filepath.Join(folder, nvidia.App+fmt.Sprint(n))
		if exists(to+".bin") || exists(to+".toc") {
			continue
		}
		err := linkOrRename(staged+".bin", to+".bin")
		if errors.Is(err, fs.ErrExist) {
			continue // a driver that started just now took it
		}
		if err == nil {
			err = linkOrRename(staged+".toc", to+".toc")
		}
		return err
	}
	return fmt.Errorf("%s has %d slots: delete them", folder, maxFillSlots)
}

// linkOrRename gives a file a second name, or another one where the file system has no
// links. It replaces nothing where there are links.
func linkOrRename(from, to string) error {
	err := os.Link(from, to)
	if err == nil || errors.Is(err, fs.ErrExist) {
		return err
	}
	return os.Rename(from, to)
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// removeLeftovers deletes what a process left that was killed while it copied: the staged
// files, and a .bin in place whose .toc is missing.
func (f *filling) removeLeftovers() error {
	walk(f.staging, func(file string, staged fs.FileInfo) {
		below, err := filepath.Rel(f.staging, file)
		if err != nil || !strings.HasSuffix(file, ".bin") {
			return
		}
		folder := filepath.Join(f.dir, filepath.Dir(below))
		for _, e := range osfile.List(folder) {
			placed := filepath.Join(folder, e.Name())
			info, err := os.Lstat(placed)
			if err == nil && os.SameFile(info, staged) && !exists(strings.TrimSuffix(placed, ".bin")+".toc") {
				_ = os.Remove(placed)
			}
		}
	})
	return os.RemoveAll(f.staging)
}
