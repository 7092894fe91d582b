/* Runs the steps that its arguments name through shadercache.h, and prints for each "ok",
 * "wrong" for a result that is, or the name of the error. check.py has the same steps.
 *
 *     check SOCKET STEP...
 */
#define SHADERCACHE_IMPLEMENTATION
#include "../c/shadercache.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define COUNT 1024
#define WRONG (-1)

static const char *doubler =
    "layout(local_size_x = 64) in;\n"
    "layout(std430, binding = 0) readonly buffer In { float values[]; };\n"
    "layout(std430, binding = 1) writeonly buffer Out { float doubled[]; };\n"
    "void main() { uint i = gl_GlobalInvocationID.x;\n"
    "  if (i < values.length()) doubled[i] = FACTOR * values[i]; }\n";

static const char *uniforms =
    "layout(local_size_x = 1) in;\n"
    "layout(std430, binding = 0) writeonly buffer Out { float y[]; };\n"
    "layout(std140, binding = 2) uniform Params { float p; };\n"
    "uniform int i; uniform uint u; uniform float f;\n"
    "void main() { y[0] = float(i); y[1] = float(u); y[2] = f; y[3] = p; }\n";

static const char *textured =
    "layout(local_size_x = 8, local_size_y = 8) in;\n"
    "layout(r32f) writeonly uniform image2D to;\n"
    "uniform sampler2D from; uniform vec2 f; uniform uvec2 u;\n"
    "void main() { ivec2 at = ivec2(gl_GlobalInvocationID.xy);\n"
    "  imageStore(to, at, vec4(texelFetch(from, at, 1).r + f.x * f.y + float(u.y))); }\n";

static const char *counted =
    "layout(local_size_x = 64) in;\n"
    "layout(binding = 0, offset = 0) uniform atomic_uint invocations;\n"
    "layout(binding = 0, offset = 4) uniform atomic_uint added;\n"
    "layout(std140, binding = 1) uniform Add { uint add; };\n"
    "void main() { atomicCounterIncrement(invocations);\n"
    "  for (uint i = 0u; i < add; i++) atomicCounterIncrement(added); }\n";

/* What the steps share. */
typedef struct check {
    const char *path;
    shc_client *gpu;
    shc_program program;
    shc_buffer buffer;
} check;

static int load(check *c, const char *text, int named) {
    static const shc_define factor = {"FACTOR", "2.0"};
    shc_source source;
    memset(&source, 0, sizeof source);
    source.name = "check-double";
    source.text = text;
    source.defines = &factor;
    source.define_count = named ? 0 : 1;
    return shc_load(c->gpu, &source, &c->program);
}

static void fill(float *values, size_t n, float from) {
    size_t i;
    for (i = 0; i < n; i++) {
        values[i] = from + (float)i;
    }
}

static int doubled(const float *values, const float *results, size_t n) {
    size_t i;
    for (i = 0; i < n; i++) {
        if (results[i] != 2 * values[i]) {
            return WRONG;
        }
    }
    return SHC_OK;
}

static int submit(check *c, shc_range in, shc_range out, size_t n, uint64_t deadline,
                  uint64_t *request) {
    shc_binding bindings[2];
    shc_dispatch dispatch;
    shc_job job;
    memset(bindings, 0, sizeof bindings);
    memset(&dispatch, 0, sizeof dispatch);
    memset(&job, 0, sizeof job);
    bindings[0].range = in;
    bindings[1].range = out;
    bindings[1].binding = 1;
    dispatch.program = &c->program;
    dispatch.groups[0] = (uint32_t)((n + 63) / 64);
    dispatch.groups[1] = dispatch.groups[2] = 1;
    job.deadline_ns = deadline;
    job.inputs = &bindings[0];
    job.outputs = &bindings[1];
    job.dispatches = &dispatch;
    job.input_count = job.output_count = job.dispatch_count = 1;
    return shc_submit(c->gpu, &job, request);
}

static int run(check *c) {
    float values[COUNT], results[COUNT];
    uint64_t request;
    int code;
    fill(values, COUNT, 1);
    memset(results, 0xff, sizeof results);
    code = submit(c, shc_in(values, sizeof values), shc_out(results, sizeof results), COUNT, 0,
                  &request);
    if (code == SHC_OK) {
        code = shc_wait(c->gpu, request);
    }
    return code == SHC_OK ? doubled(values, results, COUNT) : code;
}

/* Runs 1 MiB through shared memory. */
static int memory(check *c) {
    const size_t n = 1 << 18;
    shc_memory m;
    uint64_t request;
    float *values, *results;
    int code = shc_memory_make(c->gpu, 8 * n, &m), released;
    if (code != SHC_OK) {
        return code;
    }
    values = (float *)m.data;
    results = values + n;
    fill(values, n, 3);
    code = submit(c, shc_memory_range(&m, 0, 4 * n), shc_memory_range(&m, 4 * n, 4 * n), n, 0,
                  &request);
    if (code == SHC_OK) {
        code = shc_wait(c->gpu, request);
    }
    if (code == SHC_OK) {
        code = doubled(values, results, n);
    }
    released = shc_memory_release(c->gpu, &m);
    return code != SHC_OK ? code : released;
}

/* Keeps 64 jobs of n floats in flight and waits for them from the last to the first. */
static int flight(check *c, size_t n) {
    enum { JOBS = 64 };
    float *values = (float *)malloc(sizeof(float) * n * JOBS),
          *results = (float *)malloc(sizeof(float) * n * JOBS);
    uint64_t requests[JOBS];
    int i, sent, code = SHC_OK, first = SHC_OK;
    fill(values, n * JOBS, 0);
    memset(results, 0xff, sizeof(float) * n * JOBS);
    for (sent = 0; sent < JOBS && code == SHC_OK; sent++) {
        size_t at = (size_t)sent * n;
        code = submit(c, shc_in(values + at, 4 * n), shc_out(results + at, 4 * n), n, 0,
                      &requests[sent]);
    }
    first = code;
    for (i = sent - 1; i >= 0 && first == SHC_OK; i--) {
        first = shc_wait(c->gpu, requests[i]);
    }
    if (first == SHC_OK) {
        first = doubled(values, results, n * JOBS);
    }
    free(values);
    free(results);
    return first;
}

static int many(check *c) { return flight(c, COUNT); }
static int large(check *c) { return flight(c, 60 << 10); }

static int deadline(check *c) {
    float values[COUNT], results[COUNT];
    uint64_t request;
    int code;
    fill(values, COUNT, 1);
    code = submit(c, shc_in(values, sizeof values), shc_out(results, sizeof results), COUNT, 1,
                  &request);
    return code == SHC_OK ? shc_wait(c->gpu, request) : code;
}

/* Asks for a result after its time, which came within it. */
static int late(check *c) {
    float values[COUNT], results[COUNT];
    struct pollfd answer;
    uint64_t request;
    int code;
    fill(values, COUNT, 1);
    code = submit(c, shc_in(values, sizeof values), shc_out(results, sizeof results), COUNT, 0,
                  &request);
    if (code != SHC_OK) {
        return code;
    }
    answer.fd = c->gpu->fd;
    answer.events = POLLIN;
    poll(&answer, 1, 60000);
    shc__find(c->gpu, request)->until = 0;
    code = shc_wait(c->gpu, request);
    return code == SHC_OK ? doubled(values, results, COUNT) : code;
}

/* Cancels a job, which may be done by then. */
static int cancel(check *c) {
    float values[COUNT], results[COUNT];
    uint64_t request;
    int code;
    fill(values, COUNT, 1);
    code = submit(c, shc_in(values, sizeof values), shc_out(results, sizeof results), COUNT, 0,
                  &request);
    if (code == SHC_OK && (code = shc_cancel(c->gpu, request)) == SHC_OK) {
        code = shc_wait(c->gpu, request);
    }
    return code == SHC_CANCELLED ? SHC_OK : code;
}

static int params(check *c) {
    static const float block[4] = {4.5f, 0, 0, 0};
    float results[4] = {0, 0, 0, 0};
    shc_source source;
    shc_program program;
    shc_uniform u[3];
    shc_binding out;
    shc_dispatch d;
    shc_job job;
    int code;
    memset(&source, 0, sizeof source);
    memset(&out, 0, sizeof out);
    memset(&d, 0, sizeof d);
    memset(&job, 0, sizeof job);
    source.name = "check-uniforms";
    source.text = uniforms;
    if ((code = shc_load(c->gpu, &source, &program)) != SHC_OK) {
        return code;
    }
    u[0].name = "i", u[0].kind = SHC_INT, u[0].value.i = -7;
    u[1].name = "u", u[1].kind = SHC_UINT, u[1].value.u = 9;
    u[2].name = "f", u[2].kind = SHC_FLOAT, u[2].value.f = 0.25f;
    out.range = shc_out(results, sizeof results);
    d.program = &program;
    d.groups[0] = d.groups[1] = d.groups[2] = 1;
    d.params = block, d.params_size = sizeof block, d.params_binding = 2;
    d.uniforms = u, d.uniform_count = 3;
    job.outputs = &out, job.dispatches = &d, job.output_count = job.dispatch_count = 1;
    if ((code = shc_run(c->gpu, &job)) == SHC_OK) {
        code = results[0] == -7 && results[1] == 9 && results[2] == 0.25f && results[3] == 4.5f
                   ? SHC_OK
                   : WRONG;
    }
    return code;
}

/* Gives jobs and names that are not those of the protocol: all are refused here, and the session
 * goes on. */
static int refused(check *c) {
    static const float word[4] = {0, 0, 0, 0};
    static const char *const names[] = {"\xff",     "\xc0\x80",         "\xe0\x80\x80",
                                        "\xed\xa0\x80", "\xf4\x90\x80\x80", "a\xc3"};
    int i, wrong = 0;
    uint64_t request;
    for (i = 0; i < 11; i++) {
        shc_memory memory = {1, 16, NULL};
        shc_uniform u;
        shc_binding bindings[2];
        shc_counter counter;
        shc_dispatch d;
        shc_job job;
        memset(bindings, 0, sizeof bindings);
        memset(&counter, 0, sizeof counter);
        memset(&d, 0, sizeof d);
        memset(&job, 0, sizeof job);
        u.name = "f", u.kind = i == 1 ? 0 : i == 2 ? 99 : i == 5 ? SHC_DOUBLES : SHC_FLOATS;
        u.value.many.components = word;
        u.value.many.size = i == 3 ? 0 : i == 4 ? 4 : i == 5 ? 12 : i == 6 ? 10 : 8;
        bindings[0].range = shc_in(word, sizeof word);
        bindings[0].read_only = i == 7;
        bindings[1].range = shc_memory_range(&memory, 0, 16);
        counter.buffer = i == 10 ? shc_buffer_range(&c->buffer, 0, 4) : shc_none();
        d.program = &c->program;
        d.groups[0] = d.groups[1] = d.groups[2] = 1;
        d.uniforms = &u, d.uniform_count = 1;
        d.buffers = d.blocks = &bindings[1], d.buffer_count = i == 8, d.block_count = i == 9;
        job.inputs = &bindings[0], job.input_count = 1;
        job.counters = &counter, job.counter_count = i == 10;
        job.dispatches = &d, job.dispatch_count = i > 0;
        if (shc_submit(c->gpu, &job, &request) != SHC_USAGE) {
            fprintf(stderr, "job %d is not refused\n", i);
            wrong++;
        }
    }
    for (i = 0; i < 6; i++) {
        wrong += shc_buffer_delete(c->gpu, names[i]) != SHC_USAGE;
    }
    wrong += shc_buffer_delete(c->gpu, "a\xc2\x80\xef\xbf\xbf\xf4\x8f\xbf\xbf") != SHC_NOT_FOUND;
    return wrong == 0 ? SHC_OK : WRONG;
}

/* Samples level 1 of a texture, and stores 32 by 32 texels in layer 1 of another, with vectors. */
static int textures(check *c) {
    static const float f[2] = {2, 1.5f};
    static const uint32_t u[2] = {1, 5};
    float values[COUNT], results[COUNT];
    shc_texture made[2];
    shc_shape shapes[2];
    shc_image to;
    shc_sampler from;
    shc_source source;
    shc_program program;
    shc_uniform vectors[2];
    shc_dispatch d;
    shc_job job;
    shc_copy copy;
    int i, code = SHC_OK;
    memset(&source, 0, sizeof source);
    memset(&d, 0, sizeof d);
    memset(&job, 0, sizeof job);
    memset(&copy, 0, sizeof copy);
    memset(shapes, 0, sizeof shapes);
    memset(&to, 0, sizeof to);
    memset(&from, 0, sizeof from);
    shapes[0].format = shapes[1].format = SHC_R32F;
    shapes[0].width = shapes[0].height = 64, shapes[0].levels = 2;
    shapes[1].width = shapes[1].height = 32, shapes[1].depth = 2, shapes[1].kind = SHC_2D_ARRAY;
    source.name = "check-textures";
    source.text = textured;
    if ((code = shc_load(c->gpu, &source, &program)) != SHC_OK) {
        return code;
    }
    for (i = 0; i < 2; i++) {
        if ((code = shc_texture_create(c->gpu, &shapes[i], &made[i])) != SHC_OK) {
            return code;
        }
    }
    fill(values, COUNT, 3);
    copy.from = shc_in(values, sizeof values);
    copy.to = shc_texels(&made[0]);
    copy.region[0] = 1; /* level */
    if ((code = shc_copy_bytes(c->gpu, &copy, NULL)) != SHC_OK) {
        return code;
    }
    vectors[0].name = "f", vectors[0].kind = SHC_FLOATS;
    vectors[0].value.many.components = f, vectors[0].value.many.size = sizeof f;
    vectors[1].name = "u", vectors[1].kind = SHC_UINTS;
    vectors[1].value.many.components = u, vectors[1].value.many.size = sizeof u;
    from.name = "from", from.texture = &made[0], from.mip = SHC_MIP_NEAREST;
    to.name = "to", to.texture = &made[1], to.layer = 1, to.access = SHC_WRITE_ONLY;
    d.program = &program;
    d.groups[0] = d.groups[1] = 4, d.groups[2] = 1;
    d.uniforms = vectors, d.uniform_count = 2;
    d.images = &to, d.samplers = &from, d.image_count = d.sampler_count = 1;
    job.dispatches = &d, job.dispatch_count = 1;
    if ((code = shc_run(c->gpu, &job)) != SHC_OK) {
        return code;
    }
    copy.from = shc_texels(&made[1]);
    copy.region[0] = 0, copy.region[3] = 1, copy.region[6] = 1; /* z and depth */
    copy.to = shc_out(results, sizeof results);
    if ((code = shc_copy_bytes(c->gpu, &copy, NULL)) != SHC_OK) {
        return code;
    }
    for (i = 0; i < COUNT; i++) {
        if (results[i] != values[i] + 8) {
            return WRONG;
        }
    }
    code = shc_texture_release(c->gpu, &made[0]);
    return code != SHC_OK ? code : shc_texture_release(c->gpu, &made[1]);
}

static int texture(check *c) {
    shc_texture t;
    shc_shape shape;
    memset(&shape, 0, sizeof shape);
    shape.format = SHC_R8, shape.width = UINT32_MAX;
    return shc_texture_create(c->gpu, &shape, &t);
}

/* Counts the invocations of groups that a buffer has, in words and then in a buffer. */
static int counters(check *c) {
    static const uint32_t groups[3] = {4, 1, 1}, start[2] = {5, 10}, add[4] = {2, 0, 0, 0};
    uint32_t words[2] = {5, 10};
    shc_buffer sizes, sums;
    shc_source source;
    shc_program program;
    shc_binding block;
    shc_counter counter;
    shc_dispatch d;
    shc_job job;
    int i, code;
    memset(&source, 0, sizeof source);
    memset(&block, 0, sizeof block);
    memset(&counter, 0, sizeof counter);
    memset(&d, 0, sizeof d);
    memset(&job, 0, sizeof job);
    source.name = "check-counters";
    source.text = counted;
    if ((code = shc_load(c->gpu, &source, &program)) != SHC_OK ||
        (code = shc_buffer_open(c->gpu, NULL, sizeof groups, SHC_CREATE, &sizes)) != SHC_OK ||
        (code = shc_buffer_open(c->gpu, NULL, sizeof start, SHC_CREATE, &sums)) != SHC_OK ||
        (code = shc_buffer_write(c->gpu, &sizes, 0, groups, sizeof groups)) != SHC_OK ||
        (code = shc_buffer_write(c->gpu, &sums, 0, start, sizeof start)) != SHC_OK) {
        return code;
    }
    block.binding = 1, block.range = shc_in(add, sizeof add);
    d.program = &program, d.indirect = &sizes, d.blocks = &block, d.block_count = 1;
    job.dispatches = &d, job.counters = &counter, job.dispatch_count = job.counter_count = 1;
    counter.words = words, counter.count = 2;
    for (i = 0; i < 2; i++) {
        if ((code = shc_run(c->gpu, &job)) != SHC_OK) {
            return code;
        }
        if (i == 1 && (code = shc_buffer_read(c->gpu, &sums, 0, words, sizeof words)) != SHC_OK) {
            return code;
        }
        if (words[0] != 5 + 256 || words[1] != 10 + 2 * 256) {
            return WRONG;
        }
        counter.words = NULL, counter.buffer = shc_buffer_range(&sums, 0, 0);
        words[0] = words[1] = 0;
    }
    code = shc_buffer_release(c->gpu, &sizes);
    return code != SHC_OK ? code : shc_buffer_release(c->gpu, &sums);
}

/* Makes a named buffer of 4 KiB, or opens the one of an earlier client. */
static int buffer(check *c) {
    return shc_buffer_open(c->gpu, "check", 4 * COUNT, SHC_CREATE, &c->buffer);
}

static int write_buffer(check *c) {
    float values[COUNT];
    uint64_t version = c->buffer.version;
    int code;
    fill(values, COUNT, 5);
    code = shc_buffer_write(c->gpu, &c->buffer, 0, values, sizeof values);
    return code == SHC_OK && c->buffer.version != version + 1 ? WRONG : code;
}

static int read_buffer(check *c) {
    float values[COUNT], want[COUNT];
    int code = shc_buffer_read(c->gpu, &c->buffer, 0, values, sizeof values);
    fill(want, COUNT, 5);
    return code == SHC_OK && memcmp(values, want, sizeof want) != 0 ? WRONG : code;
}

/* Writes a buffer of an older version than it has. */
static int conflict(check *c) {
    float values[COUNT];
    shc_copy copy;
    fill(values, COUNT, 6);
    memset(&copy, 0, sizeof copy);
    copy.from = shc_in(values, sizeof values);
    copy.to = shc_buffer_range(&c->buffer, 0, sizeof values);
    copy.check = 1;
    copy.expect = c->buffer.version + 10;
    return shc_copy_bytes(c->gpu, &copy, NULL);
}

static int delete_buffer(check *c) { return shc_buffer_delete(c->gpu, "check"); }

/* A product of 2x3 and 3x2, of which a second client finds the weights. */
static int gemm(check *c) {
    static const float a[6] = {1, 2, 3, 4, 5, 6}, b[6] = {1, 0, 0, 1, 1, 1},
                       want[4] = {4, 5, 10, 11};
    float result[4] = {0, 0, 0, 0};
    shc_plan plan;
    int code = shc_plan_open(c->gpu, "check-gemm", "gemm:2x2x3", SHC_CREATE, &plan);
    if (code == SHC_OK && plan.version != 7) {
        code = shc_plan_weights(c->gpu, &plan, 7, shc_in(b, sizeof b), shc_none());
    }
    if (code == SHC_OK) {
        code = shc_plan_run(c->gpu, &plan, 0, shc_in(a, sizeof a), shc_out(result, sizeof result));
    }
    return code == SHC_OK && memcmp(result, want, sizeof want) != 0 ? WRONG : code;
}

/* A 3x3 box over 1x1x4x4, without padding, plus a bias of 1. */
static int conv2d(check *c) {
    static const float ones[9] = {1, 1, 1, 1, 1, 1, 1, 1, 1}, bias[1] = {1},
                       want[4] = {46, 55, 82, 91};
    float input[16], result[4] = {0, 0, 0, 0};
    shc_plan plan;
    int code = shc_plan_open(c->gpu, NULL, "conv2d:1x1x4x4-1,3x3,bias", SHC_CREATE, &plan);
    fill(input, 16, 0);
    if (code == SHC_OK) {
        code = shc_plan_weights(c->gpu, &plan, 1, shc_in(ones, sizeof ones),
                                shc_in(bias, sizeof bias));
    }
    if (code == SHC_OK) {
        code = shc_plan_run(c->gpu, &plan, 0, shc_in(input, sizeof input),
                            shc_out(result, sizeof result));
    }
    if (code == SHC_OK) {
        code = shc_plan_release(c->gpu, &plan);
    }
    return code == SHC_OK && memcmp(result, want, sizeof want) != 0 ? WRONG : code;
}

static int delete_plan(check *c) { return shc_plan_delete(c->gpu, "check-gemm"); }

static int status(check *c) {
    char *json = NULL;
    int code = shc_status(c->gpu, &json);
    if (code == SHC_OK && json[0] != '{') {
        code = WRONG;
    }
    free(json);
    return code;
}

/* Uses the client in a child, where it must fail, and a client of the child's own. */
static int forked(check *c) {
    int result = 0;
    pid_t child = fork();
    if (child == 0) {
        int code = run(c);
        shc_close(c->gpu);
        c->gpu = NULL;
        if (code == SHC_FORKED && (shc_open(&c->gpu, c->path) != SHC_OK ||
                                   load(c, doubler, 0) != SHC_OK || run(c) != SHC_OK)) {
            code = SHC_INTERNAL;
        }
        shc_close(c->gpu);
        _exit(code);
    }
    waitpid(child, &result, 0);
    return WIFEXITED(result) ? WEXITSTATUS(result) : SHC_INTERNAL;
}

static int open_client(check *c) {
    shc_close(c->gpu);
    return shc_open(&c->gpu, c->path);
}

/* Opens a client again while a child has the socket of the one before. */
static int left(check *c) {
    int i, code = SHC_QUOTA;
    pid_t child = fork();
    if (child == 0) {
        for (;;) {
            pause();
        }
    }
    for (i = 0; i < 1000 && code == SHC_QUOTA; i++) {
        code = open_client(c);
        usleep(5000);
    }
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    return code;
}

static int impatient(check *c) {
    shc_set_timeout(c->gpu, 200000000);
    return SHC_OK;
}

/* Waits little for what does not compile. */
static int hasty(check *c) {
    c->gpu->timeout = 500000000;
    return SHC_OK;
}

/* Sends more than a request may have. */
static int oversize(check *c) {
    float *values = (float *)calloc(1, 2 << 20), result;
    uint64_t request;
    int code = submit(c, shc_in(values, 2 << 20), shc_out(&result, sizeof result), 1, 0, &request);
    free(values);
    return code;
}

/* Opens a session, runs a job and closes it, 300 times; errors are expected. */
static int again(check *c) {
    int i;
    for (i = 0; i < 300; i++) {
        shc_client *first = c->gpu;
        if (shc_open(&c->gpu, c->path) == SHC_OK && load(c, doubler, 0) == SHC_OK) {
            (void)(buffer(c) == SHC_OK && run(c) == SHC_OK && gemm(c) == SHC_OK && status(c));
        }
        shc_close(c->gpu);
        c->gpu = first;
    }
    return SHC_OK;
}

/* Checks the path as the directory of the default place. */
static int directory(check *c) {
    (void)shc_open(&c->gpu, "/nonexistent");
    return shc__check_directory(c->gpu, c->path);
}

static int open_at(check *c, const char *device, const char *near_buffer) {
    shc_place place;
    shc_client *gpu = c->gpu;
    int code;
    place.device = device;
    place.near_buffer = near_buffer;
    code = shc_open_at(&c->gpu, c->path, &place);
    shc_close(gpu);
    if (code == SHC_OK && (shc_server(c->gpu)->number != 1 || shc_server(c->gpu)->devices != 2 ||
                           strcmp(shc_server(c->gpu)->uuid, "c0ffee") != 0)) {
        return WRONG;
    }
    return code;
}

static int placed(check *c) { return open_at(c, "1", NULL); }
static int placed_uuid(check *c) { return open_at(c, "c0ffee", "check"); }
static int misplaced(check *c) { return open_at(c, "0", NULL); }
static int near_it(check *c) { return open_at(c, NULL, "check"); }
static int load_doubler(check *c) { return load(c, doubler, 0); }
static int find(check *c) { return load(c, NULL, 1); }
static int broken(check *c) { return load(c, "void main() { mistake; }", 0); }

/* A call that succeeds has no message, whatever the one before said. */
static int quiet(check *c) {
    char *json = NULL;
    int failed = broken(c), code;
    if (failed != SHC_COMPILE || shc_message(c->gpu)[0] == 0) return WRONG;
    code = shc_status(c->gpu, &json);
    free(json);
    return code == SHC_OK && shc_message(c->gpu)[0] == 0 && shc_hint(c->gpu)[0] == 0 ? SHC_OK : WRONG;
}

static const struct {
    const char *name;
    int (*run)(check *);
} steps[] = {{"open", open_client},
             {"placed", placed},
             {"placed-uuid", placed_uuid},
             {"misplaced", misplaced},
             {"near", near_it},
             {"load", load_doubler},
             {"find", find},
             {"broken", broken},
             {"run", run},
             {"memory", memory},
             {"many", many},
             {"large", large},
             {"deadline", deadline},
             {"late", late},
             {"cancel", cancel},
             {"params", params},
             {"refused", refused},
             {"textures", textures},
             {"texture", texture},
             {"counters", counters},
             {"buffer", buffer},
             {"write", write_buffer},
             {"read", read_buffer},
             {"conflict", conflict},
             {"delete", delete_buffer},
             {"gemm", gemm},
             {"conv2d", conv2d},
             {"delete-plan", delete_plan},
             {"status", status},
             {"quiet", quiet},
             {"forked", forked},
             {"left", left},
             {"impatient", impatient},
             {"hasty", hasty},
             {"oversize", oversize},
             {"again", again},
             {"directory", directory}};

static int step(check *c, const char *name) {
    size_t i;
    for (i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        if (strcmp(name, steps[i].name) == 0) {
            return steps[i].run(c);
        }
    }
    fprintf(stderr, "check: no step %s\n", name);
    exit(2);
}

int main(int argc, char **argv) {
    check c;
    int i;
    memset(&c, 0, sizeof c);
    c.path = argc > 1 ? argv[1] : "";
    for (i = 2; i < argc; i++) {
        int code = step(&c, argv[i]);
        printf("%s %s\n", argv[i], code == WRONG ? "wrong" : shc_code_name(code));
        if (code != SHC_OK) {
            fprintf(stderr, "%s: %s: %s\n", argv[i], shc_message(c.gpu), shc_hint(c.gpu));
        }
    }
    shc_close(c.gpu);
    return 0;
}
