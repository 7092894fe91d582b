#version 450 core

// gemm_micro: C = act(alpha * op(A) * op(B) + beta * C + bias), a micro-kernel for
// drivers that run on the CPU, without shared memory and without barriers.
//
//              op(B)  K x N              A group is the LANES invocations of one
//              +---+-----------+         SIMD register of the CPU. They stand as
//              | 2 | LANES_N * |         LANES_M x LANES_N invocations, and each
//              |   | COLUMNS   |         keeps ROWS x COLUMNS sums of C for itself.
//              +---+-----------+         A step takes two elements of K: ROWS pairs
//  op(A) M x K                           of A and COLUMNS pairs of B are loaded for
//  +-----+     +---+-----------+         2 * ROWS * COLUMNS multiplications. More
//  | 2 | |     |   | LANES_M * |         sums than the CPU has registers lie in its
//  |   | |     |   | ROWS x    |         first-level cache, which costs little.
//  +-----+     +---+-----------+ C  M x N
//
// Loads take most of the time. llvmpipe turns a load from a storage buffer into a
// loop over the lanes with a bounds check in each round, about 35 cycles, while a
// multiplication and an addition of eight lanes take one. A load of a double takes
// no longer than one of a float, so that where a matrix allows it, two neighbours
// are loaded as one double and taken apart.
//
// All values are 32-bit floats, all matrices row-major, all sizes and strides in
// elements. M, N and K need not be multiples of anything: an element beyond an edge
// is computed from the last row or column and not stored.
//
//   binding  buffer   layout
//   0        MatrixA  batch x M x lda, or batch x K x lda where TRANS_A
//   1        MatrixB  batch x K x ldb, or batch x N x ldb where TRANS_B
//   2        MatrixC  batch x M x ldc
//   3        Bias     M where BIAS is 1, N where BIAS is 2
//
//   grid     x: tiles along N     y: tiles along M     z: batch
//
// The sum runs over k from firstK, which is even, up to, not including, lastK. A
// long sum is cut into several dispatches: from the second on beta is 1, and bias
// and activation are left to the last one.

// Invocations of a group, all and along M. The others stand along N.
#ifndef LANES
#define LANES 8
#endif
#ifndef LANES_M
#define LANES_M 2
#endif

// What one invocation computes. COLUMNS is even, and ROWS too where TRANS_A and
// PAIRS_A are set.
#ifndef ROWS
#define ROWS 8
#endif
#ifndef COLUMNS
#define COLUMNS 8
#endif

// How the matrices are stored.
#ifndef TRANS_A
#define TRANS_A 0
#endif
#ifndef TRANS_B
#define TRANS_B 0
#endif

// Whether neighbours in a row of the stored matrix may be loaded as one double:
// rows start at even elements, and one of odd length has another element behind.
#ifndef PAIRS_A
#define PAIRS_A 0
#endif
#ifndef PAIRS_B
#define PAIRS_B 0
#endif
#ifndef PAIRS_C
#define PAIRS_C 0
#endif

// Whether lastK may be odd.
#ifndef ODD_K
#define ODD_K 1
#endif

// Whether there is a beta. C is not read where it is 0.
#ifndef ACCUMULATE
#define ACCUMULATE 1
#endif

// 0: none, 1: one for each row of C, 2: one for each column.
#ifndef BIAS
#define BIAS 0
#endif

#define ACTIVATION_NONE 0
#define ACTIVATION_RELU 1
#define ACTIVATION_TANH 2
#define ACTIVATION_SILU 3
#define ACTIVATION_SIGMOID 4
#ifndef ACTIVATION
#define ACTIVATION ACTIVATION_NONE
#endif

#if COLUMNS % 2 != 0
#error COLUMNS must be even
#endif

#define LANES_N (LANES / LANES_M)

layout(local_size_x = LANES) in;

#if PAIRS_A
layout(std430, binding = 0) restrict readonly buffer MatrixA { double a[]; };
#else
layout(std430, binding = 0) restrict readonly buffer MatrixA { float a[]; };
#endif
#if PAIRS_B
layout(std430, binding = 1) restrict readonly buffer MatrixB { double b[]; };
#else
layout(std430, binding = 1) restrict readonly buffer MatrixB { float b[]; };
#endif
#if PAIRS_C
layout(std430, binding = 2) restrict buffer MatrixC { double c[]; };
#else
layout(std430, binding = 2) restrict buffer MatrixC { float c[]; };
#endif
layout(std430, binding = 3) restrict readonly buffer Bias { float bias[]; };

uniform int M, N;
uniform int lda, ldb, ldc;
uniform int strideA, strideB, strideC; // from one matrix of the batch to the next
uniform int firstK, lastK;
uniform float alpha, beta;

// The two floats of a double from a buffer.
vec2 pair(double both) { return uintBitsToFloat(unpackDouble2x32(both)); }

float activate(float x) {
#if ACTIVATION == ACTIVATION_RELU
    // Not max(x, 0.0), which loses NaN; precise keeps compilers from making it so.
    precise float y = x < 0.0 ? 0.0 : x;
    return y;
#elif ACTIVATION == ACTIVATION_TANH
    // Not tanh(x), which overflows to NaN for large x on some drivers.
    float e = exp(-2.0 * abs(x));
    float y = (1.0 - e) / (1.0 + e);
    return x < 0.0 ? -y : y;
#elif ACTIVATION == ACTIVATION_SILU
    return x / (1.0 + exp(-x));
#elif ACTIVATION == ACTIVATION_SIGMOID
    return 1.0 / (1.0 + exp(-x));
#else
    return x;
#endif
}

// finish returns an element of C for a sum and the value of C from before.
float finish(float sum, float before, int row, int column) {
    float value = alpha * sum;
#if ACCUMULATE
    value += beta * before;
#endif
#if BIAS == 1
    value += bias[row];
#elif BIAS == 2
    value += bias[column];
#endif
    return activate(value);
}

void main() {
    int lane = int(gl_LocalInvocationID.x);
    int batch = int(gl_WorkGroupID.z);
    int firstRow = (int(gl_WorkGroupID.y) * LANES_M + lane / LANES_N) * ROWS;
    int firstColumn = (int(gl_WorkGroupID.x) * LANES_N + lane % LANES_N) * COLUMNS;

    // Where the rows of op(A) and the columns of op(B) start.
    int rowAt[ROWS];
    for (int i = 0; i < ROWS; ++i) {
#if TRANS_A && PAIRS_A
        rowAt[i] = batch * strideA + min(firstRow + i, (M - 1) & ~1);
#elif TRANS_A
        rowAt[i] = batch * strideA + min(firstRow + i, M - 1);
#else
        rowAt[i] = batch * strideA + min(firstRow + i, M - 1) * lda;
#endif
    }
    int columnAt[COLUMNS];
    for (int j = 0; j < COLUMNS; ++j) {
#if TRANS_B
        columnAt[j] = batch * strideB + min(firstColumn + j, N - 1) * ldb;
#elif PAIRS_B
        columnAt[j] = batch * strideB + min(firstColumn + j, (N - 1) & ~1);
#else
        columnAt[j] = batch * strideB + min(firstColumn + j, N - 1);
#endif
    }

    float sum[ROWS][COLUMNS];
    for (int i = 0; i < ROWS; ++i) {
        for (int j = 0; j < COLUMNS; ++j) {
            sum[i][j] = 0.0;
        }
    }

    for (int k = firstK; k < lastK; k += 2) {
#if ODD_K
        bool two = k + 1 < lastK;
        int next = two ? k + 1 : k;
#else
        int next = k + 1;
#endif
        // x belongs to k, y to next.
        vec2 left[ROWS], right[COLUMNS];
#if TRANS_A && PAIRS_A
        for (int i = 0; i < ROWS; i += 2) {
            vec2 here = pair(a[(rowAt[i] + k * lda) >> 1]);
            vec2 there = pair(a[(rowAt[i] + next * lda) >> 1]);
            left[i] = vec2(here.x, there.x);
            left[i + 1] = vec2(here.y, there.y);
        }
#else
        for (int i = 0; i < ROWS; ++i) {
#if PAIRS_A
            left[i] = pair(a[(rowAt[i] + k) >> 1]);
#elif TRANS_A
            left[i] = vec2(a[rowAt[i] + k * lda], a[rowAt[i] + next * lda]);
#else
            left[i] = vec2(a[rowAt[i] + k], a[rowAt[i] + next]);
#endif
        }
#endif
#if PAIRS_B && !TRANS_B
        for (int j = 0; j < COLUMNS; j += 2) {
            vec2 here = pair(b[(columnAt[j] + k * ldb) >> 1]);
            vec2 there = pair(b[(columnAt[j] + next * ldb) >> 1]);
            right[j] = vec2(here.x, there.x);
            right[j + 1] = vec2(here.y, there.y);
        }
#else
        for (int j = 0; j < COLUMNS; ++j) {
#if PAIRS_B
            right[j] = pair(b[(columnAt[j] + k) >> 1]);
#elif TRANS_B
            right[j] = vec2(b[columnAt[j] + k], b[columnAt[j] + next]);
#else
            right[j] = vec2(b[columnAt[j] + k * ldb], b[columnAt[j] + next * ldb]);
#endif
        }
#endif
#if ODD_K
        for (int i = 0; i < ROWS; ++i) {
            left[i].y = two ? left[i].y : 0.0;
        }
        for (int j = 0; j < COLUMNS; ++j) {
            right[j].y = two ? right[j].y : 0.0;
        }
#endif
        for (int i = 0; i < ROWS; ++i) {
            for (int j = 0; j < COLUMNS; ++j) {
                sum[i][j] += left[i].x * right[j].x;
                sum[i][j] += left[i].y * right[j].y;
            }
        }
    }

    for (int i = 0; i < ROWS; ++i) {
        int row = firstRow + i;
        int at = batch * strideC + row * ldc + firstColumn;
        for (int j = 0; j < COLUMNS; j += 2) {
            int column = firstColumn + j;
#if PAIRS_C
            if (row < M && column < N) {
                vec2 before = vec2(0.0);
#if ACCUMULATE
                if (beta != 0.0) {
                    before = pair(c[(at + j) >> 1]);
                }
#endif
                vec2 value = vec2(finish(sum[i][j], before.x, row, column),
                                  finish(sum[i][j + 1], before.y, row, column + 1));
                c[(at + j) >> 1] = packDouble2x32(floatBitsToUint(value));
            }
#else
            for (int side = 0; side < 2; ++side) {
                if (row < M && column + side < N) {
                    float before = 0.0;
#if ACCUMULATE
                    if (beta != 0.0) {
                        before = c[at + j + side];
                    }
#endif
                    c[at + j + side] = finish(sum[i][j + side], before, row, column + side);
                }
            }
#endif
        }
    }
}
