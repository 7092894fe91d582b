package binary

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"slices"

	"github.com/shadercache/shadercache/internal/osfile"
	"github.com/shadercache/shadercache/shader"
)

// pending/ holds what processes recorded and the index does not have yet, one file for
// each Record. A process writes one where the index is busy, so that of processes that
// end together none loses its figures, and where it put no blob or the index is large, so
// that its end costs what it used and not what the directory holds. Readers add the files
// to what the index has. The next Record that changes the index merges them into it, in
// one transaction with their names: a file whose name the index has was merged by a
// process that was killed before it deleted the file.
const (
	pendingName = "pending"
	pendingExt  = ".json"
	// maxPending is the number of files at which a Record merges them.
	maxPending = 16
)

// largeIndex is the size from which an index is not rewritten by each Record: that of
// some 3,000 programs, for which it takes 0.1 s.
var largeIndex int64 = 1 << 20

// pendingRecord is one file.
type pendingRecord struct {
	Uses     []Use        `json:"uses,omitempty"`
	Written  []shader.Key `json:"written,omitempty"` // blobs that are new
	Counters Counters     `json:"counters"`
}

// pendingKind is one file. A use has less than 2 KB, most of it its name.
func pendingKind(name string) whole[pendingRecord] {
	return whole[pendingRecord]{name: name, limit: 64 << 20, unsynced: true, compact: true}
}

// putPending writes a file. Readers see all of it or nothing.
func (s *Store) putPending(r pendingRecord) error {
	var number [16]byte // the time first: of what two processes measured, the later one counts
	binary.BigEndian.PutUint64(number[:], uint64(s.dir.now().UnixNano()))
	_, _ = rand.Read(number[8:])
	kind := pendingKind(hex.EncodeToString(number[:]) + pendingExt)
	err := kind.write(s.file(pendingName), r)
	if errors.Is(err, fs.ErrNotExist) { // the directory of the store has an index
		if err = os.Mkdir(s.file(pendingName), 0o700); err == nil || errors.Is(err, fs.ErrExist) {
			err = kind.write(s.file(pendingName), r)
		}
	}
	return err
}

// pendingNames lists the files, the oldest first.
func (s *Store) pendingNames() (names []string) {
	for _, e := range osfile.List(s.file(pendingName)) {
		if storeDirForms[pendingName](e.Name()) {
			names = append(names, e.Name())
		}
	}
	return names
}

// readPending reads the files, except those that were merged, and lists all of them. One that
// is damaged, or that another process has merged meanwhile, is left out.
func (s *Store) readPending(merged []string) (names []string, list []pendingRecord) {
	names = s.pendingNames()
	for _, name := range names {
		if r, err := pendingKind(name).read(s.file(pendingName)); err == nil && !slices.Contains(merged, name) {
			list = append(list, r)
		}
	}
	return names, list
}
