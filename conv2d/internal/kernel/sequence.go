//go:build linux

// Package kernel has what the algorithms of conv2d and the search of conv2d/tune
// share: the sequence of dispatches that computes a problem, and a checked run of it
// in poisoned memory.
package kernel

import (
	"errors"
	"fmt"
	"slices"

	"github.com/shadercache/shadercache/executor"
	"github.com/shadercache/shadercache/executor/kernelset"
	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/shader"
)

// Role is what a buffer is to a problem.
type Role int

// The roles. A matrix product has its A as input, its B as weights and its C as
// output.
const (
	Input      Role = iota // A
	Weights                // B
	Bias                   // where the problem has a bias
	Output                 // C
	Packed                 // the weights in the layout that the algorithm reads
	Workspace              // what steps leave for later steps
	Semaphores             // tile semaphores: how many groups of a tile have ended, 0 between runs
)

// At binds the buffer of the role, all of it, to a storage binding.
func (r Role) At(index uint32) Binding { return Binding{index, r} }

// Binding is a buffer at a storage binding of a step.
type Binding struct {
	Index uint32
	Role  Role
}

// Step is one dispatch, or one call of the host.
type Step struct {
	Source   *shader.Source
	Host     *job.HostCall // nil: Source. It gets the memory of Bindings, in this order
	Groups   [3]int
	Uniforms []job.Uniform
	Bindings []Binding
}

func (s Step) name() string {
	if s.Host != nil {
		return s.Host.Name
	}
	return s.Source.Name()
}

// Use makes a program of the step's source the current one and sets its uniforms.
func (s Step) Use(gl *glctx.GL, program uint32) {
	gl.UseProgram(program)
	for _, u := range s.Uniforms {
		executor.SetUniform(gl, program, u)
	}
}

// Start dispatches the current program.
func (s Step) Start(gl *glctx.GL) {
	gl.Dispatch(uint32(s.Groups[0]), uint32(s.Groups[1]), uint32(s.Groups[2]))
}

// Sequence computes a problem: dispatches in order, with a barrier between each two.
type Sequence struct {
	Prepare []Step // run once for each version of the weights, writes Packed
	Steps   []Step // run each time

	PackedLen    int // elements; 0: the weights are used as they are
	WorkspaceLen int // elements; 0: none

	// SemaphoreCount is the number of tile semaphores, each a 32-bit word that is 0
	// before a step and that the step leaves at 0. They have memory of their own,
	// which nothing else writes. 0: none.
	SemaphoreCount int
}

// All returns the steps of Prepare and then Steps.
func (s Sequence) All() []Step { return slices.Concat(s.Prepare, s.Steps) }

// Sources returns the sources of the programs of all steps, each once.
func (s Sequence) Sources() []*shader.Source {
	var list []*shader.Source
	seen := map[shader.Key]bool{}
	for _, step := range s.All() {
		if step.Host == nil && !seen[step.Source.Key()] {
			seen[step.Source.Key()] = true
			list = append(list, step.Source)
		}
	}
	return list
}

// CheckLater marks the programs as those that a plan checks: see cache.Cache.CheckTogether.
func (s Sequence) CheckLater() {
	for _, steps := range [][]Step{s.Prepare, s.Steps} {
		for i := range steps {
			if steps[i].Host == nil {
				steps[i].Source = steps[i].Source.WithCheck(kernelset.CheckLater)
			}
		}
	}
}

// IndexOf returns the storage binding at which the steps have a role.
func (s Sequence) IndexOf(role Role) (index uint32, ok bool) {
	for _, step := range s.Steps {
		for _, b := range step.Bindings {
			if b.Role == role {
				return b.Index, true
			}
		}
	}
	return 0, false
}

// Uses reports whether the steps have a buffer of a role.
func (s Sequence) Uses(role Role) bool {
	_, ok := s.IndexOf(role)
	return ok
}

// Validate fails where a sequence breaks the rules that plans rely on: input and
// output have one binding each, in all steps that use them, and no buffer has more
// than maxStorage bytes.
func (s Sequence) Validate(maxStorage int64) error {
	if len(s.Steps) == 0 {
		return errors.New("a sequence without steps")
	}
	if bytes := 4 * (int64(max(s.PackedLen, s.WorkspaceLen, s.SemaphoreCount)) + CanaryWords); bytes > maxStorage {
		return fmt.Errorf("a workspace of %d bytes, this device allows %d", bytes, maxStorage)
	}
	at := map[Role]uint32{}
	for _, step := range s.Steps {
		for _, b := range step.Bindings {
			if b.Role != Input && b.Role != Output {
				continue
			}
			if before, known := at[b.Role]; known && before != b.Index {
				return fmt.Errorf("%s has its input or output at two bindings", step.name())
			}
			at[b.Role] = b.Index
		}
	}
	in, reads := at[Input]
	if out, writes := at[Output]; !writes || reads && in == out {
		return errors.New("a sequence without an output of its own")
	}
	return nil
}

// Ints are int uniforms.
type Ints []struct {
	Name  string
	Value int
}

// Uniforms returns the list as a dispatch takes it.
func (l Ints) Uniforms() []job.Uniform {
	list := make([]job.Uniform, len(l))
	for i, u := range l {
		list[i] = job.Int(u.Name, int32(u.Value))
	}
	return list
}
