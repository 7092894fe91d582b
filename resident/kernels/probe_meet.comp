#version 450 core

// probe_meet: groups wait for each other, again and again, and say whether all
// of them came.
//
//   binding  buffer  layout, in 32-bit words
//   0        Meet    0: arrived   1: generation   2: 1 once somebody gave up   3: groups that were at all meetings
//
//   grid     as many groups as are to meet
//
// meetings is how often. Nobody looks more than SPIN times, and one who gives up
// ends it for all.

#ifndef LOCAL
#define LOCAL 256
#endif
#ifndef SPIN
#define SPIN 30000
#endif

layout(local_size_x = LOCAL) in;

layout(std430, binding = 0) coherent volatile buffer Meet {
    uint arrived;
    uint generation;
    uint broken;
    uint faithful;
};

uniform uint meetings;

shared uint stop;

void main() {
    uint met = 0u;
    for (; met < meetings; ++met) {
        memoryBarrierBuffer();
        barrier();
        if (gl_LocalInvocationIndex == 0u) {
            uint mine = generation;
            if (atomicAdd(arrived, 1u) == gl_NumWorkGroups.x - 1u) {
                arrived = 0u;
                memoryBarrierBuffer();
                atomicAdd(generation, 1u);
            } else {
                uint looks = 0u;
                while (generation == mine && broken == 0u && looks < uint(SPIN)) { // lint:leader waits for other groups, bounded
                    ++looks;
                }
                if (looks == uint(SPIN)) {
                    broken = 1u;
                }
            }
            stop = broken;
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
