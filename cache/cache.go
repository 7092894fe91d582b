package cache

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/shader"
)

// Cache keeps programs of one device resident. It is made by [New] and ends
// with [Cache.Close].
//
// Who touches what:
//
//	guard       asked by everything that leads to the device
//	index       read by every Get, without a lock; changed under mu
//	mu          never held across a Device, a Store or a Logger
//	recording   one Flush, Prune or Close at a time talks to the store's index
type Cache struct {
	dev        Device
	poller     Poller // dev, where it may work on a thread of its caller's
	store      Store  // nil: memory only
	memoryOnly string // why store is nil
	driver     shader.Digest
	formats    bool // the driver offers program binaries
	options    Options
	log        *slog.Logger
	clock      *clock

	index      index
	guard      guard
	recording  sync.Mutex
	background sync.WaitGroup

	mu struct {
		sync.Mutex
		quiet    sync.Cond // a flight landed or a blob left the queue
		resident residency
		kept     kept
		ledger   ledger
		flights  map[shader.Key]*flight
		failures failures
		checked  map[shader.Key]bool // binaries that gave the right answer
		unstored int                 // what the store has to learn and has not yet
		queue    []task              // for the store
		writing  bool                // the writer runs
		warned   map[string]bool
		closed   bool
		lost     error // matches shader.ErrContextLost
	}
}

// New makes a cache for dev. When there is no usable directory or the driver
// has no program binaries, the cache works in memory only, says so once to the
// logger and in Stats.MemoryOnly, and New returns no error. The cache does not
// own dev: close it after the cache. A process that ends without Close or Flush
// compiles again what it compiled in its last moments.
func New(dev Device, o Options) (*Cache, error) {
	if dev == nil {
		return nil, errors.New("cache: New needs a device")
	}
	o = o.withDefaults()
	fingerprint := dev.Fingerprint()
	c := &Cache{
		dev:     dev,
		driver:  fingerprint.Digest(),
		formats: len(fingerprint.Formats) > 0,
		options: o,
		log:     o.Logger,
		clock:   newClock(o.Now),
	}
	c.poller, _ = dev.(Poller)
	c.mu.quiet.L = &c.mu
	c.mu.resident = newResidency(&c.index, o.MaxPrograms, o.MaxBytes)
	c.mu.kept = newKept(o.KeepEvictedBytes)
	c.mu.failures = newFailures(o.NegativeCacheOff)
	c.mu.checked = map[shader.Key]bool{}
	c.mu.flights = map[shader.Key]*flight{}
	c.mu.warned = map[string]bool{}
	opened := openStore(o, fingerprint)
	c.store, c.memoryOnly = opened.store, opened.memoryOnly
	if opened.trouble != nil {
		c.log.Warn("a directory of programs cannot be used", "error", opened.trouble)
	}
	c.guard.marks, _ = c.store.(Guard)
	c.tellCrashes()
	if c.store != nil {
		c.mu.ledger.uses = map[shader.Key]binary.Use{}
	} else if c.memoryOnly != memoryOnlyWanted {
		c.log.Warn("programs are cached in memory only", "reason", c.memoryOnly)
	}
	return c, nil
}

// refusal is why there are no programs any more, or nil. The caller holds mu.
func (c *Cache) refusal() error {
	if c.mu.closed {
		return ErrClosed
	}
	return c.mu.lost
}

// lose ends the cache's service if err says that the context is lost. The
// caller holds mu.
func (c *Cache) lose(err error) {
	if c.mu.lost == nil && errors.Is(err, shader.ErrContextLost) {
		c.mu.lost = err
		c.index.clear()
	}
}

// retire takes over the counts and the bytes of sealed entries that have left
// the residency. The caller holds mu and calls dropAll after it.
func (c *Cache) retire(evicted []*entry) {
	for _, e := range evicted {
		c.mu.ledger.settle(e)
		if c.mu.kept.worth(e.blob) {
			c.mu.kept.add(e.blob)
		}
		e.blob = nil
	}
	c.mu.ledger.fresh.Evictions += uint64(len(evicted))
}

func (c *Cache) dropAll(entries []*entry) {
	for _, e := range entries {
		e.drop(c.dev)
	}
}

// evictIdle deletes every program without handles.
func (c *Cache) evictIdle() {
	c.mu.Lock()
	evicted := c.mu.resident.evictIdle()
	c.retire(evicted)
	c.mu.Unlock()
	c.dropAll(evicted)
}

// Prune deletes blobs and driver cache files by age and size; resident programs
// stay. What this process used is recorded first if the store can take it, so
// that it counts as used. Without a store there is nothing to prune.
func (c *Cache) Prune(o binary.PruneOptions) (binary.PruneReport, error) {
	c.serve(c.recording.Lock)
	defer c.recording.Unlock()
	if err := c.flush(); errors.Is(err, ErrClosed) {
		return binary.PruneReport{}, fmt.Errorf("cache: prune: %w", err)
	}
	if c.store == nil {
		return binary.PruneReport{}, nil
	}
	if o.Now.IsZero() {
		o.Now = c.clock.wall()
	}
	report, err := c.store.Prune(o)
	if err != nil {
		return report, fmt.Errorf("cache: prune: %w", err)
	}
	return report, nil
}

// Close waits for running loads and writes, deletes all programs, records what
// Flush records and closes the store. When handles are alive it does nothing of
// that and returns an *[InUseError]; the cache stays usable. Any other error
// comes from the store, and the cache is closed. An index that other processes
// hold for seconds is no error: statistics are lost, and the logger is told.
func (c *Cache) Close() error {
	c.serve(c.lockQuiet)
	if c.mu.closed {
		c.mu.Unlock()
		return ErrClosed
	}
	entries := c.mu.resident.entries()
	if inUse := sealAll(entries); len(inUse) > 0 {
		c.mu.Unlock()
		return &InUseError{Programs: inUse}
	}
	for _, e := range entries {
		c.mu.ledger.settle(e)
		c.mu.resident.remove(e)
	}
	c.mu.closed = true
	c.mu.kept = newKept(-1)
	c.mu.Unlock()

	c.dropAll(entries)
	c.serve(c.background.Wait)
	if c.store == nil {
		return nil
	}
	c.recording.Lock()
	defer c.recording.Unlock()
	if err := errors.Join(c.recordLast(), c.store.Close()); err != nil {
		return fmt.Errorf("cache: close: %w", err)
	}
	return nil
}

// lockQuiet locks mu once nothing is being loaded or written.
func (c *Cache) lockQuiet() {
	c.mu.Lock()
	for c.mu.unstored > 0 || len(c.mu.flights) > 0 {
		c.mu.quiet.Wait()
	}
}

// sealAll seals all entries, or none and says which have handles.
func sealAll(entries []*entry) (inUse []InUseProgram) {
	var idle []*entry
	for _, e := range entries {
		if e.seal() {
			idle = append(idle, e)
		} else {
			// At least one: it may have been released since.
			inUse = append(inUse, InUseProgram{Name: e.name, Key: e.key, Handles: max(1, e.handles())})
		}
	}
	if len(inUse) > 0 {
		for _, e := range idle {
			e.unseal()
		}
	}
	slices.SortFunc(inUse, func(a, b InUseProgram) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), slices.Compare(a.Key[:], b.Key[:]))
	})
	return inUse
}

// storeFailed counts a failure of the store and logs the first of its kind.
func (c *Cache) storeFailed(what string, err error) {
	if errors.Is(err, binary.ErrReadOnly) {
		return // it was to be expected
	}
	c.mu.Lock()
	c.mu.ledger.fresh.StoreFailures++
	first := !c.mu.warned[what]
	c.mu.warned[what] = true
	c.mu.Unlock()
	if first {
		c.log.Warn("the program store failed, the cache goes on without it", "doing", what, "error", err)
	}
}
