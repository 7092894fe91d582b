#version 450
layout(local_size_x = 1) in;
layout(constant_id = 1) const uint k = 3;
layout(std430, binding = 0) buffer B { uint v[]; };
void main() { v[0] = k; }
