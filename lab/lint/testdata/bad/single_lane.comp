#version 450 core
// One lane works, the others are idle.
layout(local_size_x = 32) in;
layout(std430, binding = 0) buffer Values { uint values[]; };
uniform uint count;

void sum() {
    for (uint i = 0u; i < count; ++i) { // want single-lane-loop
        values[0] += values[i];
    }
}

bool leading() { return gl_LocalInvocationIndex == 0u; }

void main() {
    if (leading()) {
        for (uint i = 0u; i < count; ++i) { // want single-lane-loop
            values[i] = 7u;
        }
    }
    uint tid = gl_LocalInvocationID.x;
    if (tid == 0u) {
        for (uint i = 0u; i < count; ++i) { // want single-lane-loop
            values[i] = i;
        }
        sum();
    }
    bool chief = gl_LocalInvocationIndex < 1u;
    if (count > 3u && chief) {
        uint i = 0u;
        while (i < count) { // want single-lane-loop
            values[i++] = 0u;
        }
    }
    // lint:leader
    // want-above marker
    if (tid != 0u) {
        return;
    }
    uint i = count;
    do { // want single-lane-loop
        values[--i] = 1u;
    } while (i > 0u);
}
