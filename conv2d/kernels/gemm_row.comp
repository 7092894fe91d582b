#version 450 core

// gemm_row: the product of a few rows of op(A) with B, as partial sums: for GPUs,
// where such a product takes as long as reading B.
//
//   invocation (x, y) of a group        B  K x N
//   four columns for each x             +----+------+----+
//   every SLICES-th row for each y      |    | x -> |    |   rows of part z, of
//   a part of K for each group along z  |    | y    |    |   which y takes every
//                                       |    | |    |    |   SLICES-th
//                                       +----+------+----+
//
//   binding  buffer   layout
//   0        MatrixA  ROWS x K, or K x ROWS with TRANS_A, rows lda apart
//   1        MatrixB  K x N, rows ldb apart; N and ldb are multiples of 4
//   4        Partial  batch x SPLIT x ROWS x N, without gaps, for gemm_reduce
//
//   grid     x: N in steps of 4*LANES     z: batch * SPLIT
//
// All values are 32-bit floats, all sizes and distances in elements.

#pragma optionNV(unroll all)

// Rows of op(A): M.
#ifndef ROWS
#define ROWS 1
#endif

// Invocations of a group along N and along K.
#ifndef LANES
#define LANES 32
#endif
#ifndef SLICES
#define SLICES 8
#endif

// Parts of K.
#ifndef SPLIT
#define SPLIT 1
#endif

// Rows of B that an invocation reads before it uses the first.
#ifndef AHEAD
#define AHEAD 8
#endif

// 1: A is stored K x M.
#ifndef TRANS_A
#define TRANS_A 0
#endif

layout(local_size_x = LANES, local_size_y = SLICES) in;

layout(std430, binding = 0) restrict readonly buffer MatrixA { float a[]; };
layout(std430, binding = 1) restrict readonly buffer MatrixB { vec4 b[]; };
layout(std430, binding = 4) restrict writeonly buffer Partial { vec4 partial[]; };

uniform int N, K;
uniform int lda, ldb;
uniform int strideA, strideB; // from one matrix of a batch to the next

shared vec4 sums[SLICES][ROWS][LANES];

float readA(int batch, int row, int k) {
#if TRANS_A
    return a[batch * strideA + k * lda + row];
#else
    return a[batch * strideA + row * lda + k];
#endif
}

void main() {
    int lane = int(gl_LocalInvocationID.x), slice = int(gl_LocalInvocationID.y);
    int column = int(gl_WorkGroupID.x) * LANES + lane;
    int batch = int(gl_WorkGroupID.z / uint(SPLIT));
    // Parts are as long as the others, but for the last ones, which may be empty.
    int part = (K + SPLIT - 1) / SPLIT;
    int firstK = int(gl_WorkGroupID.z % uint(SPLIT)) * part;
    int lastK = min(K, firstK + part);
    bool inside = column < N / 4;

    vec4 sum[ROWS];
    for (int row = 0; row < ROWS; ++row) {
        sum[row] = vec4(0.0);
    }
    int k = firstK + slice;
    int at = batch * (strideB / 4) + column;
    for (; inside && k + (AHEAD - 1) * SLICES < lastK; k += AHEAD * SLICES) {
        vec4 values[AHEAD];
        for (int i = 0; i < AHEAD; ++i) {
            values[i] = b[at + (k + i * SLICES) * (ldb / 4)];
        }
        for (int i = 0; i < AHEAD; ++i) {
            for (int row = 0; row < ROWS; ++row) {
                sum[row] += readA(batch, row, k + i * SLICES) * values[i];
            }
        }
    }
    for (; inside && k < lastK; k += SLICES) {
        vec4 value = b[at + k * (ldb / 4)];
        for (int row = 0; row < ROWS; ++row) {
            sum[row] += readA(batch, row, k) * value;
        }
    }

    for (int row = 0; row < ROWS; ++row) {
        sums[slice][row][lane] = sum[row];
    }
    barrier();
    if (slice == 0 && inside) {
        for (int row = 0; row < ROWS; ++row) {
            vec4 total = sums[0][row][lane];
            for (int i = 1; i < SLICES; ++i) {
                total += sums[i][row][lane];
            }
            partial[(int(gl_WorkGroupID.z) * ROWS + row) * (N / 4) + column] = total;
        }
    }
}
