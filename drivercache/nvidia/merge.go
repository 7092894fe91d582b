package nvidia

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path"
	"path/filepath"
	"regexp"
)

// App is the name that our processes give their slots. Slots of other names are
// left to those who wrote them.
const App = "shadercache"

// Folder is where slots are, below the driver's folder of a cache directory:
// GLCache/<32 hexadecimal digits>/<16>/ below it.
const Folder = "nvidia"

var (
	folderPath = regexp.MustCompile(`^GLCache/[0-9a-f]{32}/[0-9a-f]{16}$`)
	slotFile   = regexp.MustCompile(`^` + App + `(0|[1-9][0-9]{0,3})\.(bin|toc)$`)
)

// Report says what a merge did.
type Report struct {
	Slots     int         `json:"slots"`   // merged into slot 0, and gone
	Records   int         `json:"records"` // that slot 0 did not have
	Bytes     int64       `json:"bytes"`   // of those records
	LeftAlone []LeftAlone `json:"left_alone,omitempty"`
}

// LeftAlone is a slot that does not have the form that this package knows.
type LeftAlone struct {
	Slot   string `json:"slot"` // path without extension, below the driver's folder
	Reason string `json:"reason"`
}

// Merge merges the slots below a cache directory's driver folder, see
// binary.Dir.DriverDir. No driver may use the folder meanwhile: the caller holds its
// lock, as drivercache.Merge does. Where there is nothing to merge it costs a look
// into one or two folders.
//
// A merge that is killed leaves slots that drivers read as before, and the next
// merge starts over: the new .bin begins with the old one, so it goes with the
// old .toc as well, and the other slots are deleted last. After an error the
// folders that were reached are merged and the others are as they were.
func Merge(driverDir string) (Report, error) {
	root, err := os.OpenRoot(filepath.Join(driverDir, Folder))
	if errors.Is(err, fs.ErrNotExist) {
		return Report{}, nil
	}
	if err != nil {
		return Report{}, fmt.Errorf("nvidia: merge: %w", err)
	}
	defer root.Close()
	var r Report
	for _, folder := range slotFolders(root) {
		m := merging{root: root, folder: folder, report: &r}
		if err := m.run(); err != nil {
			return r, fmt.Errorf("nvidia: merge %s: %w", filepath.Join(root.Name(), folder), err)
		}
	}
	return r, nil
}

// slotFolders lists the folders that hold slots, sorted. Links are not followed.
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

// merging is the merge of one folder.
type merging struct {
	root   *os.Root
	folder string
	report *Report

	merged slot                  // slot 0 as it will be
	known  map[identity]struct{} // nil until the first sound slot
	pieces []piece               // what goes behind slot 0, in order
	gone   []int                 // slots to delete
}

// piece is a record to be copied.
type piece struct {
	slot int
	at   entry // where it is in that slot
}

func (m *merging) run() error {
	numbers, err := slotNumbers(m.root, m.folder)
	if err != nil || len(numbers) == 0 || len(numbers) == 1 && numbers[0] == 0 {
		return err
	}
	kept := int64(0) // bytes of slot 0's .bin that stay
	for _, n := range numbers {
		s, err := m.read(n)
		if n == 0 && errors.Is(err, fs.ErrNotExist) {
			continue // half a slot means nothing to any driver, and gives way
		}
		if why, ok := reason(err); ok {
			m.report.LeftAlone = append(m.report.LeftAlone, LeftAlone{path.Join(Folder, m.folder, stem(n)), why})
			if n == 0 {
				return nil // there is nothing to merge into
			}
			continue
		}
		if err != nil {
			return err
		}
		if n == 0 {
			kept = s.end()
		}
		m.take(n, s)
	}
	return m.write(kept)
}

// read checks one slot.
func (m *merging) read(n int) (*slot, error) {
	s, bin, err := openSlot(m.root, path.Join(m.folder, stem(n)))
	if err != nil {
		return nil, err
	}
	defer bin.Close()
	if m.known != nil && s.header != m.merged.header {
		return nil, format("of another driver or GPU than the slots before it")
	}
	return s, nil
}

// take plans what comes from a slot that is sound.
func (m *merging) take(n int, s *slot) {
	m.merged.header = s.header
	if m.known == nil {
		m.known = map[identity]struct{}{}
	}
	if n != 0 {
		m.gone = append(m.gone, n)
	}
	for _, e := range s.entries {
		if _, twice := m.known[e.id]; twice {
			continue
		}
		at := e
		e.offset = uint32(m.merged.end())
		if e.end() > math.MaxUint32 {
			continue // full: what does not fit is compiled again
		}
		m.known[e.id] = struct{}{}
		m.merged.entries = append(m.merged.entries, e)
		if n != 0 {
			m.pieces = append(m.pieces, piece{n, at})
		}
	}
}

// write puts the merged slot 0 into place and deletes the others.
func (m *merging) write(kept int64) error {
	if len(m.gone) == 0 {
		return nil
	}
	if len(m.pieces) > 0 || kept == 0 {
		if err := m.replace(kept); err != nil {
			return err
		}
	}
	for _, n := range m.gone {
		// The .toc first: what is left of a slot then has no meaning to a driver.
		for _, ext := range []string{".toc", ".bin"} {
			if err := m.root.Remove(path.Join(m.folder, stem(n)+ext)); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
		m.report.Slots++
	}
	return nil
}

// replace writes slot 0 aside and renames it into place.
func (m *merging) replace(kept int64) error {
	name := path.Join(m.folder, stem(0))
	err := m.aside(".toc", func(w io.Writer) error {
		_, err := w.Write(m.merged.toc())
		return err
	})
	if err == nil {
		err = m.aside(".bin", func(w io.Writer) error { return m.copyRecords(w, kept) })
	}
	if err == nil {
		err = m.root.Rename(m.asideName(".bin"), name+".bin")
	}
	if err == nil {
		err = m.root.Rename(m.asideName(".toc"), name+".toc")
	}
	if err != nil {
		_ = m.root.Remove(m.asideName(".bin"))
		_ = m.root.Remove(m.asideName(".toc"))
		return err
	}
	m.report.Records += len(m.pieces)
	for _, p := range m.pieces {
		m.report.Bytes += recordBytes + int64(p.at.size)
	}
	return nil
}

func (m *merging) asideName(ext string) string { return path.Join(m.folder, "."+stem(0)+ext) }

// aside writes one file beside its place. What a merge that was killed left
// there is replaced.
func (m *merging) aside(ext string, fill func(io.Writer) error) error {
	name := m.asideName(ext)
	if err := m.root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := m.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(fill(f), f.Close())
}

// copyRecords writes the merged .bin: slot 0 as it is, then the pieces.
func (m *merging) copyRecords(w io.Writer, kept int64) error {
	if kept == 0 {
		if _, err := w.Write(m.merged.header[:]); err != nil {
			return err
		}
	} else if err := m.copyRange(w, 0, 0, kept); err != nil {
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

// adjacent says whether piece i follows the one before it in the same file.
func (m *merging) adjacent(i int) bool {
	before, p := m.pieces[i-1], m.pieces[i]
	return before.slot == p.slot && before.at.end() == int64(p.at.offset)
}

// copyRange copies a range of bytes of one slot's .bin.
func (m *merging) copyRange(w io.Writer, n int, from, to int64) error {
	f, err := m.root.Open(path.Join(m.folder, stem(n)+".bin"))
	if err != nil {
		return err
	}
	defer f.Close()
	copied, err := io.Copy(w, io.NewSectionReader(f, from, to-from))
	if err == nil && copied != to-from {
		err = io.ErrUnexpectedEOF
	}
	return err
}
