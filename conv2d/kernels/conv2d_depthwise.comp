#version 450 core

// conv2d_depthwise: convolution in which each filter sees one channel or a few,
// OUT_P x OUT_Q output elements of OUT_K filters for each invocation.
//
//   input plane                      Each line of the input under an invocation's
//   +--------------------+           elements is loaded once, into registers, and
//   |   +----------+     |  line     added under every row of the filters that meets
//   |   +----------+     |           it. The weights of OUT_K filters for a channel
//   +--------------------+           are in registers too.
//
//   binding  buffer   layout
//   0        Input    N x CHANNELS x HEIGHT x WIDTH
//   1        Weights  FILTERS x GROUP_CHANNELS x FILTER_R x FILTER_S
//   2        Output   N x FILTERS x OUTPUT_P x OUTPUT_Q
//   3        Bias     FILTERS, with BIAS
//
//   grid     x: blocks of OUT_P x OUT_Q elements, row by row, then by OUT_K filters,
//            then by images, LOCAL to a group
//
// Each GROUP_FILTERS filters see GROUP_CHANNELS channels. The input is 0 outside.
// All values are 32-bit floats.

#ifndef LOCAL
#define LOCAL 128
#endif

// A divisor of GROUP_FILTERS.
#ifndef OUT_K
#define OUT_K 1
#endif
#ifndef OUT_P
#define OUT_P 2
#endif
#ifndef OUT_Q
#define OUT_Q 4
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
#ifndef FILTERS
#define FILTERS 8
#endif
#ifndef GROUP_CHANNELS
#define GROUP_CHANNELS 1
#endif
#ifndef GROUP_FILTERS
#define GROUP_FILTERS 1
#endif
#ifndef FILTER_R
#define FILTER_R 3
#endif
#ifndef FILTER_S
#define FILTER_S 3
#endif
#ifndef OUTPUT_P
#define OUTPUT_P 8
#endif
#ifndef OUTPUT_Q
#define OUTPUT_Q 8
#endif
#ifndef STRIDE_H
#define STRIDE_H 1
#endif
#ifndef STRIDE_W
#define STRIDE_W 1
#endif
#ifndef PAD_H
#define PAD_H 1
#endif
#ifndef PAD_W
#define PAD_W 1
#endif
#ifndef DILATION_H
#define DILATION_H 1
#endif
#ifndef DILATION_W
#define DILATION_W 1
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

// The input under an invocation's elements.
#define LINES ((OUT_P - 1) * STRIDE_H + (FILTER_R - 1) * DILATION_H + 1)
#define LINE ((OUT_Q - 1) * STRIDE_W + (FILTER_S - 1) * DILATION_W + 1)

#define TAPS (FILTER_R * FILTER_S)
#define OUTS (OUT_P * OUT_Q)
#define BLOCKS_K (FILTERS / OUT_K)
#define BLOCKS_P ((OUTPUT_P + OUT_P - 1) / OUT_P)
#define BLOCKS_Q ((OUTPUT_Q + OUT_Q - 1) / OUT_Q)

// NVIDIA's driver keeps arrays in registers only where loops are unrolled.
#pragma optionNV(unroll all)

layout(local_size_x = LOCAL) in;

layout(std430, binding = 0) restrict readonly buffer Input { float inputs[]; };
layout(std430, binding = 1) restrict readonly buffer Weights { float weights[]; };
layout(std430, binding = 2) restrict writeonly buffer Output { float outputs[]; };
#if BIAS
layout(std430, binding = 3) restrict readonly buffer Bias { float bias[]; };
#endif

uniform int images;        // N
uniform int groupChannels; // GROUP_CHANNELS, not a constant: that loop should stay one

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

// Row r of the filters over the line, into row i of the elements.
#define ADD_LINE(i, r)                                                                  \
    for (int o = 0; o < OUT_K; ++o) {                                                   \
        for (int j = 0; j < OUT_Q; ++j) {                                               \
            for (int s = 0; s < FILTER_S; ++s) {                                        \
                sum[o * OUTS + (i) * OUT_Q + j] +=                                      \
                    w[o * TAPS + (r) * FILTER_S + s] * line[j * STRIDE_W + s * DILATION_W]; \
            }                                                                           \
        }                                                                               \
    }

void main() {
    uint block = gl_GlobalInvocationID.x;
    if (block >= images * (BLOCKS_K * BLOCKS_P * BLOCKS_Q)) {
        return;
    }
    int q = int(block % BLOCKS_Q) * OUT_Q;
    int p = int(block / BLOCKS_Q % BLOCKS_P) * OUT_P;
    uint plane = block / (BLOCKS_P * BLOCKS_Q);
    int k = int(plane % BLOCKS_K) * OUT_K;
    int image = int(plane / BLOCKS_K);
    int firstC = image * CHANNELS + int(uint(k) / GROUP_FILTERS) * GROUP_CHANNELS;
    int top = p * STRIDE_H - PAD_H;
    int left = q * STRIDE_W - PAD_W;

    float sum[OUT_K * OUTS];
    for (int o = 0; o < OUT_K; ++o) {
        float start = 0.0;
#if BIAS
        start = bias[k + o];
#endif
        for (int i = 0; i < OUTS; ++i) {
            sum[o * OUTS + i] = start;
        }
    }

    for (int c = 0; c < groupChannels; ++c) {
        float w[OUT_K * TAPS];
        for (int o = 0; o < OUT_K; ++o) {
            for (int i = 0; i < TAPS; ++i) {
                w[o * TAPS + i] = weights[((k + o) * GROUP_CHANNELS + c) * TAPS + i];
            }
        }
        for (int y = 0; y < LINES; ++y) {
            bool insideH = top + y >= 0 && top + y < HEIGHT;
            float line[LINE];
            int from = ((firstC + c) * HEIGHT + top + y) * WIDTH + left;
            for (int x = 0; x < LINE; ++x) {
                // Loaded from the start of the input and dropped where it is outside,
                // so that no load waits for a branch.
                bool inside = insideH && left + x >= 0 && left + x < WIDTH;
                line[x] = inputs[inside ? from + x : 0];
                line[x] = inside ? line[x] : 0.0;
            }
            for (int i = 0; i < OUT_P; ++i) {
                // The row of the filters that meets row i, without a loop over them: a driver
                // unrolls that before it finds that one row meets.
                int r = (y - i * STRIDE_H) / DILATION_H;
                if (y >= i * STRIDE_H && r < FILTER_R && i * STRIDE_H + r * DILATION_H == y) {
                    ADD_LINE(i, r)
                }
            }
        }
    }

    for (int o = 0; o < OUT_K; ++o) {
        int to = ((image * FILTERS + k + o) * OUTPUT_P + p) * OUTPUT_Q + q;
        for (int i = 0; i < OUT_P; ++i) {
            for (int j = 0; j < OUT_Q; ++j) {
                if (p + i < OUTPUT_P && q + j < OUTPUT_Q) {
                    outputs[to + i * OUTPUT_Q + j] = activate(sum[o * OUTS + i * OUT_Q + j]);
                }
            }
        }
    }
}
