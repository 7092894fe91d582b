//go:build linux

package conv2d

import (
	"strings"
	"testing"
)

// The problems with everything that a matrix product may have, in sizes that are
// even, odd and prime.
var registerProducts = []GEMMProblem{
	{M: 1, N: 1, K: 1},
	{M: 17, N: 17, K: 17},
	{M: 40, N: 70, K: 34},
	{M: 16, N: 90, K: 27, Bias: RowBias, Activation: ReLU},
	{M: 1, N: 300, K: 64, Bias: ColumnBias, Activation: SiLU},
	{M: 129, N: 2, K: 10, Alpha: -0.5, Beta: 2},
	{M: 6, N: 18, K: 33, TransA: true, Alpha: 3, Bias: ColumnBias, Activation: Tanh},
	{M: 7, N: 9, K: 18, TransB: true, Beta: -1, Activation: Sigmoid},
	{M: 22, N: 19, K: 21, TransA: true, TransB: true, LDA: 24, LDB: 30, LDC: 20},
	{M: 10, N: 12, K: 8, LDA: 10, LDB: 14, LDC: 16, Batch: 3, StrideA: 120, StrideC: 200, Beta: 0.5, Bias: RowBias},
	{M: 9, N: 12, K: 8, LDA: 8, LDB: 12, Batch: 2, StrideA: 73, StrideB: 97, StrideC: 109},
	{M: 34, N: 36, K: 7, TransA: true, Activation: ReLU},
	{M: 3, N: 4, K: 140_001, Beta: 2, Bias: RowBias, Activation: ReLU},
}

func TestGEMMRegister(t *testing.T) {
	r := newRunner(t)
	for _, p := range registerProducts {
		t.Run(strings.ReplaceAll(p.String(), " ", "_"), func(t *testing.T) {
			checkGEMM(t, r, gemmRegisterAlgorithm, p)
		})
	}
}
