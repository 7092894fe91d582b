#version 450 core

// wave_step: one step of every tile.
//
//   binding  buffer      layout
//   0        Now         field: u
//   1        Next        field: the previous u, overwritten by the next
//   2        FacesNow    faces of u
//   3        FacesNext   faces of the next u
//   4        Damping     pairs a, b for each distance from the edge; the last
//                        pair is for all larger distances
//   5        Tiles       16 words a tile: see tile.glsl
//
//   grid     x: tiles
//
#include "tile.glsl"

layout(local_size_x = LOCAL) in;

layout(std430, binding = 0) restrict readonly buffer Now { float now[]; };
layout(std430, binding = 1) restrict buffer Next { float next[]; };
layout(std430, binding = 2) restrict readonly buffer FacesNow { float facesNow[]; };
layout(std430, binding = 3) restrict writeonly buffer FacesNext { float facesNext[]; };
layout(std430, binding = 4) restrict readonly buffer Damping { vec2 damping[]; };
layout(std430, binding = 5) restrict buffer Tiles { Tile tiles[]; };

float waveNow(int at) { return now[at]; }
float wavePrevious(int at) { return next[at]; }
float waveFace(int at) { return facesNow[at]; }
vec2 waveDamping(int distance) { return damping[min(distance, damping.length() - 1)]; }
void waveNext(int at, float v) { next[at] = v; }
void waveNextFace(int at, float v) { facesNext[at] = v; }

#include "scheme.glsl"

void main() {
    stepTile();
    if (gl_LocalInvocationIndex == 0u) {
        tiles[tile()].steps += 1u;
    }
}
