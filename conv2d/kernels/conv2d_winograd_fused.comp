#version 450 core

// conv2d_winograd_fused: Winograd's convolution with a 3x3 filter in one dispatch. A group
// computes BM filters of BN tiles of TILE x TILE outputs, for all frequencies.
//
//   input      4 or 6 rows and       V[c][f][tile]    sums M[f][filter][tile]     output
//              columns for a tile    shared memory    registers                   TILE x TILE
//   +-------+                        +-----------+    +--------------+            +-----+
//   |   d   |  transpose(B)*d*B  ->  |  BK x BN  | -> | BM x BN, one | ->         |     |
//   +-------+                        +-----------+    | f for each   |  exchange  +-----+
//              U, packed         ->  |  BK x BM  |    | invocation   |  transpose(A)*m*A
//                                    +-----------+    +--------------+
//
// Neither V nor M is ever in memory, and no group waits for another: instead every group of
// a tile transforms its input again. For few images that is sooner than three dispatches.
//
//   binding  buffer     layout
//   0        Input      N x CHANNELS x HEIGHT x WIDTH
//   1        Weights    U, see conv2d_winograd_weights with BLOCK
//   2        Output     N x GROUPS*GROUP_FILTERS x OUTPUT_P x OUTPUT_Q
//   3        Bias       GROUPS*GROUP_FILTERS, with BIAS
//   4        Partial    with SPLIT > 1: blocks x SPLIT x BM x BN tiles of outputs
//   5        Semaphores with SPLIT > 1, for each block the number of its groups that have
//                       ended; 0 before the dispatch and after it
//
//   grid     x: blocks of BN tiles     y: blocks of BM filters of a group
//            z: SPLIT parts of the channels, for each group
//
// With SPLIT > 1 the group of a block that ends last adds the parts, which are outputs
// without bias and activation: the transform is linear. B and A are those of
// conv2d_winograd_input and conv2d_winograd_output; tiles are counted as there.

// Output elements along a side of a tile, 2 or 4.
#ifndef TILE
#define TILE 2
#endif

// The block of a group, in filters and tiles, and the channels of a step.
#ifndef BM
#define BM 32
#endif
#ifndef BN
#define BN 16
#endif
#ifndef BK
#define BK 8
#endif

// The filters and tiles of an invocation: multiples of 4.
#ifndef TM
#define TM 8
#endif
#ifndef TN
#define TN 4
#endif

// Steps in shared memory: 2 need one barrier a step instead of two.
#ifndef BUFFERS
#define BUFFERS 1
#endif

// Groups that share a block, each with a part of the channels.
#ifndef SPLIT
#define SPLIT 1
#endif

// Passes in which the sums change from invocations that have a frequency to invocations
// that have a tile. More take less shared memory.
#ifndef PASSES
#define PASSES 4
#endif

#ifndef CHANNELS
#define CHANNELS 8
#endif
#ifndef HEIGHT
#define HEIGHT 8
#endif
#ifndef WIDTH
#define WIDTH 8
#endif
#ifndef OUTPUT_P
#define OUTPUT_P 8
#endif
#ifndef OUTPUT_Q
#define OUTPUT_Q 8
#endif
#ifndef PAD_H
#define PAD_H 1
#endif
#ifndef PAD_W
#define PAD_W 1
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

#define SIDE (TILE + 2)
#define FREQUENCIES (SIDE * SIDE)
#define TILES_P ((OUTPUT_P + TILE - 1) / TILE)
#define TILES_Q ((OUTPUT_Q + TILE - 1) / TILE)

// Invocations of a frequency, and of a group.
#define THREADS_M (BM / TM)
#define THREADS_N (BN / TN)
#define LANES (THREADS_M * THREADS_N)
#define INVOCATIONS (FREQUENCIES * LANES)

// Vectors of U and tiles of V in a step, and how many of them an invocation makes.
#define STEP_M (BK * FREQUENCIES * BM / 4)
#define STEP_N (BK * BN)
#define LOADS_M ((STEP_M + INVOCATIONS - 1) / INVOCATIONS)
#define LOADS_N ((STEP_N + INVOCATIONS - 1) / INVOCATIONS)
#define COPIES_M(i) (STEP_M % INVOCATIONS == 0 || self + uint((i) * INVOCATIONS) < STEP_M)
#define COPIES_N(i) (STEP_N % INVOCATIONS == 0 || self + uint((i) * INVOCATIONS) < STEP_N)

// Sums of an invocation in a pass, and tiles of outputs of a group in a pass.
#define SUMS (TM * TN / PASSES)
#define UNITS (LANES * SUMS)

#define BLOCKS_M ((GROUP_FILTERS + BM - 1) / BM)

#if TM % 4 != 0 || TN % 4 != 0 || BM % TM != 0 || BN % TN != 0 || TM * TN % PASSES != 0 || PASSES > 8
#error the block does not divide
#endif
#if INVOCATIONS % BN != 0
#error an invocation would load several tiles
#endif

// Arrays stay in registers only where loops are unrolled.
#pragma optionNV(unroll all)

layout(local_size_x = INVOCATIONS) in;

layout(std430, binding = 0) restrict readonly buffer Input { float inputs[]; };
layout(std430, binding = 1) restrict readonly buffer Weights { vec4 weights[]; };
layout(std430, binding = 2) restrict writeonly buffer Output { float outputs[]; };
#if BIAS
layout(std430, binding = 3) restrict readonly buffer Bias { float bias[]; };
#endif
#if SPLIT > 1
layout(std430, binding = 4) restrict coherent buffer Partial { vec4 partial[]; };
layout(std430, binding = 5) restrict coherent buffer Semaphores { uint semaphores[]; };
shared uint ticket;
#endif

uniform int images; // N
uniform int steps;  // of BK channels; no constant, so that their loop stays one

// Vector (k, i, f, m) of U has filters 4 * (i * THREADS_M + m) and on; vector (k, j, f, n)
// of V has tiles j * THREADS_N + n and on, BN / 4 apart. V is stored as floats: one of a
// vector with a variable index would take the driver memory.
#define AT_M(k, i) ((((k) * (TM / 4) + (i)) * FREQUENCIES + frequency) * THREADS_M + threadM)
#define AT_N(k, j, f, n) (4 * ((((k) * (TN / 4) + (j)) * FREQUENCIES + (f)) * THREADS_N + (n)))
#define FLOATS_N (FREQUENCIES * STEP_N)

// Steps of U and V; after the last one, the sums of a pass in place of V.
shared vec4 weightsOf[BUFFERS * STEP_M];
shared float floats[BUFFERS * FLOATS_N > INVOCATIONS * SUMS ? BUFFERS * FLOATS_N : INVOCATIONS * SUMS];

// transpose(B) times one line, and transpose(A) times one line, in place.
#if TILE == 4
void transformInput(inout float a, inout float b, inout float c, inout float d, inout float e, inout float f) {
    float bd = d - 4.0 * b;
    float ce = e - 4.0 * c;
    float db = 2.0 * (d - b);
    float ec = e - c;
    a = 4.0 * a - 5.0 * c + e;
    f = 4.0 * b - 5.0 * d + f;
    b = ce + bd;
    c = ce - bd;
    d = ec + db;
    e = ec - db;
}
void transformOutput(inout float a, inout float b, inout float c, inout float d, float e, float f) {
    float bc = b + c;
    float b_c = b - c;
    float de = d + e;
    float d_e = d - e;
    a = a + bc + de;
    b = b_c + 2.0 * d_e;
    c = bc + 4.0 * de;
    d = b_c + 8.0 * d_e + f;
}
#define LINE(v, at, by) v[at], v[at + by], v[at + 2 * (by)], v[at + 3 * (by)], v[at + 4 * (by)], v[at + 5 * (by)]
#else
void transformInput(inout float a, inout float b, inout float c, inout float d) {
    float sum = b + c;
    float difference = c - b;
    a -= c;
    d = b - d;
    b = sum;
    c = difference;
}
void transformOutput(inout float a, inout float b, float c, float d) {
    a = a + b + c;
    b = b - c - d;
}
#define LINE(v, at, by) v[at], v[at + by], v[at + 2 * (by)], v[at + 3 * (by)]
#endif

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

// The next step on its way to registers. Elements outside of the input are loaded from its
// edge and dropped, so that no load waits for a branch.
#define LOAD(step)                                                                      \
    for (int i = 0; i < LOADS_M; ++i) {                                                 \
        if (COPIES_M(i)) {                                                              \
            nextWeights[i] = weights[weightsAt + (step) * STEP_M + i * INVOCATIONS];    \
        }                                                                               \
    }                                                                                   \
    for (int i = 0; i < LOADS_N; ++i) {                                                 \
        int c = (step) * BK + channel + i * (INVOCATIONS / BN);                         \
        if (COPIES_N(i)) {                                                              \
            int from = plane + (GROUP_CHANNELS % BK == 0 ? c : min(c, GROUP_CHANNELS - 1)) * (HEIGHT * WIDTH); \
            for (int y = 0; y < SIDE; ++y) {                                            \
                for (int x = 0; x < SIDE; ++x) {                                        \
                    next[(i * SIDE + y) * SIDE + x] = inputs[from + rowAt[y] + columnAt[x]]; \
                }                                                                       \
            }                                                                           \
        }                                                                               \
    }

#define STORE(step, buffer)                                                             \
    for (int i = 0; i < LOADS_M; ++i) {                                                 \
        if (COPIES_M(i)) {                                                              \
            weightsOf[buffer * STEP_M + self + i * INVOCATIONS] = nextWeights[i];       \
        }                                                                               \
    }                                                                                   \
    for (int i = 0; i < LOADS_N; ++i) {                                                 \
        if (COPIES_N(i)) {                                                              \
            int k = channel + i * (INVOCATIONS / BN);                                   \
            bool there = GROUP_CHANNELS % BK == 0 || (step) * BK + k < GROUP_CHANNELS;  \
            for (int f = 0; f < FREQUENCIES; ++f) {                                     \
                bool inside = there && (seen & (1u << (f / SIDE))) != 0u && (seen & (0x10000u << (f % SIDE))) != 0u; \
                next[i * FREQUENCIES + f] = inside ? next[i * FREQUENCIES + f] : 0.0;   \
            }                                                                           \
            for (int x = 0; x < SIDE; ++x) {                                            \
                transformInput(LINE(next, i * FREQUENCIES + x, SIDE));                  \
            }                                                                           \
            for (int y = 0; y < SIDE; ++y) {                                            \
                transformInput(LINE(next, i * FREQUENCIES + y * SIDE, 1));              \
            }                                                                           \
            for (int f = 0; f < FREQUENCIES; ++f) {                                     \
                floats[buffer * FLOATS_N + AT_N(k, tileJ, f, tileN) + tileE] = next[i * FREQUENCIES + f]; \
            }                                                                           \
        }                                                                               \
    }

#define ADD(row, x)                                                                     \
    for (int j = 0; j < TN / 4; ++j) {                                                  \
        sum[(row) * (TN / 4) + j] += (x) * right[j];                                    \
    }
#define READ_N(at) vec4(floats[at], floats[(at) + 1], floats[(at) + 2], floats[(at) + 3])
#define MULTIPLY(buffer)                                                                \
    for (int k = 0; k < BK; ++k) {                                                      \
        vec4 right[TN / 4];                                                             \
        for (int j = 0; j < TN / 4; ++j) {                                              \
            right[j] = READ_N(buffer * FLOATS_N + AT_N(k, j, frequency, threadN));      \
        }                                                                               \
        for (int i = 0; i < TM / 4; ++i) {                                              \
            vec4 left = weightsOf[buffer * STEP_M + AT_M(k, i)];                        \
            ADD(4 * i, left.x)                                                          \
            ADD(4 * i + 1, left.y)                                                      \
            ADD(4 * i + 2, left.z)                                                      \
            ADD(4 * i + 3, left.w)                                                      \
        }                                                                               \
    }

int firstTile, firstFilter, group;

// Stores a tile of outputs of a group: the unit-th in the order of sums and their lanes.
void finish(uint unit, float v[TILE * TILE]) {
    uint lane = unit % LANES, at = unit / LANES;
    uint row = at / TN;
    uint tile = uint(firstTile) + at % 4 * (BN / 4) + at % TN / 4 * THREADS_N + lane % THREADS_N;
    int k = firstFilter + int((row / 4 * THREADS_M + lane / THREADS_N) * 4 + row % 4);
    if (tile >= images * (TILES_P * TILES_Q) || (GROUP_FILTERS % BM != 0 && k >= GROUP_FILTERS)) {
        return;
    }
    int filterAt = group * GROUP_FILTERS + k;
    float start = 0.0;
#if BIAS
    start = bias[filterAt];
#endif
    int p = int(tile % (TILES_P * TILES_Q) / TILES_Q) * TILE;
    int q = int(tile % TILES_Q) * TILE;
    int to = ((int(tile / (TILES_P * TILES_Q)) * (GROUPS * GROUP_FILTERS) + filterAt) * OUTPUT_P + p) * OUTPUT_Q + q;
    for (int i = 0; i < TILE; ++i) {
        for (int j = 0; j < TILE; ++j) {
            if ((OUTPUT_P % TILE == 0 || p + i < OUTPUT_P) && (OUTPUT_Q % TILE == 0 || q + j < OUTPUT_Q)) {
                outputs[to + i * OUTPUT_Q + j] = activate(v[i * TILE + j] + start);
            }
        }
    }
}

// What becomes of a tile of outputs of this group.
#if SPLIT > 1
#define KEEP(unit, v)                                                                   \
    for (int i = 0; i < TILE * TILE / 4; ++i) {                                         \
        partial[mine + (part * (TILE * TILE / 4) + i) * (BM * BN) + unit] =             \
            vec4(v[4 * i], v[4 * i + 1], v[4 * i + 2], v[4 * i + 3]);                   \
    }
#else
#define KEEP(unit, v) finish(unit, v);
#endif

// Written out for each pass, not a loop: an index of sum that is no constant would put it
// into memory.
#define PASS(pass)                                                                      \
    for (int i = 0; i < SUMS; ++i) {                                                    \
        floats[i * INVOCATIONS + self] = sum[(pass * SUMS + i) / 4][(pass * SUMS + i) % 4]; \
    }                                                                                   \
    barrier();                                                                          \
    for (uint first = 0u; first < UNITS; first += INVOCATIONS) {                        \
        uint unit = first + self;                                                       \
        if (UNITS % INVOCATIONS == 0 || unit < UNITS) {                                 \
            float m[FREQUENCIES];                                                       \
            for (int f = 0; f < FREQUENCIES; ++f) {                                     \
                m[f] = floats[unit / LANES * INVOCATIONS + f * LANES + unit % LANES];   \
            }                                                                           \
            for (int x = 0; x < SIDE; ++x) {                                            \
                transformOutput(LINE(m, x, SIDE));                                      \
            }                                                                           \
            float v[TILE * TILE];                                                       \
            for (int y = 0; y < TILE; ++y) {                                            \
                transformOutput(LINE(m, y * SIDE, 1));                                  \
                for (int x = 0; x < TILE; ++x) {                                        \
                    v[y * TILE + x] = m[y * SIDE + x];                                  \
                }                                                                       \
            }                                                                           \
            KEEP(pass * UNITS + unit, v)                                                \
        }                                                                               \
    }                                                                                   \
    barrier();

void main() {
    // Divisions are unsigned: signed ones take branches.
    uint self = gl_LocalInvocationIndex;
    uint frequency = self / LANES;
    uint threadM = self % LANES / THREADS_N;
    uint threadN = self % THREADS_N;
    int part = int(gl_WorkGroupID.z % SPLIT);
    group = int(gl_WorkGroupID.z / SPLIT);
    firstTile = int(gl_WorkGroupID.x) * BN;
    firstFilter = int(gl_WorkGroupID.y) * BM;
    uint weightsAt = uint(group * BLOCKS_M + int(gl_WorkGroupID.y)) * uint(steps * STEP_M) + self;

    // The tile of V that this invocation makes, of channel + BK*step and on: where its rows
    // and columns lie, and which of them are inside, bit y and bit 16 + x.
    uint tileOf = self % BN;
    uint tileJ = tileOf % (BN / 4) / THREADS_N, tileN = tileOf % THREADS_N, tileE = tileOf / (BN / 4);
    int channel = int(self / BN);
    uint tile = uint(firstTile) + tileOf;
    tile = tile < images * (TILES_P * TILES_Q) ? tile : 0u; // its result is not stored
    int top = int(tile % (TILES_P * TILES_Q) / TILES_Q) * TILE - PAD_H;
    int left = int(tile % TILES_Q) * TILE - PAD_W;
    int plane = (int(tile / (TILES_P * TILES_Q)) * CHANNELS + group * GROUP_CHANNELS) * (HEIGHT * WIDTH);
    int rowAt[SIDE], columnAt[SIDE];
    uint seen = 0u;
    for (int i = 0; i < SIDE; ++i) {
        rowAt[i] = clamp(top + i, 0, HEIGHT - 1) * WIDTH;
        columnAt[i] = clamp(left + i, 0, WIDTH - 1);
        seen |= top + i >= 0 && top + i < HEIGHT ? 1u << i : 0u;
        seen |= left + i >= 0 && left + i < WIDTH ? 0x10000u << i : 0u;
    }

    vec4 sum[TM * TN / 4];
    for (int i = 0; i < TM * TN / 4; ++i) {
        sum[i] = vec4(0.0);
    }

    vec4 nextWeights[LOADS_M];
    float next[LOADS_N * FREQUENCIES];
    int perPart = (steps + SPLIT - 1) / SPLIT;
    int step = part * perPart;
    int last = min(step + perPart, steps);
    LOAD(step)
    STORE(step, 0)
    barrier();
#if BUFFERS == 2
    for (; step < last; step += 2) {
        if (step + 1 < last) {
            LOAD(step + 1)
        }
        MULTIPLY(0)
        if (step + 1 < last) {
            STORE(step + 1, 1)
        }
        barrier();
        if (step + 1 < last) {
            if (step + 2 < last) {
                LOAD(step + 2)
            }
            MULTIPLY(1)
            if (step + 2 < last) {
                STORE(step + 2, 0)
            }
        }
        barrier();
    }
#else
    for (; step < last; ++step) {
        if (step + 1 < last) {
            LOAD(step + 1)
        }
        MULTIPLY(0)
        barrier();
        if (step + 1 < last) {
            STORE(step + 1, 0)
        }
        barrier();
    }
#endif

#if SPLIT > 1
    int block = (group * int(gl_NumWorkGroups.y) + int(gl_WorkGroupID.y)) * int(gl_NumWorkGroups.x) + int(gl_WorkGroupID.x);
    int mine = block * (SPLIT * BM * BN * TILE * TILE / 4);
#endif
    PASS(0)
#if PASSES > 1
    PASS(1)
#endif
#if PASSES > 2
    PASS(2)
    PASS(3)
#endif
#if PASSES > 4
    PASS(4)
    PASS(5)
    PASS(6)
    PASS(7)
#endif

#if SPLIT > 1
    // The group that counts the last part sees every part that was counted.
    memoryBarrierBuffer();
    barrier();
    if (self == 0u) {
        ticket = atomicAdd(semaphores[block], 1u);
    }
    barrier();
    if (ticket != uint(SPLIT - 1)) {
        return;
    }
    memoryBarrierBuffer();
    if (self == 0u) {
        semaphores[block] = 0u; // for the next dispatch
    }
    // Always in the same order; that of this group comes from memory too.
    for (uint unit = self; unit < BM * BN; unit += INVOCATIONS) {
        float v[TILE * TILE];
        for (int i = 0; i < TILE * TILE / 4; ++i) {
            vec4 total = vec4(0.0);
            for (int other = 0; other < SPLIT; ++other) {
                total += partial[mine + (other * (TILE * TILE / 4) + i) * (BM * BN) + unit];
            }
            v[4 * i] = total.x;
            v[4 * i + 1] = total.y;
            v[4 * i + 2] = total.z;
            v[4 * i + 3] = total.w;
        }
        finish(unit, v);
    }
#endif
}
