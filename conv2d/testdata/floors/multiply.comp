#version 450 core

// multiply: 128 multiply-adds in registers for each step, in 32 sums, and writes nothing.
//
//   binding  buffer  layout
//   2        Never   written where a sum is a number that it is not

#pragma optionNV(unroll all)

#define SUMS 8

layout(local_size_x = 256) in;

layout(std430, binding = 2) restrict writeonly buffer Never { float never[]; };

uniform int steps;
uniform float factor;

void main() {
    vec4 sums[SUMS];
    for (int i = 0; i < SUMS; ++i) {
        sums[i] = vec4(gl_GlobalInvocationID.x + uint(i)) * factor;
    }
    for (int step = 0; step < steps; ++step) {
        for (int i = 0; i < 4 * SUMS; ++i) {
            sums[i % SUMS] = sums[i % SUMS] * factor + vec4(0.5);
        }
    }
    vec4 total = vec4(0.0);
    for (int i = 0; i < SUMS; ++i) {
        total += sums[i];
    }
    if (dot(total, vec4(1.0)) == 1.2345e30) {
        never[0] = 0.0;
    }
}
