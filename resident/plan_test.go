//go:build linux

package resident

import (
	"testing"
	"time"

	"github.com/shadercache/shadercache/resident/internal/pace"
	"github.com/shadercache/shadercache/resident/internal/wire"
)

// TestStepsAreDividedIntoDispatches compares budgets and numbers of rounds.
func TestStepsAreDividedIntoDispatches(t *testing.T) {
	for name, c := range map[string]struct {
		config config
		steps  uint64
		budget uint32
		count  int
	}{
		"one dispatch":     {config{kernel: Kernel{Groups: 4}}, 100, 100, 1},
		"claimed":          {config{kernel: Kernel{Groups: 4, Claim: true}}, 101, 26, 1},
		"chain":            {config{mode: Mode{Actual: Chain}, options: Options{ChainLength: 8}}, 100, 13, 8},
		"short chain":      {config{mode: Mode{Actual: Chain}, options: Options{ChainLength: 8}}, 3, 1, 3},
		"loops end":        {config{mode: Mode{MaxSteps: 30}}, 100, 30, 4},
		"many dispatches":  {config{mode: Mode{MaxSteps: 1}}, 1 << 20, 1, maxDispatches},
		"phases":           {config{kernel: Kernel{Phases: 3}}, 100, 1, 100},
		"many phases":      {config{kernel: Kernel{Phases: 3}}, 1 << 20, 1, maxDispatches / 3},
		"grid barrier":     {config{kernel: Kernel{Phases: 3}, mode: Mode{GridBarrier: true}}, 100, 100, 1},
		"more than counts": {config{}, 1 << 40, epochSteps, 1},
		"queued":           {config{mode: Mode{Actual: Double}, options: Options{Budget: 7}}, 50, 7, 8},
		"one queued":       {config{mode: Mode{Actual: Triple}, options: Options{Budget: 7}}, 7, 7, 1},
		"an alignment":     {config{mode: Mode{Actual: Triple}, options: Options{Budget: 7}}, 800, 50, 16},
		"not queued":       {config{options: Options{Budget: 7}}, 50, 50, 1},
	} {
		if budget, count := c.config.divide(c.steps); budget != c.budget || count != c.count {
			t.Errorf("%s: a budget of %d in %d dispatches, not %d in %d", name, budget, count, c.budget, c.count)
		}
	}
}

// TestShortTicksAreQueuedTogether compares the dispatches of a submission with the time that
// one takes.
func TestShortTicksAreQueuedTogether(t *testing.T) {
	seen := Options{Budget: 10, test: testOptions{unfenced: true}}
	for name, c := range map[string]struct {
		config config
		tick   time.Duration
		want   uint64
	}{
		"short":      {config{mode: Mode{Actual: Triple}, options: seen}, 10 * time.Microsecond, maxQueuedRounds},
		"claimed":    {config{kernel: Kernel{Groups: 4, Claim: true}, mode: Mode{Actual: Triple}, options: seen}, queuedTime / 12, 3},
		"medium":     {config{mode: Mode{Actual: Double}, options: seen}, queuedTime / 3, 3},
		"long":       {config{mode: Mode{Actual: Double}, options: seen}, queuedTime + 1, 1},
		"not queued": {config{options: seen}, 10 * time.Microsecond, 1},
		"not seen":   {config{mode: Mode{Actual: Triple}, options: Options{Budget: 10}}, 10 * time.Microsecond, 1},
		"not known":  {config{mode: Mode{Actual: Triple}, options: seen}, 0, 1},
	} {
		c.config.options.TickTime = defaultTickTime
		sc := &scheduler{config: &c.config, run: newRunState(0)}
		sc.estimator.Observe(10, pace.Bounds{Most: c.tick})
		if got := sc.queuedRounds(); got != c.want {
			t.Errorf("%s: %d dispatches, not %d", name, got, c.want)
		}
	}
}

// TestCommandFlags compares the flags for kernels, modes and drivers.
func TestCommandFlags(t *testing.T) {
	persistent := Mode{Actual: Persistent}
	visible := *claimed
	for name, c := range map[string]struct {
		config config
		want   uint32
	}{
		"plain":      {config{kernel: Kernel{Groups: 2}}, 0},
		"claim":      {config{kernel: Kernel{Claim: true}, caps: visible}, wire.FlagClaim | wire.FlagHostVisible},
		"phases":     {config{kernel: Kernel{Phases: 2}}, wire.FlagLockstep},
		"barrier":    {config{kernel: Kernel{Phases: 2}, mode: Mode{Actual: Mega, GridBarrier: true}}, wire.FlagLockstep | wire.FlagGridBarrier},
		"software":   {config{kernel: Kernel{Groups: 2}, mode: persistent, caps: visible, synchronous: true}, wire.FlagKeepIdle | wire.FlagHostVisible},
		"persistent": {config{kernel: Kernel{Groups: 2}, mode: persistent, caps: visible}, wire.FlagKeepIdle | wire.FlagHostVisible | wire.FlagBoundLead | wire.FlagWaitMessage},
		"one group":  {config{kernel: Kernel{Groups: 1}, mode: persistent, caps: visible}, wire.FlagKeepIdle | wire.FlagHostVisible | wire.FlagWaitMessage},
		"claims":     {config{kernel: Kernel{Groups: 2, Claim: true}, mode: persistent, caps: visible}, wire.FlagClaim | wire.FlagKeepIdle | wire.FlagHostVisible},
	} {
		if got := c.config.commandFlags(); got != c.want {
			t.Errorf("%s: flags %#x, not %#x", name, got, c.want)
		}
	}
}
