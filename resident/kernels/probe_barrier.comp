#version 450 core

// probe_barrier: groups pass grid barriers, and report whether none of them timed out.
//
//   binding  buffer  layout, in 32-bit words
//   0        Barrier 0: arrivals   1: 1 once a barrier timed out   2: groups that passed all barriers
//
//   grid     the groups to test
//
// barriers is their number. A barrier times out after SPIN polls. The count of arrivals
// is never reset, as in residentWaitAllGroups.

#ifndef LOCAL
#define LOCAL 256
#endif
#ifndef SPIN
#define SPIN 30000
#endif

layout(local_size_x = LOCAL) in;

layout(std430, binding = 0) coherent volatile buffer Barrier {
    uint arrived;
    uint failed;
    uint complete;
    uint unused;
};

uniform uint barriers;

shared uint stop;

void main() {
    uint passed = 0u;
    for (; passed < barriers; ++passed) {
        memoryBarrierBuffer();
        barrier();
        if (gl_LocalInvocationIndex == 0u) {
            uint all = (passed + 1u) * gl_NumWorkGroups.x;
            uint polls = 0u;
            if (atomicAdd(arrived, 1u) + 1u != all) {
                while (int(arrived - all) < 0 && polls < uint(SPIN)) { // lint:leader waits for other groups, bounded
                    ++polls;
                }
            }
            stop = polls == uint(SPIN) ? 1u : 0u;
            if (polls == uint(SPIN)) {
                failed = 1u;
            }
        }
        barrier();
        if (stop != 0u) {
            break;
        }
    }
    if (gl_LocalInvocationIndex == 0u && passed == barriers) {
        atomicAdd(complete, 1u);
    }
}
