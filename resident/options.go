//go:build linux

package resident

import (
	"cmp"
	"time"

	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/resident/internal/wire"
	"github.com/shadercache/shadercache/trace"
)

// Strategy determines how steps become dispatches. Results do not depend on it.
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

// Strategies returns all of them.
func Strategies() []Strategy { return []Strategy{Redispatch, Mega, Chain, Double, Triple, Persistent} }

func (s Strategy) String() string { return wire.Name(strategyNames[:], "strategy", s) }

// Options configure a [Session]. The zero value runs everywhere.
type Options struct {
	// Strategy is the requested strategy. Default: Redispatch.
	Strategy Strategy

	// Budget bounds the steps of a group in a dispatch. Default: 0, the steps that take
	// TickTime, estimated from tick to tick.
	Budget uint32

	// TickTime is how long a submission should take. It bounds how long other users of
	// the GPU wait; polling for its end costs 20 to 50 us. Default: 50 ms. Mega uses 20
	// times as much.
	TickTime time.Duration

	// ChainLength is the number of dispatches that Chain issues at once. Default: 32.
	ChainLength int

	// Poll is the number of steps between two polls for messages and stop requests. A
	// poll costs a barrier in the group, and 0.7 us where the kernel sees host writes.
	// Default: 16.
	Poll uint32

	// Capabilities is the result of Probe. Default: nil, which excludes Persistent and
	// makes each phase a dispatch.
	Capabilities *Capabilities

	// Slice is the time after which a persistent dispatch ends, so that other users of
	// the GPU run. Default: 50 ms.
	Slice time.Duration

	// Rest is a pause after each submission, for GPUs that are shared or must stay cool:
	// the duty cycle is TickTime / (TickTime + Rest). Default: none.
	Rest time.Duration

	// Timeout is the time that a tick may take, beyond its expected duration, before the
	// session fails. Default: 10 s.
	Timeout time.Duration

	// Checkpoints, if set, saves a checkpoint every CheckpointEvery while steps are done.
	// Each reads back and hashes all states that are not constant, at a boundary, and
	// writes the chunks that changed. Default of CheckpointEvery: 1 s.
	Checkpoints     *CheckpointFile
	CheckpointEvery time.Duration

	// Tracer receives the ticks: see package trace. Default: nothing is measured.
	Tracer trace.Tracer

	test testOptions
}

// testOptions are options for tests.
type testOptions struct {
	epochSteps uint32           // steps of an epoch
	base       uint64           // steps before the first one
	mapping    glctx.MapOptions // of the mapped memory
	groupsWait bool             // within a tick, on software drivers too
	unfenced   bool             // ticks of any length have no fence, on software drivers too
	unseen     bool             // mapped memory shows the end of no tick
}

const (
	defaultTickTime   = 50 * time.Millisecond
	defaultSlice      = 50 * time.Millisecond
	defaultTimeout    = 10 * time.Second
	defaultCheckpoint = time.Second
	defaultChain      = 32
	defaultPoll       = 16
	megaTicks         = 20 // duration of a Mega submission, in TickTimes
)

func (o Options) withDefaults() Options {
	setDefault(&o.TickTime, defaultTickTime)
	setDefault(&o.Slice, defaultSlice)
	setDefault(&o.Timeout, defaultTimeout)
	setDefault(&o.CheckpointEvery, defaultCheckpoint)
	setDefault(&o.ChainLength, defaultChain)
	o.test.epochSteps = cmp.Or(o.test.epochSteps, epochSteps)
	o.Poll = cmp.Or(o.Poll, defaultPoll)
	return o
}

func setDefault[T int | time.Duration](v *T, d T) {
	if *v <= 0 {
		*v = d
	}
}
