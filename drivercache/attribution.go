package drivercache

import (
	"errors"
	"io/fs"
	"slices"
	"sync"
	"time"

	"github.com/shadercache/shadercache/drivercache/mesa"
	"github.com/shadercache/shadercache/drivercache/nvidia"
)

// Attribution of entries to programs.
//
// No driver says which entries of its cache belong to a program. So the GL thread calls
// [Begin] before the driver works on one and [Work.End] afterwards, and what happens to
// the directory in between belongs to it:
//
//	Mesa    a new file, or one that is opened (inotify); the driver's writer thread is late
//	NVIDIA  entries appended to the .toc of a slot; reads cannot be seen
//
// An entry may be attributed to more programs than it belongs to, never to fewer, and is
// deleted with the last of them: another process may use the directory at the same time,
// and while Mesa's writer is behind, a new file belongs to each of the programs that it
// may be of. Where that would be too many, they have no entries.

const (
	// settleShare bounds the time that Begin waits for Mesa's writer: a fiftieth of what
	// the program before cost. Most files are written within a millisecond, and machine
	// code takes the driver tens of them.
	settleShare = 50
	settlePoll  = 100 * time.Microsecond
	// settleTime is the time that Settle waits for an entry while the writer sleeps,
	// settlePolls how often it has to see that, as a busy machine leaves it little of that
	// time, and maxSettleTime the time that it waits in all.
	settleTime    = 20 * time.Millisecond
	settlePolls   = 50
	maxSettleTime = 5 * time.Second
	// maxUnsettled is the number of programs that a new file may belong to.
	maxUnsettled = 16
)

// Work is the driver's work on one program. End is called on the thread of Begin, Entries on
// any goroutine.
type Work struct {
	began   time.Time
	arrived int      // attribution.arrived then
	entries []string // may have one several times
	added   bool
	read    bool
	unknown bool
}

// attribution is the state of the process: the drivers write from it to one directory.
var attribution struct {
	sync.Mutex
	watching  bool
	mesa      *mesa.Watch // nil: there is no such cache, or it is blind
	blind     bool        // there is one, and no room for a watch
	nvidia    *nvidia.Watch
	active    []*Work       // between Begin and End
	unsettled []*Work       // ended; their files may not be written yet
	arrived   int           // entries that were added
	patience  time.Duration // of the next Begin
}

// Begin begins the driver's work on a program, on its GL thread. It returns nil where the
// driver's cache is not managed: all methods of a nil *Work do nothing.
func Begin() *Work {
	state, managed := Managed()
	if !managed {
		return nil
	}
	FirstProgram() // what it puts into the slot is no program's
	a := &attribution
	a.Lock()
	defer a.Unlock()
	deadline := time.Now().Add(a.patience)
	done := awaitWritten(func(bool) bool { return time.Now().After(deadline) })
	if done || len(a.unsettled) > maxUnsettled {
		endUnsettled(done)
	}
	startWatches(state.Dir)
	w := &Work{began: time.Now(), arrived: a.arrived}
	a.active = append(a.active, w)
	return w
}

// End ends the work. A second call does nothing.
func (w *Work) End() {
	if w == nil {
		return
	}
	a := &attribution
	a.Lock()
	defer a.Unlock()
	i := slices.Index(a.active, w)
	if i < 0 {
		return
	}
	collect()
	a.active = slices.Delete(a.active, i, i+1)
	a.unsettled = append(a.unsettled, w)
	a.patience = time.Since(w.began) / settleShare
}

// Entries returns the names of the driver's entries that the program uses, as far as they
// are known: Mesa's are known after [Settle]. made reports whether the driver made machine
// code for it and found none.
func (w *Work) Entries() (entries []string, made bool) {
	if w == nil {
		return nil, false
	}
	attribution.Lock()
	defer attribution.Unlock()
	if !w.unknown {
		entries = slices.Compact(slices.Sorted(slices.Values(w.entries)))
	}
	return entries, w.added && !w.read
}

// Settle waits until the driver has written the machine code that it made so far, and
// attributes it: some milliseconds, at most 5 s. It ends the watches: the next Begin
// starts them.
func Settle() {
	a := &attribution
	a.Lock()
	defer a.Unlock()
	if a.blind { // nothing is seen: the writer has to have written
		a.Unlock()
		mesa.Flush()
		a.Lock()
	}
	began := time.Now()
	awake, polls, looked := began, 0, false
	endUnsettled(awaitWritten(func(asleep bool) (enough bool) {
		now := time.Now()
		if polls++; !asleep {
			awake, polls, looked = now, 0, false
		}
		enough = now.Sub(awake) > settleTime && polls >= settlePolls
		if enough && !looked {
			a.mesa.ForgetWriters()
			looked, enough = true, false
		}
		return enough || now.Sub(began) > maxSettleTime
	}))
	a.patience = 0
	if len(a.active) == 0 {
		stopWatches()
	}
}

// Flush waits until the driver has written what it compiled so far, at most 5 s. If a
// process ends earlier, the next one may have to compile again. NVIDIA's driver writes
// at once, and Flush returns at once; Mesa needs some milliseconds on an idle machine.
func Flush() { mesa.Flush() }

// startWatches watches the caches of dir that the drivers have made, unless they are watched.
// The caller holds the lock, as of all functions below.
func startWatches(dir string) {
	a := &attribution
	if a.watching {
		return
	}
	a.watching = true
	var err error
	a.mesa, err = mesa.NewWatch(dir) // without it no entry of Mesa's is attributed
	a.blind = err != nil && !errors.Is(err, fs.ErrNotExist)
	a.nvidia = nvidia.NewWatch(dir, nvidia.AppOf(process.number))
}

func stopWatches() {
	if attribution.mesa != nil {
		attribution.mesa.Close()
	}
	attribution.watching, attribution.blind, attribution.mesa, attribution.nvidia = false, false, nil, nil
}

// awaitWritten attributes what changes until everything that the programs before caused is
// written, then done, or until it is enough; asleep: the driver's writer is.
func awaitWritten(enough func(asleep bool) bool) (done bool) {
	for {
		done, asleep := settled()
		if done || enough(asleep) {
			return done
		}
		attribution.Unlock()
		time.Sleep(settlePoll)
		attribution.Lock()
	}
}

// settled attributes what has changed, and reports whether everything that the programs
// before caused is written, and whether the driver's writer sleeps. That it sleeps is not
// enough: it also sleeps while it waits for a lock. So each program that read no machine
// code must have added an entry.
func settled() (done, asleep bool) {
	a := &attribution
	if a.mesa == nil {
		collect()
		return true, true
	}
	asleep = a.mesa.Asleep() // before collect: what was written by then is collected
	collect()
	expected, before := 0, a.arrived
	for _, w := range a.unsettled {
		before = min(before, w.arrived)
		if !w.read {
			expected++
		}
	}
	return asleep && a.arrived-before >= expected, asleep
}

// endUnsettled ends the attribution to the programs before, which are unknown where not
// everything was written.
func endUnsettled(complete bool) {
	a := &attribution
	for _, w := range a.unsettled {
		w.unknown = w.unknown || !complete
	}
	a.unsettled = nil
}

// collect attributes what has changed since the last call.
func collect() {
	a := &attribution
	var added, read []string
	if a.mesa != nil {
		added, read = a.mesa.Changes()
	}
	if a.nvidia != nil {
		added = append(added, a.nvidia.Changes()...)
	}
	a.arrived += len(added)
	if len(added) > 0 {
		for _, w := range slices.Concat(a.unsettled, a.active) {
			w.entries, w.added = append(w.entries, added...), true
		}
	}
	if len(read) > 0 {
		for _, w := range a.active {
			w.entries, w.read = append(w.entries, read...), true
		}
	}
}
