#version 450 core

// conv2d_winograd_output: the output transform of Winograd's convolution with a 3x3
// filter, then bias and activation, one tile of one filter for each invocation.
//
//   M, FREQUENCIES x FILTERS x tiles              output, N x FILTERS x OUTPUT_P x OUTPUT_Q
//                                                 +---------------+
//   m: the FREQUENCIES elements M[f][k][t],       |  +-----+      |
//      as SIDE x SIDE                        ->   |  |     |      |   TILE x TILE elements of
//                                                 |  +-----+      |   transpose(A) * m * A
//                                                 +---------------+
//
//   binding  buffer   layout
//   2        Output   N x FILTERS x OUTPUT_P x OUTPUT_Q
//   3        Bias     FILTERS, with BIAS
//   4        Work     SPLIT times M from WORK_AT on; their sum counts
//
//   grid     x: FILTERS * tiles, LOCAL to a group
//
// Tiles are counted as in conv2d_winograd_input, whose B this A belongs to.

#ifndef LOCAL
#define LOCAL 128
#endif

// Output elements along a side of a tile, 2 or 4.
#ifndef TILE
#define TILE 4
#endif

// 1: a line of a tile is stored at once. OUTPUT_Q must be a multiple of TILE.
#ifndef VECTOR
#define VECTOR 0
#endif

#ifndef SPLIT
#define SPLIT 1
#endif
#ifndef WORK_AT
#define WORK_AT 0
#endif
#ifndef FILTERS
#define FILTERS 8
#endif
#ifndef OUTPUT_P
#define OUTPUT_P 8
#endif
#ifndef OUTPUT_Q
#define OUTPUT_Q 8
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
#if TILE == 4
#define LINE vec4
#define LINE_OF(i) vec4(v[i], v[i + 1], v[i + 2], v[i + 3])
#else
#define LINE vec2
#define LINE_OF(i) vec2(v[i], v[i + 1])
#endif

// NVIDIA's driver keeps arrays in registers only where loops are unrolled.
#pragma optionNV(unroll all)

layout(local_size_x = LOCAL) in;

#if VECTOR
layout(std430, binding = 2) restrict writeonly buffer Output { LINE outputs[]; };
#else
layout(std430, binding = 2) restrict writeonly buffer Output { float outputs[]; };
#endif
#if BIAS
layout(std430, binding = 3) restrict readonly buffer Bias { float bias[]; };
#endif
layout(std430, binding = 4) restrict readonly buffer Work { float work[]; };

uniform int images; // N

// transpose(A) times one line, in place: the result is shorter.
#if TILE == 4
void transform(inout float a, inout float b, inout float c, inout float d, float e, float f) {
    float bc = b + c;
    float b_c = b - c;
    float de = d + e;
    float d_e = d - e;
    a = a + bc + de;
    b = b_c + 2.0 * d_e;
    c = bc + 4.0 * de;
    d = b_c + 8.0 * d_e + f;
}
#define TRANSFORM(at, by) \
    transform(v[at], v[at + by], v[at + 2 * by], v[at + 3 * by], v[at + 4 * by], v[at + 5 * by]);
#else
void transform(inout float a, inout float b, float c, float d) {
    a = a + b + c;
    b = b - c - d;
}
#define TRANSFORM(at, by) transform(v[at], v[at + by], v[at + 2 * by], v[at + 3 * by]);
#endif

LINE activate(LINE x) {
#if ACTIVATION == ACTIVATION_RELU
    // Not max(x, 0.0), which loses NaN; precise keeps compilers from making it so.
    precise LINE y = mix(x, LINE(0.0), lessThan(x, LINE(0.0)));
    return y;
#elif ACTIVATION == ACTIVATION_TANH
    // Not tanh(x), which overflows to NaN for large x on some drivers.
    LINE e = exp(-2.0 * abs(x));
    LINE y = (1.0 - e) / (1.0 + e);
    return mix(y, -y, lessThan(x, LINE(0.0)));
#elif ACTIVATION == ACTIVATION_SILU
    return x / (1.0 + exp(-x));
#elif ACTIVATION == ACTIVATION_SIGMOID
    return 1.0 / (1.0 + exp(-x));
#else
    return x;
#endif
}

void main() {
    uint tiles = (uint(images * (TILES_P * TILES_Q)) + 3) / 4 * 4;
    uint at = gl_GlobalInvocationID.x;
    uint tile = at % tiles;
    if (at >= FILTERS * tiles || tile >= images * (TILES_P * TILES_Q)) {
        return;
    }
    int k = int(at / tiles);
    int image = int(tile / (TILES_P * TILES_Q));
    int p = int(tile % (TILES_P * TILES_Q) / TILES_Q) * TILE;
    int q = int(tile % TILES_Q) * TILE;

    float v[FREQUENCIES];
    for (int i = 0; i < FREQUENCIES; ++i) {
        uint from = WORK_AT + at + uint(i) * (FILTERS * tiles);
        v[i] = work[from];
        for (uint part = 1; part < SPLIT; ++part) {
            v[i] += work[from + part * (FREQUENCIES * FILTERS * tiles)];
        }
    }
    for (int i = 0; i < SIDE; ++i) {
        TRANSFORM(i, SIDE)
    }
    for (int i = 0; i < TILE; ++i) {
        TRANSFORM(i * SIDE, 1)
    }

    float start = 0.0;
#if BIAS
    start = bias[k];
#endif
    uint to = uint(((image * FILTERS + k) * OUTPUT_P + p) * OUTPUT_Q + q);
    for (int i = 0; i < TILE; ++i) {
        if (p + i < OUTPUT_P) {
            LINE line = activate(LINE_OF(i * SIDE) + start);
#if VECTOR
            outputs[to / TILE + i * (OUTPUT_Q / TILE)] = line;
#else
            for (int j = 0; j < TILE; ++j) {
                if (q + j < OUTPUT_Q) {
                    outputs[to + i * OUTPUT_Q + j] = line[j];
                }
            }
#endif
        }
    }
}
