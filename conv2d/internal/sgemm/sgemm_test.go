package sgemm

import (
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"testing"
)

// matrix returns op(stored) with random elements, and NaN between its rows.
func matrix(rows, columns, gap int, trans bool, seed uint64) Matrix {
	if trans {
		rows, columns = columns, rows
	}
	random := rand.New(rand.NewPCG(seed, 0))
	m := Matrix{make([]float32, rows*(columns+gap)-gap), columns + gap, trans}
	for i := range m.Data {
		m.Data[i] = float32(math.NaN())
		if i%m.LD < columns {
			m.Data[i] = random.Float32() - 0.5
		}
	}
	return m
}

func (m Matrix) at(row, column int) *float32 {
	if m.Trans {
		row, column = column, row
	}
	return &m.Data[row*m.LD+column]
}

// check computes a product and compares every element with sums in float64. Each must be
// finished once.
func check(t *testing.T, m, n, k int, a, b Matrix) {
	t.Helper()
	if !Supported() {
		t.Skip(unsupported)
	}
	got, finished := make([]float32, m*n), make([]int, m*n)
	var mu sync.Mutex
	p := Product{M: m, N: n, K: k, A: a, B: b, Finish: func(row, column int, sums []float32) {
		mu.Lock()
		defer mu.Unlock()
		for i, v := range sums {
			got[row*n+column+i] = v
			finished[row*n+column+i]++
			sums[i] = float32(math.NaN()) // they are the callee's
		}
	}}
	p.Run()
	for i, v := range got {
		want, magnitude := 0.0, 1.0
		for l := range k {
			x := float64(*a.at(i/n, l)) * float64(*b.at(l, i%n))
			want, magnitude = want+x, magnitude+math.Abs(x)
		}
		same := math.Abs(float64(v)-want) <= 1e-6*magnitude || math.IsNaN(want) && v != v || math.IsInf(want, 0) && float64(v) == want
		if !same || finished[i] != 1 {
			t.Fatalf("%dx%dx%d, element %d, %d: %v, should be %v; finished %d times", m, n, k, i/n, i%n, v, want, finished[i])
		}
	}
}

// The sizes are around those of tiles, blocks, and parts of rows, on one processor and on
// several.
func TestProduct(t *testing.T) {
	for _, s := range [][3]int{
		{1, 1, 1}, {1, 16, 8}, {2, 15, 7}, {3, 529, 17}, {4, 1030, 33}, {5, 16, 1}, {6, 17, 3}, {7, 31, 40},
		{24, 64, 9}, {25, 65, 10}, {65, 48, 21}, {66, 130, 129}, {129, 129, 129}, {1, 2000, 300}, {100, 3, 1000}, {9, 5, 0},
	} {
		for form := range 8 {
			m, n, k := s[0], s[1], s[2]
			transA, transB := form&1 != 0, form&2 != 0
			gap := form >> 2 * 3
			t.Run(fmt.Sprintf("%v_%d", s, form), func(t *testing.T) {
				check(t, m, n, k, matrix(m, max(k, 1), gap, transA, 1), matrix(max(k, 1), n, gap, transB, 2))
			})
		}
	}
}

// TestSpecialValues has NaN and infinity in B, and zeros in A: their product is NaN. No other
// column may be.
func TestSpecialValues(t *testing.T) {
	for _, m := range []int{1, 3, 7, 70} {
		for _, trans := range []bool{false, true} {
			a, b := matrix(m, 21, 0, false, 1), matrix(21, 40, 2, trans, 2)
			clear(a.Data[:21])
			*b.at(3, 5), *b.at(20, 39) = float32(math.Inf(1)), float32(math.NaN())
			*a.at(m-1, 7) = float32(math.Inf(-1))
			check(t, m, 40, 21, a, b)
		}
	}
}

func BenchmarkProduct(b *testing.B) {
	if !Supported() {
		b.Skip(unsupported)
	}
	for _, s := range [][3]int{{17, 17, 17}, {129, 129, 129}, {16, 900, 27}, {1, 4096, 4096}, {512, 512, 512}} {
		m, n, k := s[0], s[1], s[2]
		c := make([]float32, m*n)
		p := Product{M: m, N: n, K: k, A: matrix(m, k, 0, false, 1), B: matrix(k, n, 0, false, 2)}
		p.Finish = func(row, column int, sums []float32) { copy(c[row*n+column:], sums) }
		b.Run(fmt.Sprintf("%dx%dx%d", m, n, k), func(b *testing.B) {
			for b.Loop() {
				p.Run()
			}
			b.ReportMetric(2*float64(m*n*k)*float64(b.N)/float64(b.Elapsed()), "GFLOP/s")
		})
	}
}
