package pack

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/shadercache/shadercache/drivercache/nvidia"
)

// Item identifies a part of a bundle that another bundle may leave out: a file, or a
// record of an NVIDIA slot. It is the start of the SHA-256 of a path.
type Item [8]byte

// ItemOf returns the item of a file, by its path below the cache directory.
func ItemOf(path string) Item {
	sum := sha256.Sum256([]byte(path))
	return Item(sum[:])
}

// Items reads a bundle, with the checks of Import, and returns the items of what that would add to an
// empty directory. It writes nothing.
func Items(r io.Reader, o ImportOptions) ([]Item, error) {
	u := unpacker{options: o}
	if _, err := u.read(o.Expect.check(r)); err != nil {
		return nil, fmt.Errorf("bundle: %w", err)
	}
	return u.report.Items, nil
}

// recordItem returns the item of a record of the slot with a path. Slots of one folder
// share their records: which slot holds one is chance.
func recordItem(slot string, id nvidia.RecordID) Item {
	return ItemOf(path.Dir(slot) + "#" + hex.EncodeToString(id[:]))
}

// items returns the items of the manifest. read returns the content of a file of it.
func (m *Manifest) items(read func(File) ([]byte, error)) ([]Item, error) {
	items := make([]Item, 0, len(m.Files))
	for _, f := range m.Files {
		switch {
		case f.Kind != NVIDIA:
			items = append(items, ItemOf(f.Path))
		case strings.HasSuffix(f.Path, ".toc"):
			toc, err := read(f)
			if err != nil {
				return nil, err
			}
			ids, err := nvidia.RecordIDs(toc)
			if err != nil {
				return nil, refused(f.Path, "%v", err)
			}
			for _, id := range ids {
				items = append(items, recordItem(f.Path, id))
			}
		}
	}
	return items, nil
}

// leavesOut reports whether Without has an item.
func (o *ExportOptions) leavesOut(i Item) bool {
	_, out := o.Without[i]
	return out
}

// slot adds those records of a slot that are not left out.
func (c *collector) slot(s nvidia.Snapshot) error {
	name := path.Join("driver", s.Path)
	if len(c.options.Without) > 0 {
		part, records, err := s.Select(func(id nvidia.RecordID) bool { return !c.options.leavesOut(recordItem(name, id)) })
		if err != nil || records == 0 {
			return err
		}
		s = part
	}
	if err := c.spool.addFile(name+".toc", NVIDIA, bytes.NewReader(s.Toc)); err != nil {
		return err
	}
	return c.spool.addFile(name+".bin", NVIDIA, s.Bin)
}
