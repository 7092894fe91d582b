package binary

import (
	"errors"
	"fmt"
	"github.com/shadercache/shadercache/shader"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Action is what the driver does with a program.
type Action string

// The actions during which a driver may take its process down.
const (
	ActionLoad    Action = "load"
	ActionCompile Action = "compile"
	ActionRun     Action = "run" // of something that is tried out
)

var actions = []Action{ActionLoad, ActionCompile, ActionRun}

// A store leaves a mark on disk before the driver sees a program, and takes it
// back after. Marks that a dead process left say what killed it. Each store
// that is in use has one file for them,
//
//	inflight/<process id>-<number>
//
// which it keeps locked, so that whoever can lock it knows that its owner is
// dead. The file has a line a mark, and one for its end; it is emptied now and
// then while no mark stands, not always, since that costs as much as two lines:
//
//   - compile 5e884898... "blur 3x3"    the driver gets the program
//   - compile 5e884898...               the driver is done with it
//     SIGSEGV: segmentation violation   a signal ended the process: see TellCrashes, TellCrash
//
// Nothing is synced: a mark has to outlive the process, not the machine.
const (
	inFlightName     = "inflight"
	maxInFlightBytes = 16 << 20
	inFlightKept     = 64 << 10 // before it is emptied
)

// mark is one program in the hands of the driver.
type mark struct {
	action Action
	key    shader.Key
}

// inFlight writes the marks of one store. The zero value has no file yet.
type inFlight struct {
	sync.Mutex
	file    *os.File
	path    string
	marks   int
	bytes   int  // written since it was empty
	useless bool // no file is to be had: go on without marks

	opened func(*os.File) // see TellCrashes; may be nil
}

// leftBehind is what a dead process left.
type leftBehind struct {
	marks map[mark]string // the programs in the hands of the driver, with their names
	crash string          // the signal that ended it; "" = not known
}

// SetCrashOutput has crashed processes told from those that their users ended: set
// gets the file of this store's marks as soon as there is one, and gives it to
// debug.SetCrashOutput, of which a process has one. What Go's runtime writes
// there when a signal such as SIGSEGV ends the process is no mark, but the proof
// of a crash, and then a source that was alone in flight is refused after the
// first death. Call it before anything else.
func (s *Store) SetCrashOutput(set func(*os.File)) {
	s.inFlight.Lock()
	defer s.inFlight.Unlock()
	s.inFlight.opened = set
}

// RecordCrash says how a process ended that the caller saw die: "SIGSEGV: ", or
// another of the signals by which drivers end processes, and what it means. It
// tells what TellCrashes may not: a signal that a driver blocks on threads of its
// own ends the process, and no handler is called. Call it before Recover.
func (s *Store) RecordCrash(process int, signal string) error {
	dir := filepath.Join(s.path, inFlightName)
	var errs []error
	for _, e := range entries(dir) {
		if !strings.HasPrefix(e.Name(), fmt.Sprintf("%d-", process)) || !e.Type().IsRegular() {
			continue
		}
		path := filepath.Join(dir, e.Name())
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
		if err != nil {
			continue // somebody else has dealt with it
		}
		if claimDead(f, s.dir.now()) && isNamed(f, path) {
			_, err = f.WriteString("\n" + signal + "\n") // behind a line that was cut short
		}
		errs = append(errs, err, f.Close())
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("binary: tell a crash: %w", err)
	}
	return nil
}

// ClearMarks takes back all marks, and there are none from now on: for a process
// that ends while the driver works because its user wants it to. It does not
// wait for the driver.
func (s *Store) ClearMarks() {
	s.inFlight.Lock()
	s.inFlight.useless = true
	s.inFlight.Unlock()
	s.inFlight.close()
}

// Mark notes that the driver gets a program now. Leave must follow when the
// driver is done. Both take a few microseconds and never fail: where nothing
// can be written there are no marks.
func (s *Store) Mark(action Action, key shader.Key, name string) {
	m := &s.inFlight
	m.Lock()
	defer m.Unlock()
	m.marks++
	if m.file == nil && !m.useless {
		m.useless = s.openInFlight() != nil
	}
	if m.file != nil {
		m.write("+ " + string(action) + " " + key.String() + " " + strconv.Quote(cutName(name)) + "\n")
	}
}

// Unmark takes back what Enter noted.
func (s *Store) Unmark(action Action, key shader.Key) {
	m := &s.inFlight
	m.Lock()
	defer m.Unlock()
	if m.marks--; m.marks < 0 {
		panic("binary: Leave without Enter")
	}
	switch {
	case m.file == nil:
	case m.marks == 0 && m.bytes > inFlightKept:
		_ = m.file.Truncate(0)
		m.bytes = 0
	default:
		m.write("- " + string(action) + " " + key.String() + "\n")
	}
}

// write writes whole lines. The caller holds the lock and has a file.
func (m *inFlight) write(line string) {
	n, _ := m.file.WriteString(line)
	m.bytes += n
}

// openInFlight makes and locks the file of this store.
func (s *Store) openInFlight() error {
	if s.dir.readOnly {
		return ErrReadOnly
	}
	dir := filepath.Join(s.path, inFlightName)
	if err := s.create(dir); err != nil {
		return err
	}
	for number := range 1000 {
		path := filepath.Join(dir, fmt.Sprintf("%d-%d", os.Getpid(), number))
		f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY|os.O_APPEND, 0o600)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return err
		}
		// Somebody may have taken the new file for a dead one's and removed it.
		if claim(f) && isNamed(f, path) {
			s.inFlight.file, s.inFlight.path = f, path
			if s.inFlight.opened != nil {
				s.inFlight.opened(f)
			}
			return nil
		}
		_ = f.Close()
	}
	return errors.New("no name is free")
}

// isNamed reports whether the open file is the one at path.
func isNamed(f *os.File, path string) bool {
	own, err1 := f.Stat()
	named, err2 := os.Lstat(path)
	return err1 == nil && err2 == nil && os.SameFile(own, named)
}

// close removes the file. Marks that stand are forgotten: the process is well.
func (m *inFlight) close() {
	m.Lock()
	defer m.Unlock()
	if m.file != nil {
		_ = os.Remove(m.path)
		_ = m.file.Close()
		m.file = nil
	}
}

// deadMarks calls settle with what each dead process left, and removes its file
// afterwards. Where settle fails, the file stays for the next time.
func (s *Store) deadMarks(settle func(left leftBehind) error) error {
	dir := filepath.Join(s.path, inFlightName)
	var errs []error
	for _, e := range entries(dir) {
		path := filepath.Join(dir, e.Name())
		if !e.Type().IsRegular() {
			continue
		}
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			continue
		}
		if claimDead(f, s.dir.now()) && isNamed(f, path) {
			if err := settle(readMarks(path)); err != nil {
				errs = append(errs, err)
			} else {
				_ = os.Remove(path)
			}
		}
		_ = f.Close()
	}
	return errors.Join(errs...)
}

// readMarks reads the file of a dead process. Lines that make no sense, such as
// one cut short by the end, count for nothing.
func readMarks(path string) leftBehind {
	data, _, err := readRegular(path, maxInFlightBytes)
	if err != nil {
		return leftBehind{}
	}
	return leftBehind{parseMarks(string(data)), parseCrash(string(data))}
}

// crashSignals are those by which a driver ends its process. A user, or a system
// that runs out of memory, uses others.
var crashSignals = []string{"SIGSEGV: ", "SIGABRT: ", "SIGBUS: ", "SIGFPE: ", "SIGILL: ", "SIGTRAP: ", "SIGSYS: "}

// parseCrash finds the first line of what Go's runtime writes when a signal
// ends the process. A panic of the application's own starts otherwise.
func parseCrash(text string) string {
	for line := range strings.Lines(text) {
		for _, signal := range crashSignals {
			if strings.HasPrefix(line, signal) {
				return cutName(strings.TrimSpace(line))
			}
		}
	}
	return ""
}

func parseMarks(text string) map[mark]string {
	left := map[mark]string{}
	counts := map[mark]int{}
	for line := range strings.Lines(text) {
		line, whole := strings.CutSuffix(line, "\n")
		parts := strings.SplitN(line, " ", 4)
		if !whole || len(parts) < 3 {
			continue
		}
		key, err := shader.ParseKey(parts[2])
		m := mark{Action(parts[1]), key}
		if err != nil || !slices.Contains(actions, m.action) {
			continue
		}
		switch {
		case parts[0] == "+" && len(parts) == 4:
			name, _ := strconv.Unquote(parts[3])
			counts[m]++
			left[m] = cutName(name)
		case parts[0] == "-" && counts[m] > 0:
			if counts[m]--; counts[m] == 0 {
				delete(left, m)
			}
		}
	}
	return left
}
