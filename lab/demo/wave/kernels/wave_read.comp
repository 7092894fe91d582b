#version 450 core

// wave_read: reads the heights of cells.
//
//   binding  buffer   layout
//   0        Now      field: u
//   4        Places   indices of the cells in the field
//   7        Heights  u of the cells
//
//   grid     x: cells

#ifndef LOCAL
#define LOCAL 64
#endif

layout(local_size_x = LOCAL) in;

layout(std430, binding = 0) restrict readonly buffer Now { float now[]; };
layout(std430, binding = 4) restrict readonly buffer Places { uint places[]; };
layout(std430, binding = 7) restrict writeonly buffer Heights { float heights[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i < places.length() && i < heights.length()) {
        heights[i] = now[places[i]];
    }
}
