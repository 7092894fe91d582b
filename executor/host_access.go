package executor

import "sync/atomic"

// gate counts who is inside the slots' memory, so that Close does not take it
// away under them. Entering again while inside is fine.
type gate struct {
	inside atomic.Int64
	closed atomic.Bool
	left   chan struct{} // one token when the last one left a closed gate
}

func newGate() *gate { return &gate{left: make(chan struct{}, 1)} }

// enter reports whether the gate is open. Then the caller has to leave.
func (g *gate) enter() bool {
	g.inside.Add(1)
	if g.closed.Load() {
		g.leave()
		return false
	}
	return true
}

func (g *gate) leave() {
	if g.inside.Add(-1) == 0 && g.closed.Load() {
		select {
		case g.left <- struct{}{}:
		default:
		}
	}
}

// close lets nobody in any more.
func (g *gate) close() { g.closed.Store(true) }

// wait returns when a closed gate has nobody inside.
func (g *gate) wait() {
	for g.inside.Load() != 0 {
		<-g.left
	}
}
