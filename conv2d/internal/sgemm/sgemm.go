// Package sgemm multiplies matrices of float32 on the processors, where Supported.
//
// Sums are of every product, so that NaN and infinity pass on as the definition has it, and
// their order does not depend on the number of processors. Nothing between the rows of a
// matrix is read.
package sgemm

import (
	"sync"

	"github.com/shadercache/shadercache/conv2d/internal/parallel"
)

const (
	// A tile of tileM x tileN sums fills 12 of the 16 vector registers.
	tileM = 6
	tileN = 16

	streamK = 8   // rows of B that are read side by side
	streamN = 512 // columns that are computed at a time
	dotN    = 64  // likewise of a transposed B

	// streamM is the most rows of A for which B is read in its own order: the time is that
	// of reading B.
	streamM = 4

	// A block of blockM x blockN tiles is computed at a time: its panels of B stay in the
	// second-level cache.
	blockM       = 4
	blockN       = 4
	blockColumns = blockN * tileN

	inPlaceM = 64      // rows of A up to which copying B costs more than it gains
	serial   = 1 << 19 // products that take some 20 us, or little more than waking a processor
)

// Matrix is op(stored): the stored matrix has rows that begin LD elements apart, and is
// transposed where Trans is set.
type Matrix struct {
	Data  []float32
	LD    int
	Trans bool
}

// Product is a product of an M x K and a K x N matrix. K may be 0.
type Product struct {
	M, N, K int
	A, B    Matrix

	// Finish is called with sums of a row, from column on, once for every element, from
	// several goroutines. It may change sums and must not keep them.
	Finish func(row, column int, sums []float32)

	// FinishCost is the time that Finish takes for an element, in products.
	FinishCost int
}

// Run computes the product on all processors. It panics where not Supported.
func (p *Product) Run() {
	switch {
	case !supported:
		panic(unsupported)
	case p.K == 0:
		sums := make([]float32, p.N)
		for row := range p.M {
			clear(sums)
			p.Finish(row, 0, sums)
		}
	case p.M <= streamM && p.B.Trans:
		p.runDots()
	case p.M <= streamM:
		p.runStream()
	default:
		p.runTiles()
	}
}

// loop calls work for 0 to n-1: on one processor where the product is small.
func (p *Product) loop(n int, work func(i int)) {
	if float64(p.M)*float64(p.N)*float64(p.K+p.FinishCost) > serial {
		parallel.For(n, work)
		return
	}
	for i := range n {
		work(i)
	}
}

// scratch keeps memory of panels for the next product.
var scratch = sync.Pool{New: func() any { return new([]float32) }}

// take returns scratch memory of n elements, of any value.
func take(n int) *[]float32 {
	s := scratch.Get().(*[]float32)
	if cap(*s) < n {
		*s = make([]float32, n)
	}
	*s = (*s)[:n]
	return s
}

func ceilDiv(a, b int) int { return (a + b - 1) / b }

// runTiles copies A to panels of six rows, and B to panels of 16 columns where that is
// faster than to read its rows where they are.
func (p *Product) runTiles() {
	rows, columns := ceilDiv(p.M, tileM), ceilDiv(p.N, tileN)
	packedA := take(rows * tileM * p.K)
	defer scratch.Put(packedA)
	inPlace := 0 // panels of B
	if !p.B.Trans && p.M <= inPlaceM {
		inPlace = p.N / tileN
	}
	packedB := take((columns - inPlace) * tileN * p.K)
	defer scratch.Put(packedB)
	p.loop(rows+columns-inPlace, func(i int) {
		if i < rows {
			p.A.pack(panel(*packedA, i, tileM*p.K), tileM, i*tileM, p.M, p.K, p.A.Trans)
			return
		}
		p.B.pack(panel(*packedB, i-rows, tileN*p.K), tileN, (i-rows+inPlace)*tileN, p.N, p.K, !p.B.Trans)
	})
	down := ceilDiv(rows, blockM)
	p.loop(down*ceilDiv(columns, blockN), func(i int) {
		firstRow, firstColumn := i%down*blockM, i/down*blockN
		var sums [tileM * blockColumns]float32
		for row := firstRow; row < min(firstRow+blockM, rows); row++ {
			a := panel(*packedA, row, tileM*p.K)
			for column := firstColumn; column < min(firstColumn+blockN, columns); column++ {
				to := sums[(column-firstColumn)*tileN:]
				if column < inPlace {
					tile(to, a, p.B.Data[column*tileN:], p.K, p.B.LD)
				} else {
					tile(to, a, panel(*packedB, column-inPlace, tileN*p.K), p.K, tileN)
				}
			}
			p.finishRows(row*tileM, firstColumn*tileN, sums[:])
		}
	})
}

// panel returns the i-th part of n elements.
func panel(all []float32, i, n int) []float32 { return all[i*n : (i+1)*n : (i+1)*n] }

// finishRows finishes the rows of a tile, and of those beside it in its block.
func (p *Product) finishRows(row, column int, sums []float32) {
	width := min(blockColumns, p.N-column)
	for i := range min(tileM, p.M-row) {
		p.Finish(row+i, column, sums[i*blockColumns:][:width:width])
	}
}

// pack copies tile of the lines of depth elements, from first on, side by side into a panel: rows
// of A, columns of B. Those that the matrix does not have are 0. together tells that elements of
// one depth lie together.
func (m *Matrix) pack(to []float32, tile, first, lines, depth int, together bool) {
	n := min(tile, lines-first)
	if n < tile {
		clear(to)
	}
	if together {
		for k := range depth {
			copy(to[k*tile:], m.Data[k*m.LD+first:][:n])
		}
		return
	}
	for i := range n {
		for k, v := range m.Data[(first+i)*m.LD:][:depth] {
			to[k*tile+i] = v
		}
	}
}

// runStream reads B in its own order, in parts of its columns.
func (p *Product) runStream() {
	p.loop(ceilDiv(p.N, streamN), func(i int) {
		column := i * streamN
		p.columns(column, min(streamN, p.N-column))
	})
}

// columns computes and finishes some columns of a product with few rows.
func (p *Product) columns(column, width int) {
	var all [streamM][streamN]float32
	var a [streamK]float32
	vector := width &^ (tileN - 1)
	for k := 0; k < p.K; k += streamK {
		depth := min(streamK, p.K-k)
		b := p.B.Data[k*p.B.LD+column:]
		for row := range p.M {
			for i := range depth {
				a[i] = p.a(row, k+i)
			}
			sums := all[row][:width]
			done := 0
			if depth == streamK && vector > 0 {
				stream(sums[:vector], b, p.B.LD, &a)
				done = vector
			}
			for i := range depth {
				from := b[i*p.B.LD:][:width]
				for j := done; j < width; j++ {
					sums[j] += a[i] * from[j]
				}
			}
		}
	}
	for row := range p.M {
		p.Finish(row, column, all[row][:width])
	}
}

// runDots multiplies each row of a transposed B with all rows of A.
func (p *Product) runDots() {
	a, ld := p.A.Data, p.A.LD
	if p.A.Trans {
		rows := take(p.M * p.K)
		defer scratch.Put(rows)
		for row := range p.M {
			for k := range p.K {
				(*rows)[row*p.K+k] = p.a(row, k)
			}
		}
		a, ld = *rows, p.K
	}
	p.loop(ceilDiv(p.N, dotN), func(i int) {
		var all [streamM][dotN]float32
		first := i * dotN
		width := min(dotN, p.N-first)
		for column := range width {
			b := p.B.Data[(first+column)*p.B.LD:][:p.K]
			for row := range p.M {
				all[row][column] = dot(a[row*ld:][:p.K], b)
			}
		}
		for row := range p.M {
			p.Finish(row, first, all[row][:width])
		}
	})
}

// a returns an element of op(A).
func (p *Product) a(row, k int) float32 {
	if p.A.Trans {
		row, k = k, row
	}
	return p.A.Data[row*p.A.LD+k]
}
