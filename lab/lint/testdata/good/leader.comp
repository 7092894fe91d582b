#version 450 core
// A leader decides, and after a barrier all invocations follow its decision.
layout(local_size_x = 64) in;
layout(std430, binding = 0) coherent volatile buffer Control { uint stop; uint beats; };
layout(std430, binding = 1) buffer Values { uint values[]; };
uniform uint budget;
uniform uint count;
shared bool done;
shared uint first;

bool leading() { return gl_LocalInvocationIndex == 0u; }

void main() {
    uint tid = gl_LocalInvocationIndex;
    for (uint step = 0u; step < budget; ++step) {
        if (tid == 0u) {
            done = stop != 0u;
            first = atomicAdd(beats, 64u);
        }
        memoryBarrierShared();
        barrier();
        if (done) {
            break;
        }
        uint i = first + tid;
        if (i < count) {
            values[i] += 1u;
        }
        barrier();
    }
    barrier();
    if (leading()) {
        for (uint i = 0u; i < 4u; ++i) {
            values[i] = i;
        }
        // lint:leader the host reads these few in order
        for (uint i = 4u; i < count; ++i) {
            values[i] = i;
        }
    }
}
