package nvidia

import (
	"fmt"
	"os"
)

// Drop deletes the records with these names from every slot below a cache directory's
// driver folder. No driver may use the folder meanwhile: the caller holds its lock, as
// drivercache.Drop does. Slots that do not have the known format are not changed.
//
// A slot without the records is written under a number that no slot has, and the old
// one is deleted afterwards: whenever Drop is killed, every record that it keeps is in
// a slot that drivers can read. The next merge moves it to slot 0.
func Drop(driverDir string, names map[string]bool) error {
	err := eachFolder(driverDir, func(root *os.Root, folder string) error { return dropFrom(root, folder, names) })
	if err != nil {
		err = fmt.Errorf("nvidia: drop: %w", err)
	}
	return err
}

// dropFrom drops the records from the slots of one folder.
func dropFrom(root *os.Root, folder string, names map[string]bool) error {
	numbers, _, err := listSlots(root, folder)
	if err != nil || len(numbers) == 0 {
		return err
	}
	free := numbers[len(numbers)-1] + 1
	for _, n := range numbers {
		m := folderMerge{root: root, folder: folder, report: &Report{}, number: free, drop: names}
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
