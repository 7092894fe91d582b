// Measures what the programs of `shadercache bench startup` cost in OpenGL where nothing but
// the driver is called: the same texts, loaded from program binaries in the order of
// --preload, from the start of the process to 48 verified results. What a start with
// shadercache takes longer is shadercache's.
//
//   cc -O2 -o startup-gl lab/bench/peers/startup/startup_gl.c -ldl -lm
//   ./startup-gl conv2d/kernels/gemm_tiled.comp DIR [unprimed]
//
// The first run compiles, and writes the binaries and the driver's own cache to DIR; later
// ones load them. With unprimed the first dispatch of a program is its first use. With
// --text KERNEL I it prints the text of program I. See startup.cu for the rest.

#define _GNU_SOURCE
#include <EGL/egl.h>
#include <EGL/eglext.h>
#include <GL/gl.h>
#include <GL/glext.h>
#include <dlfcn.h>

#include "startup.h"

static void fail(const char *text, const char *about) {
    fprintf(stderr, "startup-gl: %s%s\n", text, about);
    exit(1);
}

// readFile returns a file's content, with a 0 behind it, or NULL where there is none.
static char *readFile(const char *path, size_t *size) {
    FILE *f = fopen(path, "rb");
    if (!f) {
        return NULL;
    }
    fseek(f, 0, SEEK_END);
    *size = (size_t)ftell(f);
    rewind(f);
    char *data = calloc(1, *size + 1);
    if (!data || fread(data, 1, *size, f) != *size) {
        fail("cannot read ", path);
    }
    fclose(f);
    return data;
}

// sourceText returns the text of program i: the kernel, with the version and the defines
// before it, as shader.NewSource puts them.
static char *sourceText(const char *path, int i) {
    static const char *activations[] = {"NONE", "RELU", "TANH", "SILU"};
    static const int localY[] = {32, 64, 32};
    size_t size;
    char *kernel = readFile(path, &size), *text;
    const char *version = "#version 450 core\n";
    if (!kernel || strncmp(kernel, version, strlen(version)) != 0) {
        fail("no kernel of shadercache: ", path);
    }
    if (asprintf(&text, "%s#define ACTIVATION ACTIVATION_%s\n#define DEPTH 16\n#define LOCAL_Y %d\n#define SCALE %d.0\n#define TILE %d\n#line 1 0\n\n%s",
                 version, activations[i / 3 % 4], localY[i % 3], i / 12 + 1, tileOf(i), kernel + strlen(version)) < 0) {
        fail("no memory", "");
    }
    free(kernel);
    return text;
}

static PFNEGLGETPROCADDRESSPROC getProcAddress;

// proc returns a function of EGL or GL by its name.
static void *proc(const char *name) {
    void *p = (void *)getProcAddress(name);
    if (!p) {
        fail("the driver has no ", name);
    }
    return p;
}

#define GL(type, name) __extension__ type name = (type)proc("gl" #name)
#define EGL(type, name) __extension__ type name = (type)proc("egl" #name)

static double phaseBegan;
static char phases[512];

// phase ends a phase of the start: its time in milliseconds is printed.
static void phase(const char *name) {
    double now = seconds();
    size_t n = strlen(phases);
    snprintf(phases + n, sizeof phases - n, "%s%s %.1f", n ? ", " : "", name, 1e3 * (now - phaseBegan));
    phaseBegan = now;
}

// openContext makes the context that shadercache makes.
static void openContext(void) {
    void *library = dlopen("libEGL.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        fail(dlerror(), "");
    }
    __extension__ getProcAddress = (PFNEGLGETPROCADDRESSPROC)dlsym(library, "eglGetProcAddress");
    EGL(PFNEGLQUERYDEVICESEXTPROC, QueryDevicesEXT);
    phase("libEGL");
    EGL(PFNEGLGETPLATFORMDISPLAYEXTPROC, GetPlatformDisplayEXT);
    EGL(PFNEGLINITIALIZEPROC, Initialize);
    EGL(PFNEGLBINDAPIPROC, BindAPI);
    EGL(PFNEGLCHOOSECONFIGPROC, ChooseConfig);
    EGL(PFNEGLCREATECONTEXTPROC, CreateContext);
    EGL(PFNEGLMAKECURRENTPROC, MakeCurrent);
    EGLDeviceEXT device;
    EGLint count = 0, wanted[] = {EGL_RENDERABLE_TYPE, EGL_OPENGL_BIT, EGL_SURFACE_TYPE, EGL_DONT_CARE, EGL_NONE};
    if (!QueryDevicesEXT(1, &device, &count) || count == 0) {
        fail("EGL lists no device", "");
    }
    EGLDisplay display = GetPlatformDisplayEXT(EGL_PLATFORM_DEVICE_EXT, device, NULL);
    phase("devices");
    EGLConfig config;
    if (!Initialize(display, NULL, NULL) || !BindAPI(EGL_OPENGL_API) || !ChooseConfig(display, wanted, &config, 1, &count) || count == 0) {
        fail("EGL cannot be initialized", "");
    }
    phase("initialize");
    EGLContext context = EGL_NO_CONTEXT;
    for (EGLint minor = 6; minor >= 5 && context == EGL_NO_CONTEXT; --minor) {
        EGLint attributes[] = {EGL_CONTEXT_MAJOR_VERSION, 4, EGL_CONTEXT_MINOR_VERSION, minor, EGL_CONTEXT_OPENGL_PROFILE_MASK, EGL_CONTEXT_OPENGL_CORE_PROFILE_BIT,
            EGL_CONTEXT_OPENGL_RESET_NOTIFICATION_STRATEGY, EGL_LOSE_CONTEXT_ON_RESET, EGL_NONE};
        context = CreateContext(display, config, EGL_NO_CONTEXT, attributes);
    }
    phase("context");
    if (!MakeCurrent(display, EGL_NO_SURFACE, EGL_NO_SURFACE, context)) {
        fail("no context of OpenGL 4.5", "");
    }
    phase("current");
}

static GLuint ids[programs];
static char *binaries[programs];
static GLenum formats[programs];
static size_t sizes[programs];

static char *binaryPath(const char *dir, int i) {
    static char path[4096];
    snprintf(path, sizeof path, "%s/%d.bin", dir, i);
    return path;
}

// readBinaries reads what an earlier run wrote: each file is a format and a binary. It
// reports whether all are there.
static int readBinaries(const char *dir) {
    for (int i = 0; i < programs; ++i) {
        char *data = readFile(binaryPath(dir, i), &sizes[i]);
        if (!data || sizes[i] <= sizeof formats[i]) {
            return 0;
        }
        memcpy(&formats[i], data, sizeof formats[i]);
        binaries[i] = data + sizeof formats[i];
        sizes[i] -= sizeof formats[i];
    }
    return 1;
}

static void writeBinaries(const char *dir) {
    GL(PFNGLGETPROGRAMIVPROC, GetProgramiv);
    GL(PFNGLGETPROGRAMBINARYPROC, GetProgramBinary);
    for (int i = 0; i < programs; ++i) {
        GLint size = 0;
        GLenum format = 0;
        GetProgramiv(ids[i], GL_PROGRAM_BINARY_LENGTH, &size);
        char *data = calloc(1, (size_t)size + 1);
        GetProgramBinary(ids[i], size, &size, &format, data);
        FILE *f = fopen(binaryPath(dir, i), "wb");
        if (!f || fwrite(&format, 1, sizeof format, f) != sizeof format || fwrite(data, 1, (size_t)size, f) != (size_t)size || fclose(f) != 0) {
            fail("cannot write ", binaryPath(dir, i));
        }
        free(data);
    }
}

static void compile(const char *kernel) {
    GL(PFNGLCREATESHADERPROC, CreateShader);
    GL(PFNGLSHADERSOURCEPROC, ShaderSource);
    GL(PFNGLCOMPILESHADERPROC, CompileShader);
    GL(PFNGLPROGRAMPARAMETERIPROC, ProgramParameteri);
    GL(PFNGLATTACHSHADERPROC, AttachShader);
    GL(PFNGLLINKPROGRAMPROC, LinkProgram);
    for (int i = 0; i < programs; ++i) {
        char *text = sourceText(kernel, i);
        GLuint shader = CreateShader(GL_COMPUTE_SHADER);
        ShaderSource(shader, 1, (const char *const *)&text, NULL);
        CompileShader(shader);
        ProgramParameteri(ids[i], GL_PROGRAM_BINARY_RETRIEVABLE_HINT, GL_TRUE);
        AttachShader(ids[i], shader);
        LinkProgram(ids[i]);
        free(text);
    }
}

// makePrograms loads the programs, or compiles them where there are no binaries.
static void makePrograms(const char *kernel, int warm) {
    GL(PFNGLCREATEPROGRAMPROC, CreateProgram);
    GL(PFNGLPROGRAMBINARYPROC, ProgramBinary);
    GL(PFNGLGETPROGRAMIVPROC, GetProgramiv);
    for (int i = 0; i < programs; ++i) {
        ids[i] = CreateProgram();
    }
    if (!warm) {
        compile(kernel);
    }
    for (int i = 0; i < programs; ++i) {
        GLint linked = 0;
        if (warm) {
            ProgramBinary(ids[i], formats[i], binaries[i], (GLsizei)sizes[i]);
        }
        GetProgramiv(ids[i], GL_LINK_STATUS, &linked);
        if (!linked) {
            fail("the driver refuses a program", warm ? ": is its binary another driver's?" : "");
        }
    }
}

// primePrograms dispatches each program without groups.
static void primePrograms(void) {
    GL(PFNGLCREATEBUFFERSPROC, CreateBuffers);
    GL(PFNGLNAMEDBUFFERSTORAGEPROC, NamedBufferStorage);
    GL(PFNGLBINDBUFFERPROC, BindBuffer);
    GL(PFNGLUSEPROGRAMPROC, UseProgram);
    GL(PFNGLDISPATCHCOMPUTEINDIRECTPROC, DispatchComputeIndirect);
    GLuint zeros, none[3] = {0};
    CreateBuffers(1, &zeros);
    NamedBufferStorage(zeros, sizeof none, none, 0);
    BindBuffer(GL_DISPATCH_INDIRECT_BUFFER, zeros);
    for (int i = 0; i < programs; ++i) {
        UseProgram(ids[i]);
        DispatchComputeIndirect(0);
    }
}

// runPrograms dispatches each program and reads its result before the next one.
static void runPrograms(Work *w) {
    GL(PFNGLCREATEBUFFERSPROC, CreateBuffers);
    GL(PFNGLNAMEDBUFFERSTORAGEPROC, NamedBufferStorage);
    GL(PFNGLBINDBUFFERBASEPROC, BindBufferBase);
    GL(PFNGLCLEARNAMEDBUFFERDATAPROC, ClearNamedBufferData);
    GL(PFNGLUSEPROGRAMPROC, UseProgram);
    GL(PFNGLGETUNIFORMLOCATIONPROC, GetUniformLocation);
    GL(PFNGLUNIFORM1IPROC, Uniform1i);
    GL(PFNGLDISPATCHCOMPUTEPROC, DispatchCompute);
    GL(PFNGLMEMORYBARRIERPROC, MemoryBarrier);
    GL(PFNGLGETNAMEDBUFFERSUBDATAPROC, GetNamedBufferSubData);
    static const char *names[] = {"M", "N", "K", "lastK"};
    GLuint buffers[3];
    CreateBuffers(3, buffers);
    NamedBufferStorage(buffers[0], sizeof w->a, w->a, 0);
    NamedBufferStorage(buffers[1], sizeof w->b, w->b, 0);
    NamedBufferStorage(buffers[2], sizeof w->c, NULL, 0);
    for (int i = 0; i < programs; ++i) {
        ClearNamedBufferData(buffers[2], GL_R32UI, GL_RED_INTEGER, GL_UNSIGNED_INT, &poisonWord);
        UseProgram(ids[i]);
        for (int k = 0; k < 4; ++k) {
            Uniform1i(GetUniformLocation(ids[i], names[k]), SIDE); // firstK is 0
        }
        for (GLuint k = 0; k < 3; ++k) {
            BindBufferBase(GL_SHADER_STORAGE_BUFFER, k, buffers[k]);
        }
        GLuint grid = (GLuint)((SIDE + tileOf(i) - 1) / tileOf(i));
        DispatchCompute(grid, grid, 1);
        MemoryBarrier(GL_BUFFER_UPDATE_BARRIER_BIT);
        GetNamedBufferSubData(buffers[2], 0, sizeof w->c, w->results[i]);
    }
}

int main(int argc, char **argv) {
    double started = processStart();
    if (argc == 4 && strcmp(argv[1], "--text") == 0) {
        return fputs(sourceText(argv[2], atoi(argv[3])), stdout) < 0;
    }
    int unprimed = argc == 4 && strcmp(argv[3], "unprimed") == 0;
    if (argc != 3 && !unprimed) {
        fprintf(stderr, "usage: startup-gl KERNEL DIR [unprimed]\n");
        return 2;
    }
    setenv("__GL_SHADER_DISK_CACHE_PATH", argv[2], 0);
    setenv("__GL_SHADER_DISK_CACHE_SIZE", "1073741824", 0);
    setenv("__GL_SHADER_DISK_CACHE_SKIP_CLEANUP", "1", 0);
    setenv("MESA_SHADER_CACHE_DIR", argv[2], 0);
    static Work work;
    phaseBegan = started;
    phase("process");
    openContext();
    double opened = seconds();
    makeWork(&work);
    phase("inputs");
    int warm = readBinaries(argv[2]);
    phase("read");
    makePrograms(argv[1], warm);
    phase(warm ? "glProgramBinary" : "compile");
    if (!unprimed) {
        primePrograms();
        phase("prime");
    }
    runPrograms(&work);
    phase("first dispatches");
    typedef const GLubyte *(*StringProc)(GLenum);
    GL(StringProc, GetString);
    const char *name = warm ? "OpenGL with program binaries" : "OpenGL without program binaries";
    int code = report(name, (const char *)GetString(GL_RENDERER), &work, started, opened, phaseBegan - opened);
    printf("  milliseconds: %s%s\n", phases, unprimed ? ", without the prime" : "");
    if (!warm) {
        writeBinaries(argv[2]);
    }
    return code;
}
