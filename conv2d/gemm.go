package conv2d

import (
	"cmp"
	"fmt"
	"math"
	"strings"
)

// GEMMProblem is the matrix product
//
//	C = act(alpha * op(A) * op(B) + beta * C + bias)
//
// for each of Batch pairs of matrices, all of them row-major. op turns a matrix
// where its Trans is set. The zero GEMMProblem is not valid; one with M, N and K
// alone is C = A*B.
//
//	matrix  op is    stored, rows x columns
//	A       M x K    M x K, or K x M where TransA is set
//	B       K x N    K x N, or N x K where TransB is set
//	C       M x N    M x N
type GEMMProblem struct {
	M, N, K int

	TransA, TransB bool

	// LDA, LDB and LDC are the elements from the start of a row to that of the
	// next. 0 means no gap. What lies in a gap of C is never written.
	LDA, LDB, LDC int

	// Batch is the number of products, 0 means 1. StrideA, StrideB and StrideC are
	// the elements from one matrix to the next; a StrideA or StrideB of 0 uses one
	// matrix for all. The matrices of C must not overlap.
	Batch                     int
	StrideA, StrideB, StrideC int

	Factors    Factors // alpha and beta; the zero value is 1 and 0
	Bias       Bias
	Activation Activation
}

// Factors are alpha and beta of a matrix product. [AlphaBeta] makes them; the zero
// value is an alpha of 1 and a beta of 0. Equal factors are equal by ==.
type Factors struct {
	alpha, beta float32
	set         bool // false: 1 and 0
}

// AlphaBeta returns factors as BLAS has them. With an alpha of 0, A and B are not read,
// and with a beta of 0 C is not: NaN and infinities there do not reach the result.
func AlphaBeta(alpha, beta float32) Factors {
	if alpha == 1 && beta == 0 {
		return Factors{}
	}
	return Factors{alpha, beta, true}
}

// Alpha is the factor of the product.
func (f Factors) Alpha() float32 {
	if !f.set {
		return 1
	}
	return f.alpha
}

// Beta is the factor of the values that C has before.
func (f Factors) Beta() float32 { return f.beta }

// Bias is what is added to a matrix product before the activation.
type Bias int

// The kinds of bias of a matrix product.
const (
	NoBias     Bias = iota
	RowBias         // M elements, one for each row of C
	ColumnBias      // N elements, one for each column of C
)

// String returns nothing, row-bias or column-bias.
func (b Bias) String() string {
	switch b {
	case NoBias:
		return ""
	case RowBias:
		return "row-bias"
	case ColumnBias:
		return "column-bias"
	}
	return fmt.Sprintf("Bias(%d)", int(b))
}

// stored is the layout of one matrix of a product in memory. op turns it where trans is set.
type stored struct {
	rows, columns, ld, batch, stride int
	trans                            bool
}

func (s stored) len() int64 {
	return saturatedSum(product(s.batch-1, s.stride), product(s.rows-1, s.ld), int64(s.columns))
}

func (p GEMMProblem) a() stored { return p.matrix(p.M, p.K, p.TransA, p.LDA, p.StrideA) }
func (p GEMMProblem) b() stored { return p.matrix(p.K, p.N, p.TransB, p.LDB, p.StrideB) }
func (p GEMMProblem) c() stored { return p.matrix(p.M, p.N, false, p.LDC, p.StrideC) }

// matrix returns how a matrix is stored whose op has those rows and columns.
func (p GEMMProblem) matrix(rows, columns int, trans bool, ld, stride int) stored {
	if trans {
		rows, columns = columns, rows
	}
	return stored{rows, columns, cmp.Or(ld, columns), orOne(p.Batch), stride, trans}
}

// index returns the index of an element of op(matrix), in one matrix of the batch.
func (s stored) index(batch, row, column int) int {
	if s.trans {
		row, column = column, row
	}
	return batch*s.stride + row*s.ld + column
}

// AIndex is the index of an element of op(A) in the slice of A.
func (p GEMMProblem) AIndex(batch, row, k int) int { return p.a().index(batch, row, k) }

// BIndex is the index of an element of op(B) in the slice of B.
func (p GEMMProblem) BIndex(batch, k, column int) int { return p.b().index(batch, k, column) }

// CIndex is the index of an element of C in the slice of C.
func (p GEMMProblem) CIndex(batch, row, column int) int { return p.c().index(batch, row, column) }

// depth is the elements of K that a kernel has to sum: none with an alpha of 0, so
// that A and B are not read.
func (p GEMMProblem) depth() int {
	if p.alpha() == 0 {
		return 0
	}
	return p.K
}

// alpha and beta are the factors of the problem.
func (p GEMMProblem) alpha() float32 { return p.Factors.Alpha() }
func (p GEMMProblem) beta() float32  { return p.Factors.Beta() }

// ALen is the number of elements of A in a valid problem, gaps included.
func (p GEMMProblem) ALen() int { return int(p.a().len()) }

// BLen is the number of elements of B in a valid problem, gaps included.
func (p GEMMProblem) BLen() int { return int(p.b().len()) }

// CLen is the number of elements of C in a valid problem, gaps included.
func (p GEMMProblem) CLen() int { return int(p.c().len()) }

// BiasLen is the number of elements of the bias, 0 where the problem has none.
func (p GEMMProblem) BiasLen() int {
	switch p.Bias {
	case RowBias:
		return p.M
	case ColumnBias:
		return p.N
	}
	return 0
}

func (p GEMMProblem) sizes() sizes {
	return sizes{input: p.ALen(), weights: p.BLen(), bias: p.BiasLen(), output: p.CLen()}
}

func (p GEMMProblem) elements() int     { return orOne(p.Batch) * p.M * p.N }
func (p GEMMProblem) keepsOutput() bool { return p.beta() != 0 || p.CLen() != p.elements() }

// ReductionLen is the number of products in the sum of one element of C.
func (p GEMMProblem) ReductionLen() int { return p.K }

// FLOPs is 2*M*N*K for each product. It saturates at math.MaxInt64, which
// Validate refuses.
func (p GEMMProblem) FLOPs() int64 { return product(2, p.M, p.N, p.K, orOne(p.Batch)) }

// Validate returns every fault of the problem, joined, or nil.
func (p GEMMProblem) Validate() error {
	var f faults
	f.within(1, fields{{"M", p.M}, {"N", p.N}, {"K", p.K}})
	f.within(0, fields{{"Batch", p.Batch}})
	f.matrix("A", p.a(), p.LDA)
	f.matrix("B", p.b(), p.LDB)
	f.matrix("C", p.c(), p.LDC)
	one := p.c()
	one.batch = 1
	if p.Batch > 1 && p.StrideC >= 0 && int64(p.StrideC) < one.len() {
		f.addf("StrideC is %d, so that the matrices of C overlap: it must be at least %d", p.StrideC, one.len())
	}
	if p.Bias < NoBias || p.Bias > ColumnBias {
		f.addf("there is no %v", p.Bias)
	}
	if !p.Activation.valid() {
		f.addf("there is no %v", p.Activation)
	}
	f.finite("Alpha", p.alpha())
	f.finite("Beta", p.beta())
	if inRange(1, p.M, p.N, p.K) && inRange(0, p.Batch) && p.FLOPs() == math.MaxInt64 {
		f.addf("the number of operations passes %d", int64(math.MaxInt64))
	}
	return f.of(p, "matrix product")
}

// finite adds a fault where a factor is not a number.
func (f *faults) finite(name string, v float32) {
	if x := float64(v); math.IsNaN(x) || math.IsInf(x, 0) {
		f.addf("%s is %v, must be a finite number", name, v)
	}
}

// matrix adds the faults of how a matrix is stored.
func (f *faults) matrix(name string, s stored, ld int) {
	f.within(0, fields{{"LD" + name, ld}, {"Stride" + name, s.stride}})
	if ld > 0 && ld < s.columns {
		f.addf("LD%s is %d, but the rows of %s have %d elements", name, ld, name, s.columns)
	}
	if inRange(1, s.rows, s.columns, s.ld, s.batch) && s.len() > maxElements {
		f.addf("%s has more than %d elements", name, maxElements)
	}
}

// String returns "MxNxK" and the other fields that are set, as they are in a shape.
func (p GEMMProblem) String() string {
	return strings.ReplaceAll(strings.TrimPrefix(p.word(), gemmPrefix), ",", " ")
}
