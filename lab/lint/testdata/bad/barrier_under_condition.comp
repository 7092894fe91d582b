#version 450 core
// Barriers under divergent conditions: directly, through a variable,
// through a call, through a macro, through a buffer and through an atomic.
#define SYNC memoryBarrierShared(); barrier()
layout(local_size_x = 64) in;
layout(std430, binding = 0) buffer Values { uint values[]; };
layout(std430, binding = 1) readonly buffer Table { uint table[]; };
shared uint total;

uint halved(uint x) { return x / 2u; }

void settle() {
    memoryBarrierShared();
    barrier(); // want divergent-barrier
}

void main() {
    if (gl_LocalInvocationID.x < 32u) {
        barrier(); // want divergent-barrier
    }
    bool low = halved(gl_LocalInvocationIndex) < 16u;
    if (low) {
        settle();
    }
    if (values[gl_WorkGroupID.x] > 3u) {
        SYNC; // want divergent-barrier
    }
    if (table[gl_LocalInvocationIndex] > 3u) {
        barrier(); // want divergent-barrier
    }
    if (atomicAdd(total, 1u) == 63u) {
        barrier(); // want divergent-barrier
    }
    values[gl_GlobalInvocationID.x] = total;
    uint n = 0u;
    if (gl_LocalInvocationIndex > 7u) {
        n = 1u;
    }
    switch (n) {
    case 1u:
        barrier(); // want divergent-barrier
        break;
    default:
        break;
    }
}
