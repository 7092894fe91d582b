#version 450 core

// write: writes a buffer once.
//
//   binding  buffer  layout
//   2        To      vectors vectors

#define LOCAL 256u

layout(local_size_x = LOCAL) in;

layout(std430, binding = 2) restrict writeonly buffer To { vec4 to[]; };

uniform int vectors;

void main() {
    uint all = gl_NumWorkGroups.x * LOCAL;
    for (uint i = gl_GlobalInvocationID.x; i < uint(vectors); i += all) {
        to[i] = vec4(1.0);
    }
}
