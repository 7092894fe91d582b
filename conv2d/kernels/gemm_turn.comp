#version 450 core

// gemm_turn: copies a matrix transposed, padded with zeros to full pieces, and in tiles of
// columns, so that gemm_block reads whole vectors in the order of its shared memory, one
// piece behind the other.
//
// An invocation turns a block of 4 x 4 elements in its registers. The groups follow the rows
// of the matrix: where its rows lie 64 KiB apart or more, each tile of groups down the
// columns would touch a page of memory for each row, and GPUs keep few of them at hand.
//
//   binding  buffer   layout
//   0        From     batch matrices rows x columns, stride apart, rows ld apart; columns,
//                     stride and ld are multiples of 4
//   1        To       from offset: batch matrices height x width, in tiles of columnsOfTile
//                     columns one behind the other; all four are multiples of 4
//
//   grid     x: height in tiles of 32     y: width in tiles of 128     z: batch
//
// All values are 32-bit floats, all sizes, distances and offsets in elements.

#pragma optionNV(unroll all)

layout(local_size_x = 8, local_size_y = 32) in;

layout(std430, binding = 0) restrict readonly buffer From { vec4 from[]; };
layout(std430, binding = 1) restrict writeonly buffer To { vec4 to[]; };

uniform int rows, columns, ld, stride;
uniform int height, width, offset;
uniform int columnsOfTile; // divides width

vec4 read(int row, int column) {
    if (row >= rows || column >= columns) {
        return vec4(0.0);
    }
    return from[(int(gl_WorkGroupID.z) * stride + row * ld + column) / 4];
}

void main() {
    int column = 4 * int(gl_GlobalInvocationID.x), row = 4 * int(gl_GlobalInvocationID.y);
    if (row >= width || column >= height) {
        return;
    }
    vec4 block[4];
    for (int i = 0; i < 4; ++i) {
        block[i] = read(row + i, column);
    }
    uint tile = uint(row) / uint(columnsOfTile), within = uint(row) % uint(columnsOfTile);
    int at = (offset + int(gl_WorkGroupID.z) * height * width + (int(tile) * height + column) * columnsOfTile + int(within)) / 4;
    int next = columnsOfTile / 4;
    to[at] = vec4(block[0].x, block[1].x, block[2].x, block[3].x);
    to[at + next] = vec4(block[0].y, block[1].y, block[2].y, block[3].y);
    to[at + 2 * next] = vec4(block[0].z, block[1].z, block[2].z, block[3].z);
    to[at + 3 * next] = vec4(block[0].w, block[1].w, block[2].w, block[3].w);
}
