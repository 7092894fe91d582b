#version 450 core

// conv2d_implicit: convolution as a matrix product whose right factor is never
// stored. One BM x BN tile of the output matrix for each group.
//
//                          pixels  columns: N*P*Q output pixels, image by image
//                       +----+------+
//           reduction   |    |BK x  |   the input under each tap: pixel j of row
//           rows        |    |   BN |   (r, s, c) is input[n][c][y + r*dil][x + s*dil],
//                       +----+------+   0 outside the input
//   weights, transposed +----+------+
//   rows: filters       |    | BM x |   In steps of BK rows, a group copies a piece
//   +------+            |    |   BN |   of both factors into shared memory. Each
//   |BM x  |            +----+------+   invocation adds their product for TM x TN
//   |   BK |            output          elements, which it keeps in registers.
//   +------+
//
// While a group computes one step, the loads of the next are under way into
// registers. A column vector of four holds pixels that lie BN/4 apart, so that
// neighbouring invocations load and store neighbouring pixels, whatever their
// alignment; with VECTOR it holds four neighbours.
//
//   binding  buffer   layout
//   0        Input    N x CHANNELS x HEIGHT x WIDTH, from INPUT_AT
//   1        Weights  GROUPS x ROWS x FILTERS_PADDED, see conv2d_implicit_pack
//   2        Output   N x GROUPS*GROUP_FILTERS x OUTPUT_P x OUTPUT_Q, from OUTPUT_AT;
//                     with SPLIT > 1 that many of them, each a part of every sum,
//                     unless FUSED
//   3        Bias     GROUPS*GROUP_FILTERS, with BIAS
//   4        Partial  with FUSED: tiles x SPLIT x BM x BN, as invocations end them
//   5        Semaphores with FUSED, for each tile the number of its groups that have
//                     ended; 0 before the dispatch and after it
//
//   grid     x: tiles of pixels     y: tiles of filters of a group
//            z: SPLIT parts of the reduction, for each group
//
// All values are 32-bit floats. With SPLIT > 1, conv2d_implicit_sum adds the
// parts, and applies bias and activation; with FUSED the group of a tile that ends
// last does. No group waits for another.

// The tile, and the part of an invocation: multiples of 4.
#ifndef BM
#define BM 64
#endif
#ifndef BN
#define BN 64
#endif
#ifndef BK
#define BK 8
#endif
#ifndef TM
#define TM 8
#endif
#ifndef TN
#define TN 4
#endif

// Invocations that share a part of the tile, each with BK/SLICES rows of a step: 1, 2
// or 4.
#ifndef SLICES
#define SLICES 1
#endif

// Groups that share a tile, each with a part of the reduction.
#ifndef SPLIT
#define SPLIT 1
#endif

// 1: with SPLIT > 1, the last group of a tile adds the parts.
#ifndef FUSED
#define FUSED 0
#endif

// Tiles in shared memory: 2 need one barrier a step instead of two.
#ifndef BUFFERS
#define BUFFERS 2
#endif

// 1: the slices of a part exchange all of their sums at once, not share by share: fewer
// barriers for SLICES times the shared memory.
#ifndef GATHER
#define GATHER 0
#endif

// 1: rows in the order r, s, c, and c fills up to a multiple of BK, so that a step
// lies under one tap. 0: rows in the order c, r, s, for few channels.
#ifndef TAPS_FIRST
#define TAPS_FIRST 1
#endif

// 1: a filter of 1x1 with stride 1 and no padding, on images of a multiple of four
// elements: loads and stores take four pixels at a time.
#ifndef VECTOR
#define VECTOR 0
#endif

// 1: ask NVIDIA's driver to unroll all loops. It does so with short ones by itself,
// and may run out of registers when it is asked.
#ifndef UNROLL
#define UNROLL 0
#endif

// 1: a group keeps the places of the rows, in the order c, r, s, in shared memory.
#ifndef TABLE
#define TABLE 0
#endif

// 1: a pixel outside the input is loaded from the start of it and dropped, so that
// no load waits for a branch. 0: it is not loaded.
#ifndef CLAMP
#define CLAMP 1
#endif

// The problem. Filters are at most 15 x 15.
#ifndef CHANNELS
#define CHANNELS 8
#endif
#ifndef HEIGHT
#define HEIGHT 8
#endif
#ifndef WIDTH
#define WIDTH 8
#endif
#ifndef FILTER_R
#define FILTER_R 3
#endif
#ifndef FILTER_S
#define FILTER_S 3
#endif
#ifndef OUTPUT_P
#define OUTPUT_P 8
#endif
#ifndef OUTPUT_Q
#define OUTPUT_Q 8
#endif
#ifndef STRIDE_H
#define STRIDE_H 1
#endif
#ifndef STRIDE_W
#define STRIDE_W 1
#endif
#ifndef PAD_H
#define PAD_H 1
#endif
#ifndef PAD_W
#define PAD_W 1
#endif
#ifndef DILATION_H
#define DILATION_H 1
#endif
#ifndef DILATION_W
#define DILATION_W 1
#endif
#ifndef GROUPS
#define GROUPS 1
#endif
#ifndef GROUP_CHANNELS
#define GROUP_CHANNELS 8
#endif
#ifndef GROUP_FILTERS
#define GROUP_FILTERS 8
#endif

// Elements of Input and Output before the first. A multiple of four with VECTOR.
#ifndef INPUT_AT
#define INPUT_AT 0
#endif
#ifndef OUTPUT_AT
#define OUTPUT_AT 0
#endif

// What is applied to a sum that is whole here: a bias, then a function.
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

#if UNROLL
#pragma optionNV(unroll all)
#endif

// Vectors of the tile along filters and pixels, and invocations.
#define VM (BM / 4)
#define VN (BN / 4)
#define THREADS_M (BM / TM)
#define THREADS_N (BN / TN)
#define THREADS (THREADS_M * THREADS_N)
#define INVOCATIONS (SLICES * THREADS)

// Whether the last group of a tile adds the parts, and whether sums are whole here.
#define LAST_ADDS (SPLIT > 1 && FUSED)
#define WHOLE (SPLIT == 1 || FUSED)

// Vectors of a part that each of its slices adds up and stores.
#define VECTORS (TM * TN / 4)
#define SHARE (VECTORS / SLICES)
#define OWNS(i) (SLICES == 1 || slice == uint((i) / SHARE))
#define STORES_ROW(i) (SLICES == 1 || slice == uint((i) / (TM / SLICES)))

// Vectors that an invocation copies in a step, ROWS_M or ROWS_N rows apart.
#define LOADS_M ((BK * VM + INVOCATIONS - 1) / INVOCATIONS)
#define LOADS_N ((BK * VN + INVOCATIONS - 1) / INVOCATIONS)
#define ROWS_M (INVOCATIONS / VM)
#define ROWS_N (INVOCATIONS / VN)
#define COPIES_M(i) (BK * VM % INVOCATIONS == 0 || self + uint((i) * INVOCATIONS) < BK * VM)
#define COPIES_N(i) (BK * VN % INVOCATIONS == 0 || self + uint((i) * INVOCATIONS) < BK * VN)

#define TAPS (FILTER_R * FILTER_S)
#define CHANNEL_STEPS ((GROUP_CHANNELS + BK - 1) / BK)
#if TAPS_FIRST
#define STEPS (TAPS * CHANNEL_STEPS)
#else
#define STEPS ((TAPS * GROUP_CHANNELS + BK - 1) / BK)
#endif
#define PART ((STEPS + SPLIT - 1) / SPLIT)
#define FILTERS_PADDED ((GROUP_FILTERS + BM - 1) / BM * BM)

#if SLICES != 1 && SLICES != 2 && SLICES != 4 || BM % TM != 0 || BN % TN != 0 || TM % 4 != 0 || TN % 4 != 0 || BK % SLICES != 0
#error the tile does not divide
#endif
#if INVOCATIONS % VM != 0 || INVOCATIONS % VN != 0
#error an invocation would copy from several columns
#endif
#if FILTER_R > 15 || FILTER_S > 15
#error the filter is too large for the masks
#endif

layout(local_size_x = INVOCATIONS) in;

#if VECTOR
layout(std430, binding = 0) restrict readonly buffer Input { vec4 inputs[]; };
layout(std430, binding = 2) restrict writeonly buffer Output { vec4 outputs[]; };
#else
layout(std430, binding = 0) restrict readonly buffer Input { float inputs[]; };
layout(std430, binding = 2) restrict writeonly buffer Output { float outputs[]; };
#endif
layout(std430, binding = 1) restrict readonly buffer Weights { vec4 weights[]; };
#if BIAS && WHOLE
layout(std430, binding = 3) restrict readonly buffer Bias { float bias[]; };
#endif
#if LAST_ADDS
layout(std430, binding = 4) restrict coherent buffer Partial { vec4 partial[]; };
layout(std430, binding = 5) restrict coherent buffer Semaphores { uint semaphores[]; };
#endif

uniform int images; // N

shared vec4 weights0[BK][VM];
shared vec4 pixels0[BK][VN];
#if BUFFERS == 2
shared vec4 weights1[BK][VM];
shared vec4 pixels1[BK][VN];
#endif
#if TABLE
shared uvec2 places[STEPS * BK];
#endif
#if SLICES > 1
shared vec4 exchange[SLICES - 1][GATHER == 1 ? VECTORS : SHARE][THREADS];
#endif
#if LAST_ADDS
shared uint ticket;
#endif

#if BIAS && WHOLE
#define BIASED(x, k) (x + bias[group * GROUP_FILTERS + (k)])
#else
#define BIASED(x, k) (x)
#endif

#if WHOLE
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
#else
#define activate(x) (x)
#endif

// The pixel in component j of column vector v of a tile.
#if VECTOR
#define PIXEL(v, j) (4 * (v) + (j))
#else
#define PIXEL(v, j) ((v) + (j) * VN)
#endif

// Copies of a step, into the registers nextWeights and nextPixels.
#define LOAD_WEIGHTS(step)                                                              \
    for (int i = 0; i < LOADS_M; ++i) {                                                 \
        if (COPIES_M(i)) {                                                              \
            nextWeights[i] = weights[weightsAt + ((step) * BK + i * ROWS_M) * (FILTERS_PADDED / 4)]; \
        }                                                                               \
    }

// All bits set matches no mask: that row contributes nothing.
#define NOWHERE 0xffffffffu
#define TAP_BITS(r, s) ((1u << (r)) | (0x10000u << (s)))
#define TAP_AT(r, s) ((r) * (DILATION_H * WIDTH) + (s) * DILATION_W)
#define SEEN(j) ((seen[j] & bits) == bits)
#if CLAMP
#define TAKE(j) inputs[SEEN(j) ? origin[j] + at : 0]
#define TAKE_FOUR(to)                                                                   \
    to = vec4(TAKE(0), TAKE(1), TAKE(2), TAKE(3));                                      \
    to = mix(vec4(0.0), to, bvec4(SEEN(0), SEEN(1), SEEN(2), SEEN(3)));
#else
#define TAKE(j) (SEEN(j) ? inputs[origin[j] + at] : 0.0)
#define TAKE_FOUR(to) to = vec4(TAKE(0), TAKE(1), TAKE(2), TAKE(3));
#endif

#if VECTOR
#define LOAD_PIXELS(step)                                                               \
    for (int i = 0; i < LOADS_N; ++i) {                                                 \
        int c = (step) * BK + rowN + i * ROWS_N;                                        \
        bool there = COPIES_N(i) && (GROUP_CHANNELS % BK == 0 || c < GROUP_CHANNELS);   \
        nextPixels[i] = inputs[there ? origin + c * (HEIGHT * WIDTH / 4) : 0];          \
        nextPixels[i] = mix(vec4(0.0), nextPixels[i], bvec4(there));                    \
    }
#elif TAPS_FIRST
#define LOAD_PIXELS(step)                                                               \
    uint tap = uint(step) / CHANNEL_STEPS;                                              \
    int firstC = int(uint(step) % CHANNEL_STEPS) * BK;                                  \
    int r = int(tap / FILTER_S);                                                        \
    int s = int(tap % FILTER_S);                                                        \
    uint tapBits = TAP_BITS(r, s);                                                      \
    int tapAt = TAP_AT(r, s) + (firstC + rowN) * (HEIGHT * WIDTH);                      \
    for (int i = 0; i < LOADS_N; ++i) {                                                 \
        int at = tapAt + i * (ROWS_N * HEIGHT * WIDTH);                                 \
        bool there = GROUP_CHANNELS % BK == 0 || firstC + rowN + i * ROWS_N < GROUP_CHANNELS; \
        uint bits = COPIES_N(i) && there ? tapBits : NOWHERE;                           \
        TAKE_FOUR(nextPixels[i])                                                        \
    }
#else
#define LOAD_PIXELS(step)                                                               \
    for (int i = 0; i < LOADS_N; ++i) {                                                 \
        uvec2 place = PLACE(COPIES_N(i) ? uint((step) * BK + rowN + i * ROWS_N) : 0u);  \
        int at = int(place.x);                                                          \
        uint bits = COPIES_N(i) ? place.y : NOWHERE;                                    \
        TAKE_FOUR(nextPixels[i])                                                        \
    }

// What at and bits are for a row in the order c, r, s.
uvec2 placeOf(uint row) {
    uint tap = row % TAPS;
    int r = int(tap / FILTER_S);
    int s = int(tap % FILTER_S);
    int at = int(row / TAPS) * (HEIGHT * WIDTH) + TAP_AT(r, s);
    return uvec2(uint(at), row < GROUP_CHANNELS * TAPS ? TAP_BITS(r, s) : NOWHERE);
}
#if TABLE
#define PLACE(row) places[row]
#else
#define PLACE(row) placeOf(row)
#endif
#endif

#define LOAD(step) { LOAD_WEIGHTS(step) LOAD_PIXELS(step) }

#define STORE(sharedWeights, sharedPixels)                                              \
    for (int i = 0; i < LOADS_M; ++i) {                                                 \
        if (COPIES_M(i)) {                                                              \
            sharedWeights[rowM + i * ROWS_M][vectorM] = nextWeights[i];                 \
        }                                                                               \
    }                                                                                   \
    for (int i = 0; i < LOADS_N; ++i) {                                                 \
        if (COPIES_N(i)) {                                                              \
            sharedPixels[rowN + i * ROWS_N][vectorN] = nextPixels[i];                   \
        }                                                                               \
    }

// Indices of sum are constants once the loops are unrolled.
#define ADD(row, x)                                                                     \
    for (int j = 0; j < TN / 4; ++j) {                                                  \
        sum[(row) * (TN / 4) + j] += (x) * right[j];                                    \
    }
#define MULTIPLY(sharedWeights, sharedPixels)                                           \
    for (int k = 0; k < BK / SLICES; ++k) {                                             \
        uint row = slice * (BK / SLICES) + k;                                           \
        vec4 right[TN / 4];                                                             \
        for (int j = 0; j < TN / 4; ++j) {                                              \
            right[j] = sharedPixels[row][threadN + j * THREADS_N];                      \
        }                                                                               \
        for (int i = 0; i < TM / 4; ++i) {                                              \
            vec4 left = sharedWeights[row][threadM + i * THREADS_M];                    \
            ADD(4 * i, left.x)                                                          \
            ADD(4 * i + 1, left.y)                                                      \
            ADD(4 * i + 2, left.z)                                                      \
            ADD(4 * i + 3, left.w)                                                      \
        }                                                                               \
    }

// Each slice adds up its share, which the others give it. Written out for each slice, not
// a loop: an index of sum that is no constant would put it into memory.
#define GIVE(owner, at)                                                                 \
    if (slice != owner) {                                                               \
        uint other = slice > owner ? slice - 1 : slice;                                 \
        for (int i = 0; i < SHARE; ++i) {                                               \
            exchange[other][at + i][thread] = sum[owner * SHARE + i];                   \
        }                                                                               \
    }
#define ADD_SHARE(owner, at)                                                            \
    if (slice == owner) {                                                               \
        for (int other = 0; other < SLICES - 1; ++other) {                              \
            for (int i = 0; i < SHARE; ++i) {                                           \
                sum[owner * SHARE + i] += exchange[other][at + i][thread];              \
            }                                                                           \
        }                                                                               \
    }
#define GATHER_ONE(owner)                                                               \
    GIVE(owner, 0)                                                                      \
    barrier();                                                                          \
    ADD_SHARE(owner, 0)                                                                 \
    barrier();
#if SLICES == 4
#define EACH_SLICE(step) step(0) step(1) step(2) step(3)
#else
#define EACH_SLICE(step) step(0) step(1)
#endif
#define GIVE_OWN(owner) GIVE(owner, owner * SHARE)
#define ADD_OWN(owner) ADD_SHARE(owner, owner * SHARE)

void main() {
    // Divisions are unsigned: signed ones take branches.
    uint self = gl_LocalInvocationIndex;
    uint slice = self / THREADS;
    uint thread = self % THREADS;
#if THREADS_N > 8 && THREADS_N % 8 == 0 && THREADS_M % 4 == 0
    // 8 x 4 neighbours read less shared memory than a line of them.
    uint threadN = thread / 32 % (THREADS_N / 8) * 8 + thread % 8;
    uint threadM = thread / 32 / (THREADS_N / 8) * 4 + thread % 32 / 8;
#else
    uint threadN = thread % THREADS_N;
    uint threadM = thread / THREADS_N;
#endif
    int tileM = int(gl_WorkGroupID.y) * BM;
    int tileN = int(gl_WorkGroupID.x) * BN;
    int group = int(gl_WorkGroupID.z / SPLIT);
    int part = int(gl_WorkGroupID.z % SPLIT);
    int columns = images * (OUTPUT_P * OUTPUT_Q);

    int vectorM = int(self % VM);
    int rowM = int(self / VM);
    int weightsAt = ((group * (STEPS * BK) + rowM) * FILTERS_PADDED + tileM) / 4 + vectorM;
    int vectorN = int(self % VN);
    int rowN = int(self / VN);

    // Where the first tap of each pixel lies, and which taps are inside the input:
    // bit r for row r of the filter, bit 16 + s for column s.
#if VECTOR
    uint first = uint(tileN + 4 * vectorN);
    first = first < columns ? first : 0u; // its result is not stored
    int origin = INPUT_AT / 4 + group * (GROUP_CHANNELS * HEIGHT * WIDTH / 4)
        + int(first / (HEIGHT * WIDTH) * (CHANNELS * HEIGHT * WIDTH / 4) + first % (HEIGHT * WIDTH) / 4);
#else
    int origin[4];
    uint seen[4];
    for (int j = 0; j < 4; ++j) {
        uint column = uint(tileN + PIXEL(vectorN, j));
        uint pixel = column % (OUTPUT_P * OUTPUT_Q);
        int top = int(pixel / OUTPUT_Q) * STRIDE_H - PAD_H;
        int left = int(pixel % OUTPUT_Q) * STRIDE_W - PAD_W;
        int plane = int(column / (OUTPUT_P * OUTPUT_Q)) * CHANNELS + group * GROUP_CHANNELS;
        origin[j] = INPUT_AT + (plane * HEIGHT + top) * WIDTH + left;
        uint mask = 0u;
        for (int r = 0; r < FILTER_R; ++r) {
            int y = top + r * DILATION_H;
            mask |= y >= 0 && y < HEIGHT ? 1u << r : 0u;
        }
        for (int s = 0; s < FILTER_S; ++s) {
            int x = left + s * DILATION_W;
            mask |= x >= 0 && x < WIDTH ? 0x10000u << s : 0u;
        }
        seen[j] = column < columns ? mask : 0u;
    }
#endif

    vec4 sum[VECTORS];
    for (int i = 0; i < VECTORS; ++i) {
        sum[i] = vec4(0.0);
    }

#if TABLE
    for (uint row = self; row < STEPS * BK; row += INVOCATIONS) {
        places[row] = placeOf(row);
    }
    barrier();
#endif

    vec4 nextWeights[LOADS_M];
    vec4 nextPixels[LOADS_N];
    int step = part * PART;
    int last = min(step + PART, STEPS);
    LOAD(step)
    STORE(weights0, pixels0)
    barrier();
#if BUFFERS == 2
    for (; step < last; step += 2) {
        if (step + 1 < last) {
            LOAD(step + 1)
        }
        MULTIPLY(weights0, pixels0)
        if (step + 1 < last) {
            STORE(weights1, pixels1)
        }
        barrier();
        if (step + 1 < last) {
            if (step + 2 < last) {
                LOAD(step + 2)
            }
            MULTIPLY(weights1, pixels1)
            if (step + 2 < last) {
                STORE(weights0, pixels0)
            }
        }
        barrier();
    }
#else
    for (; step < last; ++step) {
        if (step + 1 < last) {
            LOAD(step + 1)
        }
        MULTIPLY(weights0, pixels0)
        barrier();
        if (step + 1 < last) {
            STORE(weights0, pixels0)
        }
        barrier();
    }
#endif

#if SLICES > 1
#if GATHER == 1
    EACH_SLICE(GIVE_OWN)
    barrier();
    EACH_SLICE(ADD_OWN)
#else
    EACH_SLICE(GATHER_ONE)
#endif
#endif

#if LAST_ADDS
    int tile = (group * int(gl_NumWorkGroups.y) + int(gl_WorkGroupID.y)) * int(gl_NumWorkGroups.x) + int(gl_WorkGroupID.x);
    int mine = tile * (SPLIT * VECTORS * THREADS) + int(thread);
    for (int i = 0; i < VECTORS; ++i) {
        if (OWNS(i)) {
            partial[mine + (part * VECTORS + i) * THREADS] = sum[i];
        }
    }
    // The group that counts the last part sees every part that was counted.
    memoryBarrierBuffer();
    barrier();
    if (self == 0u) {
        ticket = atomicAdd(semaphores[tile], 1u);
    }
    barrier();
    int lastPart = int(ticket);
    if (lastPart != SPLIT - 1) {
        return;
    }
    memoryBarrierBuffer();
    if (self == 0u) {
        semaphores[tile] = 0u; // for the next dispatch
    }
    for (int i = 0; i < VECTORS; ++i) {
        sum[i] = vec4(0.0);
    }
    // Always in the same order; that of this group comes from memory too. A bound that
    // is no constant, so that the loop stays one.
    for (int other = 0; other <= lastPart; ++other) {
        for (int i = 0; i < VECTORS; ++i) {
            if (OWNS(i)) {
                sum[i] += partial[mine + (other * VECTORS + i) * THREADS];
            }
        }
    }
    int start = OUTPUT_AT;
#else
    int start = OUTPUT_AT + part * (columns * (GROUPS * GROUP_FILTERS));
#endif
    for (int j = 0; j < TN / 4; ++j) {
        int vector = int(threadN) + j * THREADS_N;
#if VECTOR
        uint column = uint(tileN + 4 * vector);
        if (column >= columns) {
            continue;
        }
        int to = start / 4 + int((column / (OUTPUT_P * OUTPUT_Q) * GROUPS + group) * (GROUP_FILTERS * OUTPUT_P * OUTPUT_Q / 4)
            + column % (OUTPUT_P * OUTPUT_Q) / 4);
        for (int i = 0; i < TM; ++i) {
            int k = tileM + (int(threadM) + i / 4 * THREADS_M) * 4 + i % 4;
            if (STORES_ROW(i) && (GROUP_FILTERS % BM == 0 || k < GROUP_FILTERS)) {
                outputs[to + k * (OUTPUT_P * OUTPUT_Q / 4)] = activate(BIASED(sum[i * (TN / 4) + j], k));
            }
        }
#else
        int to[4];
        for (int e = 0; e < 4; ++e) {
            uint column = uint(tileN + PIXEL(vector, e));
            to[e] = column >= columns ? -1
                : start + int((column / (OUTPUT_P * OUTPUT_Q) * GROUPS + group) * (GROUP_FILTERS * OUTPUT_P * OUTPUT_Q)
                    + column % (OUTPUT_P * OUTPUT_Q));
        }
        for (int i = 0; i < TM; ++i) {
            int k = tileM + (int(threadM) + i / 4 * THREADS_M) * 4 + i % 4;
            if (STORES_ROW(i) && (GROUP_FILTERS % BM == 0 || k < GROUP_FILTERS)) {
                vec4 value = activate(BIASED(sum[i * (TN / 4) + j], k));
                int row = k * (OUTPUT_P * OUTPUT_Q);
                if (to[0] >= 0) {
                    outputs[to[0] + row] = value.x;
                }
                if (to[1] >= 0) {
                    outputs[to[1] + row] = value.y;
                }
                if (to[2] >= 0) {
                    outputs[to[2] + row] = value.z;
                }
                if (to[3] >= 0) {
                    outputs[to[3] + row] = value.w;
                }
            }
        }
#endif
    }
}
