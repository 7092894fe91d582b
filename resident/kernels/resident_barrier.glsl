// resident_barrier: groups that wait for each other within a dispatch. A part of
// resident.glsl.

// residentMeet waits until all groups are there. It works only while all groups
// run at the same time, so for no more groups than were measured to do so. The
// last one judges, where that is asked for, whether another step follows.
//
// Arrivals are counted through and never begin anew, and each group counts by
// itself how many meetings it passed: a generation that is read here could be read
// behind the arrival, and already be the next.
void residentMeet(bool judge) {
    memoryBarrierBuffer();
    barrier();
    if (residentLeader()) {
        uint passed = residentMeetings;
        uint all = (passed + 1u) * gl_NumWorkGroups.x;
        residentMeetings = passed + 1u;
        if (atomicAdd(residentGridArrived, 1u) + 1u == all) {
            if (judge) {
                if (residentRaised != 0u || residentRelayStop != 0u) {
                    residentVerdict = 1u;
                }
                memoryBarrierBuffer();
            }
            atomicAdd(residentGridGeneration, 1u);
        } else {
            uint most = residentMode(RESIDENT_TRIAL) ? RESIDENT_TRIAL_SPIN : uint(RESIDENT_SPIN);
            uint looks = 0u;
            if (judge) {
                while (residentGridGeneration == passed && looks < most) { // lint:leader waits for other groups, bounded
                    ++looks;
                }
            } else {
                while (int(residentGridArrived - all) < 0 && looks < most) { // lint:leader waits for other groups, bounded
                    ++looks;
                }
            }
            if (looks == most) {
                residentVerdict = 1u;
                residentSignal(RESIDENT_FAULT, RESIDENT_BARRIER_STUCK);
            }
        }
    }
    barrier();
    memoryBarrierBuffer();
}

// residentGridBarrier waits until all groups of the grid are there: see
// residentMeet. Phases do the same on every driver.
void residentGridBarrier() { residentMeet(false); }
