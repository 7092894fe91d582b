//go:build linux

package wave

import (
	"slices"

	"github.com/shadercache/shadercache/executor"
)

// State returns the buffers that a step changes, of which the one at index current holds
// the heights as they are now, in the order of [Sim.Index]. It is for measuring what
// moving them costs; no other goroutine may use the simulation meanwhile.
func (s *Sim) State() (buffers []*executor.Buffer[float32], current int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.memory.changing(), s.now
}

// Index returns the index of a cell in the buffers of State.
func (s *Sim) Index(x, y int) int { return s.options.index(x, y) }

// Clone returns a copy of the present surface, for Compare. It cannot step.
func (r *Reference) Clone() *Reference {
	return &Reference{options: r.options, u: slices.Clone(r.u), steps: r.steps}
}
