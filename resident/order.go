//go:build linux

package resident

import "sync/atomic"

// Bits of a mode: see kernels/resident.glsl.
const (
	modeLockstep = 1 << iota
	modeClaim
	modeInflight
	modeGrid
	modeTrial
	modeLinger
	modeClose
	modeLeash
	modeAwait
	modeSkip
)

// defaultEpoch is how many steps an epoch has: counts within it are 32-bit.
const defaultEpoch = 1 << 30

// order is what kernels are told to do. Words of a dispatch that is under way
// must not change, except budget, where any value is right.
type order struct {
	epoch, target, budget, poll uint32
	base                        uint64
	mode, phases                uint32
}

func (s *Session) writeOrder(o order) {
	s.driver.target = o.target
	list := [8]uint32{o.epoch, o.target, o.budget, o.poll, uint32(o.base), uint32(o.base >> 32), o.mode, o.phases}
	for i, v := range list {
		atomic.StoreUint32(&s.words[wordOrder+i], v)
	}
}

// leash gives the next tick a bound below the target, where group 0 goes on
// answering messages. No tick is under way.
func (s *Session) leash(bound uint32) {
	target, mode := &s.words[wordOrder+1], &s.words[wordBase+2]
	word := s.mode()
	if bound < s.driver.target && word&modeClose != 0 {
		word |= modeLeash
	}
	atomic.StoreUint32(target, min(bound, s.driver.target))
	atomic.StoreUint32(mode, word)
}

// report is what the last group of a tick wrote.
type report struct {
	ticks, least, most uint32
	signal             Signal
	halted, idle       uint32
	epoch, active      uint32
}

// readReport reads a report that no tick changes meanwhile, or takes another
// look.
func (s *Session) readReport() report {
	word := func(i int) uint32 { return atomic.LoadUint32(&s.words[i]) }
	for tries := 0; ; tries++ {
		r := report{ticks: word(wordTicks), least: word(wordLeast), most: word(wordMost),
			signal: Signal{SignalKind(word(wordKind)), word(wordArgument), word(wordSource)},
			halted: word(wordHalted), idle: word(wordIdle), epoch: word(wordEpoch), active: word(wordActive)}
		if word(wordTicks) == r.ticks || tries == 100 {
			return r
		}
	}
}

// door is the host's side of the door line.
type door struct {
	sent uint32 // messages
	bell uint32 // as it stands in the door
}

// ring changes the bell. doorLock is held.
func (s *Session) ring(bell uint32) {
	s.door.bell = bell
	atomic.StoreUint32(&s.words[wordDoor], bell)
}

// hurry asks kernels that are under way to end their tick.
func (s *Session) hurry() {
	s.doorLock.Lock()
	defer s.doorLock.Unlock()
	s.ring(s.door.bell | bellStop)
}

// calm takes hurry back.
func (s *Session) calm() {
	s.doorLock.Lock()
	defer s.doorLock.Unlock()
	s.ring(s.door.bell &^ bellStop)
}
