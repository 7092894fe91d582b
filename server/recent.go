//go:build linux

package server

import (
	"slices"
	"sync"
	"time"

	"github.com/shadercache/shadercache/server/internal/wire"
)

// FailedRequest is a request that was answered with an error.
type FailedRequest struct {
	Time    time.Time `json:"time"`
	Session uint64    `json:"session"`
	Client  string    `json:"client"`
	Request string    `json:"request"` // its type
	Error   string    `json:"error"`   // name of its code
	Message string    `json:"message"` // its start
}

const (
	maxFailures       = 20  // that a server remembers
	maxFailureMessage = 400 // bytes: a driver's log may be long
)

// failures are the last requests that failed.
type failures struct {
	mu   sync.Mutex
	last []FailedRequest // the newest at the end
}

// add remembers a request that failed.
func (f *failures) add(r FailedRequest) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.last) == maxFailures {
		f.last = slices.Delete(f.last, 0, 1)
	}
	f.last = append(f.last, r)
}

// list returns them, the newest first.
func (f *failures) list() []FailedRequest {
	f.mu.Lock()
	defer f.mu.Unlock()
	list := append([]FailedRequest{}, f.last...)
	slices.Reverse(list)
	return list
}

// failed counts a request that is answered with an error, and remembers it. What the client
// itself has cancelled is not remembered.
func (s *session) failed(t wire.Type, reply *wire.Error) {
	s.server.counts.failed.Add(1)
	if reply.Code == wire.CodeCancelled {
		return
	}
	s.server.failures.add(FailedRequest{
		Time: time.Now(), Session: s.id, Client: s.client, Request: t.String(),
		Error: reply.Code.String(), Message: shortened(reply.Message, maxFailureMessage),
	})
}
