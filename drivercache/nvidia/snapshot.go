package nvidia

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/shadercache/shadercache/internal/osfile"
)

// stem returns the name of slot n's files without their extension.
func stem(n int) string { return App + strconv.Itoa(n) }

// listSlots returns the slots of a folder that have at least one of their two files, in
// order, and those that have temporary files.
func listSlots(root *os.Root, folder string) (numbers, unfinished []int, err error) {
	files, err := fs.ReadDir(root.FS(), folder)
	if err != nil {
		return nil, nil, err
	}
	for _, f := range files {
		parts := slotFile.FindStringSubmatch(f.Name())
		if parts == nil {
			continue
		}
		n, err := strconv.Atoi(parts[2])
		if err != nil {
			return nil, nil, err
		}
		if parts[1] != "" {
			unfinished = append(unfinished, n)
		} else {
			numbers = append(numbers, n)
		}
	}
	slices.Sort(numbers)
	return slices.Compact(numbers), unfinished, nil
}

// SlotFiles returns the paths of the files of every slot below a cache directory's driver
// folder, sorted by folder. It reads none of them.
func SlotFiles(driverDir string) (paths []string) {
	_ = eachFolder(driverDir, func(root *os.Root, folder string) error {
		numbers, _, _ := listSlots(root, folder)
		for _, n := range numbers {
			name := filepath.Join(root.Name(), filepath.FromSlash(folder), stem(n))
			paths = append(paths, name+".bin", name+".toc")
		}
		return nil
	})
	return paths
}

// openSlot checks the slot with the given path, without extension, and returns
// it with its .bin file, which the caller closes. The .toc is read first: files only
// grow, so its records are in the .bin even while a driver appends to both.
func openSlot(root *os.Root, name string) (*slot, *os.File, error) {
	list, err := ReadToc(root, name)
	if err != nil {
		return nil, nil, err
	}
	bin, err := openRegular(root, name+".bin")
	if err != nil {
		return nil, nil, err
	}
	s, err := parseSlot(list, bin)
	if err != nil {
		_ = bin.Close()
		return nil, nil, err
	}
	return s, bin, nil
}

// ReadToc reads the table of contents of a slot, as it is.
func ReadToc(root *os.Root, name string) ([]byte, error) {
	toc, err := openRegular(root, name+".toc")
	if err != nil {
		return nil, err
	}
	defer toc.Close()
	list, err := io.ReadAll(io.LimitReader(toc, maxTocBytes+1))
	if err == nil && len(list) > maxTocBytes {
		err = formatErrorf(".toc has more than %d bytes", maxTocBytes)
	}
	return list, err
}

// openRegular opens a regular file and does not follow links.
func openRegular(root *os.Root, name string) (*os.File, error) {
	f, _, err := osfile.OpenRegular(name, root.Lstat, root.OpenFile)
	if f == nil && err == nil {
		err = formatErrorf("%s is not a regular file", path.Base(name))
	}
	return f, err
}

// Snapshot is a consistent copy of a slot, even while a driver appends to it.
type Snapshot struct {
	Path string // without extension, below the driver's folder, with slashes
	Toc  []byte
	Bin  *io.SectionReader
}

// Snapshots visits every slot below a cache directory's driver folder, sorted by folder, then
// number, except those with nothing that the slots before them have not, and without the records that are
// to be deleted: see [DropExt]. A snapshot is valid until visit returns. Slots that a merge skips, such as those that do not have the known format,
// are not visited but returned. An error of visit ends the call and is returned unchanged.
func Snapshots(driverDir string, visit func(Snapshot) error) ([]SkippedSlot, error) {
	var skipped []SkippedSlot
	listed, err := osfile.ReadLines(filepath.Clean(driverDir)+DropExt, maxTocBytes)
	if err != nil {
		return nil, fmt.Errorf("nvidia: %w", err)
	}
	drop := parseDropList(listed)
	err = eachFolder(driverDir, func(root *os.Root, folder string) error {
		numbers, _, err := listSlots(root, folder)
		if err != nil {
			return fmt.Errorf("nvidia: %w", err)
		}
		seen := folderMerge{root: root, folder: folder, drop: drop}
		for _, n := range numbers {
			if seen.hasAll(n) {
				continue
			}
			why, err := seen.visit(n, visit)
			if err != nil {
				return err
			}
			if why != "" {
				skipped = append(skipped, seen.skipped(n, why))
			}
		}
		return nil
	})
	return skipped, err
}

// visit visits one slot, or returns the reason for which it is skipped.
func (m *folderMerge) visit(n int, visit func(Snapshot) error) (skipped string, err error) {
	s, bin, err := m.open(n)
	if why, ok := skipReason(err); ok {
		return why, nil
	}
	if err != nil {
		return "", fmt.Errorf("nvidia: %w", err)
	}
	defer bin.Close()
	m.begin(s.header[:])
	snapshot := Snapshot{Path: m.path(n), Toc: s.toc(), Bin: io.NewSectionReader(bin, 0, s.end())}
	left := 0
	for _, e := range s.entries {
		if !m.drops(n, e.id) {
			m.known[e.id] = struct{}{}
			left++
		}
	}
	if left < len(s.entries) {
		snapshot, _, err = snapshot.Select(func(id RecordID) bool { return !m.drops(n, id) })
	}
	if err != nil || left == 0 && len(s.entries) > 0 {
		return "", err
	}
	return "", visit(snapshot)
}

// openFolder opens a folder. Of anything else, such as a FIFO that has to have a writer, it
// returns an error and does not wait.
func openFolder(path string) (*os.Root, error) {
	if info, err := os.Stat(path); err == nil && !info.IsDir() {
		return nil, fmt.Errorf("%s is no folder", path)
	}
	return os.OpenRoot(path)
}
