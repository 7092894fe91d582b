#version 450 core
#include "resident.glsl"

// echo: answers each message with kind, 3 * a + 1, b, and is idle otherwise.
//
//   binding  buffer  layout
//   0        Sums    a uint for each of 32 invocations of a group: the sum of a
//
//   grid     any number of groups; the addressed group answers

// Messages of a step.
#ifndef ECHO_MESSAGES
#define ECHO_MESSAGES 16
#endif

layout(local_size_x = 32) in;

layout(std430, binding = 0) buffer Sums { uint sums[]; };

uint residentStep(uvec2 step) {
    uvec3 message;
    for (uint i = 0u; i < uint(ECHO_MESSAGES); ++i) {
        if (!residentReceive(message)) {
            return RESIDENT_IDLE;
        }
        if (residentLeader()) {
            residentSend(uvec3(message.x, 3u * message.y + 1u, message.z));
        }
        sums[gl_GlobalInvocationID.x] += message.y;
    }
    return RESIDENT_GO;
}
