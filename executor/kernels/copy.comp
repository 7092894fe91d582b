#version 450 core

// copy: moves words of 16 bytes between mapped memory and device memory.
//
// A copy by the driver waits for the kernels before it and delays those after it;
// a copy by a kernel runs beside them. Few groups saturate the bus and leave most
// of the GPU to other kernels: each invocation has four loads in flight.
//
//   binding  buffer  layout
//   0        From    words of 16 bytes
//   1        To      words of 16 bytes
//
//   grid     any number of groups along x; they share the words evenly

// Invocations in a group.
#ifndef LOCAL
#define LOCAL 512
#endif

layout(local_size_x = LOCAL) in;

layout(std430, binding = 0) restrict readonly buffer From { uvec4 source[]; };
layout(std430, binding = 1) restrict writeonly buffer To { uvec4 target[]; };

uniform uint count; // words

void main() {
    uint stride = gl_NumWorkGroups.x * uint(LOCAL);
    uint i = gl_GlobalInvocationID.x;
    // Whole strides first; count - 3 * stride would wrap for a small count.
    for (; i + 3u * stride < count; i += 4u * stride) {
        uvec4 a = source[i];
        uvec4 b = source[i + stride];
        uvec4 c = source[i + 2u * stride];
        uvec4 d = source[i + 3u * stride];
        target[i] = a;
        target[i + stride] = b;
        target[i + 2u * stride] = c;
        target[i + 3u * stride] = d;
    }
    for (; i < count; i += stride) {
        target[i] = source[i];
    }
}
