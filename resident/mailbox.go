//go:build linux

package resident

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/shadercache/shadercache/resident/internal/pace"
	"github.com/shadercache/shadercache/resident/internal/wire"
)

// Message is three words to or from a group of a kernel.
type Message struct {
	Kind, A, B uint32
	Group      uint32 // that it is for, or Broadcast; of a received message, the one that sent it
}

// Broadcast addresses all groups of a kernel.
const Broadcast uint32 = 0xffffffff

// mailbox exchanges messages with the kernel in mapped memory, and writes the control
// word. It may be used from any goroutine, and uses no GL.
type mailbox struct {
	words  wire.Shared
	config *config
	run    *runState

	// use is locked for reading while a caller accesses the words, and for writing when
	// they are unmapped.
	use      sync.RWMutex
	unmapped bool

	in struct {
		sync.Mutex
		sent    uint32
		control uint32 // the control word
		stopped bool   // a stop was requested since clearStop
	}
	out struct {
		sync.Mutex
		taken [2]uint32 // of each outbox
		first int       // the outbox to look at first: alternates, so that neither waits for the other

		routes  map[uint32]route // by kind: see forward.go
		moved   bool             // a message was forwarded since carry began
		waiting bool             // one did not fit when it was tried last
	}
}

// enter begins an access to the words, and returns shader.ErrClosed once they are unmapped. leave
// ends it.
func (m *mailbox) enter() error {
	m.use.RLock()
	if !m.unmapped {
		return nil
	}
	m.use.RUnlock()
	return errClosed
}

func (m *mailbox) leave() { m.use.RUnlock() }

// unmap waits for the callers that access the words, which are unmapped afterwards. The
// session has failed or is closed, so that none of them waits for long.
func (m *mailbox) unmap() {
	m.use.Lock()
	defer m.use.Unlock()
	m.unmapped = true
}

// load returns a word, 0 once they are unmapped.
func (m *mailbox) load(at int) uint32 {
	if m.enter() != nil {
		return 0
	}
	defer m.leave()
	return m.words.Load(at)
}

// send puts a message into the inbox and returns its number, from 1. The caller has
// entered.
func (m *mailbox) send(message Message) (uint32, error) {
	switch groups := m.config.kernel.Groups; {
	case message.Group == Broadcast && groups == 1:
		message.Group = 0
	case message.Group >= groups && message.Group != Broadcast:
		return 0, fmt.Errorf("resident: message to group %d of a kernel that has %d: the first one is 0", message.Group, groups)
	}
	if err := m.run.err(); err != nil {
		return 0, err
	}
	m.in.Lock()
	defer m.in.Unlock()
	unread := m.in.sent - m.received()
	if unread >= wire.InboxLength {
		return 0, ErrInboxFull
	}
	m.put(wire.Message(message), unread == 0)
	if m.run.sleeping.Load() {
		m.run.wakeScheduler() // else it waits for a tick, and needs no wake-up
	}
	return m.in.sent, nil
}

// put writes the next message into the inbox and sets the doorbell. only reports whether
// the kernel has taken all others. in is locked.
func (m *mailbox) put(message wire.Message, only bool) {
	place := int(m.in.sent % wire.InboxLength)
	slot := wire.AtInbox + wire.InboxWords*place
	number := m.in.sent + 1
	m.in.sent = number
	if only && message.Group == 0 {
		// The kernel has taken all other messages, so it does not read the one behind the
		// control word now. A running kernel polls it there, so it is written there first.
		m.in.control = message.Word(number) | wire.InlineBit | m.in.control&wire.StopBit
		m.words.WriteMessage(wire.AtDoorbell, message, m.in.control)
		m.words.WriteMessage(slot, message, message.Word(number))
		return
	}
	m.words.Store(wire.AtAddress+place, message.Group)
	m.words.WriteMessage(slot, message, message.Word(number))
	m.setControl(number&wire.SequenceMask | m.in.control&wire.StopBit)
}

// setControl writes the control word. in is locked.
func (m *mailbox) setControl(word uint32) {
	m.in.control = word
	m.words.Store(wire.AtDoorbell, word)
}

// requestStop requests the end of the tick from kernels that run.
func (m *mailbox) requestStop() {
	if m.enter() != nil {
		return
	}
	defer m.leave()
	m.in.Lock()
	defer m.in.Unlock()
	m.in.stopped = true
	m.setControl(m.in.control | wire.StopBit)
}

// clearStop withdraws the request, and reports whether there was one since the last call.
func (m *mailbox) clearStop() (stopped bool) {
	m.in.Lock()
	defer m.in.Unlock()
	stopped, m.in.stopped = m.in.stopped, false
	m.setControl(m.in.control &^ wire.StopBit)
	return stopped
}

// received returns the number of messages that the kernel has taken.
func (m *mailbox) received() uint32 { return m.words.Load(wire.AtReceived) }

// number returns the number of the last message.
func (m *mailbox) number() uint32 {
	m.in.Lock()
	defer m.in.Unlock()
	return m.in.sent
}

// unread returns the number of messages that the kernel has not taken.
func (m *mailbox) unread() uint32 {
	m.in.Lock()
	defer m.in.Unlock()
	return m.in.sent - m.received()
}

// tryReceive takes the next message for the host from either outbox. The caller has
// entered.
func (m *mailbox) tryReceive() (message Message, ok bool) {
	m.out.Lock()
	defer m.out.Unlock()
	for _, from := range [2]int{m.out.first, 1 - m.out.first} {
		if message, ok = m.next(from); ok {
			m.drop(from)
			return message, true
		}
	}
	return Message{}, false
}

// next forwards messages of one of wire.Outboxes until one is for the host, and returns that one
// without taking it. out is locked.
func (m *mailbox) next(from int) (Message, bool) {
	for {
		oldest, ok := wire.Outboxes[from].Read(m.words, m.out.taken[from]+1)
		if !ok {
			return Message{}, false
		}
		message := Message(oldest)
		switch m.forward(message) {
		case forHost:
			return message, true
		case waits:
			m.out.waiting = true
			return Message{}, false
		}
		m.drop(from)
	}
}

// drop takes the oldest message of an outbox. out is locked.
func (m *mailbox) drop(from int) {
	m.out.first = 1 - from
	m.out.taken[from]++
	wire.Outboxes[from].SetTaken(m.words, m.out.taken[from])
}

// spin polls for a condition of the mapped memory for pace.SpinTime, in which the
// answer of a running kernel comes.
func (m *mailbox) spin(met func() bool) bool {
	for began := time.Now(); time.Since(began) < pace.SpinTime; {
		for range 32 {
			if met() {
				return true
			}
		}
	}
	return false
}

// nap polls for a condition of the mapped memory with short sleeps for pace.NapTime, in which
// an answer comes that was missed between two dispatches.
func (m *mailbox) nap(ctx context.Context, met func() bool) bool {
	for began := time.Now(); m.config.answersDuring() && ctx.Err() == nil && time.Since(began) < pace.NapTime; {
		pace.Sleep(pace.Backoff(pace.SpinTime+time.Since(began)), nil)
		if met() {
			return true
		}
	}
	return false
}

// waitAsleep waits for a condition of the mapped memory. It polls after every tick, and
// during a persistent one with the intervals of pace.Backoff.
func (m *mailbox) waitAsleep(ctx context.Context, met func() bool) error {
	began := time.Now()
	for {
		changed, err := m.run.watch()
		if met() {
			return nil
		}
		if err != nil {
			return err
		}
		var sleep <-chan time.Time
		if m.config.mode.Actual == Persistent {
			sleep = time.After(pace.Backoff(pace.SpinTime + time.Since(began)))
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-changed:
		case <-sleep:
		}
	}
}

// Send puts a message into the kernel's inbox and returns at once. It wakes an idle
// session; a persistent kernel sees the message during its dispatch. Messages are taken in
// order, by group 0, which takes its own soonest, or by the group to which group 0 forwards
// them. So a message to a group that does not call residentReceive blocks those behind it.
// A group that has halted blocks none. It returns ErrInboxFull while the kernel has not
// taken the messages that fit, and the errors of Err.
func (s *Session) Send(m Message) error {
	if err := s.mail.enter(); err != nil {
		return err
	}
	defer s.mail.leave()
	_, err := s.mail.send(m)
	return err
}

// Deliver is Send that waits until the group has taken the message, or with Broadcast all
// groups have.
func (s *Session) Deliver(ctx context.Context, m Message) error {
	if err := s.mail.enter(); err != nil {
		return err
	}
	defer s.mail.leave()
	number, err := s.mail.send(m)
	if err != nil {
		return err
	}
	return s.waitMail(ctx, func() bool { return int32(s.mail.received()-number) >= 0 })
}

// TryReceive returns the next message from the kernel, if there is one. See Err. Messages
// of group 0 come in its order, those of all other groups in theirs.
func (s *Session) TryReceive() (Message, bool) {
	if s.mail.enter() != nil {
		return Message{}, false
	}
	defer s.mail.leave()
	return s.mail.tryReceive()
}

// Receive waits for the next message from the kernel: see TryReceive.
func (s *Session) Receive(ctx context.Context) (m Message, err error) {
	if err := s.mail.enter(); err != nil {
		return m, err
	}
	defer s.mail.leave()
	err = s.waitMail(ctx, func() (ok bool) {
		m, ok = s.mail.tryReceive()
		return ok
	})
	return m, err
}

// waitMail waits for a condition of the mailbox: it spins, and then sleeps. The caller has
// entered the mailbox.
func (s *Session) waitMail(ctx context.Context, met func() bool) error {
	if s.mail.spin(met) {
		return nil
	}
	return s.polling(func() error {
		if s.mail.nap(ctx, met) {
			return nil
		}
		return s.mail.waitAsleep(ctx, met)
	})
}
