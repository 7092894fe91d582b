#version 450 core

// read: reads two buffers once, AHEAD vectors at a time for each invocation, and writes
// nothing.
//
//   binding  buffer  layout
//   0        First   firstVectors vectors
//   1        Second  secondVectors vectors
//   2        Never   written where the sum of all is a number that it is not

#pragma optionNV(unroll all)

#define AHEAD 8u
#define LOCAL 256u

layout(local_size_x = LOCAL) in;

layout(std430, binding = 0) restrict readonly buffer First { vec4 first[]; };
layout(std430, binding = 1) restrict readonly buffer Second { vec4 second[]; };
layout(std430, binding = 2) restrict writeonly buffer Never { float never[]; };

uniform int firstVectors, secondVectors;

vec4 total = vec4(0.0);

#define READ(from, count) \
    for (uint i = gl_GlobalInvocationID.x; i < uint(count); i += AHEAD * all) { \
        vec4 values[AHEAD]; \
        for (uint j = 0u; j < AHEAD; ++j) { \
            values[j] = from[min(i + j * all, uint(count) - 1u)]; \
        } \
        for (uint j = 0u; j < AHEAD; ++j) { \
            total += values[j]; \
        } \
    }

void main() {
    uint all = gl_NumWorkGroups.x * LOCAL;
    READ(first, firstVectors)
    READ(second, secondVectors)
    if (dot(total, vec4(1.0)) == 1.2345e30) {
        never[0] = 0.0;
    }
}
