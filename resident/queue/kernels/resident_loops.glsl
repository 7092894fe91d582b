// resident_loops: finds loops that the driver ended early. A part of resident.glsl; the
// kernels of queue and actors have a copy.

// residentLoopsKept reports whether every loop of this invocation ended by itself.
// llvmpipe gives the loops of an invocation 65,535 back-edges, all together. After them
// it ends each loop at its first back-edge, without an error: so this one too. Call it
// last. It needs a grid of one axis.
bool residentLoopsKept() {
    uint turns = 3u * gl_NumWorkGroups.y; // 3, but no compiler can unroll it
    uint x = 0u;
    for (uint i = 0u; i < turns; ++i) {
        x = 3u * x + 1u;
    }
    return x == 13u;
}
