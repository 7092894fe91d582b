#version 450 core

// gemm_block: C = act(alpha * op(A) * op(B) + beta * C + bias), one BM x BN block
// of C for each work group, for GPUs with fast shared memory.
//
//            op(B)  K x N            In steps of BK, a group copies a BM x BK
//            +----+------+           piece of op(A), as BK x BM, and a BK x BN piece
//            |    |BK x  |           of op(B) into shared memory; the next pieces
//            |    |BN    |           are on their way to registers meanwhile. An
//            +----+------+           invocation keeps TM x TN elements of C in
//  op(A)                             registers: TM/4 times 4 rows that lie
//  +-----+   +----+------+           BM/(TM/4) apart, and columns likewise, so
//  |BM x |   |    |BM x  |           that neighbours read neighbouring vectors of
//  |BK   |   |    |BN    |           shared memory.
//  +-----+   +----+------+  C  M x N
//
// All values are 32-bit floats, all matrices row-major, all sizes, distances and
// offsets in elements.
//
//   binding  buffer     layout
//   0        MatrixA    M x K, or K x M with TRANS_A, from offsetA, rows lda apart
//   1        MatrixB    K x N, or N x K with TRANS_B, from offsetB, rows ldb apart
//   2        MatrixC    M x N, rows ldc apart
//   3        Bias       M with BIAS 1, N with BIAS 2
//   4        Partial    with SPLIT > 1, from offsetPartial: batch x SPLIT x M x N,
//                       with FUSED blocks x SPLIT x BM x BN, as invocations end them
//   5        Semaphores with FUSED, for each block the number of its groups that have
//                       ended; 0 before the dispatch and after it
//
//   grid     x: blocks along N     y: blocks along M     z: batch * SPLIT
//
// With SLICES > 1, SLICES invocations share the TM x TN elements (slice-K): each takes
// its part of every step, and in the end they add up their sums.
//
// With SPLIT > 1 a group sums up one of SPLIT parts of K and leaves the plain sum
// in Partial; gemm_reduce does the rest, or with FUSED the group of a block that
// ends last. No group waits for another.

// Everything below is made of loops with constant bounds over registers.
#pragma optionNV(unroll all)

// The block of C of a group, and the elements of K in one step, multiples of 4.
#ifndef BM
#define BM 64
#endif
#ifndef BN
#define BN 64
#endif
#ifndef BK
#define BK 8
#endif

// The elements of C of an invocation: multiples of 4 that divide BM and BN.
#ifndef TM
#define TM 8
#endif
#ifndef TN
#define TN 4
#endif

// Pieces in shared memory: with 1 the next waits for the last, with 2 it does not.
#ifndef STAGES
#define STAGES 1
#endif

// Invocations that share the elements of C of one, each with BK/SLICES of the elements
// of K in a step: 1, 2, 4 or 8.
#ifndef SLICES
#define SLICES 1
#endif

// Parts of K, each for groups of its own (split-K).
#ifndef SPLIT
#define SPLIT 1
#endif

// 0: gemm_reduce adds the parts up. Else the last group of a block does, and reads
// FUSED of them before it adds the first.
#ifndef FUSED
#define FUSED 0
#endif

// 1: A is stored K x M, B is stored N x K.
#ifndef TRANS_A
#define TRANS_A 0
#endif
#ifndef TRANS_B
#define TRANS_B 0
#endif

// 4: rows begin at multiples of 4 elements and have a multiple of 4, else 1.
#ifndef VECTOR_A
#define VECTOR_A 1
#endif
#ifndef VECTOR_B
#define VECTOR_B 1
#endif
#ifndef VECTOR_C
#define VECTOR_C 1
#endif

// 1: pieces of A, of B, and blocks of C may reach beyond the matrix.
#ifndef EDGE_A
#define EDGE_A 1
#endif
#ifndef EDGE_B
#define EDGE_B 1
#endif
#ifndef EDGE_C
#define EDGE_C 1
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

#if TM % 4 != 0 || TN % 4 != 0 || BM % TM != 0 || BN % TN != 0 || BK % 4 != 0
#error BK, TM and TN must be multiples of 4, and TM and TN must divide BM and BN
#endif
#if SLICES != 1 && SLICES != 2 && SLICES != 4 && SLICES != 8 || BK % SLICES != 0 || TM * TN / 4 % SLICES != 0
#error SLICES must be 1, 2, 4 or 8, and divide BK and the vectors of an invocation
#endif

#define THREADS_X (BN / TN)
#define THREADS_Y (BM / TM)
#define LANES (THREADS_X * THREADS_Y)
#define INVOCATIONS (SLICES * LANES)

layout(local_size_x = INVOCATIONS) in;

// Vectors of C of an invocation; those of them that it ends, one of SLICES each; and
// those that the last group adds up side by side, so that it needs no more registers
// than the product.
#define UNITS (TM * TN / 4)
#define MINE (UNITS / SLICES)
#if MINE % 4 == 0
#define TOGETHER 4
#elif MINE % 2 == 0
#define TOGETHER 2
#else
#define TOGETHER 1
#endif

// Whether the sums of a group are written to Partial only, and whether the last
// group of a block adds the parts up.
#define TO_PARTIAL (SPLIT > 1 && FUSED == 0)
#define LAST_ADDS (SPLIT > 1 && FUSED > 0)

#if VECTOR_A == 4
#define TYPE_A vec4
#else
#define TYPE_A float
#endif
#if VECTOR_B == 4
#define TYPE_B vec4
#else
#define TYPE_B float
#endif
#if VECTOR_C == 4
#define TYPE_C vec4
#else
#define TYPE_C float
#endif

layout(std430, binding = 0) restrict readonly buffer MatrixA { TYPE_A a[]; };
layout(std430, binding = 1) restrict readonly buffer MatrixB { TYPE_B b[]; };
#if TO_PARTIAL
layout(std430, binding = 4) restrict writeonly buffer Partial { TYPE_C c[]; };
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
uniform int offsetA, offsetB, offsetPartial;
uniform int strideA, strideB, strideC; // from one matrix of a batch to the next
uniform int gapA; // between the rows of a block of op(A) and those of the next, where A was packed
uniform float alpha, beta;

// One array for all of them would be slower: a driver has to assume then that the pieces that
// are stored are those that are read.
shared vec4 a0[BK * BM / 4];
shared vec4 b0[BK * BN / 4];
#if STAGES == 2
shared vec4 a1[BK * BM / 4];
shared vec4 b1[BK * BN / 4];
#endif
#if SLICES > 1
#define AT_ONCE min(SLICES, 4) // slices that get their sums at the same time
shared vec4 exchange[SLICES][AT_ONCE][LANES];
#endif
#if LAST_ADDS
shared uint ticket;
#endif

// The units that an invocation copies in a step: vectors where a matrix is stored in
// the order of shared memory, blocks of 4 x 4 elements where it is transposed.
#if TRANS_A
#define UNIT_A 1
#else
#define UNIT_A 4
#endif
#if TRANS_B
#define UNIT_B 4
#else
#define UNIT_B 1
#endif
#define UNITS_A (BM * BK / 4 / UNIT_A)
#define UNITS_B (BN * BK / 4 / UNIT_B)
#define COPIES_A ((UNITS_A + INVOCATIONS - 1) / INVOCATIONS)
#define COPIES_B ((UNITS_B + INVOCATIONS - 1) / INVOCATIONS)
#define HAS_A(unit) (UNITS_A % INVOCATIONS == 0 || unit < uint(UNITS_A))
#define HAS_B(unit) (UNITS_B % INVOCATIONS == 0 || unit < uint(UNITS_B))

// The place of a unit in its piece, in units along K and along M or N. Unsigned,
// because drivers make branches of signed divisions.
#if TRANS_A
#define DEPTH_A(unit) int(unit / uint(BM / 4))
#define WIDTH_A(unit) int(unit % uint(BM / 4))
#else
#define DEPTH_A(unit) int(unit % uint(BK / 4))
#define WIDTH_A(unit) int(unit / uint(BK / 4))
#endif
#if TRANS_B
#define DEPTH_B(unit) int(unit % uint(BK / 4))
#define WIDTH_B(unit) int(unit / uint(BK / 4))
#else
#define DEPTH_B(unit) int(unit / uint(BN / 4))
#define WIDTH_B(unit) int(unit % uint(BN / 4))
#endif

// Where A is transposed, neighbours copy from several blocks of four rows of its piece. Each
// of these has its vectors in another order, in which eight change places, so that the
// neighbours store to different banks.
#if !TRANS_A && BM % 32 == 0 && BK >= 8 && (BK & (BK - 1)) == 0
#define ORDER(block) (BK < 32 ? (block) * (32 / BK) : (block) & 7)
#define PLACE_A(i, k) placesA[k / 4][i]
#define BLOCKS ((BK / SLICES + 3) / 4) // that an invocation reads
int placesA[BLOCKS][TM / 4];
#else
#define ORDER(block) 0
#define PLACE_A(i, k) (i * THREADS_Y + ty)
#define BLOCKS 0
#endif

vec4 fetchedA[COPIES_A * UNIT_A];
vec4 fetchedB[COPIES_B * UNIT_B];
vec4 sum[TM][TN / 4];

uint self;
int slice, lane;
int blockRow, blockColumn, baseA, baseB, lastK;

// Four elements of a stored matrix from (row, column) on; what lies outside of
// rows x columns is zero.
vec4 readA(int row, int column, int rows, int columns) {
    int at = baseA + row * lda + column;
#if VECTOR_A == 4
#if EDGE_A
    if (row >= rows || column >= columns) {
        return vec4(0.0);
    }
#endif
    return a[at >> 2];
#else
    vec4 v = vec4(0.0);
    if (row < rows) {
        if (column < columns) { v.x = a[at]; }
        if (column + 1 < columns) { v.y = a[at + 1]; }
        if (column + 2 < columns) { v.z = a[at + 2]; }
        if (column + 3 < columns) { v.w = a[at + 3]; }
    }
    return v;
#endif
}

vec4 readB(int row, int column, int rows, int columns) {
    int at = baseB + row * ldb + column;
#if VECTOR_B == 4
#if EDGE_B
    if (row >= rows || column >= columns) {
        return vec4(0.0);
    }
#endif
    return b[at >> 2];
#else
    vec4 v = vec4(0.0);
    if (row < rows) {
        if (column < columns) { v.x = b[at]; }
        if (column + 1 < columns) { v.y = b[at + 1]; }
        if (column + 2 < columns) { v.z = b[at + 2]; }
        if (column + 3 < columns) { v.w = b[at + 3]; }
    }
    return v;
#endif
}

void fetch(int step) {
    for (int i = 0; i < COPIES_A; ++i) {
        uint unit = self + uint(i * INVOCATIONS);
        if (HAS_A(unit)) {
            for (int j = 0; j < UNIT_A; ++j) {
#if TRANS_A
                fetchedA[i] = readA(step + DEPTH_A(unit), blockRow + 4 * WIDTH_A(unit), lastK, M);
#else
                fetchedA[4 * i + j] = readA(blockRow + 4 * WIDTH_A(unit) + j, step + 4 * DEPTH_A(unit), M, lastK);
#endif
            }
        }
    }
    for (int i = 0; i < COPIES_B; ++i) {
        uint unit = self + uint(i * INVOCATIONS);
        if (HAS_B(unit)) {
            for (int j = 0; j < UNIT_B; ++j) {
#if TRANS_B
                fetchedB[4 * i + j] = readB(blockColumn + 4 * WIDTH_B(unit) + j, step + 4 * DEPTH_B(unit), N, lastK);
#else
                fetchedB[i] = readB(step + DEPTH_B(unit), blockColumn + 4 * WIDTH_B(unit), lastK, N);
#endif
            }
        }
    }
}

// The columns of a block become rows. Only whole vectors are written: a component
// with a variable index is a branch on some drivers.
#define TURN(to, first, row, block, at) \
    to[first] = vec4(block[at].x, block[at + 1].x, block[at + 2].x, block[at + 3].x); \
    to[first + row] = vec4(block[at].y, block[at + 1].y, block[at + 2].y, block[at + 3].y); \
    to[first + 2 * row] = vec4(block[at].z, block[at + 1].z, block[at + 2].z, block[at + 3].z); \
    to[first + 3 * row] = vec4(block[at].w, block[at + 1].w, block[at + 2].w, block[at + 3].w);

#if TRANS_A
#define STORE_A(to, unit, i) to[DEPTH_A(unit) * (BM / 4) + WIDTH_A(unit)] = fetchedA[i];
#else
#define STORE_A(to, unit, i) \
    int first = DEPTH_A(unit) * BM + (WIDTH_A(unit) ^ ORDER(DEPTH_A(unit))); \
    TURN(to, first, BM / 4, fetchedA, 4 * i)
#endif
#if TRANS_B
#define STORE_B(to, unit, i) \
    int first = DEPTH_B(unit) * BN + WIDTH_B(unit); \
    TURN(to, first, BN / 4, fetchedB, 4 * i)
#else
#define STORE_B(to, unit, i) to[DEPTH_B(unit) * (BN / 4) + WIDTH_B(unit)] = fetchedB[i];
#endif

#define STORE(toA, toB) \
    for (int i = 0; i < COPIES_A; ++i) { \
        uint unit = self + uint(i * INVOCATIONS); \
        if (HAS_A(unit)) { \
            STORE_A(toA, unit, i) \
        } \
    } \
    for (int i = 0; i < COPIES_B; ++i) { \
        uint unit = self + uint(i * INVOCATIONS); \
        if (HAS_B(unit)) { \
            STORE_B(toB, unit, i) \
        } \
    }

// A constant where there is one slice.
#if SLICES == 1
#define SLICE 0
#else
#define SLICE slice
#endif

#define COMPUTE(fromA, fromB) \
    for (int k = 0; k < BK / SLICES; ++k) { \
        int depth = SLICE * (BK / SLICES) + k; \
        vec4 rows[TM / 4], columns[TN / 4]; \
        for (int i = 0; i < TM / 4; ++i) { \
            rows[i] = fromA[depth * (BM / 4) + PLACE_A(i, k)]; \
        } \
        for (int j = 0; j < TN / 4; ++j) { \
            columns[j] = fromB[depth * (BN / 4) + j * THREADS_X + tx]; \
        } \
        for (int i = 0; i < TM; ++i) { \
            for (int j = 0; j < TN / 4; ++j) { \
                sum[i][j] += rows[i / 4][i % 4] * columns[j]; \
            } \
        } \
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

// Writes four elements of a row of C, or of Partial, as far as they exist.
void finish(int base, int row, int column, vec4 v) {
#if EDGE_C
    if (row >= M || column >= N) {
        return;
    }
#endif
#if TO_PARTIAL
    int at = base + row * N + column;
#else
    int at = base + row * ldc + column;
    v *= alpha;
#if BIAS == 1
    v += bias[row];
#elif BIAS == 2
    for (int i = 0; i < 4; ++i) {
        if (EDGE_C == 0 || column + i < N) {
            v[i] += bias[column + i];
        }
    }
#endif
#endif
#if VECTOR_C == 4
#if !TO_PARTIAL
#if BETA
    v += beta * c[at >> 2];
#endif
    v = activate(v);
#endif
    c[at >> 2] = v;
#else
#if !TO_PARTIAL
#if BETA
    for (int i = 0; i < 4; ++i) {
        if (EDGE_C == 0 || column + i < N) {
            v[i] += beta * c[at + i];
        }
    }
#endif
    v = activate(v);
#endif
    for (int i = 0; i < 4; ++i) {
        if (EDGE_C == 0 || column + i < N) {
            c[at + i] = v[i];
        }
    }
#endif
}

// Writes the i-th of the vectors that this invocation ends.
void finishMine(int base, int i, vec4 v) {
    uint unit = uint(i * SLICES + SLICE);
    uint row = unit / uint(TN / 4), column = unit % uint(TN / 4);
    uint tx = uint(lane) % uint(THREADS_X), ty = uint(lane) / uint(THREADS_X);
    finish(base, blockRow + int(4u * (row / 4u * uint(THREADS_Y) + ty) + row % 4u),
        blockColumn + int(4u * (column * uint(THREADS_X) + tx)), v);
}

#if SLICES > 1 || LAST_ADDS
vec4 mine[MINE];

// Adds up the sums of the slices, always in the same order.
void addSlices() {
#if SLICES == 1
    for (int i = 0; i < UNITS; ++i) {
        mine[i] = sum[i / (TN / 4)][i % (TN / 4)];
    }
#else
    for (int i = 0; i < MINE; ++i) {
        for (int first = 0; first < SLICES; first += AT_ONCE) {
            for (int j = 0; j < AT_ONCE; ++j) {
                int unit = i * SLICES + first + j;
                exchange[slice][j][lane] = sum[unit / (TN / 4)][unit % (TN / 4)];
            }
            barrier();
            if (SLICES == AT_ONCE || slice / AT_ONCE == first / AT_ONCE) {
                mine[i] = exchange[0][slice % AT_ONCE][lane];
                for (int other = 1; other < SLICES; ++other) {
                    mine[i] += exchange[other][slice % AT_ONCE][lane];
                }
            }
            barrier();
        }
    }
#endif
}
#endif

#if LAST_ADDS
vec4 total[TOGETHER];

// Where a part of a block has the i-th of the vectors that this invocation ends.
int partAt(int block, int part, int i) {
    return offsetPartial / 4 + ((block * SPLIT + part) * UNITS + i * SLICES + SLICE) * LANES + lane;
}

// Puts TOGETHER of these vectors, from the i-th on, into total: the sums of all parts
// to the last, always in the same order. That of this group comes from memory too, so
// that no register has to keep it.
void addParts(int block, int last, int first) {
    for (int i = 0; i < TOGETHER; ++i) {
        total[i] = vec4(0.0);
    }
    int at = partAt(block, 0, first);
    // A bound that is no constant, so that the loop stays one: it runs once.
    for (int part = 0; part <= last; part += FUSED) {
        vec4 values[FUSED * TOGETHER];
        for (int i = 0; i < FUSED * TOGETHER; ++i) {
            if (SPLIT % FUSED == 0 || part + i / TOGETHER < SPLIT) {
                values[i] = partial[at + ((part + i / TOGETHER) * UNITS + i % TOGETHER * SLICES) * LANES];
            }
        }
        for (int i = 0; i < FUSED * TOGETHER; ++i) {
            if (SPLIT % FUSED == 0 || part + i / TOGETHER < SPLIT) {
                total[i % TOGETHER] += values[i];
            }
        }
    }
}
#endif

void main() {
    self = gl_LocalInvocationIndex;
    slice = int(self / uint(LANES));
    lane = int(self % uint(LANES));
    int tx = int(uint(lane) % uint(THREADS_X));
    int ty = int(uint(lane) / uint(THREADS_X));
    int batch = int(gl_WorkGroupID.z / uint(SPLIT));
    blockRow = int(gl_WorkGroupID.y) * BM;
    blockColumn = int(gl_WorkGroupID.x) * BN;
    baseA = offsetA + batch * strideA + int(gl_WorkGroupID.y) * gapA;
    baseB = offsetB + batch * strideB;
    // Every part but the last is as long as the others, in whole steps; the last
    // ones may be empty.
    int part = ((K + BK - 1) / BK + SPLIT - 1) / SPLIT * BK;
    int firstK = int(gl_WorkGroupID.z % uint(SPLIT)) * part;
    lastK = min(K, firstK + part);

#if BLOCKS > 0
    for (int j = 0; j < BLOCKS; ++j) {
        int order = ORDER((SLICE * (BK / SLICES) / 4 + j));
        for (int i = 0; i < TM / 4; ++i) {
            // (i * THREADS_Y + ty) ^ order, of which a compiler sees that some differ by a constant.
            placesA[j][i] = (i * THREADS_Y & ~7) + (((i * THREADS_Y & 7) + ty) ^ order);
        }
    }
#endif
    for (int i = 0; i < TM; ++i) {
        for (int j = 0; j < TN / 4; ++j) {
            sum[i][j] = vec4(0.0);
        }
    }
    if (firstK < lastK) {
        fetch(firstK);
        STORE(a0, b0)
    }
    barrier();
#if STAGES == 2
    for (int step = firstK; step < lastK; step += 2 * BK) {
        if (step + BK < lastK) {
            fetch(step + BK);
        }
        COMPUTE(a0, b0)
        if (step + BK < lastK) {
            STORE(a1, b1)
        }
        barrier();
        if (step + BK < lastK) {
            if (step + 2 * BK < lastK) {
                fetch(step + 2 * BK);
            }
            COMPUTE(a1, b1)
            if (step + 2 * BK < lastK) {
                STORE(a0, b0)
            }
        }
        barrier();
    }
#else
    for (int step = firstK; step < lastK; step += BK) {
        if (step + BK < lastK) {
            fetch(step + BK);
        }
        COMPUTE(a0, b0)
        barrier();
        if (step + BK < lastK) {
            STORE(a0, b0)
        }
        barrier();
    }
#endif

#if TO_PARTIAL
    int base = offsetPartial + int(gl_WorkGroupID.z) * M * N;
#else
    int base = batch * strideC;
#endif
#if SLICES > 1 || LAST_ADDS
    addSlices();
#endif
#if LAST_ADDS
    int block = (batch * int(gl_NumWorkGroups.y) + int(gl_WorkGroupID.y)) * int(gl_NumWorkGroups.x) + int(gl_WorkGroupID.x);
    for (int i = 0; i < MINE; ++i) {
        partial[partAt(block, int(gl_WorkGroupID.z % uint(SPLIT)), i)] = mine[i];
    }
    // The group that counts the last part sees every part that was counted.
    memoryBarrierBuffer();
    barrier();
    if (self == 0u) {
        ticket = atomicAdd(semaphores[block], 1u);
    }
    barrier();
    int last = int(ticket);
    if (last != SPLIT - 1) {
        return;
    }
    memoryBarrierBuffer();
    if (self == 0u) {
        semaphores[block] = 0u; // for the next dispatch
    }
    for (int first = 0; first < MINE; first += TOGETHER) {
        addParts(block, last, first);
        for (int i = 0; i < TOGETHER; ++i) {
            finishMine(base, first + i, total[i]);
        }
    }
#elif SLICES > 1
    for (int i = 0; i < MINE; ++i) {
        finishMine(base, i, mine[i]);
    }
#else
    for (int i = 0; i < TM; ++i) {
        for (int j = 0; j < TN / 4; ++j) {
            finish(base, blockRow + 4 * (i / 4 * THREADS_Y + ty) + i % 4, blockColumn + 4 * (j * THREADS_X + tx), sum[i][j]);
        }
    }
#endif
}
