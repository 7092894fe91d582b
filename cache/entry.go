package cache

import (
	"math"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/shader"
)

// entry is one program that is, or was, resident.
//
// Who keeps a program alive:
//
//	handles  one count each in a share; an entry with handles is not evicted
//	owners   the cache while the entry is resident, and a read-back of its binary
//
// Eviction seals the shares, in which no handle may be counted, and drops the
// cache's ownership. Dropping the last ownership deletes the program.
type entry struct {
	shares [lanes]share

	key     shader.Key
	name    string
	program shader.Program
	origin  job.Origin
	clock   *clock
	owners  atomic.Int32

	readBack bool   // it was compiled, and its binary is to be read from the driver: for the store, or for memory
	claim    *claim // on compiling it, until its binary is stored

	// firstUse is called when a goroutine's first Get finds the program resident; nil: the
	// program is not traced, or a Get made it. used: it was called.
	firstUse func(*entry)
	used     atomic.Bool

	// measured is what the store records of the program, but for hits and the last use. What is
	// known of its dispatches is guarded by Cache.mu.
	measured binary.Use

	// Guarded by Cache.mu.
	blob        *binary.Blob // what to keep in memory after eviction; nil: nothing
	unchecked   *binary.Blob // what the program was loaded from, if CheckTogether is to check it
	recheck     bool         // it was compiled, because its blob gave a wrong answer, and CheckTogether is to check it
	evicted     bool
	storeOnly   bool   // made for the store and never resident
	placed      int64  // last use as of the last residency.updateOrder
	countedHits uint64 // hits as of the last pendingCounters.collect
	countedUse  int64  // last use as of the same
}

// share is one part of an entry's counts. Goroutines on different CPUs count in
// different shares, on different cache lines, so that they do not contend for a
// program that all of them use: with one share for all, Get gets slower with
// every further CPU.
type share struct {
	// Nobody writes to the first line of an entry: checks for nil read its first byte.
	_ [64]byte

	refs    atomic.Int64 // handles; far below zero while sealed
	hits    atomic.Uint64
	lastUse atomic.Int64 // clock.elapsed of the last release
	entry   *entry
	_       [64 - 32]byte // two lines: CPUs fetch lines in pairs
}

const (
	lanes  = 32 // twice the CPUs of most GPU hosts, so that a free one is found soon
	sealed = math.MinInt64 / 2
)

// lane numbers the share that a goroutine should use. Most of the time the pool
// returns the CPU's own. Two CPUs may have the same number, and each call takes three
// times as long: a lane where others have counted since its last hit draws another. It
// draws seldom, so that one of two goes and the other stays, and by chance, since lanes
// that go on in steps can follow each other for ever.
type lane struct {
	number uint32
	last   *share // of the last hit
	hits   uint64 // of it, by then
	_      [128 - 24]byte
}

var lanePool = sync.Pool{New: func() any { return &lane{number: rand.Uint32N(lanes)} }}

// newEntry returns the entry of a program without handles that the cache owns.
func newEntry(src *shader.Source, program shader.Program, origin job.Origin, clock *clock) *entry {
	program.Interface.DeclareFormats(src)
	e := &entry{key: src.Key(), name: src.Name(), program: program, origin: origin, clock: clock}
	for i := range e.shares {
		e.shares[i].entry = e
	}
	e.shares[0].lastUse.Store(clock.elapsed())
	e.owners.Store(1)
	e.measured = binary.Use{Key: e.key, Name: e.name}
	if origin == job.Compiled {
		e.measured.CompileNanos = program.CompileNanos + program.PrimeNanos
	} else {
		e.measured.LoadNanos = program.LoadNanos + program.PrimeNanos
	}
	return e
}

// acquire counts a handle and a hit and returns the share that they are counted in, or nil
// when the entry is sealed.
func (e *entry) acquire() *share {
	l := lanePool.Get().(*lane)
	s := l.acquire(e)
	lanePool.Put(l)
	return s
}

func (l *lane) acquire(e *entry) *share {
	s := &e.shares[l.number]
	if !s.retain() {
		return nil
	}
	hits := s.hit()
	if s == l.last && hits != l.hits+1 {
		if n := rand.Uint32N(8 * lanes); n < lanes {
			l.number = n
		}
	}
	l.last, l.hits = s, hits
	return s
}

// hit counts a Get that found the program resident, and returns the hits of the share.
func (s *share) hit() uint64 {
	n := s.hits.Add(1)
	if n == 1 && s.entry.firstUse != nil && !s.entry.used.Swap(true) { // once, whatever the share
		s.entry.firstUse(s.entry)
	}
	return n
}

// retain counts a handle. It reports false when the entry is sealed.
func (s *share) retain() bool {
	if s.refs.Add(1) > 0 {
		return true
	}
	s.refs.Add(-1)
	return false
}

// release removes a handle from the count. It writes the time first: once the
// count is zero the entry may be evicted.
func (s *share) release() {
	s.lastUse.Store(s.entry.clock.elapsed())
	s.refs.Add(-1)
}

// seal makes acquire fail from now on, if the entry has no handles, and reports
// whether it did. The caller holds Cache.mu.
func (e *entry) seal() bool {
	for i := range e.shares {
		if !e.shares[i].refs.CompareAndSwap(0, sealed) {
			e.unsealFirst(i)
			return false
		}
	}
	return true
}

// unsealFirst adds instead of storing: a Get that found the share sealed may not
// have taken its count back yet.
func (e *entry) unsealFirst(n int) {
	for i := range e.shares[:n] {
		e.shares[i].refs.Add(-sealed)
	}
}

// handles returns the number of handles. It is exact while none is acquired or
// released.
func (e *entry) handles() int {
	var n int64
	for i := range e.shares {
		n += max(0, e.shares[i].refs.Load())
	}
	return int(n)
}

func (e *entry) hits() uint64 {
	var n uint64
	for i := range e.shares {
		n += e.shares[i].hits.Load()
	}
	return n
}

// lastUse returns when the last handle was released, or else when the program was
// made, in nanoseconds of clock.elapsed.
func (e *entry) lastUse() int64 {
	last := e.shares[0].lastUse.Load()
	for i := range e.shares {
		last = max(last, e.shares[i].lastUse.Load())
	}
	return last
}

// drop gives up one ownership and deletes the program if it was the last. The
// caller does not hold Cache.mu.
func (e *entry) drop(dev Device) {
	if e.owners.Add(-1) == 0 {
		dev.Delete(e.program.ID)
	}
}

// use returns what the store records about the program. The caller holds Cache.mu.
func (e *entry) use() binary.Use {
	u := e.measured
	u.LastUse = e.clock.at(e.lastUse())
	return u
}

// clock returns the time of uses. Unless it is replaced it reads the monotonic
// clock alone: the cheapest clock that goroutines can read without sharing a
// cache line.
type clock struct {
	start time.Time
	now   func() time.Time // nil: time.Now
}

func newClock(now func() time.Time) *clock {
	c := &clock{now: now}
	c.start = c.wall()
	return c
}

func (c *clock) wall() time.Time {
	if c.now != nil {
		return c.now()
	}
	return time.Now()
}

// elapsed returns the nanoseconds since the clock was made.
func (c *clock) elapsed() int64 {
	if c.now != nil {
		return int64(c.now().Sub(c.start))
	}
	return int64(time.Since(c.start))
}

// at converts what elapsed returned into a time.
func (c *clock) at(elapsed int64) time.Time { return c.start.Add(time.Duration(elapsed)) }
