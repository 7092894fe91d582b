#version 450 core
#include "../../../../resident/kernels/resident.glsl"

// wave_session: the simulation as a resident kernel. A step of the session is two steps
// of the wave, one a phase: the first from the even field to the odd one, the second
// back.
//
//   binding  buffer     layout
//   0        Even       field: u after an even number of steps
//   1        Odd        field: u after an odd number
//   2        EvenFaces  faces of the even field
//   3        OddFaces   faces of the odd field
//   4        Damping    pairs a, b for each distance from the edge; the last pair
//                       is for all larger distances
//   7        Tiles      16 words a tile: see tile.glsl
//
//   grid     x: tiles

#include "tile.glsl"

layout(local_size_x = LOCAL) in;

layout(std430, binding = 0) coherent restrict buffer Even { float even[]; };
layout(std430, binding = 1) coherent restrict buffer Odd { float odd[]; };
layout(std430, binding = 2) coherent restrict buffer EvenFaces { float evenFaces[]; };
layout(std430, binding = 3) coherent restrict buffer OddFaces { float oddFaces[]; };
layout(std430, binding = 4) restrict readonly buffer Damping { vec2 damping[]; };
layout(std430, binding = 7) restrict buffer Tiles { Tile tiles[]; };

// Pairs of damping.
#ifndef WAVE_DAMPING
#define WAVE_DAMPING 1
#endif

float waveNow(int at) { return residentPhase == 0u ? even[at] : odd[at]; }
float wavePrevious(int at) { return residentPhase == 0u ? odd[at] : even[at]; }
float waveFace(int at) { return residentPhase == 0u ? evenFaces[at] : oddFaces[at]; }
vec2 waveDamping(int distance) { return damping[min(distance, WAVE_DAMPING - 1)]; }

void waveNext(int at, float v) {
    if (residentPhase == 0u) {
        odd[at] = v;
    } else {
        even[at] = v;
    }
}

void waveNextFace(int at, float v) {
    if (residentPhase == 0u) {
        oddFaces[at] = v;
    } else {
        evenFaces[at] = v;
    }
}

#include "scheme.glsl"

uint residentStep(uvec2 step) {
    stepTile();
    if (residentLeader()) {
        tiles[tile()].steps += 1u;
        residentLanes(uint(min(LOCAL, blockW * blockH)));
    }
    return RESIDENT_GO;
}
