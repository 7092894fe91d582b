package nvidia

import (
	"bytes"
	"fmt"
	"io"
)

// RecordID identifies a record of a slot: the 8 bytes of its hash and the 8 of its kind.
type RecordID [16]byte

// RecordIDs returns the records that a table of contents lists. It returns a
// formatError, wrapped, for a table of another form.
func RecordIDs(toc []byte) ([]RecordID, error) {
	if len(toc) < headerBytes || (len(toc)-headerBytes)%entryBytes != 0 {
		return nil, fmt.Errorf("nvidia: %w", formatErrorf(".toc has %d bytes", len(toc)))
	}
	ids := make([]RecordID, 0, (len(toc)-headerBytes)/entryBytes)
	for list := toc[headerBytes:]; len(list) > 0; list = list[entryBytes:] {
		ids = append(ids, parseEntry(list).id)
	}
	return ids, nil
}

// Select returns a snapshot of those records of s that keep accepts, in memory, and
// their number. Without records both files are headers only.
func (s Snapshot) Select(keep func(RecordID) bool) (Snapshot, int, error) {
	old, err := parseSlot(s.Toc, s.Bin)
	if err != nil {
		return Snapshot{}, 0, fmt.Errorf("nvidia: select records: %w", err)
	}
	selected := slot{header: old.header}
	bin := bytes.NewBuffer(bytes.Clone(old.header[:]))
	for _, e := range old.entries {
		if !keep(e.id) {
			continue
		}
		record := io.NewSectionReader(s.Bin, int64(e.offset), e.end()-int64(e.offset))
		e.offset = uint32(bin.Len())
		if _, err := io.Copy(bin, record); err != nil {
			return Snapshot{}, 0, fmt.Errorf("nvidia: select records: %w", err)
		}
		selected.entries = append(selected.entries, e)
	}
	data := bin.Bytes()
	part := Snapshot{Path: s.Path, Toc: selected.toc(), Bin: io.NewSectionReader(bytes.NewReader(data), 0, int64(len(data)))}
	return part, len(selected.entries), nil
}
