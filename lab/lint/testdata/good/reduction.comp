#version 450 core
// A tree in shared memory; the end of the input is an if, not a return.
#ifndef LOCAL
#define LOCAL 128
#endif
layout(local_size_x = LOCAL) in;
layout(std430, binding = 0) restrict readonly buffer Input { float source[]; };
layout(std430, binding = 1) restrict writeonly buffer Output { float target[]; };
layout(std430, binding = 2) restrict readonly buffer Sizes { uint sizes[]; };
uniform uint count;
shared float sums[LOCAL];

void main() {
    if (gl_WorkGroupID.x * uint(LOCAL) >= sizes[gl_WorkGroupID.y]) {
        return;
    }
    uint self = gl_LocalInvocationIndex;
    float sum = 0.0;
    for (uint i = gl_GlobalInvocationID.x; i < count; i += gl_NumWorkGroups.x * uint(LOCAL)) {
        sum += source[i];
    }
    sums[self] = sum;
    barrier();
    for (uint width = uint(LOCAL) / 2u; width > 0u; width >>= 1) {
        if (self < width) {
            sums[self] += sums[self + width];
        }
        barrier();
    }
    if (self == 0u) {
        target[gl_WorkGroupID.x] = sums[0];
    }
    // Two binary searches, whose ranges are halved in each iteration.
    uint low = 0u, high = count;
    while (low < high) {
        uint middle = (low + high) / 2u;
        if (source[middle] < sum) {
            low = middle + 1u;
        } else {
            high = middle;
        }
    }
    uint spent = 0u;
    while (true) {
        if (sums[0] > 1.0 || ++spent >= count) {
            break;
        }
    }
}
