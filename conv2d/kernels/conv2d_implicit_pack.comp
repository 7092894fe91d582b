#version 450 core

// conv2d_implicit_pack: weights in the order in which conv2d_implicit reads them,
// one element for each invocation.
//
//   weights, K x GROUP_CHANNELS x FILTER_R x FILTER_S
//     -> GROUPS x ROWS x FILTERS_PADDED: for each group, a matrix of the weights
//        with a column for each filter of the group and a row for each place in
//        the sum, 0 where there is none
//
//   binding  buffer   layout
//   1        Weights  K x GROUP_CHANNELS x FILTER_R x FILTER_S
//   2        Packed   GROUPS x ROWS x FILTERS_PADDED
//
//   grid     x: ROWS * FILTERS_PADDED elements, LOCAL to a group     z: GROUPS

#ifndef LOCAL
#define LOCAL 32
#endif

#ifndef ROWS
#define ROWS 72
#endif

// A multiple of LOCAL.
#ifndef FILTERS_PADDED
#define FILTERS_PADDED 32
#endif

// 1: rows in the order r, s, c, and c fills up to CHANNELS_PADDED.
// 0: rows in the order c, r, s.
#ifndef TAPS_FIRST
#define TAPS_FIRST 1
#endif
#ifndef CHANNELS_PADDED
#define CHANNELS_PADDED 8
#endif

#ifndef FILTER_R
#define FILTER_R 3
#endif
#ifndef FILTER_S
#define FILTER_S 3
#endif
#ifndef GROUP_CHANNELS
#define GROUP_CHANNELS 8
#endif
#ifndef GROUP_FILTERS
#define GROUP_FILTERS 8
#endif

#define TAPS (FILTER_R * FILTER_S)

layout(local_size_x = LOCAL) in;

layout(std430, binding = 1) restrict readonly buffer Weights { float weights[]; };
layout(std430, binding = 2) restrict writeonly buffer Packed { float matrix[]; };

void main() {
    uint at = gl_GlobalInvocationID.x;
    int k = int(at % FILTERS_PADDED);
    uint row = at / FILTERS_PADDED;
    int group = int(gl_GlobalInvocationID.z);
#if TAPS_FIRST
    int tap = int(row / CHANNELS_PADDED);
    int c = int(row % CHANNELS_PADDED);
#else
    int tap = int(row % TAPS);
    int c = int(row / TAPS);
#endif
    float value = 0.0;
    if (k < GROUP_FILTERS && c < GROUP_CHANNELS && tap < TAPS) {
        value = weights[((group * GROUP_FILTERS + k) * GROUP_CHANNELS + c) * TAPS + tap];
    }
    matrix[group * (ROWS * FILTERS_PADDED) + int(at)] = value;
}
