// A program that makes its contexts by GLX: glx LOADER. With "old" it uses the names of
// ARB_shader_objects, by their symbols, else functions of GL 4.5 by glXGetProcAddressARB.
#define GL_GLEXT_PROTOTYPES
#define GLX_GLXEXT_PROTOTYPES
#include <GL/gl.h>
#include <GL/glx.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *vertex = "#version 120\nattribute vec4 a;\nvoid main() { gl_Position = a; }\n";
static const char *fragment = "#version 120\nvoid main() { gl_FragColor = vec4(1.0); }\n";

static void old(void) {
  GLhandleARB p = glCreateProgramObjectARB(), v = glCreateShaderObjectARB(GL_VERTEX_SHADER_ARB),
              f = glCreateShaderObjectARB(GL_FRAGMENT_SHADER_ARB);
  glShaderSourceARB(v, 1, &vertex, NULL);
  glShaderSourceARB(f, 1, &fragment, NULL);
  glCompileShaderARB(v);
  glCompileShaderARB(f);
  glBindAttribLocationARB(p, 2, "a");
  glAttachObjectARB(p, v);
  glAttachObjectARB(p, f);
  glDeleteObjectARB(v);
  glLinkProgramARB(p);
  glUseProgramObjectARB(p);
  glDetachObjectARB(p, f);
  glDeleteObjectARB(p);
}

#define GET(type, name) type get_##name = (type)glXGetProcAddressARB((const GLubyte *)#name)

static void modern(void) {
  GET(PFNGLCREATESHADERPROC, glCreateShader);
  GET(PFNGLSHADERSOURCEPROC, glShaderSource);
  GET(PFNGLCOMPILESHADERPROC, glCompileShader);
  GET(PFNGLCREATEPROGRAMPROC, glCreateProgram);
  GET(PFNGLATTACHSHADERPROC, glAttachShader);
  GET(PFNGLLINKPROGRAMPROC, glLinkProgram);
  GET(PFNGLUSEPROGRAMPROC, glUseProgram);
  const char *text = "#version 430\nlayout(local_size_x = 1) in;\nvoid main() {}\n";
  GLuint p = get_glCreateProgram(), s = get_glCreateShader(GL_COMPUTE_SHADER);
  get_glShaderSource(s, 1, &text, NULL);
  get_glCompileShader(s);
  get_glAttachShader(p, s);
  get_glLinkProgram(p);
  get_glUseProgram(p);
}

int main(int count, char **arguments) {
  Display *display = XOpenDisplay(NULL);
  int attributes[] = {GLX_RENDER_TYPE, GLX_RGBA_BIT, GLX_DRAWABLE_TYPE, GLX_PBUFFER_BIT, None}, found;
  GLXFBConfig *configs = display ? glXChooseFBConfig(display, DefaultScreen(display), attributes, &found) : NULL;
  if (count != 2 || !configs)
    return 3;
  GLXPbuffer buffer = glXCreatePbuffer(display, *configs, (int[]){GLX_PBUFFER_WIDTH, 1, GLX_PBUFFER_HEIGHT, 1, None});
  PFNGLXCREATECONTEXTATTRIBSARBPROC create = (PFNGLXCREATECONTEXTATTRIBSARBPROC)glXGetProcAddress((const GLubyte *)"glXCreateContextAttribsARB");
  int core[] = {GLX_CONTEXT_MAJOR_VERSION_ARB, 4, GLX_CONTEXT_MINOR_VERSION_ARB, 5, GLX_CONTEXT_PROFILE_MASK_ARB,
                GLX_CONTEXT_CORE_PROFILE_BIT_ARB, GLX_CONTEXT_FLAGS_ARB, GLX_CONTEXT_DEBUG_BIT_ARB, None};
  int is_old = !strcmp(arguments[1], "old");
  GLXContext context = is_old ? glXCreateNewContext(display, *configs, GLX_RGBA_TYPE, NULL, True) : create(display, *configs, NULL, True, core);
  if (!context || !glXMakeContextCurrent(display, buffer, buffer, context))
    return 4;
  if (is_old)
    old();
  else
    modern();
  glXMakeCurrent(display, None, NULL);
  glXDestroyContext(display, context);
  return 0;
}
