//go:build linux

package wave3d

import (
	"context"

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

// uniforms returns those of a dispatch for cells: see block.glsl.
func (b *block) uniforms(o Options, cells box) []shadercache.Uniform {
	u := []shadercache.Uniform{shadercache.Float("courant2", o.Courant*o.Courant), shadercache.Uint("seed", o.Seed)}
	b.eachInt(cells, func(name string, v int32) { u = append(u, shadercache.Int(name, v)) })
	return u
}

// eachInt calls fn for the uniforms that are integers.
func (b *block) eachInt(cells box, fn func(name string, v int32)) {
	for axis, name := range [3]string{"X", "Y", "Z"} {
		fn("size"+name, int32(b.size[axis]))
		fn("origin"+name, int32(b.origin[axis]))
		fn("lo"+name, int32(cells.lo[axis]))
		fn("hi"+name, int32(cells.hi[axis]))
		for side, number := range [2]string{"0", "1"} {
			fn("in"+name+number, int32(b.in[2*axis+side]))
			fn("out"+name+number, int32(b.out[2*axis+side]))
		}
	}
}

// kernel is a program for cells of a block, with a work group of 64 by 4.
type kernel struct {
	shadercache.Program
	planes int // cells along z of an invocation
}

// dispatch returns the dispatch of a program for cells.
func (b *block) dispatch(k kernel, o Options, cells box, buffers []shadercache.Bound) shadercache.Dispatch {
	d := shadercache.Dispatch{Program: k.Program, Buffers: buffers, Uniforms: b.uniforms(o, cells)}
	for axis, n := range [3]int{64, 4, k.planes} {
		d.Groups[axis] = uint32((cells.hi[axis] - cells.lo[axis] + n - 1) / n)
	}
	return d
}
