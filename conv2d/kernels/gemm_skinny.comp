#version 450 core

// gemm_skinny: the skinny matrix product, or GEMV: C = act(alpha * op(A) * B + beta * C
// + bias) for a few rows, or partial sums of op(A) * B. It is for GPUs, where such a
// product takes as long as reading B.
//
//   invocation (x, y) of a group        B  K x N
//   four columns for each x             +----+------+----+
//   every SLICES-th row for each y      |    | x -> |    |   rows of part z, of
//   a part of K for each group along z  |    | y    |    |   which y takes every
//   ROWS rows of C for each along y     |    | |    |    |   SLICES-th
//                                       +----+------+----+
//
//   binding  buffer   layout
//   0        MatrixA  M x K, or K x M with TRANS_A, rows lda apart
//   1        MatrixB  K x N, rows ldb apart; N and ldb are multiples of 4
//   2        MatrixC  with FUSED: M x N, rows ldc apart
//   3        Bias     with FUSED: M with BIAS 1, N with BIAS 2
//   4        Partial  batch x SPLIT x M x N, without gaps; not with FUSED and one part
//   5        Semaphores with FUSED, for each block of C the number of its groups
//                     that have ended; 0 before the dispatch and after it
//
//   grid     x: N in steps of 4*LANES     y: M in steps of ROWS     z: batch * SPLIT
//
// A group leaves its part of the sums in Partial; gemm_reduce does the rest, or with
// FUSED the group of a block of C that ends last. No group waits for another.
//
// All values are 32-bit floats, all sizes and distances in elements.

#pragma optionNV(unroll all)

// Rows of op(A) and C of a group.
#ifndef ROWS
#define ROWS 1
#endif

// Invocations of a group along N and along K (slice-K).
#ifndef LANES
#define LANES 32
#endif
#ifndef SLICES
#define SLICES 8
#endif

// Parts of K, each for groups of its own (split-K).
#ifndef SPLIT
#define SPLIT 1
#endif

// 0: gemm_reduce adds the parts up. Else the last group of a block of C does, and reads
// FUSED of them before it adds the first.
#ifndef FUSED
#define FUSED 0
#endif

// Rows of B that an invocation reads before it uses the first.
#ifndef AHEAD
#define AHEAD 8
#endif

// 1: ROWS does not divide M.
#ifndef EDGE_M
#define EDGE_M 1
#endif

// 1: A is stored K x M.
#ifndef TRANS_A
#define TRANS_A 0
#endif

// 4: rows of C begin at multiples of 4 elements, else 1.
#ifndef VECTOR_C
#define VECTOR_C 1
#endif

// 1: beta * C is added. C is not read otherwise.
#ifndef BETA
#define BETA 0
#endif

// 1: a bias for each row of C, 2: for each column.
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

#if VECTOR_C == 4
#define TYPE_C vec4
#else
#define TYPE_C float
#endif

layout(local_size_x = LANES, local_size_y = SLICES) in;

// Whether the last group of a block of C adds the parts up.
#define LAST_ADDS (SPLIT > 1 && FUSED > 0)

layout(std430, binding = 0) restrict readonly buffer MatrixA { float a[]; };
layout(std430, binding = 1) restrict readonly buffer MatrixB { vec4 b[]; };
#if FUSED == 0
layout(std430, binding = 4) restrict writeonly buffer Partial { vec4 partial[]; };
#else
layout(std430, binding = 2) restrict buffer MatrixC { TYPE_C c[]; };
#if BIAS != 0
layout(std430, binding = 3) restrict readonly buffer Bias { float bias[]; };
#endif
#if LAST_ADDS
layout(std430, binding = 4) restrict coherent buffer Partial { vec4 partial[]; };
layout(std430, binding = 5) restrict coherent buffer Semaphores { uint semaphores[]; };
#endif
#endif

uniform int M, N, K;
uniform int lda, ldb, ldc;
uniform int strideA, strideB, strideC; // from one matrix of a batch to the next
uniform float alpha, beta;

shared vec4 sums[SLICES][ROWS][LANES];
#if LAST_ADDS
shared uint ticket;
#endif

// Rows that M does not have are read as the last, and not written.
float readA(int batch, int row, int k) {
#if EDGE_M
    row = min(row, M - 1);
#endif
#if TRANS_A
    return a[batch * strideA + k * lda + row];
#else
    return a[batch * strideA + row * lda + k];
#endif
}

vec4 activate(vec4 x) {
#if ACTIVATION == ACTIVATION_RELU
    // Not max(x, 0.0), which loses NaN; precise keeps compilers from making it so.
    precise vec4 y = mix(x, vec4(0.0), lessThan(x, vec4(0.0)));
    return y;
#elif ACTIVATION == ACTIVATION_TANH
    // Not tanh(x), which overflows to NaN for large x on some drivers.
    vec4 e = exp(-2.0 * abs(x));
    vec4 y = (1.0 - e) / (1.0 + e);
    return mix(y, -y, lessThan(x, vec4(0.0)));
#elif ACTIVATION == ACTIVATION_SILU
    return x / (1.0 + exp(-x));
#elif ACTIVATION == ACTIVATION_SIGMOID
    return 1.0 / (1.0 + exp(-x));
#else
    return x;
#endif
}

#if FUSED > 0
// Writes four elements of a row of C.
void finish(int batch, int row, int column, vec4 v) {
    int at = batch * strideC + row * ldc + column;
    v *= alpha;
#if BIAS == 1
    v += bias[row];
#elif BIAS == 2
    v += vec4(bias[column], bias[column + 1], bias[column + 2], bias[column + 3]);
#endif
#if VECTOR_C == 4
#if BETA
    v += beta * c[at >> 2];
#endif
    c[at >> 2] = activate(v);
#else
#if BETA
    v += beta * vec4(c[at], c[at + 1], c[at + 2], c[at + 3]);
#endif
    v = activate(v);
    c[at] = v.x;
    c[at + 1] = v.y;
    c[at + 2] = v.z;
    c[at + 3] = v.w;
#endif
}
#endif

#if LAST_ADDS
// Adds up all parts, to the last, of four elements: at is where the first part has
// them, and the parts are partStride vectors apart. The order is always the same.
vec4 addParts(int at, int partStride, int last) {
    vec4 total = vec4(0.0);
    // A bound that is no constant, so that the loop stays one: it runs once.
    for (int part = 0; part <= last; part += FUSED) {
        vec4 values[FUSED];
        for (int i = 0; i < FUSED; ++i) {
            if (SPLIT % FUSED == 0 || part + i < SPLIT) {
                values[i] = partial[at + (part + i) * partStride];
            }
        }
        for (int i = 0; i < FUSED; ++i) {
            if (SPLIT % FUSED == 0 || part + i < SPLIT) {
                total += values[i];
            }
        }
    }
    return total;
}
#endif

void main() {
    int lane = int(gl_LocalInvocationID.x), slice = int(gl_LocalInvocationID.y);
    int column = int(gl_WorkGroupID.x) * LANES + lane;
    int batch = int(gl_WorkGroupID.z / uint(SPLIT));
    // Parts are as long as the others, but for the last ones, which may be empty.
    int part = (K + SPLIT - 1) / SPLIT;
    int firstK = int(gl_WorkGroupID.z % uint(SPLIT)) * part;
    int lastK = min(K, firstK + part);
    bool inside = column < N / 4;
    int firstRow = int(gl_WorkGroupID.y) * ROWS;

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
                sum[row] += readA(batch, firstRow + row, k + i * SLICES) * values[i];
            }
        }
    }
    // The remaining rows are read at once too: rows beyond the last are read as the last,
    // and do not count.
    if (inside && k < lastK) {
        vec4 values[AHEAD];
        for (int i = 0; i < AHEAD; ++i) {
            values[i] = b[at + min(k + i * SLICES, lastK - 1) * (ldb / 4)];
        }
        for (int i = 0; i < AHEAD; ++i) {
            for (int row = 0; row < ROWS; ++row) {
                float factor = readA(batch, firstRow + row, min(k + i * SLICES, lastK - 1));
                if (k + i * SLICES < lastK) {
                    sum[row] += factor * values[i];
                }
            }
        }
    }

    for (int row = 0; row < ROWS; ++row) {
        sums[slice][row][lane] = sum[row];
    }
    barrier();
#if FUSED == 0 || SPLIT > 1
    int partStride = M * (N / 4); // from one part to the next
    int first = batch * SPLIT * partStride + firstRow * (N / 4) + column;
    int own = first + int(gl_WorkGroupID.z % uint(SPLIT)) * partStride;
#endif
    int rows = inside ? min(ROWS, M - firstRow) : 0;
    for (int row = slice; row < rows; row += SLICES) {
        vec4 total = sums[0][row][lane];
        for (int i = 1; i < SLICES; ++i) {
            total += sums[i][row][lane];
        }
#if FUSED == 0 || SPLIT > 1
        partial[own + row * (N / 4)] = total;
#else
        finish(batch, firstRow + row, 4 * column, total);
#endif
    }
#if LAST_ADDS
    // The group that counts the last part sees every part that was counted.
    memoryBarrierBuffer();
    barrier();
    int block = (batch * int(gl_NumWorkGroups.y) + int(gl_WorkGroupID.y)) * int(gl_NumWorkGroups.x) + int(gl_WorkGroupID.x);
    if (gl_LocalInvocationIndex == 0u) {
        ticket = atomicAdd(semaphores[block], 1u);
    }
    barrier();
    int last = int(ticket);
    if (last != SPLIT - 1) {
        return;
    }
    memoryBarrierBuffer();
    if (gl_LocalInvocationIndex == 0u) {
        semaphores[block] = 0u; // for the next dispatch
    }
    for (int row = slice; row < rows; row += SLICES) {
        finish(batch, firstRow + row, 4 * column, addParts(first + row * (N / 4), partStride, last));
    }
#endif
}
