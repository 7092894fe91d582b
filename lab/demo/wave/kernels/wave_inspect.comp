#version 450 core

// wave_inspect: energy and largest height of every tile.
//
//   binding  buffer      layout
//   0        Now         field: u
//   1        Previous    field: the previous u
//   3        FacesBefore faces of the previous u
//   5        Tiles       16 words a tile: see tile.glsl
//   7        Reports     for each tile: energy, largest |u|, steps, impulses
//
//   grid     x: tiles
//
// The energy of a cell is (u-previous)^2 / 2 - courant2 * u * laplacian(previous) / 2.

#include "tile.glsl"

layout(local_size_x = LOCAL) in;

layout(std430, binding = 0) restrict readonly buffer Now { float now[]; };
layout(std430, binding = 1) restrict readonly buffer Previous { float previous[]; };
layout(std430, binding = 3) restrict readonly buffer FacesBefore { float facesBefore[]; };
layout(std430, binding = 5) restrict readonly buffer Tiles { Tile tiles[]; };
struct Report {
    float energy;
    float largest;
    uint steps;
    uint impulses;
};
layout(std430, binding = 7) restrict writeonly buffer Reports { Report reports[]; };

shared vec2 partial[LOCAL]; // energy, largest |u|

float laplacian(int i, int x, int y, ivec2 cell) {
    int t = tile();
    int at = block(t) + i;
    float sum = -4.0 * previous[at];
    if (cell.y > 0) {
        sum += y > 0 ? previous[at - blockW] : facesBefore[faceSouth(t - tilesX) + x];
    }
    if (cell.y + 1 < height) {
        sum += y + 1 < blockH ? previous[at + blockW] : facesBefore[faceNorth(t + tilesX) + x];
    }
    if (cell.x > 0) {
        sum += x > 0 ? previous[at - 1] : facesBefore[faceEast(t - 1) + y];
    }
    if (cell.x + 1 < width) {
        sum += x + 1 < blockW ? previous[at + 1] : facesBefore[faceWest(t + 1) + y];
    }
    return sum;
}

void main() {
    int t = tile();
    uint lane = gl_LocalInvocationIndex;
    vec2 mine = vec2(0.0);
    for (int i = int(lane); i < blockW * blockH; i += LOCAL) {
        int x = i % blockW, y = i / blockW;
        ivec2 cell = origin() + ivec2(x, y);
        if (inGrid(cell)) {
            float u = now[block(t) + i];
            float change = u - previous[block(t) + i];
            mine.x += 0.5 * change * change - 0.5 * courant2 * u * laplacian(i, x, y, cell);
            mine.y = max(mine.y, abs(u));
        }
    }
    partial[lane] = mine;
    barrier();
    for (uint span = uint(LOCAL) / 2u; span > 0u; span /= 2u) {
        if (lane < span) {
            partial[lane].x += partial[lane + span].x;
            partial[lane].y = max(partial[lane].y, partial[lane + span].y);
        }
        barrier();
    }
    if (lane == 0u) {
        reports[t] = Report(partial[0].x, partial[0].y, tiles[t].steps, tiles[t].impulses);
    }
}
