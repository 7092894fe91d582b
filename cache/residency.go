package cache

import (
	"cmp"
	"math"
	"slices"
	"sync"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/shader"
)

// index finds resident programs without a lock. It has what the residency has,
// or nothing once the context is lost.
type index struct {
	programs sync.Map // shader.Key to *entry
}

// find does not allocate: the key stays on the stack, boxed or not.
func (i *index) find(key shader.Key) *entry {
	if e, ok := i.programs.Load(key); ok {
		return e.(*entry)
	}
	return nil
}

func (i *index) clear() { i.programs.Clear() }

// residency holds the resident programs in the order of eviction, the least
// recently used first. Its owner guards it with Cache.mu.
//
// A release writes its time into the entry and nothing else; the order is
// updated from those times when room is needed.
type residency struct {
	index    *index
	order    *simplelru.LRU[shader.Key, *entry]
	bytes    int64
	programs int   // limit
	maxBytes int64 // limit
}

func (r *residency) find(key shader.Key) *entry {
	e, _ := r.order.Peek(key)
	return e
}

// findProgram returns the entry of a GL program, or nil.
func (r *residency) findProgram(id uint32) *entry {
	for _, e := range r.order.Values() {
		if e.program.ID == id {
			return e
		}
	}
	return nil
}

// entries returns all entries, the least recently used first as of the last
// updateOrder.
func (r *residency) entries() []*entry { return r.order.Values() }

// add makes e resident. It panics when the key is resident: simplelru would
// replace the old entry silently, and its program would never be deleted.
func (r *residency) add(e *entry) {
	if r.order.Contains(e.key) {
		panic("cache: program " + e.key.Short() + " became resident twice")
	}
	// Others may have been used before e without being moved yet: -1 makes
	// updateOrder move e with them.
	e.placed = -1
	r.order.Add(e.key, e)
	r.index.programs.Store(e.key, e)
	r.bytes += int64(e.program.Bytes)
}

func (r *residency) remove(e *entry) {
	r.order.Remove(e.key)
	r.index.programs.Delete(e.key)
	r.bytes -= int64(e.program.Bytes)
	e.evicted = true
}

// fits reports whether another program of that size is within the limits.
func (r *residency) fits(bytes int64) bool {
	return r.order.Len() < r.programs && r.bytes+bytes <= r.maxBytes
}

// evict evicts programs without handles, the least recently used first, until enough reports
// true of their number or none is left. Evicted entries are sealed; the caller drops them
// once it no longer holds the lock.
func (r *residency) evict(enough func(evicted int) bool) (evicted []*entry) {
	r.updateOrder()
	for _, e := range r.entries() {
		if enough(len(evicted)) {
			break
		}
		if e.seal() {
			r.remove(e)
			evicted = append(evicted, e)
		}
	}
	return evicted
}

// evictIdle evicts every program without handles.
func (r *residency) evictIdle() []*entry { return r.evict(func(int) bool { return false }) }

// evictOlder evicts half of the programs without handles.
func (r *residency) evictOlder() []*entry {
	idle := 0
	for _, e := range r.entries() {
		if e.handles() == 0 {
			idle++
		}
	}
	return r.evict(func(n int) bool { return 2*n >= idle })
}

// updateOrder orders entries by last use. Only those used since the last call
// move, and all of them were used later than those that stay.
func (r *residency) updateOrder() {
	type use struct {
		entry *entry
		at    int64
	}
	var used []use
	for _, e := range r.entries() {
		if at := e.lastUse(); at != e.placed {
			used = append(used, use{e, at})
		}
	}
	slices.SortStableFunc(used, func(a, b use) int { return cmp.Compare(a.at, b.at) })
	for _, u := range used {
		u.entry.placed = u.at
		r.order.Get(u.entry.key)
	}
}

// evictedBlobs is a victim cache: it keeps the blobs of evicted programs up to a
// limit and removes the one that was evicted longest ago first. Its owner guards
// it with Cache.mu.
type evictedBlobs struct {
	blobs *simplelru.LRU[shader.Key, *binary.Blob]
	bytes int64
	limit int64 // payload bytes; negative: keep nothing
}

func newEvictedBlobs(limit int64) evictedBlobs {
	return evictedBlobs{blobs: newLRU[*binary.Blob](math.MaxInt), limit: limit}
}

func newLRU[V any](size int) *simplelru.LRU[shader.Key, V] {
	list, err := simplelru.NewLRU[shader.Key, V](size, nil)
	if err != nil {
		panic("cache: simplelru refused a size: " + err.Error())
	}
	return list
}

// accepts reports whether a blob is within the limit.
func (b *evictedBlobs) accepts(blob *binary.Blob) bool {
	return blob != nil && int64(len(blob.Payload)) <= b.limit
}

func (b *evictedBlobs) find(key shader.Key) *binary.Blob {
	blob, _ := b.blobs.Peek(key)
	return blob
}

// add keeps a blob that accepts accepts, in place of another of its key.
func (b *evictedBlobs) add(blob *binary.Blob) {
	b.remove(blob.Key)
	b.blobs.Add(blob.Key, blob)
	b.bytes += int64(len(blob.Payload))
	for b.bytes > b.limit {
		_, oldest, _ := b.blobs.RemoveOldest()
		b.bytes -= int64(len(oldest.Payload))
	}
}

func (b *evictedBlobs) remove(key shader.Key) {
	if blob := b.find(key); blob != nil {
		b.blobs.Remove(key)
		b.bytes -= int64(len(blob.Payload))
	}
}
