#version 450 core

// probe_barrier: groups wait for each other, again and again, and say whether all
// of them came.
//
//   binding  buffer  layout, in 32-bit words
//   0        Meet    0: arrivals   1: 1 once somebody gave up   2: groups that were at all meetings
//
//   grid     as many groups as are to meet
//
// meetings is how often. Nobody looks more than SPIN times. Arrivals are counted
// through, as residentMeet does.

#ifndef LOCAL
#define LOCAL 256
#endif
#ifndef SPIN
#define SPIN 30000
#endif

layout(local_size_x = LOCAL) in;

layout(std430, binding = 0) coherent volatile buffer Meet {
    uint arrived;
    uint broken;
    uint faithful;
    uint unused;
};

uniform uint meetings;

shared uint stop;

void main() {
    uint met = 0u;
    for (; met < meetings; ++met) {
        memoryBarrierBuffer();
        barrier();
        if (gl_LocalInvocationIndex == 0u) {
            uint all = (met + 1u) * gl_NumWorkGroups.x;
            uint looks = 0u;
            if (atomicAdd(arrived, 1u) + 1u != all) {
                while (int(arrived - all) < 0 && looks < uint(SPIN)) { // lint:leader waits for other groups, bounded
                    ++looks;
                }
            }
            stop = looks == uint(SPIN) ? 1u : 0u;
            if (looks == uint(SPIN)) {
                broken = 1u;
            }
        }
        barrier();
        if (stop != 0u) {
            break;
        }
    }
    if (gl_LocalInvocationIndex == 0u && met == meetings) {
        atomicAdd(faithful, 1u);
    }
}
