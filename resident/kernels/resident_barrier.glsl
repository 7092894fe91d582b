// resident_barrier: the grid barrier. A part of resident.glsl.

// residentWaitAllGroups waits until all groups have called it. It requires that all
// groups run at the same time, so a session uses it for at most the measured number of
// co-resident groups. With decide, the last group decides whether another step follows.
//
// The count of arrivals is never reset, and each group counts the barriers that it
// passed: the generation, read after the arrival, could already be the next one.
void residentWaitAllGroups(bool decide) {
    memoryBarrierBuffer();
    barrier();
    if (residentLeader()) {
        uint passed = residentBarriersPassed;
        uint all = (passed + 1u) * gl_NumWorkGroups.x;
        residentBarriersPassed = passed + 1u;
        if (atomicAdd(residentGridArrived, 1u) + 1u == all) {
            if (decide) {
                if (residentRaised != 0u || residentStopRelayed != 0u) {
                    residentTickOver = 1u;
                }
                memoryBarrierBuffer();
            }
            atomicAdd(residentGridGeneration, 1u);
        } else {
            uint most = residentFlag(RESIDENT_FLAG_TEST_BARRIER) ? RESIDENT_TEST_BARRIER_POLLS : uint(RESIDENT_BARRIER_POLLS);
            uint polls = 0u;
            if (decide) {
                while (residentGridGeneration == passed && polls < most) { // lint:leader waits for other groups, bounded
                    ++polls;
                }
            } else {
                while (int(residentGridArrived - all) < 0 && polls < most) { // lint:leader waits for other groups, bounded
                    ++polls;
                }
            }
            if (polls == most) {
                residentTickOver = 1u;
                if (!residentFlag(RESIDENT_FLAG_TEST_BARRIER)) {
                    atomicOr(residentWorkSpoiled, RESIDENT_SPOILED_BY_BARRIER);
                    memoryBarrierBuffer();
                }
                residentSignal(RESIDENT_FAULT, 0u); // the other groups end the tick
            }
        }
    }
    barrier();
    memoryBarrierBuffer();
}

// residentGridBarrier waits until all groups of the grid have called it: see
// residentWaitAllGroups. Phases do the same on every driver.
void residentGridBarrier() { residentWaitAllGroups(false); }
