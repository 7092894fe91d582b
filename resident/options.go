//go:build linux

package resident

import (
	"fmt"
	"time"

	"github.com/shadercache/shadercache/glctx"
)

// Strategy says how steps become dispatches. Results do not depend on it.
type Strategy uint8

// The strategies: see the package documentation.
const (
	Redispatch Strategy = iota
	Mega
	Chain
	Double
	Triple
	Persistent
)

var strategyNames = [...]string{"redispatch", "mega", "chain", "double", "triple", "persistent"}

// Strategies are all of them.
func Strategies() []Strategy { return []Strategy{Redispatch, Mega, Chain, Double, Triple, Persistent} }

func (s Strategy) String() string {
	if int(s) < len(strategyNames) {
		return strategyNames[s]
	}
	return fmt.Sprintf("strategy %d", uint8(s))
}

// Options configure a [Session]. The zero value runs everywhere.
type Options struct {
	// Strategy is the form to run in. Default: Redispatch.
	Strategy Strategy

	// Budget is how many steps a group does in a dispatch, at most. Default: 0,
	// as many as take TickTime, learned from tick to tick.
	Budget uint32

	// TickTime is how long a submission should take: the time that others wait
	// for their turn, and the price of looking after it 20 to 50 us. Default:
	// 50 ms. Mega aims at 20 times as much.
	TickTime time.Duration

	// ChainLength is how many dispatches Chain issues at once. Default: 32.
	ChainLength int

	// Poll is how many steps a group does before it looks whether it should
	// stop. A look costs a barrier in the group, and in flight 0.7 us. Default: 16.
	Poll uint32

	// Capabilities are what Probe measured. Default: nil, and then there is no
	// persistent form, and phases are dispatches.
	Capabilities *Capabilities

	// Slice is how long a persistent dispatch runs before it makes room for
	// others. Default: 50 ms.
	Slice time.Duration

	// Rest is a pause after each submission, for GPUs that are to stay cool or
	// shared: TickTime / (TickTime + Rest) is the duty cycle. Default: none.
	Rest time.Duration

	// Timeout is how long a tick may take, beyond what is expected of it, before
	// the session fails. Default: 10 s.
	Timeout time.Duration

	// Checkpoints, where it is set, gets a checkpoint every CheckpointEvery,
	// while steps are done. Each costs reading back and summing up all states
	// that are not constant, at a boundary, and writing the chunks that changed.
	// Default of CheckpointEvery: 1 s.
	Checkpoints     *CheckpointFile
	CheckpointEvery time.Duration

	trial trial
}

// trial bends a session for tests.
type trial struct {
	epochSteps uint32 // steps of an epoch
	base       uint64 // steps before the first one
	shared     glctx.MapOptions
	close      bool // groups wait for group 0, and for messages, on any driver
}

const (
	defaultTickTime   = 50 * time.Millisecond
	defaultSlice      = 50 * time.Millisecond
	defaultTimeout    = 10 * time.Second
	defaultCheckpoint = time.Second
	defaultChain      = 32
	defaultPoll       = 16
	megaTicks         = 20 // times TickTime that Mega aims at
)

func (o Options) withDefaults() Options {
	setDefault(&o.TickTime, defaultTickTime)
	setDefault(&o.Slice, defaultSlice)
	setDefault(&o.Timeout, defaultTimeout)
	setDefault(&o.CheckpointEvery, defaultCheckpoint)
	setDefault(&o.ChainLength, defaultChain)
	if o.trial.epochSteps == 0 {
		o.trial.epochSteps = defaultEpoch
	}
	if o.Poll == 0 {
		o.Poll = defaultPoll
	}
	return o
}

func setDefault[T int | time.Duration](v *T, d T) {
	if *v <= 0 {
		*v = d
	}
}
