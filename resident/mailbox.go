//go:build linux

package resident

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// Send puts a message into the kernel's inbox and returns at once. An idle
// session wakes for it; a persistent one sees it in flight. It returns
// ErrInboxFull while the kernel has not taken so many messages as fit.
func (s *Session) Send(m Message) error {
	_, err := s.send(m)
	return err
}

// send returns the number of the message, from 1.
func (s *Session) send(m Message) (uint32, error) {
	s.doorLock.Lock()
	defer s.doorLock.Unlock()
	received := atomic.LoadUint32(&s.words[wordReceived])
	if s.door.sent-received >= inboxLength {
		return 0, ErrInboxFull
	}
	number := s.door.sent + 1
	slot := s.words[wordsResidentShared+4*int(s.door.sent%inboxLength):]
	s.door.sent = number
	if received == number-1 {
		// The kernel has taken all others, so it does not read the message beside
		// the bell now. In flight it looks there, so that place comes first.
		s.door.bell = m.word(number) | bellInline | s.door.bell&bellStop
		write(s.words[wordDoor:], m, s.door.bell)
		write(slot, m, m.word(number))
	} else {
		write(slot, m, m.word(number))
		s.ring(number&bellSequence | s.door.bell&bellStop)
	}
	if s.asleep.Load() {
		s.poke() // a driver that waits for a tick is not to be disturbed
	}
	return number, nil
}

// write writes a message and then its first word. doorLock is held.
func write(words []uint32, m Message, word uint32) {
	words[1], words[2], words[3] = m.Kind, m.A, m.B
	atomic.StoreUint32(&words[0], word) // after the others, on any CPU
}

// unread is how many messages the kernel has not taken.
func (s *Session) unread() uint32 {
	s.doorLock.Lock()
	defer s.doorLock.Unlock()
	return s.door.sent - atomic.LoadUint32(&s.words[wordReceived])
}

// Deliver is Send that waits until the kernel has taken the message: its
// acknowledgement.
func (s *Session) Deliver(ctx context.Context, m Message) error {
	number, err := s.send(m)
	if err != nil {
		return err
	}
	return s.watch(ctx, func() bool {
		return int32(atomic.LoadUint32(&s.words[wordReceived])-number) >= 0
	})
}

// outbox is the host's side of the messages from the kernel.
type outbox struct {
	sync.Mutex
	taken uint32
}

// TryReceive is the next message from the kernel, if there is one.
func (s *Session) TryReceive() (Message, bool) {
	s.outbox.Lock()
	defer s.outbox.Unlock()
	at := wordsResidentShared + 4*(inboxLength+int(s.outbox.taken%outboxLength))
	number := s.outbox.taken + 1
	word := atomic.LoadUint32(&s.words[at])
	if word&bellSequence != number&bellSequence {
		return Message{}, false
	}
	m := Message{atomic.LoadUint32(&s.words[at+1]), atomic.LoadUint32(&s.words[at+2]), atomic.LoadUint32(&s.words[at+3])}
	if !m.isWhole(word, number) {
		return Message{}, false
	}
	s.outbox.taken = number
	atomic.StoreUint32(&s.words[wordTaken], number)
	return m, true
}

// Receive waits for the next message from the kernel.
func (s *Session) Receive(ctx context.Context) (m Message, err error) {
	err = s.watch(ctx, func() (ok bool) {
		m, ok = s.TryReceive()
		return ok
	})
	return m, err
}

// How watch waits: it spins for longer than an answer takes in flight, and then
// sleeps for a share of the time that it has waited, so that what takes long costs
// little and is seen little later.
const (
	watchSpin  = 50 * time.Microsecond
	watchShare = 4
	watchNap   = 5 * time.Millisecond // at most
)

// watch waits for a condition of the mapped memory. It looks for a moment,
// which catches the answers of a kernel in flight, and then after every tick, and
// of a persistent one in between.
func (s *Session) watch(ctx context.Context, met func() bool) error {
	began := time.Now()
	for time.Since(began) < watchSpin {
		for range 32 {
			if met() {
				return nil
			}
		}
	}
	for {
		s.mu.Lock()
		changed, failure, closed := s.mu.changed, s.mu.failure, s.mu.closed
		s.mu.Unlock()
		switch {
		case met():
			return nil
		case failure != nil:
			return failure
		case closed:
			return ErrClosed
		}
		var nap <-chan time.Time
		if s.form.Got == Persistent {
			nap = time.After(watchPause(time.Since(began)))
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-changed:
		case <-nap:
		}
	}
}

// watchPause is how long to sleep after having waited so long.
func watchPause(waited time.Duration) time.Duration { return min(waited/watchShare, watchNap) }
