//go:build linux

package server

import (
	"time"

	"golang.org/x/sync/semaphore"
)

// LockBuffer locks a named buffer, as a copy of another session does, until unlock is called.
func (s *Server) LockBuffer(name string) (unlock func()) {
	n, _, err := s.buffers.Open(name, false, 0, nil)
	if err != nil {
		panic(err)
	}
	n.Value.Lock()
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

// LimitTogether sets the bytes that all later sessions may have together.
func (s *Server) LimitTogether(bytes int64) { s.unnamed = semaphore.NewWeighted(bytes) }
