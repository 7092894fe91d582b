package conv2d

import (
	"fmt"
	"math"
)

// GEMMProblem is the matrix product C = act(scale * A*B), all matrices row-major
// without gaps. Scale and activation belong to the program, see [Variant]. The
// zero GEMMProblem is not valid.
//
//	matrix  rows x columns
//	A       M x K
//	B       K x N
//	C       M x N
type GEMMProblem struct {
	M, N, K int
}

// ALen is the number of elements of A in a valid problem.
func (p GEMMProblem) ALen() int { return int(product(p.M, p.K)) }

// BLen is the number of elements of B in a valid problem.
func (p GEMMProblem) BLen() int { return int(product(p.K, p.N)) }

// CLen is the number of elements of C in a valid problem.
func (p GEMMProblem) CLen() int { return int(product(p.M, p.N)) }

// ReductionLen is the number of products in the sum of one element of C.
func (p GEMMProblem) ReductionLen() int { return p.K }

// FLOPs is 2*M*N*K. It saturates at math.MaxInt64, which Validate refuses.
func (p GEMMProblem) FLOPs() int64 { return product(2, p.M, p.N, p.K) }

// Validate says everything that is wrong with the problem, joined, or nil.
func (p GEMMProblem) Validate() error {
	var f faults
	f.within("M", p.M, 1)
	f.within("N", p.N, 1)
	f.within("K", p.K, 1)
	f.tensor("A", p.M, p.K)
	f.tensor("B", p.K, p.N)
	f.tensor("C", p.M, p.N)
	if p.FLOPs() == math.MaxInt64 {
		f.addf("the number of operations passes %d", int64(math.MaxInt64))
	}
	if f == nil {
		return nil
	}
	return fmt.Errorf("conv2d: invalid matrix product %v:\n%w", p, f.join())
}

// String is "MxNxK".
func (p GEMMProblem) String() string { return fmt.Sprintf("%dx%dx%d", p.M, p.N, p.K) }
