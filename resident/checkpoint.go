//go:build linux

package resident

import (
	"context"
	"crypto/sha256"
	"fmt"
	"time"

	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/resident/internal/wire"
	"github.com/shadercache/shadercache/shader"
)

// Checkpoint holds what a session needs to continue: the content of every state that is
// not constant, and the progress of each group. Any session of the same kernel can
// continue it, on any context: integer state bit for bit, floating point as far as the
// GPUs agree. It holds no messages and no log entries.
type Checkpoint struct {
	Kernel   shader.Key // of the kernel's source
	Sequence uint64     // number in a CheckpointFile
	Steps    uint64     // done by every group

	base    uint64
	least   uint32
	most    uint32
	claimed uint32
	groups  []groupProgress
	states  []savedState
}

// SavedState describes the content of a state in a checkpoint.
type SavedState struct {
	Block  string            `json:"name"` // in GLSL
	Bytes  int               `json:"bytes"`
	SHA256 [sha256.Size]byte `json:"-"` // of its content
}

// States describes the states, in the order of the kernel.
func (c *Checkpoint) States() []SavedState {
	list := make([]SavedState, len(c.states))
	for i, v := range c.states {
		list[i] = SavedState{v.block, len(v.data), sha256.Sum256(v.data)}
	}
	return list
}

// State returns the content of a state, without copying it, or false where the checkpoint
// has none of this name.
func (c *Checkpoint) State(block string) ([]byte, bool) {
	for _, v := range c.states {
		if v.block == block {
			return v.data, true
		}
	}
	return nil, false
}

// Groups returns the number of groups, and how many of them have halted.
func (c *Checkpoint) Groups() (all, halted int) {
	for _, g := range c.groups {
		halted += int(g.Halted)
	}
	return len(c.groups), halted
}

// groupProgress is the progress of a group, as it is in a file.
type groupProgress struct{ Done, Halted uint32 }

// savedState is the content of a state.
type savedState struct {
	block string
	data  []byte
}

// Checkpoint makes a checkpoint at the next boundary. All groups have done the same
// steps then, unless a signal is pending.
func (s *Session) Checkpoint(ctx context.Context) (c *Checkpoint, err error) {
	failed := s.atBoundary(ctx, &request{do: func(sc *scheduler) error {
		c, err = sc.makeCheckpoint()
		return err
	}})
	return c, failed
}

// makeCheckpoint reads back the states and the progress of the groups.
func (sc *scheduler) makeCheckpoint() (*Checkpoint, error) {
	v := sc.status
	c := &Checkpoint{Kernel: sc.kernel.Source.Key(), base: sc.base, least: v.Least, most: v.Most,
		Steps: sc.base + uint64(v.Progress()), groups: make([]groupProgress, sc.kernel.Groups)}
	lines := make([]uint32, wire.GroupsWords*len(c.groups))
	err := sc.context.Do(func(gl *glctx.GL) error {
		var claimed [1]uint32
		gl.Download(sc.gl.work, 4*wire.AtClaimed, glctx.Bytes(claimed[:]))
		gl.Download(sc.gl.work, groupsOffset, glctx.Bytes(lines))
		c.claimed = claimed[0]
		for _, v := range sc.gl.states {
			if v.Constant {
				continue
			}
			data := make([]byte, v.buffer.Size)
			gl.Download(v.buffer, 0, data)
			c.states = append(c.states, savedState{v.Block, data})
		}
		return gl.Err()
	})
	for i := range c.groups {
		line := lines[wire.GroupsWords*i:]
		c.groups[i].Halted = line[2]
		if line[0] == sc.epoch {
			c.groups[i].Done = line[1]
		}
	}
	sc.run.count(func(n *Stats) { n.Checkpoints++ })
	return c, err
}

// groupsOffset is the offset of the groups' lines in the work buffer, in bytes.
const groupsOffset = 4 * wire.AtGroups

// Restore loads the states and the progress of a checkpoint. It returns ErrRunning while
// the session runs, and ErrOtherKernel, wrapped, for a checkpoint of another kernel, or of
// other groups or sizes.
func (s *Session) Restore(ctx context.Context, c *Checkpoint) error {
	return s.atBoundary(ctx, &request{do: func(sc *scheduler) error {
		if err := sc.kernel.accepts(c); err != nil {
			return err
		}
		if sc.run.view().running {
			return ErrRunning
		}
		return sc.loadCheckpoint(c)
	}})
}

// accepts returns ErrOtherKernel, with the difference, for a checkpoint of another kernel.
func (k Kernel) accepts(c *Checkpoint) error {
	switch {
	case c.Kernel != k.Source.Key():
		return fmt.Errorf("%w: its source has key %s, this one's is %s", ErrOtherKernel, c.Kernel.Short(), k.Source.Key().Short())
	case len(c.groups) != int(k.Groups):
		return fmt.Errorf("%w: it has %d groups, this one %d", ErrOtherKernel, len(c.groups), k.Groups)
	}
	i := 0
	for _, v := range k.State {
		if v.Constant {
			continue
		}
		if i >= len(c.states) || c.states[i].block != v.Block || len(c.states[i].data) != v.bufferSize() {
			return fmt.Errorf("%w: it lacks the %d bytes of state %s", ErrOtherKernel, v.bufferSize(), v.Block)
		}
		i++
	}
	if i != len(c.states) {
		return fmt.Errorf("%w: it has %d states, this one %d", ErrOtherKernel, len(c.states), i)
	}
	return nil
}

// loadCheckpoint writes a checkpoint into the memory of the session.
func (sc *scheduler) loadCheckpoint(c *Checkpoint) error {
	sc.epoch++
	sc.base = c.base
	sc.status, sc.clearRun = wire.Status{Least: c.least, Most: c.most}, true // a signal of the last run is on the device
	sc.words.Store(wire.AtDone, 0)                                           // of the steps that are discarded
	for _, g := range c.groups {
		sc.status.Halted += g.Halted
	}
	err := sc.context.Do(func(gl *glctx.GL) error {
		lines := make([]uint32, wire.GroupsWords*len(c.groups))
		gl.Download(sc.gl.work, groupsOffset, glctx.Bytes(lines)) // the numbers of messages stay
		for i, g := range c.groups {
			line := lines[wire.GroupsWords*i:]
			line[0], line[1], line[2], line[3] = sc.epoch, g.Done, g.Halted, 0
		}
		gl.Upload(sc.gl.work, 4*wire.AtClaimed, glctx.Bytes([]uint32{c.claimed}))
		gl.Upload(sc.gl.work, groupsOffset, glctx.Bytes(lines))
		for _, v := range c.states {
			gl.Upload(sc.gl.findState(v.block).buffer, 0, v.data)
		}
		return gl.Err()
	})
	sc.run.restored(c.base, c.Steps)
	return err
}

// checkpointDue reports whether Options.Checkpoints is to be written.
func (sc *scheduler) checkpointDue() bool {
	return sc.options.Checkpoints != nil && time.Since(sc.checkpointed) >= sc.options.CheckpointEvery
}

// saveCheckpoint saves a checkpoint. An error does not stop the session: Close returns it.
func (sc *scheduler) saveCheckpoint() {
	c, err := sc.makeCheckpoint()
	if err == nil {
		var written int64
		written, err = sc.options.Checkpoints.Save(c)
		sc.run.count(func(n *Stats) { n.CheckpointBytes += uint64(written) })
	}
	if err != nil {
		sc.run.locked(func() { sc.run.saving = err })
	}
	sc.checkpointed = time.Now()
}
