package nvidia

import (
	"fmt"
	"os"
	"path"
	"slices"
)

// DropExt is the extension of the list of records that are to be deleted, beside the driver's folder. A line
// is the name of a record, or names a slot without those of the lines before it: by its path, see [Snapshot], or
// that of a process by its own name, in all folders.
const DropExt = ".drop"

// dropList has the number of the last line with a name or a path, from 1.
type dropList map[string]int

func parseDropList(lines []string) dropList {
	list := make(dropList, len(lines))
	for i, line := range lines {
		list[line] = i + 1
	}
	return list
}

// drops reports whether a record of slot n is to be deleted.
func (m *folderMerge) drops(n int, id RecordID) bool {
	if len(m.drop) == 0 {
		return false
	}
	at := m.drop[id.Name()]
	return at > 0 && at > m.drop[m.path(n)] && at > m.drop[stem(SlotOf(ProcessOf(n)))]
}

// hasDropped reports whether a slot lists records that are to be deleted.
func (m *folderMerge) hasDropped(n int) bool {
	toc, err := ReadToc(m.root, path.Join(m.folder, stem(n)))
	if err != nil {
		return false
	}
	ids, err := RecordIDs(toc)
	return err == nil && slices.ContainsFunc(ids, func(id RecordID) bool { return m.drops(n, id) })
}

// path returns that of Snapshot.
func (m *folderMerge) path(n int) string { return path.Join(Folder, m.folder, stem(n)) }

// Drop deletes the records of a list's lines from every slot below a cache directory's
// driver folder. No driver may use the folder meanwhile: the caller holds its lock, as
// drivercache.Drop does. Slots that do not have the known format are not changed.
//
// The records that stay are written to a slot with a number that none has, and the others are deleted
// afterwards: whenever Drop is killed, every record that it keeps is in a slot that drivers can read. The
// next merge moves it to slot 0.
//
// Before such a slot is there, Drop calls spare with its path: where Drop is killed, or fails in another
// folder, the list that is dropped again has to have that line at its end.
func Drop(driverDir string, lines []string, spare func(slot string) error) error {
	list := parseDropList(lines)
	err := eachFolder(driverDir, func(root *os.Root, folder string) error {
		m := folderMerge{root: root, folder: folder, report: &Report{}, drop: list, spare: spare, mayDelete: func(int) bool { return true }}
		numbers, _, err := listSlots(root, folder)
		if err != nil || !slices.ContainsFunc(numbers, m.hasDropped) {
			return err
		}
		m.number = numbers[len(numbers)-1] + 1
		return m.run()
	})
	if err != nil {
		err = fmt.Errorf("nvidia: drop: %w", err)
	}
	return err
}
