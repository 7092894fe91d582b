/* Doubles 1,024 numbers on the GPU of a running `shadercache serve`:
 *
 *     cc -o example example.c && ./example
 */
#define SHADERCACHE_IMPLEMENTATION
#include "shadercache.h"

#include <stdio.h>

static const char *glsl = "layout(local_size_x = 64) in;\n"
                          "layout(std430, binding = 0) readonly buffer In { float values[]; };\n"
                          "layout(std430, binding = 1) writeonly buffer Out { float doubled[]; };\n"
                          "void main() { uint i = gl_GlobalInvocationID.x; doubled[i] = 2.0 * values[i]; }\n";

int main(void) {
    static float values[1024], doubled[1024];
    shc_client *gpu;
    shc_source source = {.name = "double", .text = glsl};
    shc_program program;
    shc_binding in = {.binding = 0, .range = shc_in(values, sizeof values)};
    shc_binding out = {.binding = 1, .range = shc_out(doubled, sizeof doubled)};
    shc_dispatch dispatch = {.program = &program, .groups = {1024 / 64, 1, 1}};
    shc_job job = {.inputs = &in, .input_count = 1, .outputs = &out, .output_count = 1,
                   .dispatches = &dispatch, .dispatch_count = 1, .deadline_ns = 10000000000};
    int i, wrong = 0, failed;

    for (i = 0; i < 1024; i++) values[i] = (float)i;
    failed = shc_open(&gpu, NULL) || shc_load(gpu, &source, &program) || shc_run(gpu, &job);
    if (failed) fprintf(stderr, "example: %s\nhint: %s\n", shc_message(gpu), shc_hint(gpu));
    for (i = 0; i < 1024; i++) wrong += doubled[i] != 2 * values[i];
    if (!failed) printf("%s: %d of 1024 wrong\n", shc_server(gpu)->device, wrong);
    shc_close(gpu);
    return failed || wrong;
}
