#version 450 core

// gemm_turn: copies a matrix transposed and without gaps, padded with zeros to full pieces, so
// that gemm_block reads whole vectors in the order of its shared memory. An invocation turns
// blocks of 4 x 4 elements in its registers: 32 columns of the matrix, 128 bytes of each row,
// and 128 rows make the tile of a group.
//
//   binding  buffer   layout
//   0        From     batch matrices rows x columns, stride apart, rows ld apart; columns,
//                     stride and ld are multiples of 4
//   1        To       from offset: batch matrices height x width, both multiples of 4
//
//   grid     x: width in tiles of 128     y: height in tiles of 32     z: batch
//
// All values are 32-bit floats, all sizes, distances and offsets in elements.

#pragma optionNV(unroll all)

#ifndef WALK
#define WALK 0
#endif

layout(local_size_x = 8, local_size_y = 32) in;

layout(std430, binding = 0) restrict readonly buffer From { vec4 from[]; };
layout(std430, binding = 1) restrict writeonly buffer To { vec4 to[]; };

uniform int rows, columns, ld, stride;
uniform int height, width, offset;

uvec2 tileOfGroup() {
    uint wide = gl_NumWorkGroups.x, high = gl_NumWorkGroups.y;
    uint group = gl_WorkGroupID.y * wide + gl_WorkGroupID.x;
#if WALK == 1
    return uvec2(group / high, group % high);
#elif WALK == 2
    const uint panel = 32u;
    uint top = group / (panel * wide) * panel;
    uint most = min(panel, high - top);
    uint within = group - top * wide;
    return uvec2(within / most, top + within % most);
#else
    return gl_WorkGroupID.xy;
#endif
}

vec4 read(int row, int column) {
    if (row >= rows || column >= columns) {
        return vec4(0.0);
    }
    return from[(int(gl_WorkGroupID.z) * stride + row * ld + column) / 4];
}

void main() {
    uvec2 tile = tileOfGroup();
    int row = 4 * int(tile.x * 32u + gl_LocalInvocationID.y), column = 4 * int(tile.y * 8u + gl_LocalInvocationID.x);
    if (row >= width || column >= height) {
        return;
    }
    vec4 block[4];
    for (int i = 0; i < 4; ++i) {
        block[i] = read(row + i, column);
    }
    int at = (offset + (int(gl_WorkGroupID.z) * height + column) * width + row) / 4;
    to[at] = vec4(block[0].x, block[1].x, block[2].x, block[3].x);
    to[at + width / 4] = vec4(block[0].y, block[1].y, block[2].y, block[3].y);
    to[at + width / 2] = vec4(block[0].z, block[1].z, block[2].z, block[3].z);
    to[at + width / 4 * 3] = vec4(block[0].w, block[1].w, block[2].w, block[3].w);
}
