#version 450 core

// gemm_reduce: C = act(alpha * sum of Partial + beta * C + bias), one element of C
// for each invocation: the end of a matrix product that gemm_block left in parts.
//
//   binding  buffer   layout
//   2        MatrixC  batch matrices M x N, strideC apart, rows ldc apart
//   3        Bias     M with BIAS 1, N with BIAS 2
//   4        Partial  from offsetPartial: batch x SPLIT x M x N, without gaps
//
//   grid     x: M*N elements, LOCAL to a group     y: batch
//
// All values are 32-bit floats, all sizes, distances and offsets in elements.

#pragma optionNV(unroll all)

// Invocations in a group.
#ifndef LOCAL
#define LOCAL 128
#endif

// Parts of K.
#ifndef SPLIT
#define SPLIT 2
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

layout(local_size_x = LOCAL) in;

layout(std430, binding = 2) restrict buffer MatrixC { float c[]; };
#if BIAS != 0
layout(std430, binding = 3) restrict readonly buffer Bias { float bias[]; };
#endif
layout(std430, binding = 4) restrict readonly buffer Partial { float partial[]; };

uniform int M, N;
uniform int ldc, strideC;
uniform int offsetPartial;
uniform float alpha, beta;

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

void main() {
    uint elements = uint(M * N);
    uint element = gl_GlobalInvocationID.x;
    if (element >= elements) {
        return;
    }
    int batch = int(gl_WorkGroupID.y);
    int from = offsetPartial + batch * SPLIT * M * N + int(element);
    float v = 0.0;
    for (int i = 0; i < SPLIT; ++i) {
        v += partial[from + i * M * N];
    }
    v *= alpha;
    uint row = element / uint(N), column = element % uint(N);
#if BIAS == 1
    v += bias[row];
#elif BIAS == 2
    v += bias[column];
#endif
    int at = batch * strideC + int(row) * ldc + int(column);
#if BETA
    v += beta * c[at];
#endif
    c[at] = activate(v);
}
