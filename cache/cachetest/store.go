package cachetest

import (
	"fmt"
	"maps"
	"sync"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/shader"
)

// Store is a cache.Store in memory. It has no further powers. All methods may be
// called from any goroutine. Set the hooks before the store is used, or with the cache
// idle; a hook may block, and its error is the result of the call.
type Store struct {
	OnGet    func(shader.Key) error
	OnPut    func(*binary.Blob) error
	OnReject func(shader.Key) error
	OnRecord func() error

	mu struct {
		sync.Mutex
		blobs    map[shader.Key]*binary.Blob
		damaged  map[shader.Key]bool
		rejected map[shader.Key]string
		uses     map[shader.Key]binary.Use
		counters binary.Counters
		calls    StoreCalls
	}
}

var _ cache.Store = (*Store)(nil)

// StoreCalls counts the calls of a Store.
type StoreCalls struct {
	Gets, Puts, Rejects, Records, Closes int
}

// NewStore returns an empty store that works.
func NewStore() *Store {
	s := &Store{}
	s.mu.blobs = map[shader.Key]*binary.Blob{}
	s.mu.damaged = map[shader.Key]bool{}
	s.mu.rejected = map[shader.Key]string{}
	s.mu.uses = map[shader.Key]binary.Use{}
	return s
}

// Reopen returns a store with the same blobs, no hooks and no counts, as a
// second process would find it.
func (s *Store) Reopen() *Store {
	s.mu.Lock()
	defer s.mu.Unlock()
	next := NewStore()
	maps.Copy(next.mu.blobs, s.mu.blobs)
	maps.Copy(next.mu.damaged, s.mu.damaged)
	return next
}

// Damage makes the next Get report the blob of key as damaged and, as the store
// on disk does, reject it.
func (s *Store) Damage(key shader.Key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.damaged[key] = true
}

// Blob returns the blob of key, or nil.
func (s *Store) Blob(key shader.Key) *binary.Blob {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mu.blobs[key]
}

// Len returns the number of blobs.
func (s *Store) Len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.mu.blobs)
}

// Rejected returns why the blob of key was rejected, or "".
func (s *Store) Rejected(key shader.Key) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mu.rejected[key]
}

// Recorded returns everything recorded so far, added up.
func (s *Store) Recorded() (map[shader.Key]binary.Use, binary.Counters) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.mu.uses), s.mu.counters
}

// Calls returns the number of calls so far.
func (s *Store) Calls() StoreCalls {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mu.calls
}

// Get returns the blob of key, binary.ErrNotFound, or an error that matches binary.ErrDamaged.
func (s *Store) Get(key shader.Key) (*binary.Blob, error) {
	s.count(func(c *StoreCalls) { c.Gets++ })
	if s.OnGet != nil {
		if err := s.OnGet(key); err != nil {
			return nil, err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	blob := s.mu.blobs[key]
	if blob == nil {
		return nil, binary.ErrNotFound
	}
	if s.mu.damaged[key] {
		delete(s.mu.damaged, key)
		delete(s.mu.blobs, key)
		s.mu.rejected[key] = "damaged"
		return nil, fmt.Errorf("%w: cachetest.Store.Damage was called", binary.ErrDamaged)
	}
	return blob, nil
}

// Put keeps blob, which must not be changed afterwards.
func (s *Store) Put(blob *binary.Blob) error {
	s.count(func(c *StoreCalls) { c.Puts++ })
	if s.OnPut != nil {
		if err := s.OnPut(blob); err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.blobs[blob.Key] = blob
	return nil
}

// Reject removes the blob of key and keeps the reason.
func (s *Store) Reject(key shader.Key, reason string) error {
	s.count(func(c *StoreCalls) { c.Rejects++ })
	if s.OnReject != nil {
		if err := s.OnReject(key); err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.blobs[key] == nil {
		return fmt.Errorf("cachetest: reject: %w", binary.ErrNotFound)
	}
	delete(s.mu.blobs, key)
	s.mu.rejected[key] = reason
	return nil
}

// Record adds uses and counters to what [Store.Recorded] returns.
func (s *Store) Record(uses []binary.Use, counters binary.Counters) error {
	s.count(func(c *StoreCalls) { c.Records++ })
	if s.OnRecord != nil {
		if err := s.OnRecord(); err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.counters.Add(counters)
	for _, use := range uses {
		use.Hits += s.mu.uses[use.Key].Hits
		s.mu.uses[use.Key] = use
	}
	return nil
}

// Close counts the call.
func (s *Store) Close() error {
	s.count(func(c *StoreCalls) { c.Closes++ })
	return nil
}

func (s *Store) count(add func(*StoreCalls)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	add(&s.mu.calls)
}
