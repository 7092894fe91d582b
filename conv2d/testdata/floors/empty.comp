#version 450 core

// empty: does nothing, in as many groups of as many invocations as a kernel has.

layout(local_size_x = LOCAL_X, local_size_y = LOCAL_Y, local_size_z = LOCAL_Z) in;

void main() {}
