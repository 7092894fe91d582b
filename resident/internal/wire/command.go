package wire

import "sync/atomic"

// Shared is the block ResidentShared in mapped memory. Its words are accessed by
// atomics: kernels and other goroutines read them at any time.
type Shared []uint32

// Load returns the word at an index: see AtTicks and the others.
func (s Shared) Load(at int) uint32 { return atomic.LoadUint32(&s[at]) }

// Store sets the word at an index.
func (s Shared) Store(at int, word uint32) { atomic.StoreUint32(&s[at], word) }

// Command is the command block. While a dispatch runs only its budget may change: any
// value is correct.
type Command struct {
	Epoch  uint32
	Target uint32 // steps since Base to reach
	Budget uint32 // steps of a group in a dispatch
	Poll   uint32 // steps between two polls of the doorbell
	Base   uint64 // first step of the epoch
	Flags  uint32
	Phases uint32
}

// Words of Command and Base.
const (
	atTarget = AtCommand + 1
	atBudget = AtCommand + 2
	atFlags  = AtBase + 2
)

// WriteCommand writes the command block. No dispatch runs.
func (s Shared) WriteCommand(c Command) {
	list := [8]uint32{c.Epoch, c.Target, c.Budget, c.Poll, uint32(c.Base), uint32(c.Base >> 32), c.Flags, c.Phases}
	for i, v := range list {
		s.Store(AtCommand+i, v)
	}
}

// SetTarget changes the target and the flags of the command. No dispatch runs.
func (s Shared) SetTarget(target, flags uint32) {
	s.Store(atTarget, target)
	s.Store(atFlags, flags)
}

// SetBudget changes the budget of dispatches that have not begun.
func (s Shared) SetBudget(steps uint32) { s.Store(atBudget, steps) }

// Budget returns the budget of the command.
func (s Shared) Budget() uint32 { return s.Load(atBudget) }

// Status is the status block, as the last group of a tick writes it.
type Status struct {
	Ticks, Least, Most     uint32
	Kind, Argument, Source uint32 // of the signal
	Halted, Idle           uint32
	Active                 uint32
	Spoiled                uint32 // reasons why the state is wrong, as bits
}

// statusReads bounds the attempts of ReadStatus.
const statusReads = 100

// ReadStatus reads the status. It reads again while a tick ends at the same time.
func (s Shared) ReadStatus() Status {
	for tries := 1; ; tries++ {
		v := Status{Ticks: s.Load(AtTicks), Least: s.Load(AtLeast), Most: s.Load(AtMost),
			Kind: s.Load(AtKind), Argument: s.Load(AtArgument), Source: s.Load(AtSource),
			Halted: s.Load(AtHalted), Idle: s.Load(AtIdle), Active: s.Load(AtActive),
			Spoiled: s.Load(AtSpoiled)}
		if s.Load(AtTicks) == v.Ticks || tries == statusReads {
			return v
		}
	}
}

// Progress returns the steps since the base that all groups have done, or that were
// done until all groups halted.
func (v Status) Progress() uint32 {
	if v.Least == ^uint32(0) {
		return v.Most
	}
	return v.Least
}
