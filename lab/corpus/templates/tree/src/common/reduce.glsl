// A sum over the work group; the result is in part[0].
#define REDUCE(part, lane, type) \
    for (uint stride = uint(LOCAL) / 2u; stride > 0u; stride >>= 1) { \
        if (lane < stride) part[lane] += part[lane + stride]; \
        barrier(); \
    }
