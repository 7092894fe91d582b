// What the tests record: how to get at functions, and cases.
#include "gl.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

static void simple(void) {
  GLuint p = linked("v1", "f1");
  ok(p);
  gl.glUseProgram(p);
  gl.glUseProgram(0);
  gl.glUseProgram(p);
  ok(linked("c1", NULL));
}

// texts: strings with lengths, and a text that was set after the compile.
static void texts(void) {
  GLuint p = gl.glCreateProgram(), s = gl.glCreateShader(GL_COMPUTE_SHADER);
  const char *t = text("c2"), *parts[] = {t, t + 10, t + 20};
  GLint lengths[] = {10, 10, -1};
  gl.glShaderSource(s, 3, parts, lengths);
  gl.glCompileShader(s);
  t = "this is not GLSL";
  gl.glShaderSource(s, 1, &t, NULL);
  gl.glAttachShader(p, s);
  gl.glLinkProgram(p);
  ok(p);
}

static void bindings(void) {
  GLuint p = attached("v2", "f2");
  const char *names[] = {"c", "gl_Position"};
  gl.glBindAttribLocation(p, 7, "b");
  gl.glBindAttribLocation(p, 5, "a");
  gl.glBindAttribLocation(p, 3, "b");
  gl.glBindAttribLocation(p, 3, "gl_Vertex"); // errors
  gl.glBindAttribLocation(p, 4000, "a");
  gl.glGetError();
  gl.glBindFragDataLocation(p, 1, "d");
  gl.glBindFragDataLocationIndexed(p, 0, 1, "other");
  gl.glTransformFeedbackVaryings(p, 2, names, GL_INTERLEAVED_ATTRIBS);
  gl.glProgramParameteri(p, GL_PROGRAM_BINARY_RETRIEVABLE_HINT, GL_TRUE);
  gl.glProgramParameteri(p, GL_PROGRAM_SEPARABLE, 2); // an error
  gl.glGetError();
  gl.glLinkProgram(p);
  ok(p);
}

// again: links of one program with other shaders, in another order, and again.
static void again(void) {
  GLuint p = gl.glCreateProgram(), v = shader("v3"), f = shader("f3"), other = shader("f4");
  gl.glAttachShader(p, f);
  gl.glAttachShader(p, v);
  gl.glAttachShader(p, v); // an error
  gl.glGetError();
  gl.glLinkProgram(p);
  gl.glUseProgram(p);
  gl.glDetachShader(p, f);
  gl.glDeleteShader(f);
  gl.glAttachShader(p, other);
  gl.glLinkProgram(p);
  gl.glUseProgram(p);
  gl.glLinkProgram(p);
  gl.glUseProgram(p);
  gl.glDeleteProgram(p);
  p = gl.glCreateProgram();
  gl.glAttachShader(p, v);
  gl.glAttachShader(p, other);
  gl.glLinkProgram(p);
  ok(p);
}

static void separable(void) {
  const char *t = text("f5");
  GLuint f = gl.glCreateShaderProgramv(GL_FRAGMENT_SHADER, 1, &t), v = attached("v5", NULL), pipelines[2];
  gl.glProgramParameteri(v, GL_PROGRAM_SEPARABLE, GL_TRUE);
  gl.glLinkProgram(v);
  ok(v);
  ok(f);
  gl.glGenProgramPipelines(2, pipelines);
  gl.glUseProgramStages(pipelines[0], GL_VERTEX_SHADER_BIT, v);
  gl.glBindProgramPipeline(pipelines[0]);
  gl.glUseProgramStages(pipelines[0], GL_FRAGMENT_SHADER_BIT, f);
  gl.glBindProgramPipeline(pipelines[0]);
}

// module is in the environment: a file with SPIR-V that has a constant of number 1.
static void spirv(void) {
  char module[1 << 16];
  FILE *file = fopen(getenv("MODULE"), "rb");
  size_t size = file ? fread(module, 1, sizeof module, file) : 0;
  GLuint p = gl.glCreateProgram(), s[] = {gl.glCreateShader(GL_COMPUTE_SHADER), gl.glCreateShader(GL_COMPUTE_SHADER)};
  gl.glShaderBinary(2, s, GL_SHADER_BINARY_FORMAT_SPIR_V, module, (GLsizei)size);
  gl.glSpecializeShader(s[0], "main", 1, (GLuint[]){1}, (GLuint[]){9});
  gl.glAttachShader(p, s[0]);
  gl.glLinkProgram(p);
  ok(p);
  gl.glDetachShader(p, s[0]);
  gl.glSpecializeShader(s[1], "main", 0, NULL, NULL);
  gl.glAttachShader(p, s[1]);
  gl.glLinkProgram(p);
  ok(p);
}

static void failed(void) {
  GLuint p = linked("v6", NULL), s = gl.glCreateShader(GL_FRAGMENT_SHADER);
  const char *t = "#version 430\nin vec4 nothing;\nout vec4 d;\nvoid main() { d = nothing; }\n";
  GLint status;
  gl.glShaderSource(s, 1, &t, NULL);
  gl.glCompileShader(s);
  gl.glAttachShader(p, s);
  gl.glLinkProgram(p);
  gl.glGetProgramiv(p, GL_LINK_STATUS, &status);
  gl.glGetProgramiv(p, GL_LINK_STATUS, &status);
  if (status)
    fail("it was linked");
  gl.glLinkProgram(gl.glCreateProgram()); // lost: it has no shaders
}

static void binary(void) {
  GLuint p = linked("c7", NULL), copy = linked("c18", NULL);
  GLenum format;
  GLsizei size = 0;
  static char bytes[1 << 20];
  gl.glUseProgram(p);
  gl.glGetProgramBinary(p, sizeof bytes, &size, &format, bytes);
  gl.glProgramBinary(copy, format, bytes, size);
  gl.glUseProgram(copy);
}

// silent prints what the recorder could change: the test compares it with a run without.
static void silent(void) {
  GLuint shaders[4];
  GLsizei count;
  gl.glLinkProgram(4711); // INVALID_VALUE, pending from here on
  gl.eglMakeCurrent(display, (EGLSurface)1, (EGLSurface)1, EGL_NO_CONTEXT); // an error of EGL, too
  errno = 4711;
  GLuint p = linked("v8", "f8");
  gl.glUseProgram(p);
  gl.glGetAttachedShaders(p, 4, &count, shaders);
  printf("errno %d, attached %d: %u %u\n", errno, count, shaders[0], shaders[1]);
  printf("egl %x\n", gl.eglGetError());
  printf("gl %x, ", gl.glGetError());
  printf("then %x\n", gl.glGetError());
  printf("next descriptor %d\n", open("/dev/null", O_RDONLY));
  printf("unknown function %p\n", dlsym(RTLD_DEFAULT, "glNoSuchFunction"));
  printf("dlerror %d, ", dlerror() != NULL);
  printf("%d\n", dlerror() != NULL);
  dlsym(RTLD_NEXT, "noSuchFunction");
  printf("dlerror %s\n", dlerror());
}

static void *in_thread(void *c) {
  current(c);
  GLuint p = linked("c9", NULL);
  gl.glUseProgram(p);
  current(EGL_NO_CONTEXT);
  return (void *)(uintptr_t)p;
}

// shared: a program that one thread links and another uses, in contexts that share objects,
// and one of the same name in a context that does not.
static void shared(void) {
  EGLContext first = context(NULL, 0), second = context(first, 0), alone = context(NULL, 0);
  pthread_t thread;
  void *p;
  current(first);
  GLuint s = shader("f9");
  pthread_create(&thread, NULL, in_thread, second);
  pthread_join(thread, &p);
  gl.glAttachShader((GLuint)(uintptr_t)p, s);
  gl.eglDestroyContext(display, second);
  gl.glLinkProgram((GLuint)(uintptr_t)p); // fails: two kinds of shaders, but it is recorded
  gl.eglDestroyContext(display, first);   // and stays current
  linked("v9", "f9");
  current(alone);
  linked("v10", "f10");
  gl.eglDestroyContext(display, alone);
  current(EGL_NO_CONTEXT);
}

static void embedded(void) {
  current(EGL_NO_CONTEXT);
  EGLContext c = context(NULL, 1);
  gl.eglBindAPI(EGL_OPENGL_ES_API);
  gl.eglMakeCurrent(display, EGL_NO_SURFACE, EGL_NO_SURFACE, c);
  GLuint p = attached("e11", "g11"), s = shader("g12");
  gl.glAttachShader(p, s); // ES refuses a second shader of a stage
  gl.glGetError();
  gl.glLinkProgram(p);
  ok(p);
  gl.glUseProgram(p);
  gl.eglMakeCurrent(display, EGL_NO_SURFACE, EGL_NO_SURFACE, EGL_NO_CONTEXT);
  gl.eglDestroyContext(display, c);
}

// forks: the child has a log of its own, and then executes this program again.
static void forks(void) {
  linked("c12", NULL);
  pid_t child = fork();
  if (!child) {
    // GL of the parent is not to be used here: a program has a context of its own.
    current(EGL_NO_CONTEXT);
    current(context(NULL, 0));
    linked("c13", NULL);
    execl("/proc/self/exe", "cases", getenv("HOW"), "simple", NULL);
    _exit(4);
  }
  int status;
  waitpid(child, &status, 0);
  if (status)
    fail("the child has failed");
  linked("c14", NULL);
}

static void crash(void) {
  gl.glUseProgram(linked("c15", NULL));
  signal(SIGSEGV, SIG_DFL);
  *(volatile int *)8 = 1;
}

static void killed(void) {
  gl.glUseProgram(linked("c16", NULL));
  kill(getpid(), SIGKILL);
}

// limited: a process that may write no files. SIGXFSZ would end it.
static void limited(void) {
  struct rlimit limit = {100, 100};
  setrlimit(RLIMIT_FSIZE, &limit);
  ok(linked("c17", NULL));
}

// many: $THREADS threads, else 1,000, each with a context for a while: one of 16, of which half share their
// objects, or a new one.
enum { most = 1000, contexts = 16 };

static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t returned = PTHREAD_COND_INITIALIZER;
static EGLContext idle[contexts];
static int idle_count;

static EGLContext borrow(void) {
  pthread_mutex_lock(&turn);
  while (!idle_count)
    pthread_cond_wait(&returned, &turn);
  EGLContext c = idle[--idle_count];
  pthread_mutex_unlock(&turn);
  return c;
}

static void give_back(EGLContext c) {
  pthread_mutex_lock(&turn);
  idle[idle_count++] = c;
  pthread_cond_signal(&returned);
  pthread_mutex_unlock(&turn);
}

static void *link_in_turn(void *number) {
  char name[32];
  EGLContext borrowed = borrow(), own = (uintptr_t)number % 25 ? NULL : context(borrowed, 0);
  current(own ? own : borrowed);
  snprintf(name, sizeof name, "c%d", (int)((uintptr_t)number % 100 + 100));
  GLuint p = linked(name, NULL);
  gl.glUseProgram(p);
  gl.glUseProgram(0);
  gl.glDeleteProgram(p);
  current(EGL_NO_CONTEXT);
  if (own)
    gl.eglDestroyContext(display, own);
  give_back(borrowed);
  return NULL;
}

static void many(void) {
  static pthread_t started[most];
  const char *wanted = getenv("THREADS");
  uintptr_t threads = wanted ? strtoul(wanted, NULL, 10) : most;
  if (threads > most)
    fail("too many threads");
  EGLContext all[contexts];
  for (int i = 0; i < contexts; i++)
    give_back(all[i] = context(i > 0 && i < contexts / 2 ? all[0] : EGL_NO_CONTEXT, 0));
  for (uintptr_t i = 0; i < threads; i++)
    if (pthread_create(&started[i], NULL, link_in_turn, (void *)i))
      fail("no thread");
  for (uintptr_t i = 0; i < threads; i++)
    pthread_join(started[i], NULL);
  for (int i = 0; i < contexts; i++)
    gl.eglDestroyContext(display, all[i]);
}

static const struct {
  const char *name;
  void (*run)(void);
} cases[] = {
    {"simple", simple}, {"texts", texts}, {"bindings", bindings}, {"again", again}, {"separable", separable},
    {"spirv", spirv}, {"failed", failed}, {"binary", binary}, {"silent", silent}, {"shared", shared},
    {"embedded", embedded}, {"forks", forks}, {"crash", crash}, {"killed", killed}, {"limited", limited},
    {"many", many},
};

int main(int count, char **arguments) {
  if (count < 3)
    fail("usage: cases HOW CASE...");
  setenv("HOW", arguments[1], 1);
  load(arguments[1]);
  open_display();
  EGLContext c = context(NULL, 0);
  current(c);
  for (int n = 2; n < count; n++)
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
      if (!strcmp(cases[i].name, arguments[n])) {
        current(c);
        cases[i].run();
      }
  current(EGL_NO_CONTEXT);
  gl.eglDestroyContext(display, c);
  gl.eglTerminate(display);
  return 0;
}
