package cache

import (
	"errors"
	"fmt"
	"log/slog"
	"math"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"
	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/drivercache"
	"github.com/shadercache/shadercache/shader"
)

// Cache keeps programs of one device resident. [New] makes it, [Cache.Close]
// ends it.
//
// Locks:
//
//	guard       consulted before every call of the device that makes a program
//	index       read by every Get, without a lock; changed under mu
//	mu          never held across a Device, a Store or a Logger
//	recording   held by Flush and Close while they use the store's index
type Cache struct {
	dev        Device
	history    *history // nil: none is recorded
	store      *powers
	memoryOnly string // why there is no store; "" when there is one
	sourceOnly string // why binaries are not used; "" when they are
	driver     shader.Digest
	formats    bool // the driver offers program binaries
	options    Options
	log        *slog.Logger
	clock      *clock

	index      index
	guard      *CrashGuard
	first      beforeFirst
	recording  sync.Mutex
	trimmed    time.Time // with recording held: see trim
	background sync.WaitGroup

	stopWatching func() // first dispatches

	mu struct {
		sync.Mutex
		idle        sync.Cond // a load was completed or a task finished
		resident    residency
		evicted     evictedBlobs
		counters    pendingCounters
		flights     map[shader.Key]*flight
		failures    *simplelru.LRU[shader.Key, *shader.CompileError] // the latest
		checked     map[shader.Key]shader.Digest                     // payloads whose program passed the check
		wrong       map[shader.Key]bool                              // programs of which a blob gave a wrong answer, and whether that stays where it is
		unstored    int                                              // tasks and blobs that the store has not finished
		queue       []task                                           // for the store
		writing     bool                                             // the writer runs
		gpuMemory   GPUMemory                                        // as of the last query
		memoryAsked int64                                            // clock.elapsed of the last query for Options.MinFreeGPUBytes

		warned map[string]bool // kinds of failures that were logged
		closed bool
		lost   error // matches shader.ErrContextLost, or shader.ErrClosed after Abandon
	}
}

// New makes a cache for dev. An unusable directory, or a driver without program
// binaries, is not an error: the cache works in memory only, logs a warning and
// gives the reason in Stats.MemoryOnly. A driver's own cache that is not managed is
// logged too; one that is managed in another directory than Options.Dir is an error,
// ErrApart. The cache does not own dev: close it after the cache. What a process compiled just before it ended without Close or
// Flush may have to be compiled again.
func New(dev Device, o Options) (*Cache, error) {
	if dev == nil {
		return nil, errors.New("cache: New needs a device")
	}
	o, ignored := o.withDefaults().FromEnvironment()
	fingerprint := dev.Fingerprint()
	c := &Cache{
		dev:     dev,
		driver:  fingerprint.Digest(),
		formats: len(fingerprint.Formats) > 0,
		options: o,
		log:     o.Logger,
		clock:   newClock(o.Now),
	}
	c.first.start = sync.OnceValue(c.startBeforeFirst)
	c.mu.idle.L = &c.mu
	c.mu.counters.fillOnly = o.FillOnly
	// The LRU gets no limit: it would drop the oldest entry, in use or not, and not delete the program.
	c.mu.resident = residency{index: &c.index, order: newLRU[*entry](math.MaxInt), programs: o.MaxPrograms, maxBytes: o.MaxBytes}
	c.mu.evicted = newEvictedBlobs(o.KeepEvictedBytes)
	c.mu.failures = newLRU[*shader.CompileError](maxFailures)
	c.mu.checked = map[shader.Key]shader.Digest{}
	c.mu.wrong = map[shader.Key]bool{}
	c.mu.flights = map[shader.Key]*flight{}
	c.mu.warned = map[string]bool{}
	opened, err := openStore(o, fingerprint, dev.DriverCache())
	if err != nil {
		return nil, fmt.Errorf("cache: new: %w", err)
	}
	c.store, c.memoryOnly = powersOf(opened.store), opened.memoryOnly
	if err := c.chooseBinaries(); err != nil {
		return nil, errors.Join(fmt.Errorf("cache: new: %w", err), c.store.Close())
	}
	if ignored != nil { // no setting of a user stops an application
		c.log.Warn("a setting is ignored", "error", ignored)
	}
	if !c.hasStore() {
		c.options.NoSave = true
	}
	// A claim of another process ends when the binary is stored: it takes one that is.
	if c.options.NoSave || c.sourceOnly != "" || o.InTrial {
		c.options.ShareCompiles = 0
	}
	if opened.warning != nil {
		c.log.Warn("a directory of programs cannot be used", "error", opened.warning)
	}
	if opened.Private() {
		c.log.Warn("a private place is used as the cache directory", "directory", opened.Dir.Path(), "reason", opened.Err)
	}
	if c.guard = o.CrashGuard; c.guard == nil {
		c.guard = newCrashGuard(c, o.Trier)
		c.guard.readNotes()
	}
	c.stopWatching = func() {}
	if c.hasStore() {
		c.mu.counters.uses = map[shader.Key]binary.Use{}
		stopFirst, stopTimes := dev.WatchFirstDispatch(c.watchFirstDispatch), dev.WatchTimes(c.addTime)
		c.stopWatching = func() {
			stopFirst()
			stopTimes()
		}
		c.warnUnmanaged(dev.DriverCache())
	} else if c.memoryOnly != memoryOnlyRequested {
		c.log.Warn("programs are cached in memory only", "reason", c.memoryOnly)
	}
	if o.RecordCrashes {
		c.recordCrashes()
	}
	c.startHistory()
	c.startFilling(opened.Upstream)
	return c, nil
}

// warnUnmanaged logs that the driver's own cache is not managed, where the caller has
// not chosen that. For a full volume the context does.
func (c *Cache) warnUnmanaged(driver drivercache.State) {
	if !driver.Managed && !driver.Off && !driver.Full && driver.Reason != "" {
		c.log.Warn("the driver's own cache is not managed: it is not exported or pruned, and programs that are on disk may compile again",
			"reason", driver.Reason)
	}
}

func (c *Cache) hasStore() bool { return c.memoryOnly == "" }

// unusable returns why the cache gives out no programs any more, or nil. The
// caller holds mu.
func (c *Cache) unusable() error {
	if c.mu.closed {
		return errClosed
	}
	return c.mu.lost
}

// setLost makes the cache unusable if err matches shader.ErrContextLost. The
// caller holds mu.
func (c *Cache) setLost(err error) {
	if c.mu.lost == nil && errors.Is(err, shader.ErrContextLost) {
		c.mu.lost = err
		c.index.clear()
	}
}

// count adds 1 to a field of mu.counters.total.
func (c *Cache) count(counter *uint64) {
	c.mu.Lock()
	*counter++
	c.mu.Unlock()
}

// retire takes over the counts and the blobs of sealed entries that have left
// the residency. The caller holds mu and calls dropAll after it.
func (c *Cache) retire(evicted []*entry) {
	for _, e := range evicted {
		c.mu.counters.collect(e)
		if c.mu.evicted.accepts(e.blob) {
			c.mu.evicted.add(e.blob)
		}
		e.blob = nil
	}
	c.mu.counters.total.Evictions += uint64(len(evicted))
	c.traceEvicted(evicted)
}

// evict evicts what which chooses.
func (c *Cache) evict(which func() []*entry) {
	c.mu.Lock()
	evicted := which()
	c.retire(evicted)
	c.mu.Unlock()
	c.dropAll(evicted)
}

func (c *Cache) dropAll(entries []*entry) {
	for _, e := range entries {
		e.drop(c.dev)
	}
}
