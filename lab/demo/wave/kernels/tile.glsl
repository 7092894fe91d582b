// tile.glsl: declarations of all kernels of the wave. A work group has one tile.
//
// A field is the blocks of all tiles, each row by row. Faces are, for each tile, the north
// row, the south row, the west column and the east column of its block. Cells outside
// the grid are 0.

// Invocations in a group, a power of 2.
#ifndef LOCAL
#define LOCAL 256
#endif

// Cells, tiles in a row, cells of a block, and the square of the Courant number: all are
// constants where WAVE_WIDTH is defined.
#ifdef WAVE_WIDTH
const int width = WAVE_WIDTH, height = WAVE_HEIGHT;
const int tilesX = WAVE_TILES_X;
const int blockW = WAVE_BLOCK_W, blockH = WAVE_BLOCK_H;
const float courant2 = uintBitsToFloat(WAVE_COURANT2); // as bits of a float
#else
uniform int width, height;
uniform int tilesX;
uniform int blockW, blockH;
uniform float courant2;
#endif

// Tile has the counters of a tile.
struct Tile {
    uint steps;
    uint impulses;
    uint digest; // sum of the hashes of the impulses
    uint unused[13];
};

int tile() { return int(gl_WorkGroupID.x); }

// origin returns the first cell of the tile's block.
ivec2 origin() { return ivec2(tile() % tilesX * blockW, tile() / tilesX * blockH); }

bool inGrid(ivec2 cell) { return cell.x >= 0 && cell.y >= 0 && cell.x < width && cell.y < height; }

// block returns the index of a tile's block in a field.
int block(int t) { return t * blockW * blockH; }

// The indices of the faces of a tile.
int faceNorth(int t) { return t * 2 * (blockW + blockH); }
int faceSouth(int t) { return faceNorth(t) + blockW; }
int faceWest(int t) { return faceNorth(t) + 2 * blockW; }
int faceEast(int t) { return faceWest(t) + blockH; }
