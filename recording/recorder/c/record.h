// The recorder: a library for LD_PRELOAD that writes every OpenGL program that a process
// links into a folder. docs/recording.md is the format.
//
//   interpose.c   stands between the program and the functions of functions.h
//   contexts.c    which context is current in a thread, and which contexts share objects
//   objects.c     the shaders and programs of contexts that share
//   shaders.c     what a program does with shaders
//   programs.c    what a program does with programs
//   uses.c        first uses: the only part that runs often
//   encode.c      a program as the content of a file
//   store.c       files
//   log.c         the lines of this process
//   sha256.c      digests
//
// The recorded program must not see any of it:
//
//   - no function of the driver is called that the program did not call, but glGetString and
//     glGetIntegerv, once for a context, with values that cannot fail
//   - no lock is held during a call of the driver, since it may call the program back
//   - errno and cancellation are as without the recorder
//   - no file stays open and no thread is started
//   - what fails is a line `lost`, or nothing
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "gl.h"

// Of docs/recording.md.
enum { max_field = 64 << 20, max_file = 256 << 20, max_log = 64 << 20 };

// Texts and modules of all shaders that are kept at a time. What is beyond is lost.
enum { max_kept = 1 << 30 };

// ---- interpose.c

// An entry is a function of a driver, with two more of the same driver.
struct entry {
  void *function;
  get_string_function get_string;
  get_integer_function get_integer;
};

// REAL is the function of an entry. Its type is the handler's, without the entry.
#define REAL(type, entry, parameters) ((type(*) parameters)(entry)->function)

// ---- process.c

// recording reports whether the process is recorded. It is false without SHADERCACHE_RECORD.
extern bool recording;

// lock guards contexts, groups, objects and the table of digests. Never held during a call
// of the driver or of the system.
extern pthread_mutex_t lock;

// visit is the time that the recorder itself works. The program's errno is kept, and the
// thread cannot be cancelled.
struct visit {
  int error, cancel;
};
void begin_visit(struct visit *);
void end_visit(const struct visit *);

// enter and leave stand around a call of the driver. enter returns false where the call is
// within another: a driver, or another library like this one, calls itself.
bool enter(void);
void leave(void);

// ---- objects.c

struct text { // or a module of SPIR-V
  unsigned references;
  size_t size;
  char bytes[];
};

// compiled is what a program links of a shader.
struct compiled {
  struct text *text;      // NULL: nothing that can be recorded
  bool spirv;
  struct text *constants; // of SPIR-V: entry point and constants, as the file has them
};

struct shader {
  GLuint name;
  GLenum stage;
  unsigned attached; // to programs
  bool deleted;      // exists while it is attached
  const char *why;   // it cannot be recorded, where compiled has no text
  struct text *source;
  struct text *module;
  struct compiled compiled;
};

struct binding {
  GLuint number, index;
  char *name;
};

struct bindings {
  struct binding *list; // sorted by name
  size_t count;
};

struct program {
  struct shader **shaders; // in the order of attachment
  size_t shader_count;
  struct bindings attributes, outputs;
  struct text *feedback; // as the file has it
  bool separable, retrievable, created;
  const char *why;    // it cannot be recorded
  bool linked, failed;
  uint8_t digest[32]; // of the last link
};

enum kind { SHADER, PROGRAM };

struct object {
  GLuint name; // 0: free
  enum kind kind;
  union {
    struct shader *shader;
    struct program *program;
  };
};

// group has the objects of contexts that share them.
struct group {
  uint64_t id;       // never used again
  unsigned contexts; // that refer to it
  uint32_t epoch;    // atomic: changes where a use may be a first one
  struct object *objects;
  size_t capacity, count; // capacity is a power of two
};

struct text *new_text(const void *bytes, size_t size); // of unset bytes for NULL; NULL where there is no memory
struct text *share_text(struct text *);
void drop_text(struct text *);
void drop_compiled(struct compiled *);

struct shader *find_shader(struct group *, GLuint name);
struct program *find_program(struct group *, GLuint name);
struct shader *add_shader(struct group *, GLuint name, GLenum stage); // NULL where there is no memory
struct program *add_program(struct group *, GLuint name);
void delete_shader(struct group *, struct shader *);
void delete_program(struct group *, GLuint name);
void attach_shader(struct program *, struct shader *);
void detach_shader(struct group *, struct program *, struct shader *);
void set_binding(struct program *, struct bindings *, GLuint number, GLuint index, const char *name);
void free_group(struct group *);

// ---- contexts.c

// pipeline has the programs of glUseProgramStages. Pipelines are not shared.
struct pipeline {
  GLuint name;
  GLuint programs[6]; // of the stages' bits
};

struct context {
  struct context *next;
  void *display, *handle;
  struct group *group;
  unsigned references; // the table's, until it is destroyed, and each thread's that has it current
  struct pipeline *pipelines;
  size_t pipeline_count;
  GLuint pipeline; // bound

  // Set by the first thread that needs it, see described.
  bool described, valid;
  uint32_t api, major, minor, profile, flags;
  GLint max_attributes, max_outputs; // 0: not known
  char driver[1024];                 // vendor, renderer and version, with tabs between
};

// current is the calling thread's context, or NULL.
extern __thread struct context *current;

// described returns the calling thread's context, with what the driver says of it, or NULL
// where none is current. Called without the lock.
struct context *described(const struct entry *);

// begin_work and end_work stand around the recorder's work on objects. begin_work returns the
// current context, with the lock held, or NULL, where nothing is to be done.
struct context *begin_work(struct visit *, const struct entry *);
void end_work(const struct visit *);

// ---- shaders.c

// is_set reports whether no string of glShaderSource is NULL. joined returns the text that
// the driver makes of them.
bool is_set(size_t count, const char *const *strings);
struct text *joined(size_t count, const char *const *strings, const GLint *lengths);

// ---- uses.c

void forget_pipelines(struct context *);

// ---- encode.c

struct content {
  uint8_t *bytes;
  size_t size, capacity;
};

// encode makes the content of a program's file. It returns NULL, or why it cannot.
const char *encode(struct content *, const struct context *, const struct program *);

// ---- store.c

// open_folder sets the folder of a recording.
void open_folder(const char *path);
extern char folder[];

// make_folders makes what a recording consists of.
void make_folders(void);

// store writes a program's file, unless it is there. It returns NULL, or why it cannot.
const char *store(const uint8_t digest[32], const struct content *);

// append writes a line to a file, whole or not at all. The first line makes the file.
bool append(const char *path, bool first, const char *line, size_t size, size_t before);

void hexadecimal(const uint8_t digest[32], char text[65]);

// ---- digests.c

// The programs that this process has linked.
enum { KNOWN = 1, STORED = 2, USED = 4 };

// mark sets a flag of a digest. It returns whether the flag was not set before. Called with
// the lock.
bool mark(const uint8_t digest[32], uint8_t flag);
bool marked(const uint8_t digest[32], uint8_t flag);
void unmark_all(uint8_t flag);

// ---- log.c

int64_t now(void); // nanoseconds of a clock that does not jump
void log_context(const struct context *);
void log_link(const uint8_t digest[32], int64_t nanoseconds);
void log_digest(const char *kind, const uint8_t digest[32]); // use, failed
void log_binary(GLenum format, GLsizei size);
void log_lost(const char *reason);

void lock_log(void);
void unlock_log(void);
void restart_log(void); // in a child of fork

// ---- sha256.c

void sha256(const void *bytes, size_t size, uint8_t digest[32]);
