package nvidia

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/shadercache/shadercache/internal/osfile"
)

// DropExt is the extension of the list of records that are to be deleted, beside the driver's folder: a name
// a line. Of a record that was added again the line has the path of the new one's slot, too: see [Snapshot].
const DropExt = ".drop"

// dropList has the names of a list, with those slots.
type dropList map[string]string

func parseDropList(lines []string) dropList {
	list := make(dropList, len(lines))
	for _, line := range lines {
		name, slot, _ := strings.Cut(line, " ")
		if before, twice := list[name]; !twice || before != "" { // deleted again, it has no new one
			list[name] = slot
		}
	}
	return list
}

// readDropList reads the list of a directory, which may have none.
func readDropList(driverDir string) (dropList, error) {
	f, _, err := osfile.OpenRegular(filepath.Clean(driverDir)+DropExt, os.Lstat, os.OpenFile)
	if errors.Is(err, fs.ErrNotExist) || f == nil && err == nil {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxTocBytes))
	return parseDropList(strings.Split(string(data), "\n")), err
}

// drops reports whether a record of slot n is to be deleted.
func (m *folderMerge) drops(n int, id RecordID) bool {
	if len(m.drop) == 0 {
		return false
	}
	slot, listed := m.drop[id.Name()]
	return listed && slot != m.path(n)
}

// path returns that of Snapshot.
func (m *folderMerge) path(n int) string { return path.Join(Folder, m.folder, stem(n)) }

// Drop deletes the records of a list's lines from every slot below a cache directory's
// driver folder. No driver may use the folder meanwhile: the caller holds its lock, as
// drivercache.Drop does. Slots that do not have the known format are not changed.
//
// A slot without the records is written under a number that no slot has, and the old
// one is deleted afterwards: whenever Drop is killed, every record that it keeps is in
// a slot that drivers can read. The next merge moves it to slot 0.
func Drop(driverDir string, lines []string) error {
	list := parseDropList(lines)
	err := eachFolder(driverDir, func(root *os.Root, folder string) error { return dropFrom(root, folder, list) })
	if err != nil {
		err = fmt.Errorf("nvidia: drop: %w", err)
	}
	return err
}

// dropFrom drops the records from the slots of one folder.
func dropFrom(root *os.Root, folder string, list dropList) error {
	numbers, _, err := listSlots(root, folder)
	if err != nil || len(numbers) == 0 {
		return err
	}
	free := numbers[len(numbers)-1] + 1
	for _, n := range numbers {
		m := folderMerge{root: root, folder: folder, report: &Report{}, number: free, drop: list}
		s, err := m.read(n)
		if _, skip := skipReason(err); skip {
			continue
		}
		if err != nil {
			return err
		}
		m.planCopy(n, s)
		if len(m.pieces) == len(s.entries) {
			continue
		}
		if len(m.pieces) > 0 {
			if err := m.replace(0); err != nil {
				return err
			}
			free++
		}
		if err := removeSlot(root, folder, n); err != nil {
			return err
		}
	}
	return nil
}
