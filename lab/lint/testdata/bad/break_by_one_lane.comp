#version 450 core
// One lane leaves the loop, and the others wait at a barrier.
layout(local_size_x = 32) in;
layout(std430, binding = 0) coherent volatile buffer Control { uint stop; uint beats; };
uniform uint budget;

void main() {
    uint tid = gl_LocalInvocationIndex;
    for (uint i = 0u; i < budget; ++i) {
        if (tid == 0u) {
            ++beats;
            if (stop != 0u) {
                break;
            }
        }
        barrier(); // want divergent-loop
    }
}
