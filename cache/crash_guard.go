package cache

import (
	"crypto/sha256"
	"errors"
	"os"
	"runtime/debug"
	"sync"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/shader"
)

// CrashGuard keeps programs away from the driver that a process crashed with. It
// marks in the store what the driver works on; the marks that a dead process
// left behind put these programs into quarantine. binary.Recovery and
// binary.Quarantined describe what follows from which evidence.
//
// A guard belongs to the cache that made it and may be shared by others on the
// same device: see Options.CrashGuard. Its methods may be called from any
// goroutine.
type CrashGuard struct {
	owner     *Cache // counts and logs what the guard finds
	recovered sync.Once

	// Set by recover and not changed afterwards.
	refused    map[shader.Key]binary.Quarantined // not to be compiled
	unloadable map[shader.Key]bool               // not to be loaded, and so not stored

	// working is held for reading while the device works, and for writing while
	// it works on a suspect: if the process dies then, there is one culprit.
	working sync.RWMutex

	mu struct {
		sync.Mutex
		suspects map[shader.Key]bool // to be compiled alone
	}
}

// CrashGuard returns the guard of the cache: its own, or the one in its options.
func (c *Cache) CrashGuard() *CrashGuard { return c.guard }

// Interrupted removes the marks of everything that the driver is working on, so
// that the next process does not take the end of this one for a crash. It is for
// a signal handler of the application that ends the process without Close. It
// does not wait, and the cache stays usable.
func (c *Cache) Interrupted() { c.guard.marks().ClearMarks() }

// Run calls work, which has the driver do something that may crash the process,
// such as running a program for the first time. When processes have crashed in
// work of that name before, Run returns a *binary.QuarantinedError and does not
// call work. That takes two deaths, or one that was recorded as a crash
// (Options.RecordCrashes), and holds for every process on the cache directory
// with this driver. Without a store nothing is remembered.
//
// Otherwise Run returns the error of work. A suspicion ends when work returns
// nil. work may use the device's thread, but must not call a cache.
func (g *CrashGuard) Run(name string, work func() error) error {
	g.recover()
	// The prefix is part of the keys on disk.
	key := shader.Key(sha256.Sum256([]byte("try\x00" + name)))
	if q, ok := g.refused[key]; ok {
		return &binary.QuarantinedError{Quarantined: q}
	}
	err := g.runMarked(key, name, work)
	if err == nil {
		g.clearSuspect(key)
	}
	return err
}

func (g *CrashGuard) runMarked(key shader.Key, name string, work func() error) error {
	suspect := g.isSuspect(key)
	g.begin(suspect)
	defer g.end(suspect)
	g.marks().Mark(binary.ActionRun, key, name)
	defer g.marks().Unmark(binary.ActionRun, key)
	return work()
}

func (g *CrashGuard) marks() CrashMarks { return g.owner.store }

// recover reads what dead processes left. Everything that leads to the device
// calls it first; the first call waits for the store.
func (g *CrashGuard) recover() { g.recovered.Do(g.recoverOnce) }

func (g *CrashGuard) recoverOnce() {
	r, err := g.marks().Recover()
	if err != nil {
		g.owner.storeFailed("reading crash marks", err)
	}
	g.refused = map[shader.Key]binary.Quarantined{}
	g.unloadable = map[shader.Key]bool{}
	g.mu.suspects = map[shader.Key]bool{}
	for _, q := range r.Active {
		switch {
		case q.Refused():
			g.refused[q.Key] = q
		case q.Action == binary.ActionLoad:
			g.unloadable[q.Key] = true
		default:
			g.mu.suspects[q.Key] = true
		}
	}
	c := g.owner
	c.mu.Lock()
	c.mu.counters.pending.Quarantined += uint64(len(r.Found))
	c.mu.Unlock()
	for _, q := range r.Found {
		c.log.Warn("a program is put into quarantine", "name", q.Name, "key", q.Key.Short(), "reason", q.Reason)
	}
}

// begin waits until the device may start work; end must follow. Work on a suspect
// excludes all other work.
func (g *CrashGuard) begin(suspect bool) {
	if suspect {
		g.owner.dev.PollWhile(g.working.Lock)
	} else {
		g.owner.dev.PollWhile(g.working.RLock)
	}
}

func (g *CrashGuard) end(suspect bool) {
	if suspect {
		g.working.Unlock()
	} else {
		g.working.RUnlock()
	}
}

// markAll marks sources. unmark must follow for each.
func (g *CrashGuard) markAll(action binary.Action, sources ...*shader.Source) {
	for _, src := range sources {
		g.marks().Mark(action, src.Key(), src.Name())
	}
}

func (g *CrashGuard) unmark(action binary.Action, src *shader.Source) {
	g.marks().Unmark(action, src.Key())
}

// quarantined returns a *binary.QuarantinedError if the device must not compile
// src, else nil.
func (g *CrashGuard) quarantined(src *shader.Source) error {
	q, ok := g.refused[src.Key()]
	if !ok {
		return nil
	}
	q.Name = src.Name()
	return &binary.QuarantinedError{Quarantined: q}
}

func (g *CrashGuard) isSuspect(key shader.Key) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.mu.suspects[key]
}

// clearSuspect ends the suspicion against a key, if there is one: the process
// has survived it.
func (g *CrashGuard) clearSuspect(key shader.Key) {
	g.mu.Lock()
	suspect := g.mu.suspects[key]
	delete(g.mu.suspects, key)
	g.mu.Unlock()
	if !suspect {
		return
	}
	if err := g.marks().Lift(key); err != nil {
		g.owner.storeFailed("lifting a quarantine", err)
	}
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

func isQuarantined(err error) bool { return errors.Is(err, binary.ErrQuarantined) }
