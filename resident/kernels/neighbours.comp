#version 450 core
#include "resident.glsl"

// neighbours: values move around a ring across the borders of groups, in steps of two
// phases.
//
//   phase 0   mail[(i + 5) mod n] = 3 * ring[i] + step
//   phase 1   ring[i] = ring[i] xor (mail[i] + i)
//
//   binding  buffer  layout
//   0        Ring    a uint for each invocation, n of them
//   1        Mail    the same
//
//   grid     any number of groups along x

// Invocations in a group.
#ifndef LOCAL
#define LOCAL 256
#endif

layout(local_size_x = LOCAL) in;

layout(std430, binding = 0) coherent buffer Ring { uint ring[]; };
layout(std430, binding = 1) coherent buffer Mail { uint mail[]; };

uint residentStep(uvec2 step) {
    uint n = gl_NumWorkGroups.x * uint(LOCAL);
    uint i = gl_GlobalInvocationID.x;
    if (residentPhase == 0u) {
        mail[(i + 5u) % n] = 3u * ring[i] + step.x;
    } else {
        ring[i] ^= mail[i] + i;
    }
    return RESIDENT_GO;
}
