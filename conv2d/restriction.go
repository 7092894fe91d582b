//go:build linux

package conv2d

import "slices"

// Restriction leaves algorithms out. The zero value leaves out none.
type Restriction struct {
	Exact bool // those that may err by more than [Tolerance]
	NoCPU bool // those that the CPU computes without a kernel, on software drivers
}

// suffix marks the results of searches with the restriction.
func (r Restriction) suffix() (s string) {
	if r.Exact {
		s += exactSuffix
	}
	if r.NoCPU {
		s += noCPUSuffix
	}
	return s
}

const (
	exactSuffix = ",exact"
	noCPUSuffix = ",no-cpu"
)

// weaker returns the restriction and those that leave out less, the strictest first: what
// was found under them may fit too.
func (r Restriction) weaker() []Restriction {
	list := []Restriction{r, {Exact: r.Exact}, {NoCPU: r.NoCPU}, {}}
	slices.SortStableFunc(list, func(a, b Restriction) int { return len(b.suffix()) - len(a.suffix()) })
	return slices.Compact(list)
}

// restrict leaves out the algorithms of a restriction.
func (t task) restrict(r Restriction) task {
	t.offers = slices.DeleteFunc(slices.Clone(t.offers), func(o offer) bool {
		return r.Exact && o.tolerance > Tolerance(t.sum) || r.NoCPU && isOnCPU(o.name)
	})
	return t
}

// isOnCPU reports whether the CPU computes an algorithm without a kernel.
func isOnCPU(algorithm string) bool {
	return algorithm == gemmCPUAlgorithm.name || algorithm == convCPUAlgorithm.name
}
