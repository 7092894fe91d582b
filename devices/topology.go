package devices

import "slices"

// Topology is an arrangement of members: for each rank, the ranks of its neighbours, in the
// order of the arrangement. A pair of members may be neighbours twice, as in a ring of two.
type Topology [][]int

// Mesh is an arrangement of members in a grid, as of the blocks of a volume: rank 0 is at
// the origin, and the first axis is densest.
type Mesh struct{ Sides []int }

// NewMesh divides a grid of cells into n blocks, one for a member, so that the faces
// between them have the fewest cells. An axis gets no more blocks than it has cells; where
// n blocks do not fit, fewer are made. Of equal divisions the one that cuts the last axes
// wins: its faces are dense in memory.
func NewMesh(n int, cells ...int) Mesh {
	best, least := []int(nil), 0
	for ; best == nil && n > 0; n-- {
		sides := make([]int, len(cells))
		divide(n, len(cells)-1, sides, func() {
			for axis, side := range sides {
				if side > cells[axis] {
					return
				}
			}
			if area := faces(sides, cells); best == nil || area < least {
				best, least = slices.Clone(sides), area
			}
		})
	}
	return Mesh{best}
}

// divide calls try for every way to write n as a product of sides, from axis down.
func divide(n, axis int, sides []int, try func()) {
	if axis == 0 {
		sides[0] = n
		try()
		return
	}
	for side := n; side > 0; side-- {
		if n%side == 0 {
			sides[axis] = side
			divide(n/side, axis-1, sides, try)
		}
	}
}

// faces returns the cells of all cuts through a grid.
func faces(sides, cells []int) (area int) {
	for axis := range cells {
		cut := sides[axis] - 1
		for other, n := range cells {
			if other != axis {
				cut *= n
			}
		}
		area += cut
	}
	return area
}

// Len returns the number of members.
func (m Mesh) Len() int {
	n := 1
	for _, side := range m.Sides {
		n *= side
	}
	return n
}

// At returns where a member is, along each axis.
func (m Mesh) At(rank int) []int {
	at := make([]int, len(m.Sides))
	for axis, side := range m.Sides {
		at[axis], rank = rank%side, rank/side
	}
	return at
}

// Neighbour returns the member next to one along an axis, before or after it, and false at
// the border.
func (m Mesh) Neighbour(rank, axis int, after bool) (int, bool) {
	at := m.At(rank)
	stride := 1
	for _, side := range m.Sides[:axis] {
		stride *= side
	}
	switch {
	case after && at[axis]+1 < m.Sides[axis]:
		return rank + stride, true
	case !after && at[axis] > 0:
		return rank - stride, true
	}
	return 0, false
}

// Topology returns the neighbours of each member: before and after it along each axis.
func (m Mesh) Topology() Topology {
	t := make(Topology, m.Len())
	for rank := range t {
		for axis := range m.Sides {
			for _, after := range []bool{false, true} {
				if other, ok := m.Neighbour(rank, axis, after); ok {
					t[rank] = append(t[rank], other)
				}
			}
		}
	}
	return t
}

// Links returns a link of size bytes from each member to each of its neighbours, in the
// order of the ranks.
func (t Topology) Links(size int) (list []Link) {
	for from, neighbours := range t {
		for _, to := range neighbours {
			list = append(list, Link{From: from, To: to, Bytes: size})
		}
	}
	return list
}
