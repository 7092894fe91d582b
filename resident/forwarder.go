//go:build linux

package resident

import (
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/shadercache/shadercache/resident/internal/pace"
)

// carrier forwards the messages of all sessions that have routes, in one goroutine: at most
// one CPU polls, for any number of them. It runs while there are sessions.
//
//	a message came  it polls the mapped memory of all without a pause: see pace.Traffic
//	then            with pauses that grow, while a dispatch persists or a message waits for
//	                room; else it sleeps until a tick of a session has ended
type carrier struct {
	wake chan struct{} // holds one wake-up

	mu       sync.Mutex
	sessions []*Session // replaced, never changed
	running  bool
}

// carries is the carrier of this process.
var carries = carrier{wake: make(chan struct{}, 1)}

// add begins to carry the messages of a session, until it has failed or is closed.
func (c *carrier) add(s *Session) {
	s.run.wakeAlso(c.wake)
	c.mu.Lock()
	defer c.mu.Unlock()
	if !slices.Contains(c.sessions, s) {
		c.sessions = append(slices.Clone(c.sessions), s)
	}
	if !c.running {
		c.running = true
		go c.run()
	}
	wakeUp(c.wake) // a route may be for messages that have been sent
}

// remove ends the carrying of a session.
func (c *carrier) remove(s *Session) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sessions = slices.DeleteFunc(slices.Clone(c.sessions), func(other *Session) bool { return other == s })
	wakeUp(c.wake) // the goroutine ends where that was the last one
}

// next returns the sessions to look at. Where there are none the goroutine ends.
func (c *carrier) next() []*Session {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.running = len(c.sessions) > 0
	return c.sessions
}

// run carries messages while there are sessions.
func (c *carrier) run() {
	var traffic pace.Traffic
	for sessions := c.next(); len(sessions) > 0; sessions = c.next() {
		moved, polls, spins := false, false, false
		for _, s := range sessions {
			err := s.run.err()
			m, waiting := s.mail.carry() // also what a session sent before it failed
			if err != nil {
				c.remove(s)
				continue
			}
			moved = moved || m
			polls = polls || waiting || s.mail.persistent
			spins = spins || !s.config.synchronous
		}
		now := time.Now()
		if moved {
			traffic.Saw(now)
		}
		c.pause(traffic.Wait(now), polls, spins && runtime.GOMAXPROCS(0) > 1)
	}
}

// pause waits for a time before the next look, or until a tick has ended. polls reports
// whether a message may come otherwise, spins whether the CPU may be used meanwhile.
func (c *carrier) pause(d time.Duration, polls, spins bool) {
	switch {
	case d == 0 && spins:
	case polls:
		pace.Sleep(max(d, pace.ShortestSleep), c.wake)
	default:
		<-c.wake
	}
}
