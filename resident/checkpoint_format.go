//go:build linux

package resident

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/shadercache/shadercache/shader"
)

// A checkpoint as bytes, little endian, in pieces: the head, and the content of
// each state.
//
//	head   8   magic                        32  key of the kernel's source
//	       4   version                      8   sequence
//	       8   steps of every group         8   base
//	       4   least    4  most             4   claimed
//	       4   groups   4  states
//	       for each state   4 length of its name, the name, 8 length of its content
//	       for each group   4 steps since the base, 4 halted
//	then   for each state   its content
//	then   32  the seal: SHA-256 over the SHA-256 of every chunk, in their order
//
// A chunk is 64 KiB of a piece, or the rest of it: no chunk holds bytes of two pieces. So
// a chunk can be replaced without reading the others, and the seal computed from their
// known hashes.
const (
	checkpointMagic   = "SCRESIDE"
	checkpointVersion = 2
	maxStates         = 64
	maxBlockName      = 256
	maxStateBytes     = 1 << 36
	chunkBytes        = 64 << 10
)

// checkpointHead is the fixed part.
type checkpointHead struct {
	Magic                        [8]byte
	Key                          shader.Key
	Version                      uint32
	Sequence, Steps, Base        uint64
	Least, Most, Claimed         uint32
	GroupCount, CountOfAllStates uint32
}

// WriteTo writes the checkpoint for ReadCheckpoint.
func (c *Checkpoint) WriteTo(w io.Writer) (written int64, err error) {
	chunks := cut(c.pieces())
	sum := seal(chunks)
	for _, piece := range append(chunks, chunk{data: sum[:]}) {
		n, err := w.Write(piece.data)
		written += int64(n)
		if err != nil {
			return written, fmt.Errorf("resident: write checkpoint: %w", err)
		}
	}
	return written, nil
}

// pieces returns the parts of the checkpoint without its seal. They share the memory of
// the states.
func (c *Checkpoint) pieces() [][]byte {
	pieces := [][]byte{c.head()}
	for _, v := range c.states {
		pieces = append(pieces, v.data)
	}
	return pieces
}

// head returns all bytes before the states' content.
func (c *Checkpoint) head() []byte {
	var head bytes.Buffer
	put := func(v any) { _ = binary.Write(&head, binary.LittleEndian, v) } // a Buffer returns no error
	h := checkpointHead{Key: c.Kernel, Version: checkpointVersion, Sequence: c.Sequence, Steps: c.Steps, Base: c.base,
		Least: c.least, Most: c.most, Claimed: c.claimed, GroupCount: uint32(len(c.groups)), CountOfAllStates: uint32(len(c.states))}
	copy(h.Magic[:], checkpointMagic)
	put(h)
	for _, v := range c.states {
		put(uint32(len(v.block)))
		head.WriteString(v.block)
		put(uint64(len(v.data)))
	}
	put(c.groups)
	return head.Bytes()
}

// ReadCheckpoint reads what WriteTo wrote, and checks every byte. It returns ErrDamaged,
// wrapped, for anything else. The memory that it takes grows with the bytes that there are
// to read, whatever the head declares.
func ReadCheckpoint(r io.Reader) (*Checkpoint, error) {
	c, _, err := readChunks(r)
	return c, err
}

// readChunks is ReadCheckpoint that also returns the chunks.
func readChunks(r io.Reader) (*Checkpoint, []chunk, error) {
	var head bytes.Buffer
	c, sizes, err := readHead(io.TeeReader(r, &head))
	if err != nil {
		return nil, nil, truncated(err)
	}
	pieces := [][]byte{head.Bytes()}
	for i, size := range sizes {
		data, err := readState(r, size)
		if err != nil {
			return nil, nil, truncated(err)
		}
		c.states[i].data = data
		pieces = append(pieces, data)
	}
	chunks := cut(pieces)
	if err := compareSeal(r, seal(chunks)); err != nil {
		return nil, nil, err
	}
	return c, chunks, nil
}

// compareSeal reads the seal, and fails where it is another one.
func compareSeal(r io.Reader, want [sha256.Size]byte) error {
	var got [sha256.Size]byte
	if _, err := io.ReadFull(r, got[:]); err != nil {
		return truncated(err)
	}
	if got != want {
		return errSeal
	}
	return nil
}

// firstRead is the memory for a state of which nothing was read yet.
const firstRead = 1 << 20

// readState reads the content of a state. Its memory doubles as bytes arrive, up to the
// size.
func readState(r io.Reader, size int64) ([]byte, error) {
	data := make([]byte, 0, min(size, firstRead))
	for int64(len(data)) < size {
		if len(data) == cap(data) {
			data = append(make([]byte, 0, min(size, 2*int64(cap(data)))), data...)
		}
		n, err := io.ReadFull(r, data[len(data):cap(data)])
		if data = data[:len(data)+n]; err != nil {
			return nil, err
		}
	}
	return data, nil
}

// checkSealed reads a checkpoint and compares its seal, without keeping its content.
func checkSealed(r io.Reader) error {
	var head bytes.Buffer
	_, sizes, err := readHead(io.TeeReader(r, &head))
	if err != nil {
		return truncated(err)
	}
	all, buffer := sha256.New(), make([]byte, chunkBytes)
	in := io.MultiReader(&head, r)
	for _, size := range append([]int64{int64(head.Len())}, sizes...) {
		for ; size > 0; size -= chunkBytes {
			part := buffer[:min(size, chunkBytes)]
			if _, err := io.ReadFull(in, part); err != nil {
				return truncated(err)
			}
			sum := sha256.Sum256(part)
			all.Write(sum[:])
		}
	}
	return compareSeal(r, [sha256.Size]byte(all.Sum(nil)))
}

// errSeal is the error of a checkpoint whose content was changed.
var errSeal = fmt.Errorf("%w: its checksum does not match", ErrDamaged)

// truncated returns ErrDamaged for an early end, and other errors as they are.
func truncated(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%w: it ends too early", ErrDamaged)
	}
	return err
}

// readHead reads all bytes before the states' content, and returns their sizes.
func readHead(in io.Reader) (c *Checkpoint, sizes []int64, err error) {
	get := func(v any) error { return binary.Read(in, binary.LittleEndian, v) }
	var h checkpointHead
	if err := get(&h); err != nil {
		return nil, nil, err
	}
	switch {
	case string(h.Magic[:]) != checkpointMagic:
		return nil, nil, fmt.Errorf("%w: it has another magic number", ErrDamaged)
	case h.Version != checkpointVersion:
		return nil, nil, fmt.Errorf("%w: version %d, this program reads %d", ErrDamaged, h.Version, checkpointVersion)
	case h.GroupCount >= maxGroups || h.CountOfAllStates > maxStates:
		return nil, nil, fmt.Errorf("%w: %d groups and %d states", ErrDamaged, h.GroupCount, h.CountOfAllStates)
	}
	c = &Checkpoint{Kernel: h.Key, Sequence: h.Sequence, Steps: h.Steps, base: h.Base, least: h.Least, most: h.Most,
		claimed: h.Claimed, groups: make([]groupProgress, h.GroupCount), states: make([]savedState, h.CountOfAllStates)}
	sizes = make([]int64, len(c.states))
	for i := range sizes {
		if c.states[i].block, sizes[i], err = readStateHead(in); err != nil {
			return nil, nil, err
		}
	}
	if err := get(c.groups); err != nil {
		return nil, nil, err
	}
	for i := range c.groups {
		c.groups[i].Halted = min(c.groups[i].Halted, 1)
	}
	return c, sizes, nil
}

// readStateHead reads the name and the size of a state.
func readStateHead(in io.Reader) (block string, size int64, err error) {
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
