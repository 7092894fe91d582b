//go:build linux

package resident

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strconv"
	"sync"

	"github.com/shadercache/shadercache/executor/kernelset"
	"github.com/shadercache/shadercache/shader"
)

// Persistence is a workload: multiply-adds in every invocation of a grid, and a checksum
// of the steps that were done.
type Persistence struct {
	Groups uint32
	Local  uint32 // invocations of a group
	FMAs   uint32 // of an invocation in a step
	Claim  bool
}

// persistenceCells is the number of cells that messages write and read.
const persistenceCells = 64

// Kernel returns the kernel of the workload. All workloads of the same Local and FMAs
// share a program.
func (p Persistence) Kernel() Kernel {
	source := builtin("persistence", shader.Defines{
		"LOCAL": strconv.Itoa(int(p.Local)), "FMAS": strconv.Itoa(int(p.FMAs)), "CELLS": strconv.Itoa(persistenceCells)})
	n := 4 * int(p.Groups*p.Local)
	return Kernel{Source: source, Groups: p.Groups, Claim: p.Claim, Loops: p.FMAs,
		State: []State{{Block: "Values", Bytes: n}, {Block: "Witness", Bytes: n}, {Block: "Cells", Bytes: 4 * persistenceCells}},
		Check: checkSteps(p.Verify)}
}

// checkedSteps is the number of steps in the checks of workloads.
const checkedSteps = 3

// checkSteps returns the check of a workload: a few steps, and verify.
func checkSteps(verify func(ctx context.Context, s *Session) error) func(ctx context.Context, s *Session) error {
	return func(ctx context.Context, s *Session) error {
		if _, err := s.Run(ctx, checkedSteps); err != nil {
			return err
		}
		return verify(ctx, s)
	}
}

// Verify compares every word of the states of a session that does not run with the result
// of the steps that it has done. Checksums of claimed steps are compared in total and their
// values not at all, since any group may have done a step.
func (p Persistence) Verify(ctx context.Context, s *Session) error {
	values, witness := make([]byte, 4*p.Groups*p.Local), make([]byte, 4*p.Groups*p.Local)
	if err := errors.Join(s.Read(ctx, "Values", 0, values), s.Read(ctx, "Witness", 0, witness)); err != nil {
		return err
	}
	return p.compare(s.Progress(), values, witness)
}

// Echo returns a kernel that answers each message, from the group that it is for, with
// three times its A, plus one.
func Echo(groups uint32) Kernel {
	return Kernel{Source: builtin("echo", nil), Groups: groups, State: []State{{Block: "Sums", Bytes: 128 * int(groups)}}, Check: checkEcho}
}

// checkEcho compares the answer to a message.
func checkEcho(ctx context.Context, s *Session) error {
	if err := s.Send(Message{Kind: 1, A: 14, B: 5}); err != nil {
		return err
	}
	if _, err := s.Run(ctx, 1); err != nil {
		return err
	}
	got, ok := s.TryReceive()
	if want := (Message{Kind: 1, A: 43, B: 5}); !ok || got != want {
		return fmt.Errorf("resident: the answer is %+v, should be %+v", got, want)
	}
	return nil
}

// Neighbours is a workload in which every group reads, in each of two phases, what
// another group wrote in the phase before.
type Neighbours struct {
	Groups uint32
	Local  uint32 // invocations of a group
}

// Kernel returns the kernel of the workload.
func (n Neighbours) Kernel() Kernel {
	source := builtin("neighbours", shader.Defines{"LOCAL": strconv.Itoa(int(n.Local))})
	bytes := 4 * int(n.Groups*n.Local)
	return Kernel{Source: source, Groups: n.Groups, Phases: 2,
		State: []State{{Block: "Ring", Bytes: bytes}, {Block: "Mail", Bytes: bytes}}, Check: checkSteps(n.Verify)}
}

// Verify compares every word of the state Ring of a session that does not run with the
// result of the steps that it has done.
func (n Neighbours) Verify(ctx context.Context, s *Session) error {
	got := make([]byte, 4*n.Groups*n.Local)
	if err := s.Read(ctx, "Ring", 0, got); err != nil {
		return err
	}
	for i, want := range n.after(s.Progress()) {
		if word := binary.LittleEndian.Uint32(got[4*i:]); word != want {
			return fmt.Errorf("resident: word %d of the ring is %#x, should be %#x", i, word, want)
		}
	}
	return nil
}

// after returns the content of the state Ring after a number of steps.
func (n Neighbours) after(steps uint64) []uint32 {
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

// builtin returns the source of a kernel of this package, whose defines are valid.
func builtin(name string, defines shader.Defines) *shader.Source {
	s, err := ReadSource(kernels, kernelset.Folder+"/"+name+".comp", defines)
	if err != nil {
		panic(err)
	}
	return s.WithName("resident_" + name)
}

// witness keeps the last sum, since adding up the steps of a minute takes long.
var witness struct {
	sync.Mutex
	steps uint64
	sum   uint32
}

// witnessSum returns the sum of mixed(step) over a number of steps.
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

// compare compares the states Values and Witness with the result of a number of steps: see
// Verify.
func (p Persistence) compare(steps uint64, values, witness []byte) error {
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
