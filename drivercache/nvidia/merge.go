package nvidia

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"

	"github.com/shadercache/shadercache/internal/osfile"
)

// App is the name of the slots of processes that this module manages. Slots with other
// names are not changed.
const App = "shadercache"

// Folder is the folder of the slots below the driver's folder of a cache directory.
// They are in GLCache/<32 hexadecimal digits>/<16>/ there.
const Folder = "nvidia"

var (
	folderPath = regexp.MustCompile(`^GLCache/[0-9a-f]{32}/[0-9a-f]{16}$`)
	slotFile   = regexp.MustCompile(`^(\.?)` + App + `(0|[1-9][0-9]{0,3})\.(bin|toc)$`) // with a dot: a temporary file
)

// Report is the result of a merge.
type Report struct {
	Slots   int           `json:"slots"`   // merged into slot 0 and deleted
	Records int           `json:"records"` // added to slot 0
	Bytes   int64         `json:"bytes"`   // of those records
	Skipped []SkippedSlot `json:"left_alone,omitempty"`
}

// SkippedSlot is a slot that does not have the known format.
type SkippedSlot struct {
	Slot   string `json:"slot"` // path without extension, below the driver's folder
	Reason string `json:"reason"`
}

// Merge merges the slots below a cache directory's driver folder, see
// binary.Dir.DriverDir. No driver may use the folder meanwhile: the caller holds its
// lock, as drivercache.Merge does. Without slots to merge it reads one or two folders.
//
// A merge that is killed leaves slots that drivers can read, and the next merge
// starts from the beginning: the new .bin begins with the old one, so that it matches
// the old .toc as well, and the other slots are deleted last. After an error some
// folders are merged and the others are unchanged.
func Merge(driverDir string) (Report, error) {
	return MergeInto(driverDir, 0, func(int) bool { return true }, nil)
}

// MergeInto copies into the slot with a number what the others below a cache directory's
// driver folder have and it has not. Of the others it deletes those for which mayDelete
// returns true. No driver may use the slot, nor those that are deleted; others may append
// to theirs meanwhile.
//
// It copies no record that is to be deleted by the lines of a list, see [DropExt]: but for slot 0, which may
// be the only one, the slot has none then.
func MergeInto(driverDir string, number int, mayDelete func(slot int) bool, listed []string) (Report, error) {
	var r Report
	drop := parseDropList(listed)
	err := eachFolder(driverDir, func(root *os.Root, folder string) error {
		m := folderMerge{root: root, folder: folder, report: &r, number: number, mayDelete: mayDelete, drop: drop}
		if err := m.run(); err != nil {
			return fmt.Errorf("%s: %w", filepath.Join(root.Name(), folder), err)
		}
		return nil
	})
	if err != nil {
		err = fmt.Errorf("nvidia: merge: %w", err)
	}
	return r, err
}

// eachFolder calls visit for the folders of slots below a cache directory's driver folder,
// sorted, until it returns an error. Without the driver's folder there are none.
func eachFolder(driverDir string, visit func(root *os.Root, folder string) error) error {
	root, err := openFolder(filepath.Join(driverDir, Folder))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer root.Close()
	for _, folder := range slotFolders(root) {
		if err := visit(root, folder); err != nil {
			return err
		}
	}
	return nil
}

// slotFolders returns the folders that hold slots, sorted. Links are not followed.
func slotFolders(root *os.Root) []string {
	var folders []string
	_ = fs.WalkDir(root.FS(), "GLCache", func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && folderPath.MatchString(name) {
			folders = append(folders, name)
			return fs.SkipDir
		}
		return nil
	})
	return folders
}

// folderMerge is the merge of one folder.
type folderMerge struct {
	root   *os.Root
	folder string
	report *Report
	number int // of the slot that is written; 0 for a merge

	mayDelete func(slot int) bool // once its records are in that slot
	unsynced  bool                // nothing is deleted or replaced, so that a power cut loses nothing
	torn      bool                // see isTorn
	drop      dropList            // records that are left out

	spare func(slot string) error // of Drop

	merged   slot                  // that slot afterwards
	known    map[RecordID]struct{} // nil until the first valid slot
	pieces   []piece               // records to append to that slot, in order
	obsolete []int                 // slots to delete
	halves   []int                 // likewise, if who added them was killed meanwhile
}

// piece is a record to copy.
type piece struct {
	slot int
	at   entry // its entry in that slot
}

func (m *folderMerge) run() error {
	if m.number > 0 && len(m.drop) > 0 && m.hasDropped(m.number) {
		if err := m.moveAway(); err != nil {
			return err
		}
	}
	numbers, unfinished, err := listSlots(m.root, m.folder)
	if err != nil {
		return err
	}
	for _, n := range unfinished {
		if n != m.number && m.mayDelete(n) {
			m.removeTemps(n)
		}
	}
	if len(numbers) == 0 || len(numbers) == 1 && numbers[0] == m.number && !m.isTorn() {
		return nil
	}
	if i := slices.Index(numbers, m.number); i >= 0 {
		numbers = slices.Insert(slices.Delete(numbers, i, i+1), 0, m.number)
	}
	kept := int64(0) // bytes of the .bin to keep
	for _, n := range numbers {
		// Before it is read: a process whose slot it is might add to it meanwhile, and end.
		obsolete := n != m.number && m.mayDelete(n)
		if m.hasAll(n) {
			if obsolete {
				m.obsolete = append(m.obsolete, n)
			}
			continue
		}
		s, err := m.read(n)
		if n == m.number && (errors.Is(err, fs.ErrNotExist) || m.isEmpty()) {
			continue // no driver reads one file of a slot: it is replaced
		}
		if obsolete && errors.Is(err, fs.ErrNotExist) {
			m.halves = append(m.halves, n)
			continue
		}
		if why, ok := skipReason(err); ok {
			m.report.Skipped = append(m.report.Skipped, m.skipped(n, why))
			if n == m.number {
				return nil // there is no slot to merge into
			}
			continue
		}
		if err != nil {
			return err
		}
		if n == m.number {
			kept, m.torn = s.end(), m.isTorn()
		}
		if obsolete {
			m.obsolete = append(m.obsolete, n)
		}
		m.planCopy(n, s)
	}
	return m.write(kept)
}

// moveAway gives the slot another number of its process: it is read as others are then.
func (m *folderMerge) moveAway() error {
	from, to := path.Join(m.folder, stem(m.number)), path.Join(m.folder, stem(m.number+1))
	if err := m.root.Rename(from+".bin", to+".bin"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return m.root.Rename(from+".toc", to+".toc")
}

// isEmpty reports whether the .toc of the slot has nothing: a driver was killed before it
// wrote the header.
func (m *folderMerge) isEmpty() bool {
	toc, err := m.root.Lstat(path.Join(m.folder, stem(m.number)+".toc"))
	return err == nil && toc.Mode().IsRegular() && toc.Size() == 0
}

// isTorn reports whether the .bin of the slot has more than its .toc lists: a process was
// killed between the two. What a driver appends then has to follow the records that count.
func (m *folderMerge) isTorn() bool {
	name := path.Join(m.folder, stem(m.number))
	toc, err := openRegular(m.root, name+".toc")
	if err != nil {
		return false
	}
	defer toc.Close()
	var last [entryBytes]byte
	list, tocErr := toc.Stat()
	bin, binErr := m.root.Lstat(name + ".bin")
	if tocErr != nil || binErr != nil || list.Size() < headerBytes+entryBytes {
		return tocErr == nil && binErr == nil && list.Size() == headerBytes && bin.Size() > headerBytes
	}
	_, err = toc.ReadAt(last[:], list.Size()-entryBytes)
	return err == nil && bin.Size() > parseEntry(last[:]).end()
}

// hasAll reports whether the records that a slot lists are in the slots before it: then its
// .bin is not read.
func (m *folderMerge) hasAll(n int) bool {
	if m.known == nil {
		return false
	}
	toc, err := ReadToc(m.root, path.Join(m.folder, stem(n)))
	if err != nil || !bytes.HasPrefix(toc, m.merged.header[:]) {
		return false
	}
	ids, err := RecordIDs(toc)
	return err == nil && !slices.ContainsFunc(ids, func(id RecordID) bool {
		_, known := m.known[id]
		return !known
	})
}

// begin notes the header of a valid slot, which those of its driver have in common.
func (m *folderMerge) begin(header []byte) {
	copy(m.merged.header[:], header)
	if m.known == nil {
		m.known = map[RecordID]struct{}{}
	}
}

func (m *folderMerge) skipped(n int, why string) SkippedSlot {
	return SkippedSlot{path.Join(Folder, m.folder, stem(n)), why}
}

// open opens one slot, as openSlot does, and checks it against those before.
func (m *folderMerge) open(n int) (*slot, *os.File, error) {
	s, bin, err := openSlot(m.root, path.Join(m.folder, stem(n)))
	if err == nil && m.known != nil && s.header != m.merged.header {
		_ = bin.Close()
		err = formatErrorf("of another driver or GPU than the slots before it")
	}
	return s, bin, err
}

// read reads and checks one slot.
func (m *folderMerge) read(n int) (*slot, error) {
	s, bin, err := m.open(n)
	if err == nil {
		_ = bin.Close()
	}
	return s, err
}

// planCopy adds the new records of a valid slot to the merge.
func (m *folderMerge) planCopy(n int, s *slot) {
	m.begin(s.header[:])
	for _, e := range s.entries {
		if _, twice := m.known[e.id]; twice || n != m.number && m.drops(n, e.id) {
			continue
		}
		at := e
		e.offset = uint32(m.merged.end())
		if e.end() > math.MaxUint32 {
			continue // the slot is full: the driver compiles this one again
		}
		m.known[e.id] = struct{}{}
		m.merged.entries = append(m.merged.entries, e)
		if n != m.number {
			m.pieces = append(m.pieces, piece{n, at})
		}
	}
}

// write replaces the slot and deletes the others.
func (m *folderMerge) write(kept int64) error {
	m.unsynced = len(m.obsolete) == 0 && kept == 0
	if len(m.pieces) > 0 || m.torn || kept == 0 && !m.unsynced && m.known != nil && len(m.drop) == 0 {
		if err := m.replace(kept); err != nil {
			return err
		}
	}
	for _, n := range m.halves {
		if _, err := m.read(n); errors.Is(err, fs.ErrNotExist) {
			m.obsolete = append(m.obsolete, n)
		}
	}
	for _, n := range m.obsolete {
		if err := removeSlot(m.root, m.folder, n); err != nil {
			return err
		}
		m.report.Slots++
	}
	return nil
}

// removeSlot deletes the files of a slot, the .toc first: drivers ignore a .bin without
// one.
func removeSlot(root *os.Root, folder string, n int) error {
	for _, ext := range []string{".toc", ".bin"} {
		if err := root.Remove(path.Join(folder, stem(n)+ext)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// freeBytes returns what is free on a volume. Tests replace it.
var freeBytes = osfile.FreeBytes

// replace writes the slot to temporary files and renames them.
func (m *folderMerge) replace(kept int64) error {
	toc := m.merged.toc()
	free, known := freeBytes(m.root.Name())
	if needs := m.merged.end() + int64(len(toc)); known && needs > free-1<<20 { // others write meanwhile
		return fmt.Errorf("%w: a merge writes %d bytes, and %d are free", osfile.ErrNoSpace, needs, free)
	}
	name := path.Join(m.folder, stem(m.number))
	err := m.writeTemp(".toc", func(w io.Writer) error {
		_, err := w.Write(toc)
		return err
	})
	if err == nil {
		err = m.writeTemp(".bin", func(w io.Writer) error { return m.copyRecords(w, kept) })
	}
	if err == nil && m.spare != nil {
		err = m.spare(m.path(m.number))
	}
	if err == nil {
		err = m.root.Rename(m.tempName(".bin"), name+".bin")
	}
	if err == nil {
		err = m.root.Rename(m.tempName(".toc"), name+".toc")
	}
	if err == nil && !m.unsynced {
		err = osfile.SyncDir(filepath.Join(m.root.Name(), m.folder)) // before the other slots are deleted
	}
	if err != nil {
		m.removeTemps(m.number)
		return err
	}
	m.report.Records += len(m.pieces)
	for _, p := range m.pieces {
		m.report.Bytes += recordBytes + int64(p.at.size)
	}
	return nil
}

func (m *folderMerge) tempName(ext string) string { return path.Join(m.folder, "."+stem(m.number)+ext) }

// removeTemps removes the temporary files of a slot.
func (m *folderMerge) removeTemps(n int) {
	for _, ext := range []string{".bin", ".toc"} {
		_ = m.root.Remove(path.Join(m.folder, "."+stem(n)+ext))
	}
}

// writeTemp writes a temporary file for one file of the slot, in place of one that a
// killed merge left.
func (m *folderMerge) writeTemp(ext string, fill func(io.Writer) error) error {
	name := m.tempName(ext)
	if err := m.root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := m.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	err = fill(f)
	if err == nil && !m.unsynced {
		err = f.Sync() // or a power cut leaves an empty file in place of a sound slot
	}
	return errors.Join(err, f.Close())
}

// copyRecords writes the merged .bin: the bytes of the slot, then the pieces.
func (m *folderMerge) copyRecords(w io.Writer, kept int64) error {
	if kept == 0 {
		if _, err := w.Write(m.merged.header[:]); err != nil {
			return err
		}
	} else if err := m.copyRange(w, m.number, 0, kept); err != nil {
		return err
	}
	for start := 0; start < len(m.pieces); {
		stop := start + 1
		for stop < len(m.pieces) && m.adjacent(stop) {
			stop++
		}
		first, last := m.pieces[start], m.pieces[stop-1]
		if err := m.copyRange(w, first.slot, int64(first.at.offset), last.at.end()); err != nil {
			return err
		}
		start = stop
	}
	return nil
}

// adjacent reports whether piece i follows the one before it in the same file.
func (m *folderMerge) adjacent(i int) bool {
	before, p := m.pieces[i-1], m.pieces[i]
	return before.slot == p.slot && before.at.end() == int64(p.at.offset)
}

// copyRange copies a range of bytes of one slot's .bin.
func (m *folderMerge) copyRange(w io.Writer, n int, from, to int64) error {
	f, err := m.root.Open(path.Join(m.folder, stem(n)+".bin"))
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := f.Seek(from, io.SeekStart); err != nil {
		return err
	}
	// From file to file: the kernel copies, and shares the bytes where the file system can.
	copied, err := io.Copy(w, io.LimitReader(f, to-from))
	if err == nil && copied != to-from {
		err = io.ErrUnexpectedEOF
	}
	return err
}
