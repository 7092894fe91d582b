// block.glsl: a block of the volume, and its faces.

layout(local_size_x = 64, local_size_y = 4) in;

// inXY, inZ, outXY and outZ are where faces begin in FacesIn and FacesOut, in floats, or -1
// where the block has no neighbour: before and after it along x and y, and along z.
layout(std140, binding = 0) uniform Block {
    ivec4 size;   // cells of the block
    ivec4 origin; // its first cell in the volume
    ivec4 lo, hi; // the cells of this dispatch, hi excluded
    ivec4 inXY, inZ, outXY, outZ;
    vec4 courant2; // x: the square of the Courant number
    uvec4 seed;    // x
};

layout(std430, binding = 3) restrict writeonly buffer FacesOut { float facesOut[]; };

int cellIndex(ivec3 c) { return (c.z * size.y + c.y) * size.x + c.x; }

// The index of a cell in a face across an axis.
int faceX(ivec3 c) { return c.z * size.y + c.y; }
int faceY(ivec3 c) { return c.z * size.x + c.x; }
int faceZ(ivec3 c) { return c.y * size.x + c.x; }

void writeFace(bool on, int face, int at, float v) {
    if (on && face >= 0) {
        facesOut[face + at] = v;
    }
}

// writeFaces writes a cell to the faces that it is on.
void writeFaces(ivec3 c, float v) {
    writeFace(c.x == 0, outXY.x, faceX(c), v);
    writeFace(c.x + 1 == size.x, outXY.y, faceX(c), v);
    writeFace(c.y == 0, outXY.z, faceY(c), v);
    writeFace(c.y + 1 == size.y, outXY.w, faceY(c), v);
    writeFace(c.z == 0, outZ.x, faceZ(c), v);
    writeFace(c.z + 1 == size.z, outZ.y, faceZ(c), v);
}
