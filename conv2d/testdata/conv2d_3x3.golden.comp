#version 450 core
#define FILTER_R 3
#define FILTER_S 3
#line 1 0


// conv2d_direct: convolution, one output element for each invocation.
//
//   output[n][k][p][q] = bias[k] + sum over c, r, s of
//       weights[k][c][r][s] * input[n][c][p*strideH - padH + r*dilationH][q*strideW - padW + s*dilationW]
//
// Taps outside the input contribute nothing. All values are 32-bit floats, all
// tensors without gaps, all sizes in elements.
//
//   binding  buffer   layout
//   0        Input    N x C x H x W
//   1        Weights  K x C x R x S
//   2        Bias     K; not read where withBias is 0
//   3        Output   N x K x P x Q
//
//   grid     x: P*Q output pixels, LOCAL to a group     y: K     z: N
//
// The sum runs over the C*R filter rows from firstRow up to, not including,
// lastRow. A dispatch with firstRow > 0 adds to what Output holds, so that a long
// sum can be cut into several dispatches.

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

layout(local_size_x = LOCAL) in;

layout(std430, binding = 0) restrict readonly buffer Input { float inputs[]; };
layout(std430, binding = 1) restrict readonly buffer Weights { float weights[]; };
layout(std430, binding = 2) restrict readonly buffer Bias { float bias[]; };
layout(std430, binding = 3) restrict buffer Output { float outputs[]; };

uniform int channels; // C
uniform int height;   // H
uniform int width;    // W
uniform int filters;  // K
uniform int outputH;  // P
uniform int outputW;  // Q
uniform int strideH, strideW;
uniform int padH, padW;
uniform int dilationH, dilationW;
uniform int firstRow, lastRow;
uniform int withBias; // 0 or 1

void main() {
    uint pixels = uint(outputH * outputW);
    if (gl_GlobalInvocationID.x >= pixels) {
        return;
    }
    int pixel = int(gl_GlobalInvocationID.x);
    int k = int(gl_GlobalInvocationID.y);
    int n = int(gl_GlobalInvocationID.z);
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
            int line = ((n * channels + c) * height + y) * width;
            int taps = (k * channels * FILTER_R + row) * FILTER_S;
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
    outputs[at] = sum;
}
