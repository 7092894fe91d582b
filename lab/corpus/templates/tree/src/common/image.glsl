#ifndef COMMON_IMAGE
#define COMMON_IMAGE
#ifdef WITH_TEXTURES
#include "textures.glsl"
#endif
ivec2 clampTo(ivec2 p, ivec2 size) { return clamp(p, ivec2(0), size - 1); }
#endif