#version 450 core

// probe_loops: counts how often a loop really goes round.
//
//   binding  buffer  layout, in 32-bit words
//   0        Count   0: rounds, written by the kernel   1: rounds to go
//
//   grid     one group of one invocation

layout(local_size_x = 1) in;

layout(std430, binding = 0) coherent volatile buffer Count { uint count[]; };

void main() {
    uint rounds = 0u;
    uint most = count[1];
    for (uint i = 0u; i < most; ++i) { // bounded by the host
        rounds += (i & 1u) + 1u;
        count[0] = i + 1u;
    }
    count[2] = rounds;
}
