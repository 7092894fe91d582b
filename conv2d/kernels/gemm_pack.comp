#version 450 core

// gemm_pack: copies a matrix without gaps, padded with zeros to full pieces, transposed
// where TURN is set, so that gemm_block reads whole vectors in the order of its shared
// memory.
//
//   binding  buffer   layout
//   0        From     batch matrices rows x columns, stride apart, rows ld apart
//   1        To       from offset: batch matrices height x width, in tiles of columnsOfTile
//                     columns one behind the other; with TURN row and column change places
//
//   grid     x: width in tiles of 32     y: height in tiles of 32     z: batch
//
// All values are 32-bit floats, all sizes, distances and offsets in elements.

#pragma optionNV(unroll all)

#ifndef TURN
#define TURN 1
#endif

#define TILE 32
#define LOCAL_Y 8

layout(local_size_x = TILE, local_size_y = LOCAL_Y) in;

layout(std430, binding = 0) restrict readonly buffer From { float from[]; };
layout(std430, binding = 1) restrict writeonly buffer To { float to[]; };

uniform int rows, columns, ld, stride;
uniform int height, width, offset;
uniform int columnsOfTile; // divides width

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

void main() {
    int x = int(gl_LocalInvocationID.x), y = int(gl_LocalInvocationID.y);
    int left = int(gl_WorkGroupID.x) * TILE, top = int(gl_WorkGroupID.y) * TILE;
#if TURN
    for (int i = y; i < TILE; i += LOCAL_Y) {
        tile[i][x] = read(left + i, top + x);
    }
    barrier();
#endif
    for (int i = y; i < TILE; i += LOCAL_Y) {
        if (top + i < height && left + x < width) {
            uint column = uint(left + x);
            int at = offset + int(gl_WorkGroupID.z) * height * width + int(column / uint(columnsOfTile)) * height * columnsOfTile
                + (top + i) * columnsOfTile + int(column % uint(columnsOfTile));
#if TURN
            to[at] = tile[x][i];
#else
            to[at] = read(top + i, left + x);
#endif
        }
    }
}
