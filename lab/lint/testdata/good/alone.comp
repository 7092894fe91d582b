#version 450 core
// A group of one invocation: no barrier waits.
layout(local_size_x = 1) in;
layout(std430, binding = 0) buffer Values { uint values[]; };
uniform uint count;

void main() {
    if (gl_GlobalInvocationID.x >= count) {
        return;
    }
    if (gl_LocalInvocationIndex == 0u) {
        for (uint i = 0u; i < count; ++i) {
            values[i] = i;
        }
    }
    barrier();
    // lint:budget the host sets count before it starts this
    while (values[0] < count) {
        atomicAdd(values[0], 1u);
    }
}
