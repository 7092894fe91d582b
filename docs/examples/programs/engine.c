// A program in C with compute and graphics, by EGL without a window, as any other: it knows
// nothing of shadercache. It checks what it computes and draws.
//
//   cc -o engine engine.c -lEGL -lOpenGL
#define GL_GLEXT_PROTOTYPES
#define EGL_EGLEXT_PROTOTYPES
#include <EGL/egl.h>
#include <EGL/eglext.h>
#include <GL/gl.h>
#include <GL/glext.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void fail(const char *why) {
  fprintf(stderr, "engine: %s\n", why);
  exit(1);
}

static EGLDisplay open_context(void) {
  PFNEGLGETPLATFORMDISPLAYEXTPROC get =
      (PFNEGLGETPLATFORMDISPLAYEXTPROC)eglGetProcAddress("eglGetPlatformDisplayEXT");
  EGLDisplay display = get(EGL_PLATFORM_SURFACELESS_MESA, EGL_DEFAULT_DISPLAY, NULL);
  EGLint attributes[] = {EGL_CONTEXT_MAJOR_VERSION, 4, EGL_CONTEXT_MINOR_VERSION, 3, EGL_NONE};
  if (!eglInitialize(display, NULL, NULL) || !eglBindAPI(EGL_OPENGL_API))
    fail("no display");
  EGLContext context = eglCreateContext(display, EGL_NO_CONFIG_KHR, EGL_NO_CONTEXT, attributes);
  if (!eglMakeCurrent(display, EGL_NO_SURFACE, EGL_NO_SURFACE, context))
    fail("no context");
  return display;
}

static void attach(GLuint program, GLenum stage, const char *text) {
  GLuint shader = glCreateShader(stage);
  glShaderSource(shader, 1, &text, NULL);
  glCompileShader(shader);
  glAttachShader(program, shader);
  glDeleteShader(shader);
}

static void link_program(GLuint program) {
  GLint linked;
  glLinkProgram(program);
  glGetProgramiv(program, GL_LINK_STATUS, &linked);
  if (!linked)
    fail("a program does not link");
  glUseProgram(program);
}

static void compute(int n) {
  char text[1024];
  snprintf(text, sizeof text,
           "#version 430\nlayout(local_size_x = 32) in;\nlayout(std430, binding = 0) buffer B { float b[]; };\n"
           "void main() { float x = float(gl_GlobalInvocationID.x);\n"
           "for (int k = 0; k < %d; k++) x = fma(x, 0.5, sin(x) * %d.0);\nb[gl_GlobalInvocationID.x] = x - x + %d.0; }\n",
           n + 3, n, n);
  GLuint program = glCreateProgram(), buffer;
  attach(program, GL_COMPUTE_SHADER, text);
  link_program(program);
  float values[64];
  memset(values, 0xff, sizeof values);
  glGenBuffers(1, &buffer);
  glBindBufferBase(GL_SHADER_STORAGE_BUFFER, 0, buffer);
  glBufferData(GL_SHADER_STORAGE_BUFFER, sizeof values, values, GL_DYNAMIC_READ);
  glDispatchCompute(2, 1, 1);
  glMemoryBarrier(GL_BUFFER_UPDATE_BARRIER_BIT);
  glGetBufferSubData(GL_SHADER_STORAGE_BUFFER, 0, sizeof values, values);
  for (int i = 0; i < 64; i++)
    if (values[i] != (float)n)
      fail("a wrong value");
}

// draw fills 16 pixels of RGBA8 with a triangle.
static void draw(void) {
  GLuint program = glCreateProgram(), target, colour, array, buffer;
  attach(program, GL_VERTEX_SHADER, "#version 330\nin vec2 at;\nvoid main() { gl_Position = vec4(at, 0.0, 1.0); }\n");
  attach(program, GL_FRAGMENT_SHADER, "#version 330\nout vec4 colour;\nvoid main() { colour = vec4(0.0, 1.0, 0.0, 1.0); }\n");
  glBindAttribLocation(program, 3, "at");
  link_program(program);
  glGenFramebuffers(1, &target);
  glBindFramebuffer(GL_FRAMEBUFFER, target);
  glGenRenderbuffers(1, &colour);
  glBindRenderbuffer(GL_RENDERBUFFER, colour);
  glRenderbufferStorage(GL_RENDERBUFFER, GL_RGBA8, 4, 4);
  glFramebufferRenderbuffer(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_RENDERBUFFER, colour);
  glViewport(0, 0, 4, 4);
  float corners[] = {-1, -1, 3, -1, -1, 3};
  glGenVertexArrays(1, &array);
  glBindVertexArray(array);
  glGenBuffers(1, &buffer);
  glBindBuffer(GL_ARRAY_BUFFER, buffer);
  glBufferData(GL_ARRAY_BUFFER, sizeof corners, corners, GL_STATIC_DRAW);
  glVertexAttribPointer(3, 2, GL_FLOAT, GL_FALSE, 8, NULL);
  glEnableVertexAttribArray(3);
  glDrawArrays(GL_TRIANGLES, 0, 3);
  unsigned char pixels[16][4];
  memset(pixels, 0x55, sizeof pixels);
  glReadPixels(0, 0, 4, 4, GL_RGBA, GL_UNSIGNED_BYTE, pixels);
  for (int i = 0; i < 16; i++)
    if (memcmp(pixels[i], (unsigned char[]){0, 255, 0, 255}, 4))
      fail("a wrong pixel");
}

static int run(int programs) {
  EGLDisplay display = open_context();
  for (int n = 0; n < programs; n++)
    compute(n);
  draw();
  if (glGetError() != GL_NO_ERROR)
    fail("a GL error");
  // Mesa writes the rest of its cache, which an exit without it would drop.
  eglMakeCurrent(display, EGL_NO_SURFACE, EGL_NO_SURFACE, EGL_NO_CONTEXT);
  eglTerminate(display);
  printf("%d programs computed and drawn right\n", programs + 1);
  return 0;
}

// With --child the GPU's work is done by a process of its own, as in browsers.
int main(int count, char **arguments) {
  int child = count > 1 && !strcmp(arguments[1], "--child");
  int programs = count > 1 && !child ? atoi(arguments[1]) : 6;
  if (!child)
    return run(programs);
  pid_t pid = fork();
  if (pid == 0)
    return execv("/proc/self/exe", (char *[]){arguments[0], NULL});
  int status;
  return waitpid(pid, &status, 0) != pid || status != 0;
}
