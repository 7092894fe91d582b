package binary

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/shadercache/shadercache/binary/internal/crashlog"
	"github.com/shadercache/shadercache/shader"
)

// Action is what the driver does with a program.
type Action string

// The actions during which a driver may end its process.
const (
	ActionLoad     Action = crashlog.Load
	ActionCompile  Action = crashlog.Compile
	ActionRead     Action = crashlog.Read     // of the program binary
	ActionRun      Action = crashlog.Run      // of a candidate of the tuner
	ActionDispatch Action = crashlog.Dispatch // until the fence of the first job
)

const inFlightName = "inflight"

// Mark records on disk that the driver gets a program. Unmark must follow when the
// driver has finished. Both take a few microseconds and never fail: where nothing can be
// written there are no marks. A mark that is left when the process ends puts the program
// into quarantine: see Recover.
func (s *Store) Mark(action Action, key shader.Key, name string) {
	s.marks.Mark(crashlog.Mark{Action: string(action), Key: key}, cutName(name))
}

// Unmark removes the mark of Mark. It panics where there is none.
func (s *Store) Unmark(action Action, key shader.Key) {
	s.marks.Unmark(crashlog.Mark{Action: string(action), Key: key})
}

// ClearMarks removes all marks, and further calls of Mark write none. Call it in a
// process that its user ends while the driver works. It does not wait for the driver.
func (s *Store) ClearMarks() { s.marks.ClearMarks() }

// SetCrashOutput makes the store call set with the file of its marks as soon as there is
// one. set passes the file to debug.SetCrashOutput, of which a process has one. A line
// that the runtime then writes there, because a signal such as SIGSEGV ended the process,
// proves a crash: a source that was compiled alone is refused after the first crash
// instead of the second. Call it before the first Mark.
func (s *Store) SetCrashOutput(set func(*os.File)) { s.marks.SetCrashOutput(set) }

// IsCrash reports whether a signal, such as "SIGSEGV: segmentation fault", is one by which
// the code of a driver ends its process.
func IsCrash(signal string) bool { return crashlog.IsCrash(signal) }

// RecordCrash records which signal ended another process, as the caller observed it:
// "SIGSEGV: segmentation fault", or another signal by which drivers end processes. It
// covers a case that SetCrashOutput does not: where the driver blocks a signal on threads
// of its own, the signal ends the process and no handler runs. Call it before Recover.
func (s *Store) RecordCrash(process int, signal string) error {
	return wrap("record a crash", crashlog.RecordCrash(s.marks.Dir, process, signal, s.dir.now()))
}

// openingName is the directory with a mark for each process that makes a GL context, in
// which drivers crash too. Which driver that will be is not known yet.
const openingName = "opening"

var errKeep = errors.New("it stays")

// MarkOpening marks that the process makes a GL context, until end is called. After a
// success that also forgets the processes that ended earlier. Like Store.Mark it never
// fails.
func (d *Dir) MarkOpening() (end func(success bool)) {
	log := &crashlog.Log{
		Dir:  filepath.Join(d.path, openingName),
		Make: func(dir string) error { return os.MkdirAll(dir, 0o700) },
	}
	if d.readOnly {
		log.ClearMarks()
	}
	log.Mark(crashlog.Mark{Action: crashlog.Open}, "")
	return func(success bool) {
		log.Close()
		if success {
			d.countOpenings(true)
		}
	}
}

// DeathsWhileOpening returns how many processes ended while they made a GL context, since
// the last one that succeeded.
func (d *Dir) DeathsWhileOpening() int { return d.countOpenings(false) }

func (d *Dir) countOpenings(forget bool) (deaths int) {
	_ = crashlog.Recover(filepath.Join(d.path, openingName), d.now(), func(left crashlog.Remains) error {
		if _, open := left.Marks[crashlog.Mark{Action: crashlog.Open}]; !open {
			return nil
		}
		deaths++
		if !forget {
			return errKeep
		}
		return nil
	})
	return deaths
}
