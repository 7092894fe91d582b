#version 450 core

// conv2d_micro_pairs: puts each two neighbouring channels side by side, so
// that conv2d_micro loads both at once.
//
//   from  outer x channels x inner          c0 c0 c0 ..  c1 c1 c1 ..  c2 c2 c2 ..
//   to    outer x pairs x inner x 2         c0 c1 c0 c1 c0 c1 ..  c2 0 c2 0 c2 0 ..
//
// pairs is half of channels, rounded up; an element missing in the last pair is 0.
// For an input outer is N * groups and inner H * W, for weights K and R * S.
//
//   binding  buffer  layout
//   0        From    outer x channels x inner
//   1        To      outer x pairs x inner x 2
//
//   grid     x: inner, LANES * EACH to a group     y, z: outer * pairs, z the slower

// Invocations of a group, and pairs that each of them makes.
#ifndef LANES
#define LANES 8
#endif
#ifndef EACH
#define EACH 8
#endif

layout(local_size_x = LANES) in;

layout(std430, binding = 0) restrict readonly buffer From { float from[]; };
layout(std430, binding = 1) restrict writeonly buffer To { double to[]; };

uniform int channels, inner;
uniform int planes; // outer * pairs

void main() {
    int plane = int(gl_WorkGroupID.z * gl_NumWorkGroups.y + gl_WorkGroupID.y);
    int pairs = (channels + 1) / 2;
    int channel = plane % pairs * 2;
    int first = (plane / pairs * channels + channel) * inner;
    int second = channel + 1 < channels ? inner : 0;
    int start = int(gl_WorkGroupID.x) * (LANES * EACH) + int(gl_LocalInvocationID.x);
    for (int i = 0; i < EACH; ++i) {
        int at = start + i * LANES;
        if (plane < planes && at < inner) {
            vec2 both = vec2(from[first + at], 0.0);
            if (second != 0) {
                both.y = from[first + second + at];
            }
            to[plane * inner + at] = packDouble2x32(floatBitsToUint(both));
        }
    }
}
