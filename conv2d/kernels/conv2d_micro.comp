#version 450 core

// conv2d_micro: convolution for drivers that run on the CPU, a micro-kernel without shared
// memory and without barriers.
//
//   output[n][k][p][q] = act(bias[k] + sum over c, r, s of
//       weights[k][c][r][s] * input[n][c][p*strideH - padH + r*dilationH][q*strideW - padW + s*dilationW])
//
// It is the matrix product of gemm_micro, filters x taps times taps x pixels,
// whose second matrix is never made:
//
//              input                     A group is the LANES invocations of one
//              +---+-----------+         SIMD register of the CPU. They stand as
//              | 2 | LANES_N * |         LANES_M x LANES_N invocations, and each
//              |   | COLUMNS   |         keeps ROWS x COLUMNS sums for itself. A
//  weights     +---+-----------+         step takes two channels at one tap: ROWS
//  +-----+     +---+-----------+         pairs of weights and COLUMNS pairs of the
//  | 2 | |     |   | LANES_M * |         input are loaded for 2 * ROWS * COLUMNS
//  |   | |     |   | ROWS x    |         multiplications.
//  +-----+     +---+-----------+ output
//
// Loads take most of the time, and a load of a double takes no longer than one of a
// float: so conv2d_micro_pairs lays two channels side by side. Where a group
// of the convolution has one channel alone, PAIRS is 0 and tensors are as usual.
//
// A tap on padding leaves the sum alone, even under an infinite weight.
//
//   binding  buffer   layout
//   0        Input    N x groups x channels x H x W x 2, channels counted in pairs
//   1        Weights  K x channels x R x S x 2
//   2        Output   N x K x P x Q
//   3        Bias     K; where BIAS is 1
//
//   grid     x: tiles of the N*P*Q pixels     y: groups * tiles of their filters
//
// The sum runs over channels, their rows and columns of taps, all counted as one,
// from firstStep up to, not including, lastStep. A long sum is cut into several
// dispatches: from the second on ACCUMULATE is 1, and bias and activation are left
// to the last one.

// Invocations of a group, all and along the filters. The others stand along the
// pixels.
#ifndef LANES
#define LANES 8
#endif
#ifndef LANES_M
#define LANES_M 2
#endif

// What one invocation computes: filters and pixels.
#ifndef ROWS
#define ROWS 8
#endif
#ifndef COLUMNS
#define COLUMNS 8
#endif

// 1: channels are in pairs.
#ifndef PAIRS
#define PAIRS 1
#endif

// Whether taps may fall outside the input.
#ifndef PADDED
#define PADDED 1
#endif

// Whether two pixels may be stored as one double: COLUMNS and P*Q are even.
#ifndef PAIRS_OUT
#define PAIRS_OUT 0
#endif

// 1: the sum is added to the output.
#ifndef ACCUMULATE
#define ACCUMULATE 0
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

#define LANES_N (LANES / LANES_M)

layout(local_size_x = LANES) in;

#if PAIRS
layout(std430, binding = 0) restrict readonly buffer Input { double inputs[]; };
layout(std430, binding = 1) restrict readonly buffer Weights { double weights[]; };
#else
layout(std430, binding = 0) restrict readonly buffer Input { float inputs[]; };
layout(std430, binding = 1) restrict readonly buffer Weights { float weights[]; };
#endif
#if PAIRS_OUT
layout(std430, binding = 2) restrict buffer Output { double outputs[]; };
#else
layout(std430, binding = 2) restrict buffer Output { float outputs[]; };
#endif
layout(std430, binding = 3) restrict readonly buffer Bias { float bias[]; };

uniform int channels;      // of a group, in pairs where PAIRS
uniform int height, width; // H, W
uniform int filters;       // of a group
uniform int filterTiles;   // of a group
uniform int groups;
uniform int filterR, filterS;
uniform int outputW;     // Q
uniform int imagePixels; // P * Q
uniform int pixels;      // N * P * Q
uniform int strideH, strideW;
uniform int padH, padW;
uniform int dilationH, dilationW;
uniform int firstStep, lastStep;

// What a double from a buffer really holds.
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

// finish returns an element of the output for a sum and the value from before.
float finish(float sum, float before, int k) {
    float value = sum;
#if ACCUMULATE
    value += before;
#endif
#if BIAS
    value += bias[k];
#endif
    return activate(value);
}

void main() {
    int lane = int(gl_LocalInvocationID.x);
    int group = int(gl_WorkGroupID.y) / filterTiles;
    int firstFilter = (int(gl_WorkGroupID.y) % filterTiles * LANES_M + lane / LANES_N) * ROWS;
    int firstPixel = (int(gl_WorkGroupID.x) * LANES_N + lane % LANES_N) * COLUMNS;
    int taps = filterR * filterS;
    int plane = height * width;

    // Where the weights of each filter start.
    int filterAt[ROWS];
    for (int i = 0; i < ROWS; ++i) {
        filterAt[i] = (group * filters + min(firstFilter + i, filters - 1)) * channels * taps;
    }
    // The row and column of the first tap of each pixel, and where that is in the
    // first plane of its group. And where its output goes, but for the filter.
    int top[COLUMNS], left[COLUMNS], firstAt[COLUMNS], outputAt[COLUMNS];
    // Only the first pixel is divided for: divisions are slow. Past the last pixel
    // all are that one.
    int first = min(firstPixel, pixels - 1);
    int image = first / imagePixels;
    int rest = first - image * imagePixels;
    int p = rest / outputW;
    int q = rest - p * outputW;
    for (int j = 0; j < COLUMNS; ++j) {
        top[j] = p * strideH - padH;
        left[j] = q * strideW - padW;
        firstAt[j] = (image * groups + group) * channels * plane + top[j] * width + left[j];
        outputAt[j] = image * groups * filters * imagePixels + rest;
        int step = firstPixel + j + 1 < pixels ? 1 : 0;
        rest += step;
        q += step;
        int newRow = q == outputW ? 1 : 0;
        int newImage = rest == imagePixels ? 1 : 0;
        q = newRow != 0 ? 0 : q;
        p = newImage != 0 ? 0 : p + newRow;
        rest = newImage != 0 ? 0 : rest;
        image += newImage;
    }

    float sum[ROWS][COLUMNS];
    for (int i = 0; i < ROWS; ++i) {
        for (int j = 0; j < COLUMNS; ++j) {
            sum[i][j] = 0.0;
        }
    }

    int c = firstStep / taps;
    int r = (firstStep - c * taps) / filterS;
    int s = firstStep - c * taps - r * filterS;
    for (int at = firstStep; at < lastStep; ++at) {
        int down = r * dilationH;
        int right = s * dilationW;
        int offset = c * plane + down * width + right;
        int inputAt[COLUMNS];
#if PADDED
        bool inside[COLUMNS];
#endif
        for (int j = 0; j < COLUMNS; ++j) {
            inputAt[j] = firstAt[j] + offset;
#if PADDED
            // Unsigned, a negative number is too large.
            inside[j] = uint(top[j] + down) < uint(height) && uint(left[j] + right) < uint(width);
            inputAt[j] = inside[j] ? inputAt[j] : 0;
#endif
        }
#if PAIRS
        vec2 weight[ROWS], value[COLUMNS];
        for (int i = 0; i < ROWS; ++i) {
            weight[i] = pair(weights[filterAt[i] + at]);
        }
        for (int j = 0; j < COLUMNS; ++j) {
            value[j] = pair(inputs[inputAt[j]]);
        }
#else
        float weight[ROWS], value[COLUMNS];
        for (int i = 0; i < ROWS; ++i) {
            weight[i] = weights[filterAt[i] + at];
        }
        for (int j = 0; j < COLUMNS; ++j) {
            value[j] = inputs[inputAt[j]];
        }
#endif
        for (int i = 0; i < ROWS; ++i) {
            for (int j = 0; j < COLUMNS; ++j) {
#if PAIRS
                float next = sum[i][j] + weight[i].x * value[j].x;
                next += weight[i].y * value[j].y;
#else
                float next = sum[i][j] + weight[i] * value[j];
#endif
#if PADDED
                sum[i][j] = inside[j] ? next : sum[i][j];
#else
                sum[i][j] = next;
#endif
            }
        }
        int newRow = ++s == filterS ? 1 : 0;
        s = newRow != 0 ? 0 : s;
        r += newRow;
        int newChannel = r == filterR ? 1 : 0;
        r = newChannel != 0 ? 0 : r;
        c += newChannel;
    }

    for (int i = 0; i < ROWS; ++i) {
        int k = group * filters + firstFilter + i;
        bool real = firstFilter + i < filters;
#if PAIRS_OUT
        for (int j = 0; j < COLUMNS; j += 2) {
            int at = (outputAt[j] + k * imagePixels) >> 1;
            if (real && firstPixel + j < pixels) {
                vec2 before = vec2(0.0);
#if ACCUMULATE
                before = pair(outputs[at]);
#endif
                vec2 result = vec2(finish(sum[i][j], before.x, k), finish(sum[i][j + 1], before.y, k));
                outputs[at] = packDouble2x32(floatBitsToUint(result));
            }
        }
#else
        for (int j = 0; j < COLUMNS; ++j) {
            int at = outputAt[j] + k * imagePixels;
            if (real && firstPixel + j < pixels) {
                float before = 0.0;
#if ACCUMULATE
                before = outputs[at];
#endif
                outputs[at] = finish(sum[i][j], before, k);
            }
        }
#endif
    }
}
