//go:build linux

package resident

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/shader"
)

// Checkpoint is all that it takes to go on: the content of every state that is
// not constant, and how far each group is. It goes on with any session of the
// same kernel, on any context: integer state bit for bit, floating point as the
// GPUs agree. Messages and log entries are no part of it.
type Checkpoint struct {
	Kernel   shader.Key // of the kernel's source
	Sequence uint64     // counts the checkpoints of a CheckpointFile
	Steps    uint64     // that every group has done

	base    uint64
	least   uint32
	most    uint32
	claimed uint32
	groups  []groupPlace
	states  []savedState
}

// groupPlace is where a group left off.
type groupPlace struct{ done, halted uint32 }

// savedState is the content of a state.
type savedState struct {
	block string
	data  []byte
}

// Checkpoint saves the session at the next boundary. All groups have done the
// same steps then, unless a signal waits to be served.
func (s *Session) Checkpoint(ctx context.Context) (c *Checkpoint, err error) {
	asked := s.atBoundary(ctx, &ask{do: func() error {
		c, err = s.save()
		return err
	}})
	return c, asked
}

// save makes a checkpoint. It is for the driver.
func (s *Session) save() (*Checkpoint, error) {
	r := s.driver.last
	c := &Checkpoint{Kernel: s.kernel.Source.Key(), base: s.driver.base, least: r.least, most: r.most,
		Steps: s.driver.base + uint64(r.progress()), groups: make([]groupPlace, s.kernel.Groups)}
	lines := make([]uint32, groupWords*len(c.groups))
	err := s.context.Do(func(gl *glctx.GL) error {
		var claimed [1]uint32
		gl.Download(s.gl.work, 4*wordClaimed, glctx.Bytes(claimed[:]))
		gl.Download(s.gl.work, groupsOffset, glctx.Bytes(lines))
		c.claimed = claimed[0]
		for _, v := range s.gl.states {
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
		line := lines[groupWords*i:]
		c.groups[i].halted = line[2]
		if line[0] == s.driver.epoch {
			c.groups[i].done = line[1]
		}
	}
	s.counts.checkpoints.Add(1)
	return c, err
}

// groupsOffset is where the groups' lines begin in the work buffer, in bytes.
const groupsOffset = 4 * (wordsResidentWork + logWords*logLength)

// Restore puts the session where the checkpoint was made. It returns ErrRunning
// while the session runs, and ErrForeign, wrapped, for a checkpoint of another
// kernel, or of other groups or sizes.
func (s *Session) Restore(ctx context.Context, c *Checkpoint) error {
	return s.atBoundary(ctx, &ask{do: func() error {
		if err := s.fits(c); err != nil {
			return err
		}
		s.mu.Lock()
		running := s.mu.running
		s.mu.Unlock()
		if running {
			return ErrRunning
		}
		return s.load(c)
	}})
}

// fits says how a checkpoint differs from what the session needs.
func (s *Session) fits(c *Checkpoint) error {
	switch {
	case c.Kernel != s.kernel.Source.Key():
		return fmt.Errorf("%w: its source has key %s, this one's is %s", ErrForeign, c.Kernel.Short(), s.kernel.Source.Key().Short())
	case len(c.groups) != int(s.kernel.Groups):
		return fmt.Errorf("%w: it has %d groups, this one %d", ErrForeign, len(c.groups), s.kernel.Groups)
	}
	i := 0
	for _, v := range s.kernel.State {
		if v.Constant {
			continue
		}
		if i >= len(c.states) || c.states[i].block != v.Block || len(c.states[i].data) != v.size() {
			return fmt.Errorf("%w: it has not the %d bytes of state %s", ErrForeign, v.size(), v.Block)
		}
		i++
	}
	if i != len(c.states) {
		return fmt.Errorf("%w: it has %d states, this one %d", ErrForeign, len(c.states), i)
	}
	return nil
}

// load is restore for the driver.
func (s *Session) load(c *Checkpoint) error {
	d := &s.driver
	d.epoch++
	d.base = c.base
	d.last = report{least: c.least, most: c.most}
	atomic.StoreUint32(&s.words[wordDone], 0) // of what is given up
	for _, g := range c.groups {
		d.last.halted += g.halted
	}
	err := s.context.Do(func(gl *glctx.GL) error {
		lines := make([]uint32, groupWords*len(c.groups))
		gl.Download(s.gl.work, groupsOffset, glctx.Bytes(lines)) // what groups know of messages stays
		for i, g := range c.groups {
			line := lines[groupWords*i:]
			line[0], line[1], line[2], line[3] = d.epoch, g.done, g.halted, 0
		}
		gl.Upload(s.gl.work, 4*wordClaimed, glctx.Bytes([]uint32{c.claimed}))
		gl.Upload(s.gl.work, groupsOffset, glctx.Bytes(lines))
		for _, v := range c.states {
			gl.Upload(s.gl.find(v.block).buffer, 0, v.data)
		}
		return gl.Err()
	})
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.base, s.mu.progress, s.mu.began = c.base, c.Steps, c.Steps
	s.mu.halted, s.mu.raised, s.mu.idle = d.last.halted, Signal{}, false
	s.tell()
	return err
}
