#version 450 core

// probe_loops: counts the iterations that a loop really does.
//
//   binding  buffer  layout, in 32-bit words
//   0        Count   0: iterations, written by the kernel   1: iterations to do   2: keeps the loop
//
//   grid     one group of one invocation

layout(local_size_x = 1) in;

layout(std430, binding = 0) coherent volatile buffer Count { uint count[]; };

void main() {
    uint sum = 0u;
    uint limit = count[1];
    for (uint i = 0u; i < limit; ++i) { // bounded by the host
        sum += (i & 1u) + 1u;
        count[0] = i + 1u;
    }
    count[2] = sum;
}
