#version 450 core

// conv2d_winograd_input: the input transform of Winograd's convolution with a 3x3
// filter, one tile of one channel for each invocation.
//
//   input, N x CHANNELS x HEIGHT x WIDTH                 V, FREQUENCIES x CHANNELS x tiles
//   +---------------+
//   |  +-------+    |   d: SIDE x SIDE elements,          V[f][c][t] is element f of
//   |  |   d   |    |   tiles start TILE apart,      ->   transpose(B) * d * B
//   |  +-------+    |   0 outside the input
//   +---------------+
//
// Tiles are counted image by image and row by row, then up to a multiple of four;
// those that are not there are 0.
//
//   binding  buffer   layout
//   0        Input    N x CHANNELS x HEIGHT x WIDTH
//   4        Work     V at 0
//
//   grid     x: CHANNELS * tiles, LOCAL to a group
//
// B comes from Lavin and Gray, Fast Algorithms for Convolutional Neural Networks
// (2016): points 0, 1, -1, infinity for TILE 2, and 2, -2 too for TILE 4.

#ifndef LOCAL
#define LOCAL 128
#endif

// Output elements along a side of a tile, 2 or 4.
#ifndef TILE
#define TILE 4
#endif

// 1: elements outside of the input are loaded from its start and dropped, so that
// no load waits for a branch. 0: it is not loaded.
#ifndef CLAMP
#define CLAMP 1
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
#ifndef TILES_P
#define TILES_P 2
#endif
#ifndef TILES_Q
#define TILES_Q 2
#endif
#ifndef PAD_H
#define PAD_H 1
#endif
#ifndef PAD_W
#define PAD_W 1
#endif

#define SIDE (TILE + 2)
#define FREQUENCIES (SIDE * SIDE)

// NVIDIA's driver keeps arrays in registers only where loops are unrolled.
#pragma optionNV(unroll all)

layout(local_size_x = LOCAL) in;

layout(std430, binding = 0) restrict readonly buffer Input { float inputs[]; };
layout(std430, binding = 4) restrict writeonly buffer Work { float work[]; };

uniform int images; // N

// transpose(B) times one line, in place.
#if TILE == 4
void transform(inout float a, inout float b, inout float c, inout float d, inout float e, inout float f) {
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
#define TRANSFORM(at, by) \
    transform(v[at], v[at + by], v[at + 2 * by], v[at + 3 * by], v[at + 4 * by], v[at + 5 * by]);
#else
void transform(inout float a, inout float b, inout float c, inout float d) {
    float sum = b + c;
    float difference = c - b;
    a -= c;
    d = b - d;
    b = sum;
    c = difference;
}
#define TRANSFORM(at, by) transform(v[at], v[at + by], v[at + 2 * by], v[at + 3 * by]);
#endif

void main() {
    uint tiles = (uint(images * (TILES_P * TILES_Q)) + 3) / 4 * 4;
    uint at = gl_GlobalInvocationID.x;
    if (at >= CHANNELS * tiles) {
        return;
    }
    int channel = int(at / tiles);
    uint tile = at % tiles;
    int image = int(tile / (TILES_P * TILES_Q));
    int top = int(tile % (TILES_P * TILES_Q) / TILES_Q) * TILE - PAD_H;
    int left = int(tile % TILES_Q) * TILE - PAD_W;
    int origin = ((image * CHANNELS + channel) * HEIGHT + top) * WIDTH + left;

    float v[FREQUENCIES];
    for (int i = 0; i < SIDE; ++i) {
        bool insideH = image < images && top + i >= 0 && top + i < HEIGHT;
        for (int j = 0; j < SIDE; ++j) {
            bool inside = insideH && left + j >= 0 && left + j < WIDTH;
#if CLAMP
            v[i * SIDE + j] = inputs[inside ? origin + i * WIDTH + j : 0];
            v[i * SIDE + j] = inside ? v[i * SIDE + j] : 0.0;
#else
            v[i * SIDE + j] = inside ? inputs[origin + i * WIDTH + j] : 0.0;
#endif
        }
    }
    for (int i = 0; i < SIDE; ++i) {
        TRANSFORM(i, SIDE)
    }
    for (int i = 0; i < SIDE; ++i) {
        TRANSFORM(i * SIDE, 1)
    }
    for (int i = 0; i < FREQUENCIES; ++i) {
        work[at + uint(i) * (CHANNELS * tiles)] = v[i];
    }
}
