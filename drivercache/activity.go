package drivercache

import (
	"errors"
	"io/fs"
	"sync"
	"time"

	"github.com/shadercache/shadercache/drivercache/mesa"
)

// Activity is what drivers did with a directory, of any process, while it was observed.
type Activity struct {
	Read  int   `json:"read"`  // entries that were there before and were read; -1 where that cannot be seen
	Added int   `json:"added"` // entries that were added
	Bytes int64 `json:"bytes"` // of them
}

// activityPoll is how often reads are collected: the system keeps 16,384 of them by
// default.
const activityPoll = 50 * time.Millisecond

// Observe observes a directory until end is called. Added are entries that are there
// afterwards and were not before. Reads are seen of Mesa's files alone: NVIDIA's driver
// reads a slot as a whole.
func Observe(dir string) (end func() Activity) {
	before, seen := entryBytes(dir), map[string]bool{} // seen: entries that were read
	stop := make(chan struct{})
	var collecting sync.WaitGroup
	watch, err := mesa.NewWatch(dir)
	if err == nil {
		collecting.Go(func() { collectReads(watch, stop, seen) })
	}
	return func() Activity {
		close(stop)
		collecting.Wait()
		a := Activity{}
		for entry := range seen {
			if _, had := before[entry]; had {
				a.Read++
			}
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			a.Read = -1
		}
		for entry, bytes := range entryBytes(dir) {
			if _, had := before[entry]; !had {
				a.Added++
				a.Bytes += bytes
			}
		}
		return a
	}
}

// entryBytes returns the entries of a directory, and their bytes.
func entryBytes(dir string) map[string]int64 {
	entries := map[string]int64{}
	for _, it := range Items(dir) {
		if it.Entry != "" {
			entries[it.Entry] = it.Bytes
		}
	}
	return entries
}

// collectReads adds the entries that are read, until stop is closed.
func collectReads(watch *mesa.Watch, stop <-chan struct{}, seen map[string]bool) {
	defer watch.Close()
	for stopped := false; !stopped; {
		select {
		case <-stop:
			stopped = true
		case <-time.After(activityPoll):
		}
		_, read := watch.Changes()
		for _, entry := range read {
			seen[entry] = true
		}
	}
}
