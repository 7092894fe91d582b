#version 450 core

// conv2d_implicit_sum: output = act(the sum of SPLIT parts + bias), one element, or
// with VECTOR four, for each invocation.
//
//   binding  buffer   layout
//   0        Parts    SPLIT x N x FILTERS x PIXELS
//   2        Output   N x FILTERS x PIXELS
//   3        Bias     FILTERS, with BIAS
//
//   grid     x: N*FILTERS*PIXELS elements, or vectors of four, LOCAL to a group

#ifndef LOCAL
#define LOCAL 128
#endif

#ifndef SPLIT
#define SPLIT 2
#endif
#ifndef FILTERS
#define FILTERS 8
#endif
#ifndef PIXELS
#define PIXELS 64
#endif

// 1: four elements at a time. PIXELS must be a multiple of four.
#ifndef VECTOR
#define VECTOR 0
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

#if VECTOR
#define VALUE vec4
#define WIDE 4
#define LESS lessThan(x, VALUE(0.0))
#else
#define VALUE float
#define WIDE 1
#define LESS (x < 0.0)
#endif

#pragma optionNV(unroll all)

layout(local_size_x = LOCAL) in;

layout(std430, binding = 0) restrict readonly buffer Parts { VALUE parts[]; };
layout(std430, binding = 2) restrict writeonly buffer Output { VALUE outputs[]; };
#if BIAS
layout(std430, binding = 3) restrict readonly buffer Bias { float bias[]; };
#endif

uniform int images; // N

VALUE activate(VALUE x) {
#if ACTIVATION == ACTIVATION_RELU
    // Not max(x, 0.0), which loses NaN; precise keeps compilers from making it so.
    precise VALUE y = mix(x, VALUE(0.0), LESS);
    return y;
#elif ACTIVATION == ACTIVATION_TANH
    // Not tanh(x), which overflows to NaN for large x on some drivers.
    VALUE e = exp(-2.0 * abs(x));
    VALUE y = (1.0 - e) / (1.0 + e);
    return mix(y, -y, LESS);
#elif ACTIVATION == ACTIVATION_SILU
    return x / (1.0 + exp(-x));
#elif ACTIVATION == ACTIVATION_SIGMOID
    return 1.0 / (1.0 + exp(-x));
#else
    return x;
#endif
}

void main() {
    uint at = gl_GlobalInvocationID.x;
    uint elements = uint(images * (FILTERS * PIXELS / WIDE));
    if (at >= elements) {
        return;
    }
    VALUE sum = parts[at];
    for (uint i = 1; i < SPLIT; ++i) {
        sum += parts[at + i * elements];
    }
#if BIAS
    sum += bias[at / (PIXELS / WIDE) % FILTERS];
#endif
    outputs[at] = activate(sum);
}
