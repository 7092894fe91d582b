// Doubles 1,024 numbers on the GPU of a running `shadercache serve`, in C++17:
//
//     c++ -std=c++17 -o example example.cpp && ./example
#define SHADERCACHE_IMPLEMENTATION
#include "shadercache.h"

#include <cstdio>
#include <vector>

static const char *glsl = R"(layout(local_size_x = 64) in;
layout(std430, binding = 0) readonly buffer In { float values[]; };
layout(std430, binding = 1) writeonly buffer Out { float doubled[]; };
void main() { uint i = gl_GlobalInvocationID.x; doubled[i] = 2.0 * values[i]; })";

// Fields are set one by one: {} has set the others to 0.
static int run(shc_client *gpu, std::vector<float> &values, std::vector<float> &doubled) {
    shc_source source{};
    source.name = "double";
    source.text = glsl;
    shc_program program{};
    if (int failed = shc_load(gpu, &source, &program)) return failed;

    shc_binding in{}, out{};
    in.range = shc_in(values.data(), values.size() * sizeof(float));
    out.binding = 1;
    out.range = shc_out(doubled.data(), doubled.size() * sizeof(float));
    shc_dispatch dispatch{};
    dispatch.program = &program;
    dispatch.groups[0] = static_cast<uint32_t>(values.size() / 64);
    dispatch.groups[1] = dispatch.groups[2] = 1;
    shc_job job{};
    job.inputs = &in, job.input_count = 1;
    job.outputs = &out, job.output_count = 1;
    job.dispatches = &dispatch, job.dispatch_count = 1;
    job.deadline_ns = 10000000000;
    return shc_run(gpu, &job);
}

int main() {
    std::vector<float> values(1024), doubled(1024);
    for (size_t i = 0; i < values.size(); i++) values[i] = static_cast<float>(i);
    shc_client *gpu = nullptr;
    int failed = shc_open(&gpu, nullptr);
    if (!failed) failed = run(gpu, values, doubled);
    if (failed) std::fprintf(stderr, "example: %s\nhint: %s\n", shc_message(gpu), shc_hint(gpu));
    int wrong = 0;
    for (size_t i = 0; i < values.size(); i++) wrong += doubled[i] > 2 * values[i] || doubled[i] < 2 * values[i];
    if (!failed) std::printf("%s: %d of 1024 wrong\n", shc_server(gpu)->device, wrong);
    shc_close(gpu);
    return failed || wrong;
}
