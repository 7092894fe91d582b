#version 450 core

// conv2d_winograd_weights: the weights' transform of Winograd's convolution with a
// 3x3 filter, one filter of one channel for each invocation.
//
//   weights, K x GROUP_CHANNELS x 3 x 3
//     -> U, FREQUENCIES x GROUPS x CHANNELS_PADDED x FILTERS_PADDED
//
// where U[f][g][c][k] is element f of G * weights[k][c] * transpose(G), 0 where the
// group has no such channel or filter: the form in which conv2d_implicit reads the
// weights of a product for each frequency. With BLOCK, for conv2d_winograd_fused:
//
//     -> U, GROUPS x blocks of BLOCK filters x CHANNELS_PADDED x BLOCK/LINE x FREQUENCIES x LINE
//
//   binding  buffer   layout
//   1        Weights  K x GROUP_CHANNELS x 3 x 3
//   2        Packed   U
//
//   grid     x: CHANNELS_PADDED * FILTERS_PADDED, LOCAL to a group     z: GROUPS
//
// G belongs to the B of conv2d_winograd_input.

#ifndef LOCAL
#define LOCAL 32
#endif

// Output elements along a side of a tile, 2 or 4.
#ifndef TILE
#define TILE 4
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
#ifndef CHANNELS_PADDED
#define CHANNELS_PADDED 8
#endif

// A multiple of LOCAL.
#ifndef FILTERS_PADDED
#define FILTERS_PADDED 32
#endif

// The filters of a group of conv2d_winograd_fused, and those of its invocations that come
// before the next frequency. 0: for conv2d_implicit.
#ifndef BLOCK
#define BLOCK 0
#endif
#ifndef LINE
#define LINE 4
#endif

#define SIDE (TILE + 2)

#if BLOCK
#define AT(frequency) \
    (((((group * (FILTERS_PADDED / BLOCK) + k / BLOCK) * CHANNELS_PADDED + c) * (BLOCK / LINE) \
        + k % BLOCK / LINE) * (SIDE * SIDE) + (frequency)) * LINE + k % LINE)
#else
#define AT(frequency) (((frequency) * GROUPS + group) * (CHANNELS_PADDED * FILTERS_PADDED) + int(at))
#endif

// NVIDIA's driver keeps arrays in registers only where loops are unrolled.
#pragma optionNV(unroll all)

layout(local_size_x = LOCAL) in;

layout(std430, binding = 1) restrict readonly buffer Weights { float weights[]; };
layout(std430, binding = 2) restrict writeonly buffer Packed { float matrix[]; };

// Row i of G times the column (a, b, c).
float row(int i, float a, float b, float c) {
#if TILE == 4
    switch (i) {
    case 0: return a / 4.0;
    case 1: return -(a + b + c) / 6.0;
    case 2: return -(a - b + c) / 6.0;
    case 3: return a / 24.0 + b / 12.0 + c / 6.0;
    case 4: return a / 24.0 - b / 12.0 + c / 6.0;
    }
#else
    switch (i) {
    case 0: return a;
    case 1: return (a + b + c) / 2.0;
    case 2: return (a - b + c) / 2.0;
    }
#endif
    return c;
}

void main() {
    uint at = gl_GlobalInvocationID.x;
    int k = int(at % FILTERS_PADDED);
    int c = int(at / FILTERS_PADDED);
    int group = int(gl_GlobalInvocationID.z);

    float w[9];
    bool there = k < GROUP_FILTERS && c < GROUP_CHANNELS;
    int from = ((group * GROUP_FILTERS + k) * GROUP_CHANNELS + c) * 9;
    for (int i = 0; i < 9; ++i) {
        w[i] = 0.0;
        if (there) {
            w[i] = weights[from + i];
        }
    }
    for (int i = 0; i < SIDE; ++i) {
        float x = row(i, w[0], w[3], w[6]);
        float y = row(i, w[1], w[4], w[7]);
        float z = row(i, w[2], w[5], w[8]);
        for (int j = 0; j < SIDE; ++j) {
            matrix[AT(i * SIDE + j)] = row(j, x, y, z);
        }
    }
}
