//go:build linux

package server

import (
	"context"
	"time"
)

// LockBuffer locks a named buffer, as a copy of another session does, until unlock is called.
func (s *Server) LockBuffer(name string) (unlock func()) {
	n, _, err := s.buffers.Open(name, false, 0, nil)
	if err != nil {
		panic(err)
	}
	if err := n.Value.Lock(context.Background()); err != nil {
		panic(err)
	}
	return func() {
		n.Value.Unlock()
		s.buffers.Leave(n)
	}
}

// Progress returns when the GPU made progress last, as the watchdog sees it.
func (s *Server) Progress() time.Time {
	s.watch.mu.Lock()
	defer s.watch.mu.Unlock()
	return s.watch.mu.progress
}

// Working returns the work that the watchdog watches: jobs, what the GPU's thread does, and programs.
func (s *Server) Working() [kindsOfWork]int {
	s.watch.mu.Lock()
	defer s.watch.mu.Unlock()
	return s.watch.mu.working
}

// LimitTogether takes what sessions may still have together, but for some bytes.
func (s *Server) LimitTogether(bytes int64) {
	for n := int64(1) << 62; n > 0; n /= 2 {
		s.unnamed.TryAcquire(n)
	}
	s.unnamed.Release(bytes)
}

// TakeLarge takes the memory that large operands may have together, until release.
func (s *Server) TakeLarge(ctx context.Context) (release func(), err error) {
	weight, err := s.large.acquire(ctx, int(s.large.capacity), 0)
	return func() { s.large.release(weight) }, err
}

// TakeTurns takes all turns but one of a small job, until release.
func (s *Server) TakeTurns(ctx context.Context) (release func(), err error) {
	weight, err := s.turns.acquire(ctx, int(s.turns.capacity-s.turns.least), 0)
	return func() { s.turns.release(weight) }, err
}

// Looks returns how many looks at the GPU's thread there were.
func (s *Server) Looks() uint64 {
	s.looks.Lock()
	defer s.looks.Unlock()
	return s.looks.made
}

// Look returns the look at the GPU's thread that has not begun, and what is closed when it is over.
func (s *Server) Look() (any, <-chan struct{}) {
	l := s.nextLook()
	return l, l.done
}
