package cache

import (
	"crypto/sha256"
	"os"
	"runtime/debug"
	"sync"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/shader"
)

// CrashGuard keeps programs away from the driver that a process crashed with. It
// marks in the store what the driver works on. What a dead process left marked is
// suspect: it is tried in another process, if Options.Trier is set, else alone in this
// one. Only what crashed the driver is refused. binary.Recovery and
// binary.Quarantined describe what follows from which evidence.
//
// A guard belongs to the cache that made it and may be shared by others on the
// same device: see Options.CrashGuard. Its methods may be called from any
// goroutine.
type CrashGuard struct {
	owner *Cache // counts and logs what the guard finds
	trier Trier  // nil: suspects are tried in this process

	// working is held for reading while the device works, and for writing while
	// it works on a suspect: if the process dies then, there is one culprit.
	working sync.RWMutex

	mu struct {
		sync.Mutex
		notes  map[shader.Key]note
		trials []*trial // not started
		trying bool     // runTrials runs
	}
}

func newCrashGuard(c *Cache, trier Trier) *CrashGuard {
	g := &CrashGuard{owner: c, trier: trier}
	g.mu.notes = map[shader.Key]note{}
	return g
}

// note is what the guard knows of a program that was in the driver when a process ended.
// What follows from it says the policy.
type note struct {
	binary.Quarantined
	source evidence // endedByTrials: another process tried it for this one, and its binary is refused too
}

// isUndispatched reports whether the program is a suspect until its first job is done.
func (n note) isUndispatched() bool { return n.Suspect && n.Action == binary.ActionDispatch }

// refusal returns the error for a source called name.
func (n note) refusal(name string) error {
	n.Name = name
	return &n.Quarantined
}

// CrashGuard returns the guard of the cache: its own, or the one in its options.
func (c *Cache) CrashGuard() *CrashGuard { return c.guard }

// Interrupted removes the marks of everything that the driver is working on, so
// that the next process does not take the end of this one for a crash. It is for
// a signal handler of the application that ends the process without Close. It
// does not wait, and the cache stays usable.
func (c *Cache) Interrupted() { c.guard.owner.store.ClearMarks() }

// Run calls work, which has the driver do something that may crash the process,
// such as running a program for the first time. When processes have crashed in
// work of that name before, Run returns a *binary.Quarantined and does not
// call work. That takes two deaths, or one that was recorded as a crash
// (Options.RecordCrashes), and holds for every process on the cache directory
// with this driver. Without a store nothing is remembered.
//
// Otherwise Run returns the error of work. A suspicion ends when work returns
// nil. work may use the device's thread, but must not call a cache.
func (g *CrashGuard) Run(name string, work func() error) error {
	// The prefix is part of the keys on disk.
	key := shader.Key(sha256.Sum256([]byte("try\x00" + name)))
	n, _ := g.note(key)
	if n.Key == key && n.Refused() {
		return n.refusal(name)
	}
	var err error
	g.during(binary.ActionRun, key, name, n.Suspect, func() { err = work() })
	if err == nil {
		g.clearSuspect(key)
	}
	return err
}

// readNotes reads the notes of programs that were in flight when a process ended, and
// adds what is new in them.
func (g *CrashGuard) readNotes() {
	r, err := g.owner.store.Recover()
	g.owner.checkStore("reading crash marks", err)
	if r.Unrecorded && !g.owner.options.RecordCrashes {
		g.owner.log.Info("this process records crashes: an earlier one ended in the first job of a program")
		g.owner.recordCrashes()
	}
	for _, q := range r.Active {
		g.addNote(q)
	}
	for _, q := range r.Found {
		if q.Refused() {
			g.owner.count(&g.owner.mu.counters.total.Quarantined)
			g.logRefusal(q)
		}
	}
}

func (g *CrashGuard) logRefusal(q binary.Quarantined) {
	g.owner.log.Warn("a program is put into quarantine", "name", q.Name, "key", q.Key.Short(), "reason", q.Reason)
}

// addNote applies a note, unless the program is refused already.
func (g *CrashGuard) addNote(q binary.Quarantined) {
	q = g.withoutTrial(q)
	g.mu.Lock()
	defer g.mu.Unlock()
	if n, noted := g.mu.notes[q.Key]; !noted || !n.Refused() {
		g.mu.notes[q.Key] = note{q, crashNote}
	}
}

// withoutTrial returns q as it is for a process that cannot try the program elsewhere: one
// that crashed the driver is refused until the driver's own cache was set aside, which
// happens at the next start.
func (g *CrashGuard) withoutTrial(q binary.Quarantined) binary.Quarantined {
	if (g.trier != nil || g.owner.options.InTrial) && q.Action != binary.ActionDispatch {
		return q
	}
	return g.refusedUntilAside(q)
}

func (g *CrashGuard) refusedUntilAside(q binary.Quarantined) binary.Quarantined {
	if !q.Suspect || q.Signal == "" || q.Action == binary.ActionRun {
		return q
	}
	if cleared, err := g.owner.store.SuspectDriverCache(q); cleared || err != nil {
		return q // there is nothing to wait for
	}
	q.Suspect = false
	q.Reason += "; the next start sets the driver's own cache aside and tries it again"
	return q
}

// hold waits until the device may start work, which lasts until release. Work on a suspect,
// alone, excludes all other work.
func (g *CrashGuard) hold(alone bool) (release func()) {
	if alone {
		g.owner.dev.PollWhile(g.working.Lock)
		return g.working.Unlock
	}
	g.owner.dev.PollWhile(g.working.RLock)
	return g.working.RUnlock
}

// during calls work, which has the driver do something with a program, with a mark on it.
func (g *CrashGuard) during(action binary.Action, key shader.Key, name string, alone bool, work func()) {
	defer g.hold(alone)()
	g.owner.store.Mark(action, key, name)
	defer g.owner.store.Unmark(action, key)
	work()
}

// note returns what is known of a program. A quarantine that ended in this process leaves
// a suspect.
func (g *CrashGuard) note(key shader.Key) (n note, noted bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	n, noted = g.mu.notes[key]
	if noted && n.Refused() && !g.owner.clock.wall().Before(n.Until()) {
		n.Suspect = true
		g.mu.notes[key] = n
	}
	return n, noted
}

// clearSuspect ends the suspicion against a program, if there is one: a process has survived
// that the driver made it.
func (g *CrashGuard) clearSuspect(key shader.Key) {
	g.clear(key, func(n note) bool { return n.Suspect && !n.isUndispatched() })
}

// clear lifts the note of a program that has one of a kind.
func (g *CrashGuard) clear(key shader.Key, isOfKind func(note) bool) {
	g.mu.Lock()
	n, noted := g.mu.notes[key]
	noted = noted && isOfKind(n)
	if noted {
		delete(g.mu.notes, key)
	}
	g.mu.Unlock()
	if !noted {
		return
	}
	g.owner.checkStore("lifting a quarantine", g.owner.store.Lift(key))
}

// recordCrashes implements Options.RecordCrashes.
func (c *Cache) recordCrashes() {
	c.store.SetCrashOutput(func(f *os.File) {
		if err := debug.SetCrashOutput(f, debug.CrashOptions{}); err != nil {
			c.log.Warn("crashes are not recorded", "error", err)
		}
		if err := c.dev.SetCrashOutput(f); err != nil {
			c.log.Warn("crashes on threads of the driver are not recorded", "error", err)
		}
	})
}
