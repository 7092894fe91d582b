#version 450 core
// Invocations run different numbers of iterations.
layout(local_size_x = 64) in;
shared uint sums[64];

void main() {
    uint self = gl_LocalInvocationIndex;
    for (uint i = self; i < 100u; i += 64u) {
        sums[self] += i;
        barrier(); // want divergent-loop
    }
    uint turns = 0u;
    for (uint i = 0u; i < self; ++i) {
        ++turns;
    }
    if (turns > 3u) {
        barrier(); // want divergent-barrier
    }
    for (uint i = 0u; i < 4u; ++i) {
        if (sums[self] == i) {
            continue;
        }
        barrier(); // want divergent-loop
    }
}
