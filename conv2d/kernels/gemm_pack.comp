#version 450 core

// gemm_pack: copies a matrix without gaps, padded with zeros to full pieces, transposed
// where TURN is set, so that gemm_block reads whole vectors in the order of its shared
// memory.
//
//   binding  buffer   layout
//   0        From     batch matrices rows x columns, stride apart, rows ld apart
//   1        To       from offset: batch matrices height x width, in blocks of block
//                     columns one behind the other; with TURN row and column change places
//
//   grid     x: width in tiles of 32     y: height in tiles of 32     z: batch
//
// All values are 32-bit floats, all sizes, distances and offsets in elements.

#pragma optionNV(unroll all)

#ifndef TURN
#define TURN 1
#endif

// The order of the tiles: 0 along the rows of To, 1 along its columns, 2 column by
// column in panels of PANEL rows of tiles.
#ifndef WALK
#define WALK 0
#endif
#define PANEL 16u

#define TILE 32
#define LOCAL_Y 8

layout(local_size_x = TILE, local_size_y = LOCAL_Y) in;

layout(std430, binding = 0) restrict readonly buffer From { float from[]; };
layout(std430, binding = 1) restrict writeonly buffer To { float to[]; };

uniform int rows, columns, ld, stride;
uniform int height, width, offset;
uniform int block; // divides width

#if TURN
// The odd row length keeps reads along columns in different banks.
shared float tile[TILE][TILE + 1];
#endif

float read(int row, int column) {
    if (row >= rows || column >= columns) {
        return 0.0;
    }
    return from[int(gl_WorkGroupID.z) * stride + row * ld + column];
}

uvec2 tileOfGroup() {
    uint wide = gl_NumWorkGroups.x, high = gl_NumWorkGroups.y;
    uint group = gl_WorkGroupID.y * wide + gl_WorkGroupID.x;
#if WALK == 1
    return uvec2(group / high, group % high);
#elif WALK == 2
    uint top = group / (PANEL * wide) * PANEL;
    uint rows = min(PANEL, high - top);
    uint within = group - top * wide;
    return uvec2(within / rows, top + within % rows);
#else
    return gl_WorkGroupID.xy;
#endif
}

void main() {
    int x = int(gl_LocalInvocationID.x), y = int(gl_LocalInvocationID.y);
    uvec2 here = tileOfGroup();
    int left = int(here.x) * TILE, top = int(here.y) * TILE;
#if TURN
    for (int i = y; i < TILE; i += LOCAL_Y) {
        tile[i][x] = read(left + i, top + x);
    }
    barrier();
#endif
    for (int i = y; i < TILE; i += LOCAL_Y) {
        if (top + i < height && left + x < width) {
            uint column = uint(left + x);
            int at = offset + int(gl_WorkGroupID.z) * height * width + int(column / uint(block)) * height * block
                + (top + i) * block + int(column % uint(block));
#if TURN
            to[at] = tile[x][i];
#else
            to[at] = read(top + i, left + x);
#endif
        }
    }
}
