#pragma once
#include "hash.glsl"
#include "math.glsl"
float corner(vec2 p) { return float(pcg(uint(int(p.x)) * 73856093u ^ uint(int(p.y)) * 19349663u) & 0xffffu) / 65535.0; }
float valueNoise(vec2 p) {
    vec2 i = floor(p), f = fract(p);
    vec2 u = f * f * (3.0 - 2.0 * f);
    return mix(mix(corner(i), corner(i + vec2(1.0, 0.0)), u.x), mix(corner(i + vec2(0.0, 1.0)), corner(i + vec2(1.0, 1.0)), u.x), u.y);
}
