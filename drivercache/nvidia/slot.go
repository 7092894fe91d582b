package nvidia

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
)

const (
	magic   = "CDVN"
	version = 0x00030000

	headerBytes = 32
	entryBytes  = 24
	recordBytes = 32 // of the header before a record's data

	// maxTocBytes is the size of a million records, of 340,000 programs. A larger
	// file is not a table of contents.
	maxTocBytes = 24 << 20
)

// entry is one line of a table of contents.
type entry struct {
	id     RecordID
	offset uint32 // of the record's header in the .bin file
	size   uint32 // of the data after it
}

// end returns the offset of the first byte after the record.
func (e entry) end() int64 { return int64(e.offset) + recordBytes + int64(e.size) }

// parseEntry reads the entry at the start of list, which has at least entryBytes.
func parseEntry(list []byte) entry {
	return entry{
		id:     RecordID(list),
		offset: binary.LittleEndian.Uint32(list[16:]),
		size:   binary.LittleEndian.Uint32(list[20:]),
	}
}

func (e entry) append(dst []byte) []byte {
	dst = append(dst, e.id[:]...)
	dst = binary.LittleEndian.AppendUint32(dst, e.offset)
	return binary.LittleEndian.AppendUint32(dst, e.size)
}

// slot is a pair of files that was checked.
type slot struct {
	header  [headerBytes]byte // the same in both files
	entries []entry           // in the order of their records
}

// end returns the length of the .bin file.
func (s *slot) end() int64 {
	if len(s.entries) == 0 {
		return headerBytes
	}
	return s.entries[len(s.entries)-1].end()
}

// toc returns the content of the .toc file.
func (s *slot) toc() []byte {
	data := make([]byte, 0, headerBytes+entryBytes*len(s.entries))
	data = append(data, s.header[:]...)
	for _, e := range s.entries {
		data = e.append(data)
	}
	return data
}

// parseSlot checks a table of contents against the records in bin, which may have
// more bytes. It returns a formatError for a file that toc would not write.
func parseSlot(toc []byte, bin io.ReaderAt) (*slot, error) {
	s := &slot{}
	if err := s.readHeader(toc, bin); err != nil {
		return nil, err
	}
	list := toc[headerBytes:]
	if len(list)%entryBytes != 0 {
		return nil, formatErrorf(".toc ends within an entry")
	}
	s.entries = make([]entry, 0, len(list)/entryBytes)
	known := make(map[RecordID]struct{}, len(list)/entryBytes)
	for ; len(list) > 0; list = list[entryBytes:] {
		e := parseEntry(list)
		if _, twice := known[e.id]; twice {
			return nil, formatErrorf("entry %d is there twice", len(s.entries))
		}
		known[e.id] = struct{}{}
		if err := s.checkRecord(e, bin); err != nil {
			return nil, err
		}
		s.entries = append(s.entries, e)
	}
	return s, nil
}

func (s *slot) readHeader(toc []byte, bin io.ReaderAt) error {
	if len(toc) < headerBytes {
		return formatErrorf(".toc has %d bytes", len(toc))
	}
	copy(s.header[:], toc)
	var other [headerBytes]byte
	if err := readAt(bin, other[:], 0); err != nil {
		return err
	}
	switch {
	case string(s.header[:len(magic)]) != magic:
		return formatErrorf("no %s at the start", magic)
	case binary.LittleEndian.Uint32(s.header[4:]) != version:
		return formatErrorf("version %#x, and %#x is known", binary.LittleEndian.Uint32(s.header[4:]), version)
	case s.header != other:
		return formatErrorf(".toc and .bin are of different drivers")
	}
	return nil
}

// checkRecord checks that e follows the entry before it, and that it matches its
// record.
func (s *slot) checkRecord(e entry, bin io.ReaderAt) error {
	n := len(s.entries)
	if int64(e.offset) != s.end() || e.end() > math.MaxUint32 {
		return formatErrorf("entry %d is not where the record before it ends", n)
	}
	var head [recordBytes]byte
	if err := readAt(bin, head[:], int64(e.offset)); err != nil {
		return err
	}
	if !bytes.Equal(head[4:20], e.id[:]) || binary.LittleEndian.Uint32(head[28:]) != e.size {
		return formatErrorf("entry %d and its record do not agree", n)
	}
	// The last byte, to check that the record is complete.
	return readAt(bin, head[:1], e.end()-1)
}

// formatError describes how a slot differs from the known format.
type formatError string

func (e formatError) Error() string { return string(e) }

func formatErrorf(text string, args ...any) error { return formatError(fmt.Sprintf(text, args...)) }

// readAt fills p from bin. It returns a formatError where bin is too short.
func readAt(bin io.ReaderAt, p []byte, offset int64) error {
	n, err := bin.ReadAt(p, offset)
	if n == len(p) {
		return nil
	}
	if err == nil || errors.Is(err, io.EOF) {
		return formatErrorf(".bin ends before byte %d", offset+int64(len(p)))
	}
	return err
}

// skipReason returns the reason for which a slot with err is skipped, or false for an
// error that ends a merge.
func skipReason(err error) (string, bool) {
	if bad, ok := errors.AsType[formatError](err); ok {
		return bad.Error(), true
	}
	if errors.Is(err, fs.ErrNotExist) {
		return "one of its two files is missing", true
	}
	return "", false
}
