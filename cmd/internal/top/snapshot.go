package top

import (
	"cmp"
	"slices"
	"time"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/cmd/cli"
	"github.com/shadercache/shadercache/shader"
)

// Snapshot is the state of a cache directory at one time.
type Snapshot struct {
	Time         time.Time `json:"time"`
	Dir          string    `json:"dir"`
	Programs     int       `json:"programs"`
	ProgramBytes int64     `json:"program_bytes"` // of their files
	DriverBytes  int64     `json:"driver_bytes"`  // of the driver's own cache
	LimitBytes   int64     `json:"limit_bytes"`   // of the directory, 0: no limit

	Hour      cli.Figures   `json:"hour"`      // of the starts that ended within the latest hour
	Processes []Process     `json:"processes"` // that have files of the directory open, the latest first
	Compiled  []cli.Program `json:"compiled"`  // programs, the latest first
	Starts    []Start       `json:"starts"`    // that ended, the latest first
}

// Process uses the directory.
type Process struct {
	PID   int       `json:"pid"`
	Name  string    `json:"name"`
	Began time.Time `json:"began"`
}

// Start is what one process did, or several that were summed up.
type Start struct {
	Time    time.Time   `json:"time"`   // when it ended
	Driver  string      `json:"driver"` // folder in the cache directory
	Figures cli.Figures `json:"figures"`
}

// shown is how many programs and starts a snapshot has.
const shown = 60

// Watcher takes snapshots of a directory. It opens each program's file once.
type Watcher struct {
	dir      *binary.Dir
	known    map[string]map[shader.Key]int64 // bytes, by driver
	compiled []cli.Program
}

// NewWatcher returns a watcher of a directory.
func NewWatcher(dir *binary.Dir) *Watcher {
	return &Watcher{dir: dir, known: map[string]map[shader.Key]int64{}}
}

// Snapshot returns the state now.
func (w *Watcher) Snapshot(now time.Time) (*Snapshot, error) {
	s := &Snapshot{Time: now.UTC(), Dir: w.dir.Path(), DriverBytes: w.dir.DriverBytes(),
		Processes: processes(w.dir.Path()), Compiled: []cli.Program{}, Starts: []Start{}}
	settings, err := w.dir.Settings()
	if err != nil {
		return nil, err
	}
	s.LimitBytes = settings.WithDefaults().MaxBytes
	if err := w.dir.EachStore(w.look, func(string) {}); err != nil {
		return nil, err
	}
	for _, programs := range w.known {
		s.Programs += len(programs)
		for _, bytes := range programs {
			s.ProgramBytes += bytes
		}
	}
	s.Compiled = append(s.Compiled, w.compiled[:min(shown, len(w.compiled))]...)
	all := w.dir.Starts(time.Time{})
	for _, start := range slices.Backward(all[max(0, len(all)-shown):]) {
		s.Starts = append(s.Starts, Start{start.Time, start.Driver, cli.NewFigures(start.Counters)})
	}
	s.Hour = cli.NewFigures(cli.SumStarts(w.dir.Starts(now.Add(-time.Hour))))
	return s, nil
}

// look finds what is new in the store of a driver, and what is gone.
func (w *Watcher) look(driver string, store *binary.Store) error {
	before, now := w.known[driver], map[shader.Key]int64{}
	for key := range store.Keys() {
		bytes, known := before[key]
		if !known {
			e, err := store.Describe(key)
			if err != nil {
				continue // it is gone again, or damaged
			}
			bytes = e.Bytes
			w.compiled = append(w.compiled, cli.NewProgram(driver, e))
		}
		now[key] = bytes
	}
	w.known[driver] = now
	slices.SortStableFunc(w.compiled, func(a, b cli.Program) int {
		return cmp.Or(b.Created.Compare(a.Created), cmp.Compare(a.Name, b.Name))
	})
	w.compiled = w.compiled[:min(shown, len(w.compiled))]
	return nil
}
