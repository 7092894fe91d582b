#ifndef COMMON_HASH
#define COMMON_HASH
#include "math.glsl"
uint rotate(uint x, int n) { return (x << n) | (x >> (32 - n)); }
uint pcg(uint v) {
    uint s = v * 747796405u + 2891336453u;
    uint w = ((s >> ((s >> 28u) + 4u)) ^ s) * 277803737u;
    return (w >> 22u) ^ w;
}
uint murmur(uint h) {
    h ^= h >> 16; h *= 0x85ebca6bu;
    h ^= h >> 13; h *= 0xc2b2ae35u;
    return h ^ (h >> 16);
}
#endif
