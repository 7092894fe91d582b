// What recording costs: overhead HOW WORK COUNT, where WORK is
//
//   link    COUNT programs are compiled and linked
//   run     the same, and each is dispatched and its result checked; the time is printed
//   calls   COUNT calls as of a frame: a fifth of them glUseProgram
//   use     COUNT calls of glUseProgram
#include "gl.h"

#include <time.h>

static void (*uniform)(GLint, GLfloat);
static void (*bind)(GLenum, GLuint);
static void (*viewport)(GLint, GLint, GLsizei, GLsizei);
static void (*enable)(GLenum);

static void link_programs(int count) {
  for (int i = 0; i < count; i++) {
    char name[32];
    snprintf(name, sizeof name, "c%d", i);
    linked(name, NULL);
  }
}

static void run_programs(void *library, int count) {
  PFNGLGENBUFFERSPROC generate;
  PFNGLBINDBUFFERBASEPROC bind_base;
  PFNGLBUFFERDATAPROC set;
  PFNGLGETBUFFERSUBDATAPROC get;
  PFNGLDISPATCHCOMPUTEPROC dispatch;
  PFNGLMEMORYBARRIERPROC barrier;
  *(void **)&generate = dlsym(library, "glGenBuffers");
  *(void **)&bind_base = dlsym(library, "glBindBufferBase");
  *(void **)&set = dlsym(library, "glBufferData");
  *(void **)&get = dlsym(library, "glGetBufferSubData");
  *(void **)&dispatch = dlsym(library, "glDispatchCompute");
  *(void **)&barrier = dlsym(library, "glMemoryBarrier");
  GLuint buffer;
  float poison = -1, value;
  generate(1, &buffer);
  bind_base(GL_SHADER_STORAGE_BUFFER, 0, buffer);
  for (int i = 0; i < count; i++) {
    char name[32];
    snprintf(name, sizeof name, "c%d", i);
    set(GL_SHADER_STORAGE_BUFFER, sizeof poison, &poison, GL_DYNAMIC_COPY);
    gl.glUseProgram(linked(name, NULL));
    dispatch(1, 1, 1);
    barrier(GL_BUFFER_UPDATE_BARRIER_BIT);
    get(GL_SHADER_STORAGE_BUFFER, 0, sizeof value, &value);
    if (value != (float)i)
      fail("a result is wrong");
  }
}

static void print_time(void *library, int count) {
  struct timespec start, end;
  clock_gettime(CLOCK_MONOTONIC, &start);
  run_programs(library, count);
  clock_gettime(CLOCK_MONOTONIC, &end);
  printf("%.1f ms\n", (double)(end.tv_sec - start.tv_sec) * 1e3 + (double)(end.tv_nsec - start.tv_nsec) / 1e6);
}

static void calls(int count) {
  GLuint programs[8];
  for (int i = 0; i < 8; i++) {
    char name[32];
    snprintf(name, sizeof name, "v%d", i);
    programs[i] = linked(name, "f1");
  }
  for (int i = 0; i < count; i += 5) {
    gl.glUseProgram(programs[i % 8]);
    uniform(-1, (GLfloat)i);
    bind(GL_ARRAY_BUFFER, 0);
    viewport(0, 0, 1 + i % 2, 1);
    enable(GL_BLEND);
  }
}

static void uses(int count) {
  GLuint programs[] = {linked("c1", NULL), linked("c2", NULL)};
  for (int i = 0; i < count; i++)
    gl.glUseProgram(programs[i % 2]);
}

int main(int count, char **arguments) {
  if (count != 4)
    fail("usage: overhead HOW WORK COUNT");
  load(arguments[1]);
  open_display();
  current(context(NULL, 0));
  void *library = dlopen("libGL.so.1", RTLD_NOW);
  *(void **)&uniform = dlsym(library, "glUniform1f");
  *(void **)&bind = dlsym(library, "glBindBuffer");
  *(void **)&viewport = dlsym(library, "glViewport");
  *(void **)&enable = dlsym(library, "glEnable");
  int n = atoi(arguments[3]);
  if (!strcmp(arguments[2], "link"))
    link_programs(n);
  else if (!strcmp(arguments[2], "run"))
    print_time(library, n);
  else if (!strcmp(arguments[2], "calls"))
    calls(n);
  else
    uses(n);
  return 0;
}
