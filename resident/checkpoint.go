//go:build linux

package resident

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"sync/atomic"

	store "github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/glctx"
)

// Checkpoint is all that it takes to go on: the content of every state that is
// not constant, and how far each group is. It goes on with any session of the
// same kernel, on any context: integer state bit for bit, floating point as the
// GPUs agree. Messages and log entries are no part of it.
type Checkpoint struct {
	Kernel   store.Key // of the kernel's source
	Sequence uint64    // counts the checkpoints of a CheckpointFile
	Steps    uint64    // that every group has done

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

// A checkpoint as bytes, little endian:
//
//	8   magic                        32  key of the kernel's source
//	4   version                      8   sequence
//	8   steps of every group         8   base
//	4   least    4  most             4   claimed
//	4   groups   4  states
//	for each state   4 length of its name, the name, 8 length of its content
//	for each group   4 steps since the base, 4 halted
//	for each state   its content
//	32  SHA-256 of everything before
const (
	checkpointMagic   = "SCRESIDE"
	checkpointVersion = 1
	maxStates         = 64
	maxBlockName      = 256
	maxStateBytes     = 1 << 36
)

// checkpointHead is the fixed part.
type checkpointHead struct {
	Magic                        [8]byte
	Key                          store.Key
	Version                      uint32
	Sequence, Steps, Base        uint64
	Least, Most, Claimed         uint32
	GroupCount, CountOfAllStates uint32
}

// WriteTo writes the checkpoint for ReadCheckpoint.
func (c *Checkpoint) WriteTo(w io.Writer) (int64, error) {
	var head bytes.Buffer
	put := func(v any) { _ = binary.Write(&head, binary.LittleEndian, v) } // a Buffer takes everything
	h := checkpointHead{Key: c.Kernel, Version: checkpointVersion, Sequence: c.Sequence, Steps: c.Steps, Base: c.base,
		Least: c.least, Most: c.most, Claimed: c.claimed, GroupCount: uint32(len(c.groups)), CountOfAllStates: uint32(len(c.states))}
	copy(h.Magic[:], checkpointMagic)
	put(h)
	for _, v := range c.states {
		put(uint32(len(v.block)))
		head.WriteString(v.block)
		put(uint64(len(v.data)))
	}
	for _, g := range c.groups {
		put([]uint32{g.done, g.halted})
	}
	sum := sha256.New()
	both := io.MultiWriter(w, sum)
	written, err := io.Copy(both, &head)
	for _, v := range c.states {
		if err != nil {
			break
		}
		var n int
		n, err = both.Write(v.data)
		written += int64(n)
	}
	if err != nil {
		return written, fmt.Errorf("resident: write checkpoint: %w", err)
	}
	n, err := w.Write(sum.Sum(nil))
	return written + int64(n), err
}

// ReadCheckpoint reads what WriteTo wrote, and checks every byte of it. It
// returns ErrDamaged, wrapped, for anything else, and takes no more memory than
// there are bytes to read.
func ReadCheckpoint(r io.Reader) (*Checkpoint, error) {
	sum := sha256.New()
	in := io.TeeReader(r, sum)
	c, err := readBody(in)
	if err != nil {
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			err = fmt.Errorf("%w: it ends too early", ErrDamaged)
		}
		return nil, err
	}
	want := sum.Sum(nil)
	got := make([]byte, sha256.Size)
	if _, err := io.ReadFull(r, got); err != nil || !bytes.Equal(got, want) {
		return nil, fmt.Errorf("%w: its checksum does not match", ErrDamaged)
	}
	return c, nil
}

func readBody(in io.Reader) (*Checkpoint, error) {
	get := func(v any) error { return binary.Read(in, binary.LittleEndian, v) }
	var h checkpointHead
	if err := get(&h); err != nil {
		return nil, err
	}
	switch {
	case string(h.Magic[:]) != checkpointMagic:
		return nil, fmt.Errorf("%w: it does not begin like one", ErrDamaged)
	case h.Version != checkpointVersion:
		return nil, fmt.Errorf("%w: version %d, this program reads %d", ErrDamaged, h.Version, checkpointVersion)
	case h.GroupCount >= maxGroups || h.CountOfAllStates > maxStates:
		return nil, fmt.Errorf("%w: %d groups and %d states", ErrDamaged, h.GroupCount, h.CountOfAllStates)
	}
	c := &Checkpoint{Kernel: h.Key, Sequence: h.Sequence, Steps: h.Steps, base: h.Base, least: h.Least, most: h.Most,
		claimed: h.Claimed, groups: make([]groupPlace, h.GroupCount), states: make([]savedState, h.CountOfAllStates)}
	sizes := make([]int64, len(c.states))
	for i := range sizes {
		var err error
		if c.states[i].block, sizes[i], err = readState(in); err != nil {
			return nil, err
		}
	}
	for i := range c.groups {
		var place [2]uint32
		if err := get(&place); err != nil {
			return nil, err
		}
		c.groups[i] = groupPlace{place[0], min(place[1], 1)}
	}
	for i := range c.states {
		var data bytes.Buffer // grows with what is there, not with what the head says
		if _, err := io.CopyN(&data, in, sizes[i]); err != nil {
			return nil, err
		}
		c.states[i].data = data.Bytes()
	}
	return c, nil
}

// readState reads what stands before the content of a state.
func readState(in io.Reader) (block string, size int64, err error) {
	var length uint32
	var bytes uint64
	if err := binary.Read(in, binary.LittleEndian, &length); err != nil {
		return "", 0, err
	}
	name := make([]byte, min(length, maxBlockName))
	if _, err := io.ReadFull(in, name); err != nil {
		return "", 0, err
	}
	if err := binary.Read(in, binary.LittleEndian, &bytes); err != nil {
		return "", 0, err
	}
	if length > maxBlockName || bytes > maxStateBytes || bytes > math.MaxInt {
		return "", 0, fmt.Errorf("%w: a state of %d bytes with a name of %d", ErrDamaged, bytes, length)
	}
	return string(name), int64(bytes), nil
}
