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
	Read  int   // entries that were there before and were read; -1 where that cannot be seen
	Added int   // entries that were added
	Bytes int64 // of them
}

// activityPoll is how often reads are collected: the system keeps 16,384 of them by
// default.
const activityPoll = 50 * time.Millisecond

// Observe observes a directory until end is called. Added are entries that are there
// afterwards and were not before. Reads are seen of Mesa's files alone: NVIDIA's driver
// reads a slot as a whole.
func Observe(dir string) (end func() Activity) {
	before := entryBytes(dir)
	r := &readers{seen: map[string]bool{}, stop: make(chan struct{})}
	watch, err := mesa.NewWatch(dir)
	if err == nil {
		r.done.Go(func() { r.collect(watch) })
	}
	return func() Activity {
		close(r.stop)
		r.done.Wait()
		a := Activity{}
		for entry := range r.seen {
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

// readers collects the entries that were read.
type readers struct {
	seen map[string]bool
	stop chan struct{}
	done sync.WaitGroup
}

func (r *readers) collect(watch *mesa.Watch) {
	defer watch.Close()
	for stopped := false; !stopped; {
		select {
		case <-r.stop:
			stopped = true
		case <-time.After(activityPoll):
		}
		_, read := watch.Changes()
		for _, entry := range read {
			r.seen[entry] = true
		}
	}
}
