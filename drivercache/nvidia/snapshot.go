package nvidia

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
)

// stem is the name of slot n's files without their extension.
func stem(n int) string { return App + strconv.Itoa(n) }

// slotNumbers lists the slots of a folder that have at least one of their two
// files, in order.
func slotNumbers(root *os.Root, folder string) ([]int, error) {
	files, err := fs.ReadDir(root.FS(), folder)
	if err != nil {
		return nil, err
	}
	var numbers []int
	for _, f := range files {
		parts := slotFile.FindStringSubmatch(f.Name())
		if parts == nil {
			continue
		}
		n, err := strconv.Atoi(parts[1])
		if err != nil {
			return nil, err
		}
		numbers = append(numbers, n)
	}
	slices.Sort(numbers)
	return slices.Compact(numbers), nil
}

// openSlot checks the slot with the given path, without extension, and returns
// it with its .bin file, for the caller to close. The .toc is read first: files
// only grow, so its records are in the .bin also while somebody adds to both.
func openSlot(root *os.Root, name string) (*slot, *os.File, error) {
	toc, err := openRegular(root, name+".toc")
	if err != nil {
		return nil, nil, err
	}
	list, err := io.ReadAll(io.LimitReader(toc, maxTocBytes+1))
	_ = toc.Close()
	if err == nil && len(list) > maxTocBytes {
		err = format(".toc has more than %d bytes", maxTocBytes)
	}
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

// openRegular opens a file that is no link, directory or device.
func openRegular(root *os.Root, name string) (*os.File, error) {
	info, err := root.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, format("%s is not a regular file", path.Base(name))
	}
	return root.Open(name)
}

// Snapshot is a slot as it was at one moment, also when a driver adds to it
// meanwhile.
type Snapshot struct {
	Path string // without extension, below the driver's folder, with slashes
	Toc  []byte
	Bin  *io.SectionReader
}

// Snapshots visits every slot below a cache directory's driver folder, sorted by
// folder, then number. A snapshot is valid until visit returns. Slots that do
// not have the form that this package knows are returned instead. An error of
// visit ends it and is returned as it is.
func Snapshots(driverDir string, visit func(Snapshot) error) ([]LeftAlone, error) {
	root, err := os.OpenRoot(filepath.Join(driverDir, Folder))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("nvidia: %w", err)
	}
	defer root.Close()
	var alone []LeftAlone
	for _, folder := range slotFolders(root) {
		numbers, err := slotNumbers(root, folder)
		if err != nil {
			return alone, fmt.Errorf("nvidia: %w", err)
		}
		for _, n := range numbers {
			left, err := visitSlot(root, path.Join(folder, stem(n)), visit)
			if err != nil {
				return alone, err
			}
			alone = append(alone, left...)
		}
	}
	return alone, nil
}

// visitSlot visits one slot or says why it is left alone.
func visitSlot(root *os.Root, name string, visit func(Snapshot) error) ([]LeftAlone, error) {
	s, bin, err := openSlot(root, name)
	if why, ok := reason(err); ok {
		return []LeftAlone{{path.Join(Folder, name), why}}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("nvidia: %w", err)
	}
	defer bin.Close()
	return nil, visit(Snapshot{
		Path: path.Join(Folder, name),
		Toc:  s.toc(),
		Bin:  io.NewSectionReader(bin, 0, s.end()),
	})
}

// Survey lists the slots below a cache directory's driver folder that a merge
// leaves alone, and changes nothing.
func Survey(driverDir string) ([]LeftAlone, error) {
	var strangers []LeftAlone
	headers := map[string][]byte{} // of the first sound slot of each folder
	alone, err := Snapshots(driverDir, func(s Snapshot) error {
		folder, header := path.Dir(s.Path), s.Toc[:headerBytes]
		first, known := headers[folder]
		if !known {
			headers[folder] = header
		} else if !bytes.Equal(first, header) {
			strangers = append(strangers, LeftAlone{s.Path, "of another driver or GPU than the slots before it"})
		}
		return nil
	})
	return append(alone, strangers...), err
}
