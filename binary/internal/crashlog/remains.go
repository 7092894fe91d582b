package crashlog

import (
	"cmp"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/shadercache/shadercache/internal/osfile"
	"github.com/shadercache/shadercache/shader"
)

// Remains is what the files of a process that has ended say: it has one for each store, and the
// driver's signal is in one of them alone.
type Remains struct {
	Marks map[Mark]string // the open marks, with the programs' names
	Crash string          // the driver's signal that ended the process; "" = none was recorded
}

// Dispatches returns the number of programs that ran for the first time.
func (r Remains) Dispatches() (n int) {
	for m := range r.Marks {
		if m.Action == Dispatch {
			n++
		}
	}
	return n
}

// RecordCrash writes into the files of a process that has ended which signal ended it,
// such as "SIGSEGV: segmentation fault". Files of processes that run stay as they are.
func RecordCrash(dir string, process int, signal string, now time.Time) error {
	return eachAbandoned(dir, strconv.Itoa(process), os.O_WRONLY|os.O_APPEND, now, func(files []*os.File) (err error) {
		for _, f := range files {
			_, failed := f.WriteString("\n" + signal + "\n") // the last line may lack its end
			err = cmp.Or(err, failed)
		}
		return err
	})
}

// Recover calls handle with what each process that has ended left in dir, and removes
// its files after it. Where handle returns an error they stay for the next call.
func Recover(dir string, now time.Time, handle func(Remains) error) error {
	return eachAbandoned(dir, "", os.O_RDWR, now, func(files []*os.File) error {
		all := Remains{Marks: map[Mark]string{}}
		for _, f := range files {
			left := readRemains(f)
			maps.Copy(all.Marks, left.Marks)
			all.Crash = cmp.Or(all.Crash, left.Crash)
		}
		err := handle(all)
		for _, f := range files {
			if err == nil {
				_ = os.Remove(f.Name())
			}
		}
		return err
	})
}

// eachAbandoned calls do with the files in dir of each process that has ended, or of one, opened
// with flags and locked. Who has locked the first of them has all. It returns the errors of all calls.
func eachAbandoned(dir, process string, flags int, now time.Time, do func(files []*os.File) error) (failed error) {
	files := map[[2]string][]*os.File{} // by process: its id, and its numbers without the last three digits
	others := map[[2]string]bool{}      // processes that run, or that another one recovers
	for _, e := range osfile.List(dir) {
		id, number, _ := strings.Cut(e.Name(), "-")
		of := [2]string{id, number[:max(0, len(number)-3)]}
		if process != "" && process != id || others[of] || !e.Type().IsRegular() {
			continue
		}
		f, err := os.OpenFile(filepath.Join(dir, e.Name()), flags, 0)
		switch {
		case err != nil: // removed by another process
		case isAbandoned(f, now) && osfile.IsNamed(f, f.Name()):
			files[of] = append(files[of], f)
		default:
			others[of] = len(files[of]) == 0
			_ = f.Close()
		}
	}
	for _, list := range files {
		failed = errors.Join(failed, do(list))
		for _, f := range list {
			_ = f.Close()
		}
	}
	return failed
}

// isAbandoned reports whether the process of a file has ended, and locks the file where
// the system and the volume have locks. Where they have none, a file counts as abandoned an hour
// after the last write.
func isAbandoned(f *os.File, now time.Time) bool {
	err := tryLock(f, true)
	if osfile.HasLocks && (err == nil || errors.Is(err, osfile.ErrLocked)) {
		return err == nil
	}
	info, err := f.Stat()
	return err == nil && now.Sub(info.ModTime()) > time.Hour
}

// readRemains returns nothing for a file that cannot be read or is larger than a log
// makes it.
func readRemains(f *os.File) Remains {
	data, err := io.ReadAll(io.LimitReader(f, maxFileBytes+1))
	if err != nil || len(data) > maxFileBytes {
		return Remains{}
	}
	return Remains{parseMarks(string(data)), parseCrash(string(data))}
}

// crashSignals are the signals by which the code of a driver ends its process. The others
// have other causes: a user or a supervisor (SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGKILL), a
// system without memory (SIGKILL), a full volume below a mapped file (SIGBUS), a sandbox
// (SIGSYS).
var crashSignals = []string{"SIGSEGV: ", "SIGABRT: ", "SIGFPE: ", "SIGILL: ", "SIGTRAP: "}

// IsCrash reports whether a signal, such as "SIGSEGV: segmentation fault", is one by which
// the code of a driver ends its process.
func IsCrash(signal string) bool {
	return slices.ContainsFunc(crashSignals, func(s string) bool { return strings.HasPrefix(signal, s) })
}

// parseCrash returns the line that the runtime writes when a signal ends the process,
// and "" where there is none. What the runtime writes for a panic of the application
// starts differently.
func parseCrash(text string) string {
	for line := range strings.Lines(text) {
		if IsCrash(line) {
			return strings.TrimSpace(line)
		}
	}
	return ""
}

// parseMarks returns the marks that are open at the end of text. Lines of another form,
// such as one that the end of the process cut short, count for nothing.
func parseMarks(text string) map[Mark]string {
	names := map[Mark]string{}
	open := map[Mark]int{}
	for line := range strings.Lines(text) {
		line, whole := strings.CutSuffix(line, "\n")
		parts := strings.SplitN(line, " ", 4)
		if !whole || len(parts) < 3 {
			continue
		}
		key, err := shader.ParseKey(parts[2])
		m := Mark{parts[1], key}
		if err != nil || !slices.Contains(Actions, m.Action) {
			continue
		}
		switch {
		case parts[0] == "+" && len(parts) == 4:
			name, _ := strconv.Unquote(parts[3])
			open[m]++
			names[m] = name
		case parts[0] == "-" && open[m] > 0:
			if open[m]--; open[m] == 0 {
				delete(names, m)
			}
		}
	}
	return names
}
