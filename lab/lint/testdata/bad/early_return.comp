#version 450 core
// Invocations past the end leave before the barrier.
layout(local_size_x = 64) in;
layout(std430, binding = 0) buffer Values { float values[]; };
uniform uint count;
shared float sums[64];

void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i >= count) {
        return; // want return-before-barrier
    }
    sums[gl_LocalInvocationIndex] = values[i];
    barrier();
    values[i] = sums[63u - gl_LocalInvocationIndex];
}
