package devices

import (
	"fmt"
	"slices"
	"testing"

	"github.com/shadercache/shadercache/job"
)

// Ring arranges n members in a circle: the neighbours of each are the one before and the
// one after it. One alone has none.
func Ring(n int) Topology {
	t := make(Topology, n)
	for i := range t {
		if n > 1 {
			t[i] = []int{(i + n - 1) % n, (i + 1) % n}
		}
	}
	return t
}

// Tree arranges n members in a tree: rank 0 is the root, and the neighbours of each are
// its parent, except for the root, and up to arity children.
func Tree(n, arity int) Topology {
	t := make(Topology, n)
	for i := 1; i < n; i++ {
		parent := (i - 1) / arity
		t[i] = append(t[i], parent)
		t[parent] = append(t[parent], i)
	}
	return t
}

// Rank returns the member that a buffer is on, of NewBuffer and NewBufferOn and of the
// parts of others, and false for one that is on several.
func Rank(b job.Buffer) (rank int, single bool) {
	p, ok := b.(*placed)
	if !ok {
		return 0, false
	}
	return p.m.rank, true
}

func TestTopologies(t *testing.T) {
	for _, c := range []struct {
		name string
		got  Topology
		want string
	}{
		{"ring of 1", Ring(1), "[[]]"},
		{"ring of 2", Ring(2), "[[1 1] [0 0]]"},
		{"ring of 4", Ring(4), "[[3 1] [0 2] [1 3] [2 0]]"},
		{"tree of 6", Tree(6, 2), "[[1 2] [0 3 4] [0 5] [1] [1] [2]]"},
		{"list", Tree(3, 1), "[[1] [0 2] [1]]"},
		{"mesh of 2 x 2", Mesh{[]int{2, 2}}.Topology(), "[[1 2] [0 3] [3 0] [2 1]]"},
		{"mesh of 3", Mesh{[]int{1, 1, 3}}.Topology(), "[[1] [0 2] [1]]"},
	} {
		if got := fmt.Sprint(c.got); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// A mesh has the smallest faces, and no more blocks than fit.
func TestMeshes(t *testing.T) {
	for _, c := range []struct {
		n     int
		cells []int
		want  []int
	}{
		{1, []int{8, 8, 8}, []int{1, 1, 1}},
		{2, []int{8, 8, 8}, []int{1, 1, 2}}, // of equal ones that of the last axis
		{2, []int{16, 8, 8}, []int{2, 1, 1}},
		{4, []int{8, 8, 8}, []int{1, 2, 2}},
		{4, []int{2, 2, 100}, []int{1, 1, 4}},
		{8, []int{8, 8, 8}, []int{2, 2, 2}},
		{7, []int{2, 2, 2}, []int{1, 2, 2}}, // 7 and 5 do not fit, 6 neither
		{5, []int{1}, []int{1}},
	} {
		if got := NewMesh(c.n, c.cells...); !slices.Equal(got.Sides, c.want) {
			t.Errorf("%d blocks of %v: %v, want %v", c.n, c.cells, got.Sides, c.want)
		}
	}
}
