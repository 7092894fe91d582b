package cache

import (
	"errors"
	"os"
	"runtime/debug"
	"sync"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/shader"
)

// Guard is what a Store has that remembers, beyond the death of the process,
// what the driver was working on. *binary.Store has it.
type Guard interface {
	// Recover looks for what dead processes left. The cache calls it once,
	// before the device gets anything.
	Recover() (binary.Recovery, error)

	// Mark notes that the device gets a program, Leave that it is done.
	Mark(action binary.Action, key shader.Key, name string)
	Unmark(action binary.Action, key shader.Key)

	// Lift ends the quarantine of a suspect that proved innocent.
	Lift(key shader.Key) error
}

// CrashTeller is what a Guard has that tells crashes from other deaths.
// *binary.Store has it; Options.RecordCrashes makes use of it.
type CrashTeller interface {
	// SetCrashOutput hands set the file that says how the process ended, as soon as
	// there is one.
	SetCrashOutput(set func(*os.File))
}

// CrashOutputDevice is what a Device may have that tells what Go's runtime cannot:
// a crash on a thread that the driver started. *glctx.Context has it;
// Options.RecordCrashes makes use of it.
type CrashOutputDevice interface {
	// SetCrashOutput has a line that starts with the name of the signal, such as
	// "SIGSEGV: ", written to a file that may be closed afterwards.
	SetCrashOutput(f *os.File) error
}

// Forgiver is what a Guard has that forgets what the driver is at. *binary.Store
// has it.
type Forgiver interface {
	// ClearMarks takes back everything that Enter noted, and notes nothing more.
	ClearMarks()
}

// Interrupted says that the process is about to end because its user wants it
// to, whatever the driver is at: what it has in hand is not held against it at
// the next start. For a signal handler of the application's that ends the
// process without Close. It waits for nobody, and the cache goes on meanwhile.
func (c *Cache) Interrupted() {
	if f, ok := c.guard.marks.(Forgiver); ok {
		f.ClearMarks()
	}
}

// tellCrashes does what Options.RecordCrashes says.
func (c *Cache) tellCrashes() {
	teller, ok := c.guard.marks.(CrashTeller)
	if !ok || !c.options.RecordCrashes {
		return
	}
	teller.SetCrashOutput(func(f *os.File) {
		if err := debug.SetCrashOutput(f, debug.CrashOptions{}); err != nil {
			c.log.Warn("a crash will not be told from other deaths", "error", err)
		}
		if teller, ok := c.dev.(CrashOutputDevice); ok {
			if err := teller.SetCrashOutput(f); err != nil {
				c.log.Warn("a crash on a thread of the driver's own will not be told from other deaths", "error", err)
			}
		}
	})
}

// guard keeps programs away from the device that were in its hands when a
// process died. See binary.Recovery for what follows from such a death.
type guard struct {
	marks     Guard // nil: nothing is remembered
	recovered sync.Once

	// Set by recover and not changed after.
	refused    map[shader.Key]binary.Quarantined // not to be compiled
	unloadable map[shader.Key]bool               // not to be loaded, and so not stored

	// alone is held for reading while the device works, and for writing while
	// it compiles a suspect: if the process dies then, there is one culprit.
	alone sync.RWMutex

	mu struct {
		sync.Mutex
		suspects map[shader.Key]bool // to be compiled alone
	}
}

// recover finds out what dead processes left. Everything that leads to the
// device comes through here first, and waits for it the first time.
func (c *Cache) recover() {
	if c.guard.marks != nil {
		c.guard.recovered.Do(c.recoverOnce)
	}
}

func (c *Cache) recoverOnce() {
	g := &c.guard
	r, err := g.marks.Recover()
	if err != nil {
		c.storeFailed("looking for processes that died", err)
	}
	g.refused = map[shader.Key]binary.Quarantined{}
	g.unloadable = map[shader.Key]bool{}
	g.mu.suspects = map[shader.Key]bool{}
	for _, q := range r.Standing {
		switch {
		case q.Refused():
			g.refused[q.Key] = q
		case q.Action == binary.ActionLoad:
			g.unloadable[q.Key] = true
		default:
			g.mu.suspects[q.Key] = true
		}
	}
	c.mu.Lock()
	c.mu.ledger.fresh.Quarantined += uint64(len(r.Found))
	c.mu.Unlock()
	for _, q := range r.Found {
		c.log.Warn("a program is put into quarantine", "name", q.Name, "key", q.Key.Short(), "reason", q.Reason)
	}
}

// enter notes what the device gets. leave must follow for each source.
func (g *guard) enter(action binary.Action, sources ...*Source) {
	if g.marks == nil {
		return
	}
	for _, src := range sources {
		g.marks.Mark(action, src.Key(), src.Name())
	}
}

func (g *guard) leave(action binary.Action, src *Source) {
	if g.marks != nil {
		g.marks.Unmark(action, src.Key())
	}
}

func (g *guard) isSuspect(key shader.Key) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.mu.suspects[key]
}

// absolve ends the suspicion against a source: the process has survived it.
func (c *Cache) absolve(key shader.Key) {
	c.guard.mu.Lock()
	delete(c.guard.mu.suspects, key)
	c.guard.mu.Unlock()
	if err := c.guard.marks.Lift(key); err != nil {
		c.storeFailed("lifting a quarantine", err)
	}
}

func isQuarantined(err error) bool { return errors.Is(err, binary.ErrQuarantined) }
