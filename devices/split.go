package devices

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/shadercache/shadercache/job"
)

// Tensor is the layout of data in memory: row by row, the last dimension densest.
type Tensor struct {
	Shape   []int // elements along each dimension
	Element int   // bytes of an element, a multiple of 4
}

// Bytes returns the size.
func (t Tensor) Bytes() int {
	n := t.Element
	for _, v := range t.Shape {
		n *= v
	}
	return n
}

// blocks returns a tensor as outer blocks of rows of stride bytes each, rows being the
// elements along a dimension.
func (t Tensor) blocks(dim int) (outer, rows, stride int) {
	outer, rows, stride = 1, t.Shape[dim], t.Element
	for _, v := range t.Shape[:dim] {
		outer *= v
	}
	for _, v := range t.Shape[dim+1:] {
		stride *= v
	}
	return outer, rows, stride
}

// Split is a buffer that is split along a dimension of a tensor: each member has a part,
// a tensor of the same shape but for that dimension. Jobs use the parts, each on its
// member. Read, Write and Replace gather and scatter.
type Split struct {
	copies
	tensor Tensor
	dim    int
	ranges []job.Share
}

// NewSplit makes a buffer of a tensor that is split along a dimension over all members
// that can be used, in equal shares. A dimension that is shorter than the group leaves
// members without a part.
func (g *Group) NewSplit(ctx context.Context, t Tensor, dim int) (*Split, error) {
	bad := slices.ContainsFunc(t.Shape, func(n int) bool { return n <= 0 })
	if bad || dim < 0 || dim >= len(t.Shape) || t.Element <= 0 || t.Element%4 != 0 {
		return nil, fmt.Errorf("%w: a tensor %v of elements of %d bytes cannot be split along dimension %d", job.ErrInvalid, t.Shape, t.Element, dim)
	}
	list, err := g.awaitAll(ctx)
	if err != nil {
		return nil, err
	}
	s := &Split{tensor: t, dim: dim, ranges: job.Shares(t.Shape[dim], len(list))}
	outer, _, stride := t.blocks(dim)
	s.copies, err = g.newCopies(ctx, list[:len(s.ranges)], func(i int) int { return outer * s.ranges[i].Len * stride })
	if err != nil {
		return nil, err
	}
	return s, nil
}

// Size returns the number of bytes of all parts.
func (s *Split) Size() int { return s.tensor.Bytes() }

// Version returns that of the first part, when it was made.
func (s *Split) Version() uint64 { return s.parts[0].Version() }

// Len returns the number of parts.
func (s *Split) Len() int { return len(s.parts) }

// Part returns part i and the member that it is on. It is released with the split buffer.
func (s *Split) Part(i int) (part job.Buffer, rank int) { return s.parts[i], s.parts[i].m.rank }

// OnMember returns part i as a buffer of its member: see Group.Member. It is released with
// the split buffer.
func (s *Split) OnMember(i int) job.Buffer { return s.parts[i].Buffer }

// Share returns the part of the dimension that part i has.
func (s *Split) Share(i int) job.Share { return s.ranges[i] }

// Bytes returns which bytes of the whole tensor part i has, and whether they lie together there.
func (s *Split) Bytes(i int) (first, end int, together bool) {
	outer, _, stride := s.tensor.blocks(s.dim)
	return s.ranges[i].First * stride, s.ranges[i].End() * stride, outer == 1
}

// Write scatters data, the whole tensor, to the parts, side by side. offset must be 0.
func (s *Split) Write(ctx context.Context, offset int, data []byte) (uint64, error) {
	if offset != 0 || len(data) != s.Size() {
		return 0, s.wholeOnly(offset, len(data))
	}
	return s.each(func(i int) (uint64, error) {
		part := s.slab(i, data)
		if part == nil {
			part = make([]byte, s.parts[i].Size())
			s.copyBlocks(i, data, func(whole, packed []byte) { copy(packed, whole) }, part)
		}
		return s.parts[i].Write(ctx, 0, part)
	})
}

// Replace returns ErrInvalid: parts have versions of their own.
func (s *Split) Replace(context.Context, int, []byte, uint64, uint64) (uint64, error) {
	return 0, fmt.Errorf("%w: Replace of a split buffer: replace its parts", job.ErrInvalid)
}

// Read gathers the whole tensor from the parts, side by side. offset must be 0.
func (s *Split) Read(ctx context.Context, offset int, dst []byte) (uint64, error) {
	if offset != 0 || len(dst) != s.Size() {
		return 0, s.wholeOnly(offset, len(dst))
	}
	return s.each(func(i int) (uint64, error) {
		if part := s.slab(i, dst); part != nil {
			return s.parts[i].Read(ctx, 0, part)
		}
		part := make([]byte, s.parts[i].Size())
		version, err := s.parts[i].Read(ctx, 0, part)
		if err == nil {
			s.copyBlocks(i, dst, func(whole, packed []byte) { copy(whole, packed) }, part)
		}
		return version, err
	})
}

func (s *Split) wholeOnly(offset, n int) error {
	return fmt.Errorf("%w: bytes %d to %d of a split buffer of %d: it is read and written whole", job.ErrInvalid, offset, offset+n, s.Size())
}

// slab returns the bytes of part i where they are together, else nil.
func (s *Split) slab(i int, data []byte) []byte {
	if first, end, together := s.Bytes(i); together {
		return data[first:end]
	}
	return nil
}

// copyBlocks calls move for each block of part i: its bytes in the whole tensor, and in
// the part.
func (s *Split) copyBlocks(i int, whole []byte, move func(whole, packed []byte), part []byte) {
	outer, rows, stride := s.tensor.blocks(s.dim)
	n := s.ranges[i].Len * stride
	for k := range outer {
		from := (k*rows + s.ranges[i].First) * stride
		move(whole[from:from+n], part[k*n:(k+1)*n])
	}
}

// each calls fn for all parts, side by side, and returns the version of the first.
func (s *Split) each(fn func(i int) (uint64, error)) (first uint64, err error) {
	versions, errs := s.all(fn)
	return versions[0], cmp.Or(errs...)
}
