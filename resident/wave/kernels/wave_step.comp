#version 450 core

// wave_step: one step of every tile.
//
//   binding  buffer      layout
//   0        Now         field: u
//   1        Next        field: the previous u, overwritten by the next
//   2        FacesNow    faces of u
//   3        FacesNext   faces of the next u
//   4        Damping     pairs a, b for each distance from the edge; the last
//                        pair is for all cells further in
//   5        Tiles       16 words a tile: steps, pokes
//
//   grid     x: tiles
//
// The order of the operations is that of the package documentation; precise
// keeps them apart, so that every driver gives the same bits.

#include "tile.glsl"

layout(local_size_x = LOCAL) in;

layout(std430, binding = 0) restrict readonly buffer Now { float now[]; };
layout(std430, binding = 1) restrict buffer Next { float next[]; };
layout(std430, binding = 2) restrict readonly buffer FacesNow { float facesNow[]; };
layout(std430, binding = 3) restrict writeonly buffer FacesNext { float facesNext[]; };
layout(std430, binding = 4) restrict readonly buffer Damping { vec2 damping[]; };
layout(std430, binding = 5) restrict buffer Tiles { Tile tiles[]; };

uniform float courant2;

// laplacian of u at cell i of the block, which is x, y there.
float laplacian(int i, int x, int y, ivec2 cell) {
    int t = tile();
    int at = block(t) + i;
    precise float north = 0.0, south = 0.0, west = 0.0, east = 0.0;
    if (cell.y > 0) {
        north = y > 0 ? now[at - blockW] : facesNow[faceSouth(t - tilesX) + x];
    }
    if (cell.y + 1 < height) {
        south = y + 1 < blockH ? now[at + blockW] : facesNow[faceNorth(t + tilesX) + x];
    }
    if (cell.x > 0) {
        west = x > 0 ? now[at - 1] : facesNow[faceEast(t - 1) + y];
    }
    if (cell.x + 1 < width) {
        east = x + 1 < blockW ? now[at + 1] : facesNow[faceWest(t + 1) + y];
    }
    precise float sum = (north + south) + (west + east);
    precise float four = 4.0 * now[at];
    precise float result = sum - four;
    return result;
}

float stepped(int i, int x, int y, ivec2 cell) {
    int at = block(tile()) + i;
    int edge = min(min(cell.x, cell.y), min(width - 1 - cell.x, height - 1 - cell.y));
    vec2 d = damping[min(edge, damping.length() - 1)];
    precise float twice = 2.0 * now[at];
    precise float pull = courant2 * laplacian(i, x, y, cell);
    precise float onward = twice + pull;
    precise float kept = d.x * onward;
    precise float back = d.y * next[at];
    precise float v = kept - back;
    return abs(v) < 1e-25 ? 0.0 : v;
}

void main() {
    int t = tile();
    for (int i = int(gl_LocalInvocationIndex); i < blockW * blockH; i += LOCAL) {
        int x = i % blockW, y = i / blockW;
        ivec2 cell = origin() + ivec2(x, y);
        float v = inGrid(cell) ? stepped(i, x, y, cell) : 0.0;
        next[block(t) + i] = v;
        if (y == 0) {
            facesNext[faceNorth(t) + x] = v;
        }
        if (y == blockH - 1) {
            facesNext[faceSouth(t) + x] = v;
        }
        if (x == 0) {
            facesNext[faceWest(t) + y] = v;
        }
        if (x == blockW - 1) {
            facesNext[faceEast(t) + y] = v;
        }
    }
    if (gl_LocalInvocationIndex == 0u) {
        tiles[t].steps += 1u;
    }
}
