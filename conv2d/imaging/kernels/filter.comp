// Filters a picture with a square filter of SIDE by SIDE weights.
//
// The picture is rows of a larger one, with some rows more above and below. Beyond the
// rows that are valid the outermost pixels repeat. Opacity is kept.
//
//	from   sampler unit 0: the picture, red, green, blue, opacity from 0 to 1
//	to     image unit 0: the filtered rows
//	top    row of from that the first row of to belongs to
//	valid  columns and rows of from that hold the picture
//	weights  row by row
#ifndef SIDE
#define SIDE 3
#endif

layout(local_size_x = 16, local_size_y = 8) in;
layout(binding = 0) uniform sampler2D from;
layout(rgba8, binding = 0) uniform restrict writeonly image2D to;
uniform ivec2 valid;
uniform int top;
uniform int rows;
uniform float weights[SIDE * SIDE];

void main() {
    ivec2 at = ivec2(gl_GlobalInvocationID.xy);
    if (at.x >= valid.x || at.y >= rows) {
        return;
    }
    ivec2 centre = at + ivec2(0, top);
    vec3 sum = vec3(0);
    for (int y = 0; y < SIDE; y++) {
        for (int x = 0; x < SIDE; x++) {
            ivec2 p = clamp(centre + ivec2(x, y) - SIDE / 2, ivec2(0), valid - 1);
            sum += weights[y * SIDE + x] * texelFetch(from, p, 0).rgb;
        }
    }
    imageStore(to, at, vec4(sum, texelFetch(from, centre, 0).a));
}
