#version 450 core
// The flag is read before a barrier has passed; and in the second loop it may be
// written for the next iteration while others still read it.
layout(local_size_x = 64) in;
layout(std430, binding = 0) coherent volatile buffer Control { uint stop; };
uniform uint budget;
shared bool done;

void main() {
    for (uint i = 0u; i < budget; ++i) {
        if (gl_LocalInvocationIndex == 0u) {
            done = stop != 0u;
        }
        if (done) {
            break;
        }
        barrier(); // want divergent-loop
    }
    for (uint i = 0u; i < budget; ++i) {
        if (gl_LocalInvocationIndex == 0u) {
            done = stop != 0u; // want shared-race
        }
        barrier();
        if (done) {
            break;
        }
    }
}
