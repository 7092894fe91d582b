package report

import (
	"fmt"
	"time"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/drivercache"
)

// Cache is what a cache directory knows of its programs and starts.
type Cache struct {
	Dir          string   `json:"dir"`
	Programs     int      `json:"programs"`      // on disk, of all drivers
	ProgramBytes int64    `json:"program_bytes"` // of their binaries
	DriverBytes  int64    `json:"driver_bytes"`  // of the driver's own cache
	LimitBytes   int64    `json:"limit_bytes"`   // of the directory, 0: no limit
	History      []Period `json:"history"`       // starts, in order of time
}

// Period is what starts did in a time.
type Period struct {
	Time         time.Time `json:"time"`   // when it ended
	Driver       string    `json:"driver"` // folder of the driver in the cache directory
	Starts       uint64    `json:"starts"`
	Compiles     uint64    `json:"compiles"`
	DiskHits     uint64    `json:"disk_hits"`
	ResidentHits uint64    `json:"resident_hits"`
	MadeMillis   float64   `json:"made_ms"` // spent compiling, loading and priming
}

// CountOthers counts, for the programs of a start that were compiled, those of the same name
// and another source that the directory has for any driver, and that this start did not use.
func (s *Start) CountOthers(dir *binary.Dir) error {
	compiled, used := map[string][]int{}, map[string]bool{} // by name, by key
	for i, p := range s.Programs {
		used[p.Key] = true
		if p.Origin == "compiled" {
			compiled[p.Name] = append(compiled[p.Name], i)
		}
	}
	if len(compiled) == 0 {
		return nil
	}
	err := dir.EachStore(func(_ string, store *binary.Store) error {
		for e, err := range store.All() {
			if err != nil || used[e.Key.String()] {
				continue // a blob that cannot be read has no name
			}
			for _, i := range compiled[e.Name] {
				s.Programs[i].Others++
			}
		}
		return nil
	}, func(string) {})
	s.Advice = s.Advise()
	return err
}

// historyPeriods is how many periods a report shows: the latest.
const historyPeriods = 60

// ReadCache returns what a cache directory knows.
func ReadCache(dir *binary.Dir) (*Cache, error) {
	c := &Cache{Dir: dir.Path(), DriverBytes: drivercache.Bytes(dir.DriverDir()), History: []Period{}}
	infos, err := dir.Fingerprints()
	if err != nil {
		return nil, fmt.Errorf("report: %w", err)
	}
	for _, info := range infos {
		c.Programs += info.Programs
		c.ProgramBytes += info.BlobBytes
	}
	settings, err := dir.Settings()
	if err != nil {
		return nil, fmt.Errorf("report: %w", err)
	}
	c.LimitBytes = settings.WithDefaults().MaxBytes
	periods := dir.Starts(time.Time{})
	for _, s := range periods[max(0, len(periods)-historyPeriods):] {
		c.History = append(c.History, Period{
			Time: s.Time, Driver: s.Driver, Starts: s.Counters.Starts, Compiles: s.Counters.Compiles,
			DiskHits: s.Counters.DiskHits, ResidentHits: s.Counters.ResidentHits,
			MadeMillis: float64(s.Counters.CompileNanos+s.Counters.LoadNanos) / 1e6,
		})
	}
	return c, nil
}
