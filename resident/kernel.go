//go:build linux

package resident

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/resident/internal/wire"
	"github.com/shadercache/shadercache/shader"
)

// Kernel is a program that runs in steps, with its state.
type Kernel struct {
	// Source is the result of NewSource or ReadSource.
	Source *shader.Source

	// Groups is the number of work groups, along one axis. All of them run in
	// every tick.
	Groups uint32

	// Phases is the number of phases of a step. All groups finish a phase before any
	// begins the next, so that they can exchange data, in buffers declared coherent.
	// Default: 1, and then groups do their steps independently within a tick.
	Phases uint32

	// Claim has each step done by one group, the first that claims it, instead of by
	// every group. It excludes phases.
	Claim bool

	// Loops bounds the loop turns of an invocation within one step, in all its phases
	// together: a loop of n turns counts n + 1 each time that it is run. Software drivers
	// end loops silently after 65,535 of them in a dispatch: the session stays below that,
	// New fails where one step has more, and a session whose kernel takes more than it
	// declares fails. Where invocations of a group loop differently, the longest count.
	// Default: 0, no loops.
	Loops uint32

	// State lists the storage blocks of the kernel. The session owns a buffer for each.
	State []State

	// Check computes a known answer, since some drivers accept a program binary and then
	// compute wrong results: it does a few steps of a session of this kernel, and returns
	// an error where the state differs from what is right. New calls it with a session of
	// its own, once for each binary that is loaded; after an error it compiles the program.
	// Default: none, or the check of Source.
	Check func(ctx context.Context, s *Session) error
}

// State is one storage block of a kernel.
type State struct {
	Block    string // name in GLSL
	Bytes    int    // 0: the length of Init
	Init     []byte // first content; the rest is zero
	Constant bool   // the kernel only reads it: not in checkpoints
}

// maxGroups bounds the groups' lines to 4 MiB; GL guarantees 65,535 groups.
const maxGroups = 1 << 16

// checkFields returns an error for a kernel that cannot run, without using GL.
func (k Kernel) checkFields() error {
	switch {
	case k.Source == nil:
		return errors.New("resident: kernel without a source: see NewSource")
	case k.Groups == 0 || k.Groups >= maxGroups:
		return fmt.Errorf("resident: kernel %s has %d groups: it takes 1 to %d", k.Source.Name(), k.Groups, maxGroups-1)
	case k.Claim && k.Phases > 1:
		return fmt.Errorf("resident: kernel %s claims steps and has %d phases: only one of them is possible", k.Source.Name(), k.Phases)
	}
	return nil
}

// commonTurns bounds the loop turns that a step has beside its own: the loops over steps and
// phases, the ends of the kernel's loops, and the loops of a poll. llvmpipe enters those in
// each step, also with no invocation that is active, for one turn each. 13 were measured with
// one phase (TestMostStepsOfADispatch).
const commonTurns = 16

// stepTurns returns the loop turns of an invocation in a step.
func (k Kernel) stepTurns() uint64 { return commonTurns + uint64(max(k.Phases, 1)) + uint64(k.Loops) }

// lockstep reports whether groups do each step together.
func (k Kernel) lockstep() bool { return k.Phases > 1 }

// bufferSize returns the bytes of the buffer for a state. Some drivers require the size
// of a block rounded up to a vector.
func (v State) bufferSize() int { return (max(v.Bytes, len(v.Init)) + 15) &^ 15 }

// reserved holds the bindings of the control blocks.
var reserved = map[uint32]string{wire.SharedBinding: "ResidentShared", wire.WorkBinding: "ResidentWork"}

// bindings returns the binding of each state by the program's interface, or an error
// that names a block that does not fit, or is larger than the device's blocks may be.
func (k Kernel) bindings(program *cache.Handle, limit int64) ([]uint32, error) {
	found := map[string]shader.Resource{}
	for _, r := range program.Interface().Resources {
		switch r.Kind {
		case shader.StorageBuffer:
			found[r.Name] = r
		case shader.UniformBuffer:
			return nil, fmt.Errorf("resident: kernel %s has a uniform block %s: use a constant storage block", program.Name(), r.Name)
		}
	}
	list := make([]uint32, len(k.State))
	taken := maps.Clone(reserved)
	for i, v := range k.State {
		r, ok := found[v.Block]
		switch {
		case v.bufferSize() == 0:
			return nil, fmt.Errorf("resident: state %s has no bytes", v.Block)
		case !ok:
			return nil, fmt.Errorf("resident: kernel %s has no storage block %s, or does not use it", program.Name(), v.Block)
		case v.bufferSize() < int(r.Bytes):
			return nil, fmt.Errorf("resident: state %s has %d bytes, the kernel needs %d", v.Block, v.bufferSize(), r.Bytes)
		case int64(v.bufferSize()) > limit:
			return nil, fmt.Errorf("resident: state %s has %d bytes, this device allows %d", v.Block, v.bufferSize(), limit)
		case taken[uint32(r.Binding)] != "":
			return nil, fmt.Errorf("resident: state %s is at binding %d, which is %s's", v.Block, r.Binding, taken[uint32(r.Binding)])
		}
		list[i], taken[uint32(r.Binding)] = uint32(r.Binding), v.Block
		delete(found, v.Block)
	}
	for name := range found {
		if name != reserved[wire.SharedBinding] && name != reserved[wire.WorkBinding] {
			return nil, fmt.Errorf("resident: kernel %s uses storage block %s, which is not listed in Kernel.State", program.Name(), name)
		}
	}
	return list, nil
}
