#version 450 core

// wave3d_start: sets a block to its values at step 0, which depend on the cell and the seed
// only, and writes its faces.
//
//   binding  buffer    layout
//   0        Now       cells of the block, x densest
//   1        Previous  the same, one step before
//   3        FacesOut  faces that neighbours read
//
//   uniforms see block.glsl
//
//   grid     cells from lo to hi

#include "block.glsl"

layout(std430, binding = 0) restrict writeonly buffer Now { float now[]; };
layout(std430, binding = 1) restrict writeonly buffer Previous { float previous[]; };

// noise returns a multiple of 2^-24 from -0.5 to below 0.5: every operation is exact.
float noise(uvec3 cell) {
    uint h = seed + cell.x * 0x9e3779b1u + cell.y * 0x85ebca77u + cell.z * 0xc2b2ae3du;
    h = (h ^ (h >> 15)) * 0x2c1b3c6du;
    h = (h ^ (h >> 12)) * 0x297a2d39u;
    h ^= h >> 15;
    return float(h >> 8) * (1.0 / 16777216.0) - 0.5;
}

void main() {
    ivec3 c = lo + ivec3(gl_GlobalInvocationID);
    if (any(greaterThanEqual(c, hi))) {
        return;
    }
    float v = noise(uvec3(ivec3(originX, originY, originZ) + c));
    now[cellIndex(c)] = v;
    previous[cellIndex(c)] = v;
    writeFaces(c, v);
}
