// scheme.glsl: a step of a tile. The including file, after tile.glsl, defines the access
// to the fields:
//
//   float waveNow(int at), wavePrevious(int at)   a cell of u, and of u before
//   float waveFace(int at)                        of the faces of u
//   vec2 waveDamping(int distance)                a and b, by distance from the edge
//   void waveNext(int at, float v)                a cell of the next u
//   void waveNextFace(int at, float v)
//
// The order of the operations is that of the package documentation. precise prevents
// fused operations, so that every driver computes the same bits.

// laplacian returns the laplacian of u at cell i of the block, which is x, y there.
float laplacian(int i, int x, int y, ivec2 cell) {
    int t = tile();
    int at = block(t) + i;
    precise float north = 0.0, south = 0.0, west = 0.0, east = 0.0;
    if (cell.y > 0) {
        north = y > 0 ? waveNow(at - blockW) : waveFace(faceSouth(t - tilesX) + x);
    }
    if (cell.y + 1 < height) {
        south = y + 1 < blockH ? waveNow(at + blockW) : waveFace(faceNorth(t + tilesX) + x);
    }
    if (cell.x > 0) {
        west = x > 0 ? waveNow(at - 1) : waveFace(faceEast(t - 1) + y);
    }
    if (cell.x + 1 < width) {
        east = x + 1 < blockW ? waveNow(at + 1) : waveFace(faceWest(t + 1) + y);
    }
    precise float sum = (north + south) + (west + east);
    precise float four = 4.0 * waveNow(at);
    precise float result = sum - four;
    return result;
}

float stepped(int i, int x, int y, ivec2 cell) {
    int at = block(tile()) + i;
    int edge = min(min(cell.x, cell.y), min(width - 1 - cell.x, height - 1 - cell.y));
    vec2 d = waveDamping(edge);
    precise float twice = 2.0 * waveNow(at);
    precise float pull = courant2 * laplacian(i, x, y, cell);
    precise float onward = twice + pull;
    precise float kept = d.x * onward;
    precise float back = d.y * wavePrevious(at);
    precise float v = kept - back;
    return abs(v) < 1e-25 ? 0.0 : v;
}

// stepTile does one step of the tile's block. All invocations of the group call it.
void stepTile() {
    int t = tile();
    for (int i = int(gl_LocalInvocationIndex); i < blockW * blockH; i += LOCAL) {
        int x = i % blockW, y = i / blockW;
        ivec2 cell = origin() + ivec2(x, y);
        float v = inGrid(cell) ? stepped(i, x, y, cell) : 0.0;
        waveNext(block(t) + i, v);
        if (y == 0) {
            waveNextFace(faceNorth(t) + x, v);
        }
        if (y == blockH - 1) {
            waveNextFace(faceSouth(t) + x, v);
        }
        if (x == 0) {
            waveNextFace(faceWest(t) + y, v);
        }
        if (x == blockW - 1) {
            waveNextFace(faceEast(t) + y, v);
        }
    }
}
