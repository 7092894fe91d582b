package crashlog

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"sync"

	"github.com/shadercache/shadercache/internal/osfile"
	"github.com/shadercache/shadercache/shader"
)

// A log writes a mark before the driver gets a program and a second line when the
// driver has finished. Each log in use has one file,
//
//	<directory>/<process id>-<number>
//
// which it keeps locked: a file that another process can lock belongs to a process that
// has ended. A line per event:
//
//   - compile 5e884898... "blur 3x3"    the driver gets the program
//   - compile 5e884898...               the driver has finished with it
//     SIGSEGV: segmentation violation     a signal ended the process: see SetCrashOutput, RecordCrash
//
// The file is emptied while it has no open mark and is longer than emptyAbove. Emptying
// it after every program would cost as much as writing two lines. Nothing is synced: a
// mark has to outlive the process, not the machine.
const (
	emptyAbove   = 64 << 10
	maxFileBytes = 16 << 20
)

// The actions during which a driver may end its process.
const (
	Load     = "load"
	Compile  = "compile"
	Read     = "read"
	Run      = "run"
	Dispatch = "dispatch"
	Open     = "open" // a context, for no program
)

// Actions are all of them, what a crash says most about last: a program may be read back while
// its first job runs.
var Actions = []string{Open, Read, Load, Compile, Dispatch, Run}

// Mark is a program that a driver works on.
type Mark struct {
	Action string // Load, Compile, Read, Run, Dispatch or Open
	Key    shader.Key
}

// Log writes the marks of one store. Set Dir and Make before the first call. Methods may be
// called from any goroutine.
type Log struct {
	Dir  string
	Make func(dir string) error // makes Dir where it is missing

	mu struct {
		sync.Mutex
		file     *os.File // nil before the first mark
		path     string
		open     int            // marks
		bytes    int            // written since the file was empty
		disabled bool           // no file can be made: there are no marks
		created  func(*os.File) // see SetCrashOutput; may be nil
	}
}

// SetCrashOutput makes the log call set with its file as soon as the file exists. set
// passes it to debug.SetCrashOutput, so that the runtime writes there which signal
// ended the process. Call it before the first Mark.
func (l *Log) SetCrashOutput(set func(*os.File)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mu.created = set
}

// Mark records that the driver gets a program. It takes a few microseconds and never
// fails: where no file can be written there are no marks. Unmark must follow.
func (l *Log) Mark(m Mark, name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mu.open++
	if l.mu.file == nil && !l.mu.disabled {
		l.mu.disabled = l.create() != nil
	}
	if l.mu.file != nil {
		l.write("+ " + m.Action + " " + m.Key.String() + " " + strconv.Quote(name) + "\n")
	}
}

// Unmark records that the driver has finished with a program.
func (l *Log) Unmark(m Mark) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.mu.open--; l.mu.open < 0 {
		panic("crashlog: Unmark without Mark")
	}
	switch {
	case l.mu.file == nil:
	case l.mu.open == 0 && l.mu.bytes > emptyAbove:
		_ = l.mu.file.Truncate(0)
		l.mu.bytes = 0
	default:
		l.write("- " + m.Action + " " + m.Key.String() + "\n")
	}
}

// ClearMarks removes the file and writes no further marks.
func (l *Log) ClearMarks() {
	l.mu.Lock()
	l.mu.disabled = true
	l.mu.Unlock()
	l.Close()
}

// Close removes the file, and with it the marks that are still open.
func (l *Log) Close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.mu.file != nil {
		_ = os.Remove(l.mu.path)
		_ = l.mu.file.Close()
		l.mu.file = nil
	}
}

// write writes whole lines. The caller holds the lock, and there is a file.
func (l *Log) write(line string) {
	n, _ := l.mu.file.WriteString(line)
	l.mu.bytes += n
}

// The numbers of the files of one process: in containers many processes have one id.
const processNumbers = 1000

var ownNumbers = processNumbers * rand.IntN(1<<30)

// tryLock is changed by tests.
var tryLock = osfile.TryLock

// create creates and locks the file. The caller holds the lock.
func (l *Log) create() error {
	for number := range processNumbers {
		path := filepath.Join(l.Dir, fmt.Sprintf("%d-%d", os.Getpid(), ownNumbers+number))
		if link := osfile.LinkAbove(path); link != "" {
			return fmt.Errorf("crashlog: %s is a symbolic link", link)
		}
		open := func() (*os.File, error) {
			return os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY|os.O_APPEND, 0o600)
		}
		f, err := open()
		if errors.Is(err, fs.ErrNotExist) && l.Make(l.Dir) == nil {
			f, err = open()
		}
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return err
		}
		// Another process may have locked the new file first, as that of a process
		// that has ended, and removed it.
		err = tryLock(f, true)
		if err == nil && osfile.IsNamed(f, path) {
			l.mu.file, l.mu.path = f, path
			if l.mu.created != nil {
				l.mu.created(f)
			}
			return nil
		}
		_ = f.Close()
		if err != nil && !errors.Is(err, osfile.ErrLocked) { // a volume without locks
			return errors.Join(err, os.Remove(path))
		}
	}
	return errors.New("crashlog: every file name is taken")
}
