//go:build linux

package wave3d

import (
	"context"
	"encoding/binary"
	"math"

	"github.com/shadercache/shadercache"
	"github.com/shadercache/shadercache/devices"
)

// faceCount is the number of faces of a block: before and after it along x, y and z.
const faceCount = 6

// box is a range of cells of a block, hi excluded.
type box struct{ lo, hi [3]int }

func (b box) empty() bool {
	return b.lo[0] >= b.hi[0] || b.lo[1] >= b.hi[1] || b.lo[2] >= b.hi[2]
}

// block is what a member has of the volume.
type block struct {
	rank         int
	origin, size [3]int
	fields       [2]shadercache.Buffer // of even and odd steps
	none         shadercache.Buffer    // stands for faces where there are no neighbours

	in, out  [faceCount]int // where each face begins, in floats; -1: no neighbour
	boundary []box          // cells that neighbours need, each once
	interior box            // all others
}

// faceCells returns the number of cells of a face across an axis.
func (b *block) faceCells(axis int) int { return b.size[(axis+1)%3] * b.size[(axis+2)%3] }

// divide sets boundary and interior: planes are cut off where there are neighbours.
func (b *block) divide() {
	rest := box{hi: b.size}
	cut := func(axis, at int) {
		if rest.empty() {
			return
		}
		plane := rest
		plane.lo[axis], plane.hi[axis] = at, at+1
		b.boundary = append(b.boundary, plane)
	}
	for axis := 2; axis >= 0; axis-- {
		if b.out[2*axis] >= 0 {
			cut(axis, rest.lo[axis])
			rest.lo[axis]++
		}
		if b.out[2*axis+1] >= 0 {
			cut(axis, rest.hi[axis]-1)
			rest.hi[axis]--
		}
	}
	b.interior = rest
}

// release frees the fields.
func (b *block) release() {
	for _, buffer := range []shadercache.Buffer{b.fields[0], b.fields[1], b.none} {
		if buffer != nil {
			buffer.Release()
		}
	}
}

// allocate makes the fields.
func (b *block) allocate(ctx context.Context, g *devices.Group) (err error) {
	for i := range b.fields {
		if b.fields[i], err = g.NewBufferOn(ctx, b.rank, 4*b.size[0]*b.size[1]*b.size[2]); err != nil {
			return err
		}
	}
	b.none, err = g.NewBufferOn(ctx, b.rank, 4)
	return err
}

// params returns the uniform block of a dispatch: see block.glsl.
func (b *block) params(o Options, cells box) []byte {
	var out []byte
	vector := func(v ...int) {
		for i := range 4 {
			word := 0
			if i < len(v) {
				word = v[i]
			}
			out = binary.LittleEndian.AppendUint32(out, uint32(int32(word)))
		}
	}
	vector(b.size[:]...)
	vector(b.origin[:]...)
	vector(cells.lo[:]...)
	vector(cells.hi[:]...)
	vector(b.in[:4]...)
	vector(b.in[4:]...)
	vector(b.out[:4]...)
	vector(b.out[4:]...)
	vector(int(int32(math.Float32bits(o.Courant * o.Courant))))
	vector(int(int32(o.Seed)))
	return out
}

// The work group of both kernels.
var local = [3]int{64, 4, 1}

// dispatch returns the dispatch of a program for cells.
func (b *block) dispatch(p shadercache.Program, o Options, cells box, buffers []shadercache.Bound) shadercache.Dispatch {
	d := shadercache.Dispatch{Program: p, Buffers: buffers, Params: b.params(o, cells)}
	for axis := range d.Groups {
		d.Groups[axis] = uint32((cells.hi[axis] - cells.lo[axis] + local[axis] - 1) / local[axis])
	}
	return d
}
