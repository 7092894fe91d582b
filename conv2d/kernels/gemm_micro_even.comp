#version 450 core

// gemm_micro_even: copies matrices so that every row starts at an even element,
// for gemm_micro to load two neighbours at once.
//
//   from  batch x rows, columns elements each, ld apart      a0 a1 a2 .. b0 b1 b2 ..
//   to    batch x rows, columns rounded up to an even        a0 a1 a2 0  b0 b1 b2 0
//         number, without gaps; added elements are 0
//
//   binding  buffer  layout
//   0        From    batch x rows x ld, matrices stride apart
//   1        To      batch x rows x columns, rounded up
//
//   grid     x: pairs of columns, LANES * EACH to a group     y, z: batch * rows, z the slower

// Invocations of a group, and pairs that each of them copies.
#ifndef LANES
#define LANES 8
#endif
#ifndef EACH
#define EACH 8
#endif

layout(local_size_x = LANES) in;

layout(std430, binding = 0) restrict readonly buffer From { float from[]; };
layout(std430, binding = 1) restrict writeonly buffer To { double to[]; };

uniform int rows, columns;
uniform int ld, stride;
uniform int allRows; // batch * rows

void main() {
    int row = int(gl_WorkGroupID.z * gl_NumWorkGroups.y + gl_WorkGroupID.y);
    int first = row / rows * stride + row % rows * ld;
    int pairs = (columns + 1) / 2;
    int start = int(gl_WorkGroupID.x) * (LANES * EACH) + int(gl_LocalInvocationID.x);
    for (int i = 0; i < EACH; ++i) {
        int at = start + i * LANES;
        if (row < allRows && at < pairs) {
            vec2 both = vec2(from[first + 2 * at], 0.0);
            if (2 * at + 1 < columns) {
                both.y = from[first + 2 * at + 1];
            }
            to[row * pairs + at] = packDouble2x32(floatBitsToUint(both));
        }
    }
}
