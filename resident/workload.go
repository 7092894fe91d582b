//go:build linux

package resident

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"sync"

	"github.com/shadercache/shadercache/shader"
)

// Persistence is the workload of that name: multiply-adds in every invocation of
// a grid, and a witness of which steps were done.
type Persistence struct {
	Groups uint32
	Local  uint32 // invocations of a group
	FMAs   uint32 // of an invocation in a step
	Claim  bool
}

// persistenceCells is how many cells messages reach.
const persistenceCells = 64

// Kernel is the workload as a kernel. It shares its program with all workloads
// of the same Local and FMAs.
func (p Persistence) Kernel() (Kernel, error) {
	source, err := builtin("persistence", shader.Defines{
		"LOCAL": strconv.Itoa(int(p.Local)), "FMAS": strconv.Itoa(int(p.FMAs)), "CELLS": strconv.Itoa(persistenceCells)})
	if err != nil {
		return Kernel{}, err
	}
	n := 4 * int(p.Groups*p.Local)
	return Kernel{Source: source, Groups: p.Groups, Claim: p.Claim, Loops: p.FMAs,
		State: []State{{Block: "Values", Bytes: n}, {Block: "Witness", Bytes: n}, {Block: "Cells", Bytes: 4 * persistenceCells}}}, nil
}

// Echo is a kernel of which the group that a message is for answers it with three
// times its A, plus one.
func Echo(groups uint32) (Kernel, error) {
	source, err := builtin("echo", nil)
	return Kernel{Source: source, Groups: groups, State: []State{{Block: "Sums", Bytes: 128 * int(groups)}}}, err
}

// Neighbours is a workload in which every group reads, in each of two phases,
// what another one wrote in the phase before.
type Neighbours struct {
	Groups uint32
	Local  uint32 // invocations of a group
}

// Kernel is the workload as a kernel.
func (n Neighbours) Kernel() (Kernel, error) {
	source, err := builtin("neighbours", shader.Defines{"LOCAL": strconv.Itoa(int(n.Local))})
	bytes := 4 * int(n.Groups*n.Local)
	return Kernel{Source: source, Groups: n.Groups, Phases: 2,
		State: []State{{Block: "Ring", Bytes: bytes}, {Block: "Mail", Bytes: bytes}}}, err
}

// After is what the state Ring holds after so many steps.
func (n Neighbours) After(steps uint64) []uint32 {
	ring := make([]uint32, n.Groups*n.Local)
	mail := make([]uint32, len(ring))
	for step := range steps {
		for i, v := range ring {
			mail[(i+5)%len(ring)] = 3*v + uint32(step)
		}
		for i := range ring {
			ring[i] ^= mail[i] + uint32(i)
		}
	}
	return ring
}

// builtin is a kernel of this package.
func builtin(name string, defines shader.Defines) (*shader.Source, error) {
	s, err := ReadSource(kernels, kernelFolder+"/"+name+".comp", defines)
	if err != nil {
		return nil, err
	}
	return s.WithName("resident_" + name), nil
}

// witness remembers sums, since adding up the steps of a minute takes a while.
var witness struct {
	sync.Mutex
	steps uint64
	sum   uint32
}

// witnessSum is the sum of mixed(step) over so many steps.
func witnessSum(steps uint64) uint32 {
	witness.Lock()
	defer witness.Unlock()
	if steps < witness.steps {
		witness.steps, witness.sum = 0, 0
	}
	for ; witness.steps < steps; witness.steps++ {
		s := uint32(witness.steps)
		s = (s ^ s>>16) * 0x7feb352d
		witness.sum += (s ^ s>>15) * 0x846ca68b
	}
	return witness.sum
}

// Verify compares what the states Values and Witness hold after so many steps
// with what they must hold, every word of both. Sums of claimed steps are over
// all groups, and their values are not compared: which group does which step is
// nobody's promise.
func (p Persistence) Verify(steps uint64, values, witness []byte) error {
	sum := witnessSum(steps)
	totals := make([]uint32, p.Local)
	want := float32(0)
	settled := false
	for range min(steps*uint64(p.FMAs), 1<<20) {
		next := float32(math.FMA(float64(want), 0.9990234375, 0.0009765625))
		if settled = next == want; settled {
			break
		}
		want = next
	}
	for i := range p.Groups * p.Local {
		lane := i % p.Local
		word := binary.LittleEndian.Uint32(witness[4*i:])
		totals[lane] += word
		if p.Claim {
			continue
		}
		if w := sum * (2*lane + 1); word != w {
			return fmt.Errorf("resident: the witness of invocation %d is %#x, not %#x, after %d steps", i, word, w, steps)
		}
		if v := math.Float32frombits(binary.LittleEndian.Uint32(values[4*i:])); math.Abs(float64(v-want)) > 1e-4 {
			return fmt.Errorf("resident: the value of invocation %d is %v, not %v, after %d steps", i, v, want, steps)
		}
	}
	for lane, total := range totals {
		if w := sum * (2*uint32(lane) + 1); p.Claim && total != w {
			return fmt.Errorf("resident: the witnesses of lane %d add up to %#x, not %#x, after %d steps", lane, total, w, steps)
		}
	}
	return nil
}
