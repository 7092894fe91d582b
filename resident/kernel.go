//go:build linux

package resident

import (
	"errors"
	"fmt"

	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/shader"
)

// Kernel is a program that does steps, and the state that it does them on.
type Kernel struct {
	// Source is what NewSource or ReadSource built.
	Source *shader.Source

	// Groups is the number of work groups, along one axis. All of them run in
	// every tick.
	Groups uint32

	// Phases is how many phases a step has. All groups finish a phase before any
	// begins the next: the way to exchange data between groups, through buffers
	// that are declared coherent. Default: 1, and then groups do their steps at
	// their own pace within a tick.
	Phases uint32

	// Claim has each step done by one group, whichever comes first, instead of
	// by every group. It excludes phases.
	Claim bool

	// Loops is how many loop back-edges an invocation takes within one step, at
	// most. Software drivers end loops after about 65,535 of them in a dispatch
	// without a word; the session keeps below that. Default: 0, no loops.
	Loops uint32

	// State names the storage blocks of the kernel. The session owns a buffer
	// for each of them.
	State []State
}

// State is one storage block of a kernel.
type State struct {
	Block    string // as GLSL calls it
	Bytes    int    // 0: as many as Init has
	Init     []byte // first content; the rest is zero
	Constant bool   // the kernel only reads it: no part of checkpoints
}

// maxGroups keeps the groups' lines within 64 MiB; GL guarantees 65,535 groups.
const maxGroups = 1 << 16

// check says what is wrong with a kernel, before anything is asked of GL.
func (k Kernel) check() error {
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

// lockstep reports whether groups do each step together.
func (k Kernel) lockstep() bool { return k.Phases > 1 }

// size is the bytes of the buffer for a state. Some drivers round the size of a
// block up to a vector, and mean it.
func (v State) size() int { return (max(v.Bytes, len(v.Init)) + 15) &^ 15 }

// reservedBindings are those of the control blocks.
var reservedBindings = map[string]uint32{"ResidentShared": sharedBinding, "ResidentWork": workBinding}

// bindings finds the binding of each state by the program's interface, and
// says which blocks do not fit.
func (k Kernel) bindings(program *cache.Handle) ([]uint32, error) {
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
	taken := map[uint32]string{sharedBinding: "ResidentShared", workBinding: "ResidentWork"}
	for i, v := range k.State {
		r, ok := found[v.Block]
		switch {
		case v.size() == 0:
			return nil, fmt.Errorf("resident: state %s has no bytes", v.Block)
		case !ok:
			return nil, fmt.Errorf("resident: kernel %s has no storage block %s, or does not use it", program.Name(), v.Block)
		case v.size() < int(r.Bytes):
			return nil, fmt.Errorf("resident: state %s has %d bytes, the kernel needs %d", v.Block, v.size(), r.Bytes)
		case taken[uint32(r.Binding)] != "":
			return nil, fmt.Errorf("resident: state %s is at binding %d, which is %s's", v.Block, r.Binding, taken[uint32(r.Binding)])
		}
		list[i], taken[uint32(r.Binding)] = uint32(r.Binding), v.Block
		delete(found, v.Block)
	}
	for name := range found {
		if _, ours := reservedBindings[name]; !ours {
			return nil, fmt.Errorf("resident: kernel %s uses storage block %s, which is no state of it: name it in Kernel.State", program.Name(), name)
		}
	}
	return list, nil
}
