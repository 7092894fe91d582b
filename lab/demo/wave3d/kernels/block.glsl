// block.glsl: a block of the volume, and its faces. FACES 0 is for cells without neighbours
// in other blocks: there is no code for faces.

#ifndef FACES
#define FACES 1
#endif

layout(local_size_x = 64, local_size_y = 4) in;

// Cells of the block, its first cell in the volume, and the cells of this dispatch, hi
// excluded.
uniform int sizeX, sizeY, sizeZ;
uniform int originX, originY, originZ;
uniform int loX, loY, loZ;
uniform int hiX, hiY, hiZ;

// Where faces begin in FacesIn and FacesOut, in floats, or -1 where the block has no
// neighbour: before and after it along x, y and z.
uniform int inX0, inX1, inY0, inY1, inZ0, inZ1;
uniform int outX0, outX1, outY0, outY1, outZ0, outZ1;

uniform float courant2; // the square of the Courant number
uniform uint seed;

ivec3 size = ivec3(sizeX, sizeY, sizeZ);
ivec3 lo = ivec3(loX, loY, loZ);
ivec3 hi = ivec3(hiX, hiY, hiZ);

int cellIndex(ivec3 c) { return (c.z * size.y + c.y) * size.x + c.x; }

// The index of a cell in a face across an axis.
int faceX(ivec3 c) { return c.z * size.y + c.y; }
int faceY(ivec3 c) { return c.z * size.x + c.x; }
int faceZ(ivec3 c) { return c.y * size.x + c.x; }

#if FACES
layout(std430, binding = 3) restrict writeonly buffer FacesOut { float facesOut[]; };

void writeFace(bool on, int face, int at, float v) {
    if (on && face >= 0) {
        facesOut[face + at] = v;
    }
}

// writeFaces writes a cell to the faces that it is on.
void writeFaces(ivec3 c, float v) {
    writeFace(c.x == 0, outX0, faceX(c), v);
    writeFace(c.x + 1 == size.x, outX1, faceX(c), v);
    writeFace(c.y == 0, outY0, faceY(c), v);
    writeFace(c.y + 1 == size.y, outY1, faceY(c), v);
    writeFace(c.z == 0, outZ0, faceZ(c), v);
    writeFace(c.z + 1 == size.z, outZ1, faceZ(c), v);
}
#else
void writeFaces(ivec3 c, float v) {}
#endif
