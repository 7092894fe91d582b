#version 450 core
#define ACTIVATION ACTIVATION_NONE
#define DEPTH 16
#define LOCAL_Y 32
#define SCALE 1.0
#define TILE 32
#line 1 0


// gemm_tiled: C = act(SCALE * A*B), one TILE x TILE tile of C for each group.
//
//          B   K x N                  In steps of DEPTH, a group copies a
//          +----+------+              TILE x DEPTH piece of A and a
//          |    |DEPTH |              DEPTH x TILE piece of B into shared
//          |    |x TILE|              memory. Each invocation then adds their
//          +----+------+              product for ROWS x 4 elements of C, which
//  A M x K                            it keeps in registers: 4 columns side by
//  +-----+ +----+------+              side, as one vec4, in ROWS rows that lie
//  |TILE | |    | TILE |              LOCAL_Y apart. Vectors keep the code short:
//  |x    | |    | x    |              drivers read and finish a short program
//  |DEPTH| |    | TILE |              binary sooner.
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

// Rows and columns of the tile of C, a multiple of 4 and of LOCAL_Y.
#ifndef TILE
#define TILE 64
#endif

// Elements of K in one step. Shared memory: 4 * DEPTH * (2*TILE + 1) bytes.
#ifndef DEPTH
#define DEPTH 16
#endif

// Invocations in a group along M; along N there are TILE / 4.
#ifndef LOCAL_Y
#define LOCAL_Y 16
#endif

// What is applied to an element of the product: first a factor, then a function.
#define ACTIVATION_NONE 0
#define ACTIVATION_RELU 1
#define ACTIVATION_TANH 2
#define ACTIVATION_SILU 3
#define ACTIVATION_SIGMOID 4
#ifndef ACTIVATION
#define ACTIVATION ACTIVATION_NONE
#endif
#ifndef SCALE
#define SCALE 1.0
#endif

#if TILE % 4 != 0 || TILE % LOCAL_Y != 0
#error TILE must be a multiple of 4 and of LOCAL_Y
#endif

#define VECTORS (TILE / 4)
#define ROWS (TILE / LOCAL_Y)
#define INVOCATIONS (VECTORS * LOCAL_Y)

layout(local_size_x = VECTORS, local_size_y = LOCAL_Y) in;

layout(std430, binding = 0) restrict readonly buffer MatrixA { float a[]; };
layout(std430, binding = 1) restrict readonly buffer MatrixB { float b[]; };
layout(std430, binding = 2) restrict buffer MatrixC { float c[]; };

uniform int M, N, K;
uniform int firstK, lastK;

// A is turned, so that both are read along their rows; the odd row length keeps
// the writes of neighbouring invocations in different banks.
shared float tileA[DEPTH][TILE + 1];
shared vec4 tileB[DEPTH][VECTORS];

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

void main() {
    int tileRow = int(gl_WorkGroupID.y) * TILE;
    int tileColumn = int(gl_WorkGroupID.x) * TILE;
    int self = int(gl_LocalInvocationIndex);
    int localRow = int(gl_LocalInvocationID.y);
    int vector = int(gl_LocalInvocationID.x);

    vec4 sum[ROWS];
    for (int i = 0; i < ROWS; ++i) {
        sum[i] = vec4(0.0);
    }

    for (int step = firstK; step < lastK; step += DEPTH) {
        for (int i = self; i < TILE * DEPTH; i += INVOCATIONS) {
            int row = tileRow + i / DEPTH;
            int k = step + i % DEPTH;
            float value = 0.0;
            if (row < M && k < lastK) {
                value = a[row * K + k];
            }
            tileA[i % DEPTH][i / DEPTH] = value;
        }
        for (int i = self; i < VECTORS * DEPTH; i += INVOCATIONS) {
            int column = tileColumn + i % VECTORS * 4;
            int k = step + i / VECTORS;
            int at = k * N + column;
            int count = k < lastK ? N - column : 0;
            vec4 value = vec4(0.0);
            for (int j = 0; j < 4; ++j) {
                if (j < count) {
                    value[j] = b[at + j];
                }
            }
            tileB[i / VECTORS][i % VECTORS] = value;
        }
        memoryBarrierShared();
        barrier();

        for (int depth = 0; depth < DEPTH; ++depth) {
            vec4 columns = tileB[depth][vector];
            for (int i = 0; i < ROWS; ++i) {
                sum[i] += tileA[depth][localRow + i * LOCAL_Y] * columns;
            }
        }
        barrier();
    }

    int column = tileColumn + vector * 4;
    for (int i = 0; i < ROWS; ++i) {
        int row = tileRow + localRow + i * LOCAL_Y;
        int at = row * N + column;
        int count = row < M ? N - column : 0;
        vec4 value = sum[i];
        if (firstK > 0) {
            for (int j = 0; j < 4; ++j) {
                if (j < count) {
                    value[j] += c[at + j];
                }
            }
        }
        if (lastK == K) {
            value = activate(SCALE * value);
        }
        for (int j = 0; j < 4; ++j) {
            if (j < count) {
                c[at + j] = value[j];
            }
        }
    }
}
