#version 450 core

// wave_excite: applies impulses, which raise the surface, and acknowledges them.
//
//   binding  buffer      layout
//   0        Now         field: u
//   1        Previous    field: the previous u
//   2        FacesNow    faces of u
//   3        FacesBefore faces of the previous u
//   4        Impulses    x, y, bits of the amplitude, number
//   5        Tiles       16 words a tile: see tile.glsl
//   6        Pulse       (2 * RADIUS + 1)^2 heights
//   7        Acks        for each impulse its number, and the steps of its tile
//
//   grid     x: tiles

#include "tile.glsl"

// Radius of an impulse in cells.
#ifndef RADIUS
#define RADIUS 6
#endif

layout(local_size_x = LOCAL) in;

layout(std430, binding = 0) restrict buffer Now { float now[]; };
layout(std430, binding = 1) restrict buffer Previous { float previous[]; };
layout(std430, binding = 2) restrict writeonly buffer FacesNow { float facesNow[]; };
layout(std430, binding = 3) restrict writeonly buffer FacesBefore { float facesBefore[]; };
layout(std430, binding = 4) restrict readonly buffer Impulses { ivec4 impulses[]; };
layout(std430, binding = 5) restrict buffer Tiles { Tile tiles[]; };
layout(std430, binding = 6) restrict readonly buffer Pulse { float pulse[]; };
layout(std430, binding = 7) restrict writeonly buffer Acks { uvec2 acks[]; };

uniform int count; // impulses

void raise(int i, int x, int y, ivec2 cell) {
    int t = tile();
    precise float u = now[block(t) + i];
    precise float p = previous[block(t) + i];
    bool touched = false;
    for (int k = 0; k < count; ++k) {
        ivec2 off = cell - impulses[k].xy + ivec2(RADIUS);
        if (all(greaterThanEqual(off, ivec2(0))) && all(lessThan(off, ivec2(2 * RADIUS + 1)))) {
            precise float height = intBitsToFloat(impulses[k].z) * pulse[off.y * (2 * RADIUS + 1) + off.x];
            u = u + height;
            p = p + height;
            touched = true;
        }
    }
    if (!touched) {
        return;
    }
    now[block(t) + i] = u;
    previous[block(t) + i] = p;
    if (y == 0) {
        facesNow[faceNorth(t) + x] = u;
        facesBefore[faceNorth(t) + x] = p;
    }
    if (y == blockH - 1) {
        facesNow[faceSouth(t) + x] = u;
        facesBefore[faceSouth(t) + x] = p;
    }
    if (x == 0) {
        facesNow[faceWest(t) + y] = u;
        facesBefore[faceWest(t) + y] = p;
    }
    if (x == blockW - 1) {
        facesNow[faceEast(t) + y] = u;
        facesBefore[faceEast(t) + y] = p;
    }
}

// reaches reports whether an impulse at a cell changes cells of the tile.
bool reaches(ivec2 at) {
    ivec2 first = origin() - ivec2(RADIUS);
    ivec2 last = origin() + ivec2(blockW, blockH) + ivec2(RADIUS);
    return all(greaterThanEqual(at, first)) && all(lessThan(at, last));
}

// impulseHash is impulseHash of impulse.go.
uint impulseHash(ivec4 impulse, uint step) {
    uint hash = (uint(impulse.x) * 0x9E3779B1u ^ uint(impulse.y)) * 0x85EBCA77u;
    hash = (hash ^ uint(impulse.z)) * 0xC2B2AE3Du;
    return (hash ^ step) * 0x27D4EB2Fu;
}

void main() {
    int t = tile();
    // Invocation i acknowledges the impulses i, i + LOCAL and so on.
    bool reached = false;
    for (int k = 0; k < count; ++k) {
        reached = reached || reaches(impulses[k].xy);
        if (k % LOCAL == int(gl_LocalInvocationIndex) && impulses[k].xy / ivec2(blockW, blockH) == origin() / ivec2(blockW, blockH)) {
            acks[k] = uvec2(uint(impulses[k].w), tiles[t].steps);
            atomicAdd(tiles[t].impulses, 1u);
            atomicAdd(tiles[t].digest, impulseHash(impulses[k], tiles[t].steps));
        }
    }
    for (int i = int(gl_LocalInvocationIndex); reached && i < blockW * blockH; i += LOCAL) {
        ivec2 inside = ivec2(i % blockW, i / blockW);
        ivec2 cell = origin() + inside;
        if (inGrid(cell)) {
            raise(i, inside.x, inside.y, cell);
        }
    }
}
