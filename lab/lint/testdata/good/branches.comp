#version 450 core
// Branches of an #if with brackets that match only together.
#ifdef UNIFORM
#define WHO gl_WorkGroupID.x
#else
#define WHO gl_LocalInvocationIndex
#endif
#define EACH(i, n) for (uint i = 0u; i < (n); ++i)
layout(local_size_x = 8, local_size_y = 8) in;
layout(std430, binding = 0) buffer Values { uint values[]; } data;
shared uint tile[8][9];
uniform bool swap;
const uint sides[2] = uint[2](3u, 4u);

uint pick(uint a, uint b) {
#if CHOICE == 1
    return a;
#elif CHOICE == 2
    return b;
#else
    return a + b;
#endif
}

void main() {
#ifdef FAST
    if (swap) {
#else
    if (!swap) {
#endif
        barrier();
    }
    EACH(step, sides[1]) {
        tile[gl_LocalInvocationID.y][gl_LocalInvocationID.x] = data.values[gl_LocalInvocationIndex];
        barrier();
        data.values[gl_LocalInvocationIndex] = tile[gl_LocalInvocationID.x][gl_LocalInvocationID.y];
        barrier();
        switch (pick(step, 1u)) {
        case 0u:
            barrier();
            break;
        case 1u: {
            if (swap) break;
            barrier();
        }
        }
    }
    if (data.values.length() > 3) {
        barrier();
    }
}
