#version 450 core

// gemm_tiled: C = act(SCALE * A*B), one TILE x TILE tile of C for each group.
//
//          B   K x N                  In steps of DEPTH, a group copies a
//          +----+------+              TILE x DEPTH piece of A and a
//          |    |DEPTH |              DEPTH x TILE piece of B into shared
//          |    |x TILE|              memory. Each invocation then adds their
//          +----+------+              product for MICRO_M x MICRO_N elements of
//  A M x K                            C, which it keeps in registers. Those lie
//  +-----+ +----+------+              LOCAL_Y rows and LOCAL_X columns apart, so
//  |TILE | |    | TILE |              that neighbouring invocations touch
//  |x    | |    | x    |              neighbouring words.
//  |DEPTH| |    | TILE |
//  +-----+ +----+------+ C  M x N
//
// All values are 32-bit floats, all matrices row-major without gaps, all sizes
// in elements. M, N and K need not be multiples of anything.
//
//   binding  buffer   layout
//   0        MatrixA  M x K
//   1        MatrixB  K x N
//   2        MatrixC  M x N
//
//   grid     x: tiles along N     y: tiles along M
//
// The sum runs over k from firstK up to, not including, lastK. A dispatch with
// firstK > 0 adds to what C holds; scale and activation are applied by the
// dispatch that reaches K. So a long sum can be cut into several dispatches.

// Rows and columns of the tile of C, a multiple of LOCAL_X and LOCAL_Y.
#ifndef TILE
#define TILE 64
#endif

// Elements of K in one step. Shared memory: 4 * DEPTH * (2*TILE + 1) bytes.
#ifndef DEPTH
#define DEPTH 16
#endif

// Invocations in a group, along N and along M.
#ifndef LOCAL_X
#define LOCAL_X 16
#endif
#ifndef LOCAL_Y
#define LOCAL_Y 16
#endif

// What is applied to an element of the product: first a factor, then a function.
#define ACTIVATION_NONE 0
#define ACTIVATION_RELU 1
#define ACTIVATION_TANH 2
#define ACTIVATION_SILU 3
#ifndef ACTIVATION
#define ACTIVATION ACTIVATION_NONE
#endif
#ifndef SCALE
#define SCALE 1.0
#endif

#if TILE % LOCAL_X != 0 || TILE % LOCAL_Y != 0
#error TILE must be a multiple of LOCAL_X and of LOCAL_Y
#endif

#define MICRO_M (TILE / LOCAL_Y)
#define MICRO_N (TILE / LOCAL_X)
#define INVOCATIONS (LOCAL_X * LOCAL_Y)

layout(local_size_x = LOCAL_X, local_size_y = LOCAL_Y) in;

layout(std430, binding = 0) restrict readonly buffer MatrixA { float a[]; };
layout(std430, binding = 1) restrict readonly buffer MatrixB { float b[]; };
layout(std430, binding = 2) restrict buffer MatrixC { float c[]; };

uniform int M, N, K;
uniform int firstK, lastK;

// A is turned, so that both are read along their rows; the odd row length keeps
// the writes of neighbouring invocations in different banks.
shared float tileA[DEPTH][TILE + 1];
shared float tileB[DEPTH][TILE];

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
#else
    return x;
#endif
}

void main() {
    int tileRow = int(gl_WorkGroupID.y) * TILE;
    int tileColumn = int(gl_WorkGroupID.x) * TILE;
    int self = int(gl_LocalInvocationIndex);
    int localRow = int(gl_LocalInvocationID.y);
    int localColumn = int(gl_LocalInvocationID.x);

    float sum[MICRO_M][MICRO_N];
    for (int i = 0; i < MICRO_M; ++i) {
        for (int j = 0; j < MICRO_N; ++j) {
            sum[i][j] = 0.0;
        }
    }

    for (int step = firstK; step < lastK; step += DEPTH) {
        for (int i = self; i < TILE * DEPTH; i += INVOCATIONS) {
            int depth = i % DEPTH;
            int row = tileRow + i / DEPTH;
            int k = step + depth;
            float value = 0.0;
            if (row < M && k < lastK) {
                value = a[row * K + k];
            }
            tileA[depth][i / DEPTH] = value;
        }
        for (int i = self; i < TILE * DEPTH; i += INVOCATIONS) {
            int depth = i / TILE;
            int column = tileColumn + i % TILE;
            int k = step + depth;
            float value = 0.0;
            if (column < N && k < lastK) {
                value = b[k * N + column];
            }
            tileB[depth][i % TILE] = value;
        }
        memoryBarrierShared();
        barrier();

        for (int depth = 0; depth < DEPTH; ++depth) {
            float columns[MICRO_N];
            for (int j = 0; j < MICRO_N; ++j) {
                columns[j] = tileB[depth][localColumn + j * LOCAL_X];
            }
            for (int i = 0; i < MICRO_M; ++i) {
                float value = tileA[depth][localRow + i * LOCAL_Y];
                for (int j = 0; j < MICRO_N; ++j) {
                    sum[i][j] += value * columns[j];
                }
            }
        }
        barrier();
    }

    for (int i = 0; i < MICRO_M; ++i) {
        int row = tileRow + localRow + i * LOCAL_Y;
        for (int j = 0; j < MICRO_N; ++j) {
            int column = tileColumn + localColumn + j * LOCAL_X;
            if (row < M && column < N) {
                int at = row * N + column;
                float value = sum[i][j];
                if (firstK > 0) {
                    value += c[at];
                }
                c[at] = lastK == K ? activate(SCALE * value) : value;
            }
        }
    }
}
