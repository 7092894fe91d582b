//go:build linux

package resident

import (
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/shadercache/shadercache/resident/internal/pace"
)

// forwarder forwards the messages of all sessions that have routes, in one goroutine: at most
// one CPU polls, for any number of them. It runs while there are sessions.
//
//	a message came  it polls the mapped memory of all without a pause: see pace.Traffic
//	then            with pauses that grow, while a dispatch persists or a message waits for
//	                room; else it sleeps until a tick of a session has ended
type forwarder struct {
	wake chan struct{} // holds one wake-up

	mu       sync.Mutex
	sessions []*Session // replaced, never changed
	running  bool
}

// theForwarder is the forwarder of this process.
var theForwarder = forwarder{wake: make(chan struct{}, 1)}

// add begins to forward the messages of a session, until it has failed or is closed.
func (f *forwarder) add(s *Session) {
	s.run.locked(func() { s.run.also = f.wake })
	f.mu.Lock()
	defer f.mu.Unlock()
	if !slices.Contains(f.sessions, s) {
		f.sessions = append(slices.Clone(f.sessions), s)
	}
	if !f.running {
		f.running = true
		go f.run()
	}
	wakeUp(f.wake) // a route may be for messages that have been sent
}

// remove ends the forwarding of a session.
func (f *forwarder) remove(s *Session) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.sessions = slices.DeleteFunc(slices.Clone(f.sessions), func(other *Session) bool { return other == s })
	wakeUp(f.wake) // the goroutine ends where that was the last one
}

// next returns the sessions to look at. Where there are none the goroutine ends.
func (f *forwarder) next() []*Session {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.running = len(f.sessions) > 0
	return f.sessions
}

// run forwards messages while there are sessions.
func (f *forwarder) run() {
	var traffic pace.Traffic
	for sessions := f.next(); len(sessions) > 0; sessions = f.next() {
		moved, polls, spins := false, false, false
		for _, s := range sessions {
			err := s.run.err()
			m, waiting := s.mail.carry() // also what a session sent before it failed
			if err != nil {
				f.remove(s)
				continue
			}
			moved = moved || m
			polls = polls || waiting || s.config.mode.Actual == Persistent
			spins = spins || !s.config.synchronous
		}
		now := time.Now()
		if moved {
			traffic.Saw(now)
		}
		f.pause(traffic.Wait(now), polls, spins && runtime.GOMAXPROCS(0) > 1)
	}
}

// pause waits for a time before the next look, or until a tick has ended. polls reports
// whether a message may come otherwise, spins whether the CPU may be used meanwhile.
func (f *forwarder) pause(d time.Duration, polls, spins bool) {
	switch {
	case d == 0 && spins:
	case polls:
		pace.Sleep(max(d, pace.ShortestSleep), f.wake)
	default:
		<-f.wake
	}
}
