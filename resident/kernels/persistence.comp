#version 450 core
#include "resident.glsl"

// persistence: FMAS multiply-adds for each invocation and step, and a checksum of the
// steps that were done.
//
//   binding  buffer   layout
//   0        Values   a float for each invocation
//   1        Witness  a uint for each invocation: over all its steps, the sum of
//                     mix(step) * (2 * lane + 1), lane being its place in the group
//   2        Cells    CELLS uints that messages write and read
//
//   grid     any number of groups along x
//
//   messages kind 1: b goes into cell a      kind 2: cell a is returned as
//            kind 2, a, content

// Invocations in a group.
#ifndef LOCAL
#define LOCAL 256
#endif
#ifndef FMAS
#define FMAS 100
#endif
#ifndef CELLS
#define CELLS 64
#endif

layout(local_size_x = LOCAL) in;

layout(std430, binding = 0) buffer Values { float values[]; };
layout(std430, binding = 1) buffer Witness { uint witness[]; };
layout(std430, binding = 2) buffer Cells { uint cells[]; };

uint mixed(uint step) {
    step = (step ^ step >> 16) * 0x7feb352du;
    return (step ^ step >> 15) * 0x846ca68bu;
}

uint residentStep(uvec2 step) {
    uvec3 message;
    if (gl_WorkGroupID.x == 0u && residentReceive(message) && residentLeader()) {
        uint at = message.y % uint(CELLS);
        if (message.x == 1u) {
            cells[at] = message.z;
        } else {
            residentSend(uvec3(2u, message.y, cells[at]));
        }
    }
    uint i = gl_GlobalInvocationID.x;
    float x = values[i];
    for (int n = 0; n < FMAS; ++n) {
        x = fma(x, 0.9990234375, 0.0009765625);
    }
    values[i] = x;
    witness[i] += mixed(step.x) * (2u * gl_LocalInvocationIndex + 1u);
    return RESIDENT_GO;
}
