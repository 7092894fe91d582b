#version 450 core
#define FILTER_R 5
#define FILTER_S 5
#line 1 0


// conv2d_direct: convolution, one output element for each invocation.
//
//   output[n][k][p][q] = act(bias[k] + sum over c, r, s of
//       weights[k][c][r][s] * input[n][first + c][p*strideH - padH + r*dilationH][q*strideW - padW + s*dilationW])
//
// where c runs over the groupC channels of the group that filter k belongs to, and
// first is the first of them. Taps outside the input contribute nothing. All values are 32-bit floats, all
// tensors without gaps, all sizes in elements.
//
//   binding  buffer   layout
//   0        Input    N x C x H x W
//   1        Weights  K x groupC x R x S
//   2        Output   N x K x P x Q
//   3        Bias     K; not read where withBias is 0
//
//   grid     x: P*Q output pixels, LOCAL to a group     y: K     z: N
//
// The sum runs over the groupC*R filter rows from firstRow up to, not including,
// lastRow. A dispatch with firstRow > 0 adds to what Output holds, and the one that
// reaches the end applies the activation, so that a long sum can be cut into
// several dispatches. The grid begins at firstPixel, firstFilter and firstImage, so
// that a grid beyond the device's limits can be cut too.

// Invocations in a group.
#ifndef LOCAL
#define LOCAL 64
#endif

// Filter size, R x S. Defined, the loops unroll; otherwise it is a uniform.
#ifndef FILTER_R
#define FILTER_R filterR
uniform int filterR;
#endif
#ifndef FILTER_S
#define FILTER_S filterS
uniform int filterS;
#endif

// What is applied to each sum.
#define ACTIVATION_NONE 0
#define ACTIVATION_RELU 1
#define ACTIVATION_TANH 2
#define ACTIVATION_SILU 3
#define ACTIVATION_SIGMOID 4
#ifndef ACTIVATION
#define ACTIVATION ACTIVATION_NONE
#endif

layout(local_size_x = LOCAL) in;

layout(std430, binding = 0) restrict readonly buffer Input { float inputs[]; };
layout(std430, binding = 1) restrict readonly buffer Weights { float weights[]; };
layout(std430, binding = 2) restrict buffer Output { float outputs[]; };
layout(std430, binding = 3) restrict readonly buffer Bias { float bias[]; };

uniform int channels; // C
uniform int height;   // H
uniform int width;    // W
uniform int filters;  // K
uniform int groupC;   // channels of a group
uniform int groupK;   // filters of a group
uniform int outputH;  // P
uniform int outputW;  // Q
uniform int strideH, strideW;
uniform int padH, padW;
uniform int dilationH, dilationW;
uniform int firstRow, lastRow;
uniform int firstPixel, firstFilter, firstImage;
uniform int withBias; // 0 or 1

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
    uint pixels = uint(outputH * outputW);
    uint here = gl_GlobalInvocationID.x + uint(firstPixel);
    if (here >= pixels) {
        return;
    }
    int pixel = int(here);
    int k = int(gl_GlobalInvocationID.y) + firstFilter;
    int n = int(gl_GlobalInvocationID.z) + firstImage;
    int first = k / groupK * groupC;
    int top = pixel / outputW * strideH - padH;
    int left = pixel % outputW * strideW - padW;
    int at = (n * filters + k) * int(pixels) + pixel;

    float sum = 0.0;
    if (firstRow > 0) {
        sum = outputs[at];
    } else if (withBias != 0) {
        sum = bias[k];
    }

    int c = firstRow / FILTER_R;
    int r = firstRow % FILTER_R;
    for (int row = firstRow; row < lastRow; ++row) {
        int y = top + r * dilationH;
        if (y >= 0 && y < height) {
            int line = ((n * channels + first + c) * height + y) * width;
            int taps = (k * groupC * FILTER_R + row) * FILTER_S;
            for (int s = 0; s < FILTER_S; ++s) {
                int x = left + s * dilationW;
                if (x >= 0 && x < width) {
                    sum += weights[taps + s] * inputs[line + x];
                }
            }
        }
        if (++r == FILTER_R) {
            r = 0;
            ++c;
        }
    }
    outputs[at] = lastRow == groupC * FILTER_R ? activate(sum) : sum;
}
