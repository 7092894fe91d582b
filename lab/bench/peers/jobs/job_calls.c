// Measures what the driver and the system take of small jobs where nothing else is in the way:
// the calls of the executor and its two threads, without the library.
//
//   cc -O2 -o job-calls lab/bench/peers/jobs/job_calls.c -lEGL -lOpenGL -lpthread && ./job-calls
//
// A job is 4 KiB in mapped memory, copied to the device, a kernel, and 4 KiB back, with a fence.
// "batches" are jobs with one fence, two batches in flight. "hand-over" is a second thread that
// gives each job to the thread with the context and waits for it; both spin. "1 ms" has three
// jobs of a millisecond in flight, and both threads sleep in futexes: its CPU time is that of
// the process.
#define _GNU_SOURCE
#define GL_GLEXT_PROTOTYPES
#define EGL_EGLEXT_PROTOTYPES
#include <EGL/egl.h>
#include <EGL/eglext.h>
#include <GL/glcorearb.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { BYTES = 4096, SLOTS = 512 };
static GLuint up, down, in, out;
static char *mappedUp, *mappedDown, data[BYTES];
static atomic_uint asked, done;

static double now(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return 1e6 * t.tv_sec + 1e-3 * t.tv_nsec;
}

static void sleepFor(double us) {
    struct timespec t = {0, us < 1 ? 1000 : (long)(1000 * us)};
    nanosleep(&t, NULL);
}

static GLuint buffer(GLbitfield flags, char **mapped) {
    GLuint b;
    glCreateBuffers(1, &b);
    glNamedBufferStorage(b, SLOTS * BYTES, NULL, flags);
    if (mapped) *mapped = glMapNamedBufferRange(b, 0, SLOTS * BYTES, flags & ~GL_CLIENT_STORAGE_BIT);
    return b;
}

// begin gives n jobs of some rounds to the GPU.
static GLsync begin(int slot, int n, GLuint rounds) {
    glCopyNamedBufferSubData(up, in, slot * BYTES, slot * BYTES, n * BYTES);
    glUniform1ui(0, rounds);
    for (int i = slot; i < slot + n; i++) {
        glBindBufferRange(GL_SHADER_STORAGE_BUFFER, 0, in, i * BYTES, BYTES);
        glBindBufferRange(GL_SHADER_STORAGE_BUFFER, 1, out, i * BYTES, BYTES);
        glDispatchCompute(4, 1, 1);
    }
    glMemoryBarrier(GL_ALL_BARRIER_BITS);
    glCopyNamedBufferSubData(out, down, slot * BYTES, slot * BYTES, n * BYTES);
    GLsync fence = glFenceSync(GL_SYNC_GPU_COMMANDS_COMPLETE, 0);
    glFlush();
    return fence;
}

static int ended(GLsync fence) { return glClientWaitSync(fence, 0, 0) != GL_TIMEOUT_EXPIRED; }

static void finish(GLsync fence) {
    while (!ended(fence)) {}
    glDeleteSync(fence);
}

// caller asks for jobs, each after the results of the one before, *depth at a time.
static void *caller(void *depth) {
    unsigned ahead = *(unsigned *)depth, n = 20000 / (ahead * ahead);
    for (unsigned i = 0; i < n; i++) {
        memcpy(mappedUp + i % SLOTS * BYTES, data, BYTES);
        atomic_store(&asked, i + 1);
        for (unsigned d; i + 1 >= ahead && (d = atomic_load(&done)) < i + 2 - ahead;) {
            if (ahead > 1) syscall(SYS_futex, &done, FUTEX_WAIT_PRIVATE, d, NULL, NULL, 0);
        }
        memcpy(data, mappedDown + i % SLOTS * BYTES, BYTES);
    }
    return NULL;
}

// serve runs the jobs of caller, and prints what one takes. It sleeps until one is due, in us
// after the one before; 0: it spins.
static void serve(const char *name, unsigned depth, GLuint rounds, double due) {
    GLsync fences[SLOTS];
    unsigned n = 20000 / (depth * depth), begun = 0;
    pthread_t thread;
    atomic_store(&asked, 0), atomic_store(&done, 0);
    pthread_create(&thread, NULL, caller, &depth);
    double start = now(CLOCK_MONOTONIC), cpu = now(CLOCK_PROCESS_CPUTIME_ID), last = start;
    for (unsigned d = 0; d < n;) {
        for (; begun < atomic_load(&asked); begun++) fences[begun % SLOTS] = begin(begun % SLOTS, 1, rounds);
        if (begun == d) continue;
        if (due > 0) sleepFor(last + due - now(CLOCK_MONOTONIC));
        while (!ended(fences[d % SLOTS])) {
            if (due > 0) sleepFor(60);
        }
        last = now(CLOCK_MONOTONIC);
        atomic_store(&done, d + 1);
        if (depth > 1) syscall(SYS_futex, &done, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
        glDeleteSync(fences[d++ % SLOTS]);
    }
    start = now(CLOCK_MONOTONIC) - start, cpu = now(CLOCK_PROCESS_CPUTIME_ID) - cpu;
    pthread_join(thread, NULL);
    printf("%-28s %8.2f us a job, %6.2f us of CPU time, %5.1f%% of a core\n", name, start / n, cpu / n, 100 * cpu / start);
}

int main(void) {
    EGLDeviceEXT device;
    EGLint devices;
    PFNEGLQUERYDEVICESEXTPROC query = (PFNEGLQUERYDEVICESEXTPROC)eglGetProcAddress("eglQueryDevicesEXT");
    query(1, &device, &devices);
    EGLDisplay display = eglGetPlatformDisplay(EGL_PLATFORM_DEVICE_EXT, device, NULL);
    EGLint wanted[] = {EGL_CONTEXT_MAJOR_VERSION, 4, EGL_CONTEXT_MINOR_VERSION, 5, EGL_NONE};
    eglInitialize(display, NULL, NULL), eglBindAPI(EGL_OPENGL_API);
    if (!eglMakeCurrent(display, NULL, NULL, eglCreateContext(display, NULL, NULL, wanted))) return fputs("job-calls: no context\n", stderr), 1;
    prctl(PR_SET_TIMERSLACK, 1000, 0, 0, 0);
    const char *text = "#version 450 core\nlayout(local_size_x = 256) in; layout(location = 0) uniform uint rounds;"
                       "layout(std430, binding = 0) buffer A { uint a[]; }; layout(std430, binding = 1) buffer B { uint b[]; };"
                       "void main() { uint i = gl_GlobalInvocationID.x, x = a[i]; for (uint r = 0u; r < rounds; ++r) x = x * 5u + 1u; b[i] = x; }";
    GLuint program = glCreateShaderProgramv(GL_COMPUTE_SHADER, 1, &text);
    GLbitfield mapped = GL_MAP_PERSISTENT_BIT | GL_MAP_COHERENT_BIT | GL_CLIENT_STORAGE_BIT;
    glUseProgram(program);
    up = buffer(mapped | GL_MAP_WRITE_BIT, &mappedUp), down = buffer(mapped | GL_MAP_READ_BIT, &mappedDown);
    in = buffer(0, NULL), out = buffer(0, NULL);
    double start;
    for (int round = 0; round < 2; round++) { // the first warms up
        start = now(CLOCK_MONOTONIC);
        for (int i = 0; i < 20000; i++) glDispatchCompute(1, 1, 1), finish(glFenceSync(GL_SYNC_GPU_COMMANDS_COMPLETE, 0));
    }
    printf("%-28s %8.2f us\n", "dispatch, fence, wait", (now(CLOCK_MONOTONIC) - start) / 20000);
    start = now(CLOCK_MONOTONIC);
    for (int i = 0; i < 20000; i++) finish(begin(i % SLOTS, 1, 1));
    printf("%-28s %8.2f us a job\n", "one thread, one at a time", (now(CLOCK_MONOTONIC) - start) / 20000);
    for (int size = 4; size <= 256; size *= 4) {
        double cpu = now(CLOCK_PROCESS_CPUTIME_ID);
        GLsync before = begin(0, size, 1);
        start = now(CLOCK_MONOTONIC);
        for (int i = size; i < 100000; i += size) {
            GLsync next = begin(i / size % 2 * 256, size, 1);
            finish(before), before = next;
        }
        finish(before);
        printf("batches of %-17d %8.2f us a job, %6.2f us of CPU time\n", size, (now(CLOCK_MONOTONIC) - start) / 100000, (now(CLOCK_PROCESS_CPUTIME_ID) - cpu) / 100000);
    }
    serve("hand-over, one at a time", 1, 1, 0);
    GLuint rounds = 64;
    double took = 0;
    for (;; rounds = took < 100 ? 4 * rounds : (GLuint)(rounds * 1010 / took)) {
        start = now(CLOCK_MONOTONIC), finish(begin(0, 1, rounds)), took = now(CLOCK_MONOTONIC) - start;
        if (took >= 900) break;
    }
    serve("1 ms, three at a time", 3, rounds, took);
    return glGetError() != 0;
}
