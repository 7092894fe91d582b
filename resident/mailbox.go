//go:build linux

package resident

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// Everyone addresses all groups of a kernel.
const Broadcast = ^uint32(0)

// Send is SendTo for group 0, which takes messages soonest.
func (s *Session) Send(m Message) error { return s.SendTo(0, m) }

// SendTo puts a message for a group, or for Everyone, into the kernel's inbox and
// returns at once. An idle session wakes for it; a persistent one sees it in
// flight. Messages are taken in the order in which they were sent, by group 0
// itself or by the group to which group 0 passes them, so one whose group does not
// call residentReceive holds up all behind it. A group that has halted lets its
// messages pass. It returns ErrInboxFull while the kernel has not taken so many
// messages as fit, and what Err does.
func (s *Session) SendTo(group uint32, m Message) error {
	_, err := s.send(group, m)
	return err
}

// send returns the number of the message, from 1.
func (s *Session) send(group uint32, m Message) (uint32, error) {
	switch {
	case group == Broadcast && s.kernel.Groups == 1:
		group = 0
	case group >= s.kernel.Groups && group != Broadcast:
		return 0, fmt.Errorf("resident: message to group %d of a kernel that has %d: the first one is 0", group, s.kernel.Groups)
	}
	if err := s.Err(); err != nil {
		return 0, err
	}
	s.doorLock.Lock()
	defer s.doorLock.Unlock()
	received := atomic.LoadUint32(&s.words[wordReceived])
	if s.door.sent-received >= inboxLength {
		return 0, ErrInboxFull
	}
	number := s.door.sent + 1
	place := int(s.door.sent % inboxLength)
	slot := s.words[inboxAt+4*place:]
	s.door.sent = number
	if received == number-1 && group == 0 {
		// The kernel has taken all others, so it does not read the message beside
		// the bell now. In flight it looks there, so that place comes first.
		s.door.bell = m.word(number, 0) | bellInline | s.door.bell&bellStop
		write(s.words[wordDoor:], m, s.door.bell)
		write(slot, m, m.word(number, 0))
	} else {
		atomic.StoreUint32(&s.words[addressAt+place], group)
		write(slot, m, m.word(number, group))
		s.ring(number&bellSequence | s.door.bell&bellStop)
	}
	if s.asleep.Load() {
		s.poke() // a driver that waits for a tick is not to be disturbed
	}
	return number, nil
}

// Places of the rings in mapped memory, in words.
const (
	inboxAt   = wordsResidentShared
	outboxAt  = inboxAt + 4*inboxLength
	addressAt = outboxAt + 4*outboxLength
	asideAt   = addressAt + inboxLength
	sharedEnd = asideAt + 8*outboxLength
)

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
func (s *Session) Deliver(ctx context.Context, m Message) error { return s.DeliverTo(ctx, 0, m) }

// DeliverTo is SendTo that waits until the group has taken the message, or with
// Everyone all groups have.
func (s *Session) DeliverTo(ctx context.Context, group uint32, m Message) error {
	number, err := s.send(group, m)
	if err != nil {
		return err
	}
	return s.watch(ctx, func() bool {
		return int32(atomic.LoadUint32(&s.words[wordReceived])-number) >= 0
	})
}

// outbox is the host's side of the messages from the kernel: those of group 0, and
// those of the others, which share a ring.
type outbox struct {
	sync.Mutex
	taken, takenAside uint32
	asideFirst        bool // so that neither ring waits for the other to be empty
}

// TryReceive is the next message from the kernel, if there is one. See Err.
func (s *Session) TryReceive() (Message, bool) {
	m, _, ok := s.TryReceiveFrom()
	return m, ok
}

// TryReceiveFrom is TryReceive that says which group sent the message. Messages of
// group 0 come in its order, those of all others in theirs.
func (s *Session) TryReceiveFrom() (m Message, group uint32, ok bool) {
	s.outbox.Lock()
	defer s.outbox.Unlock()
	if s.outbox.asideFirst {
		if m, group, ok = s.takeAside(); ok {
			return m, group, ok
		}
	}
	if m, ok = s.takeOutbox(); ok {
		return m, 0, ok
	}
	return s.takeAside()
}

// takeOutbox takes the next message of group 0. outbox is locked.
func (s *Session) takeOutbox() (Message, bool) {
	number := s.outbox.taken + 1
	slot := s.words[outboxAt+4*int(s.outbox.taken%outboxLength):]
	word := atomic.LoadUint32(&slot[0])
	if word&bellSequence != number&bellSequence {
		return Message{}, false
	}
	m := Message{atomic.LoadUint32(&slot[1]), atomic.LoadUint32(&slot[2]), atomic.LoadUint32(&slot[3])}
	if !m.isWhole(word, number, 0) {
		return Message{}, false
	}
	s.outbox.taken, s.outbox.asideFirst = number, true
	atomic.StoreUint32(&s.words[wordTaken], number)
	return m, true
}

// takeAside takes the next message of any other group. outbox is locked.
func (s *Session) takeAside() (Message, uint32, bool) {
	number := s.outbox.takenAside + 1
	slot := s.words[asideAt+8*int(s.outbox.takenAside%outboxLength):]
	word := atomic.LoadUint32(&slot[0])
	if word&bellSequence != number&bellSequence {
		return Message{}, 0, false
	}
	m := Message{atomic.LoadUint32(&slot[1]), atomic.LoadUint32(&slot[2]), atomic.LoadUint32(&slot[3])}
	group := atomic.LoadUint32(&slot[4])
	if !m.isWhole(word, number, group) {
		return Message{}, 0, false
	}
	s.outbox.takenAside, s.outbox.asideFirst = number, false
	atomic.StoreUint32(&s.words[wordTakenAside], number)
	return m, group, true
}

// Receive waits for the next message from the kernel.
func (s *Session) Receive(ctx context.Context) (Message, error) {
	m, _, err := s.ReceiveFrom(ctx)
	return m, err
}

// ReceiveFrom is Receive that says which group sent the message.
func (s *Session) ReceiveFrom(ctx context.Context) (m Message, group uint32, err error) {
	err = s.watch(ctx, func() (ok bool) {
		m, group, ok = s.TryReceiveFrom()
		return ok
	})
	return m, group, err
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
	return serving(s.context, func() error { return s.watchAsleep(ctx, began, met) })
}

// watchAsleep is watch for those who have looked in vain since began.
func (s *Session) watchAsleep(ctx context.Context, began time.Time, met func() bool) error {
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
		if s.form.Actual == Persistent {
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
