#version 450 core

// wave3d_step: one step of the cells from lo to hi of a block.
//
//   binding  buffer    layout
//   0        Now       cells of the block, x densest
//   1        Next      the previous step, overwritten by the next
//   2        FacesIn   faces that neighbours wrote for this step
//   3        FacesOut  faces for the next step, that neighbours read
//
//   uniforms see block.glsl
//
//   grid     cells from lo to hi

#include "block.glsl"

layout(std430, binding = 0) restrict readonly buffer Now { float now[]; };
layout(std430, binding = 1) restrict buffer Next { float next[]; };
// outside returns a cell next to the block: of a face, or 0 at the border of the volume.
#if FACES
layout(std430, binding = 2) restrict readonly buffer FacesIn { float facesIn[]; };

float outside(int face, int at) { return face < 0 ? 0.0 : facesIn[face + at]; }
#else
float outside(int face, int at) { return 0.0; }
#endif

#ifndef PLANES
#define PLANES 1 // cells along z of an invocation
#endif

void main() {
    ivec3 c = lo + ivec3(gl_GlobalInvocationID) * ivec3(1, 1, PLANES);
    if (any(greaterThanEqual(c, hi))) {
        return;
    }
    int i = cellIndex(c), row = size.x, plane = size.x * size.y;
    float u = now[i];
    float below = c.z > 0 ? now[i - plane] : outside(inZ0, faceZ(c));
    int planes = min(PLANES, hi.z - c.z);
    for (int n = 0; n < planes; ++n) {
        float above = c.z + 1 < size.z ? now[i + plane] : outside(inZ1, faceZ(c));
        precise float x0 = c.x > 0 ? now[i - 1] : outside(inX0, faceX(c));
        precise float x1 = c.x + 1 < size.x ? now[i + 1] : outside(inX1, faceX(c));
        precise float y0 = c.y > 0 ? now[i - row] : outside(inY0, faceY(c));
        precise float y1 = c.y + 1 < size.y ? now[i + row] : outside(inY1, faceY(c));
        precise float x = x0 + x1, y = y0 + y1, z = below + above;
        precise float xy = x + y;
        precise float sum = xy + z;
        precise float six = 6.0 * u;
        precise float laplacian = sum - six;
        precise float twice = 2.0 * u;
        precise float pull = courant2 * laplacian;
        precise float onward = twice + pull;
        precise float v = onward - next[i];
        v = abs(v) < 1e-25 ? 0.0 : v;
        next[i] = v;
        writeFaces(c, v);
        below = u;
        u = above;
        i += plane;
        ++c.z;
    }
}
