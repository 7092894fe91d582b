// A driver with faults: libEGL.so.1 that forwards to the real one and fails where
// SHADERCACHE_TEST_FAULT says so. The grammar is in ../fault.go.
#ifndef FAULTGL_FAULT_H
#define FAULTGL_FAULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum mode {
  // These act inside the call, and the call goes on where the process still lives.
  CRASH,        // argument: the signal, SIGSEGV by default
  CRASH_THREAD, // the same on a thread that the driver starts
  EXIT,         // argument: the exit code, 1 by default
  HANG,         // until the process is killed
  SLOW,         // argument: milliseconds
  MEMORY,       // argument: MiB to take and to keep
  PRINT,        // argument: a line for standard output
  // These are the result of the call.
  GARBAGE,
  WRONG,
  REFUSE,
  OUT_OF_MEMORY,
  LOST,
  RAISE,  // an error, though the call has its effect
  LENGTH, // argument: the length to report
  TIMEOUT,
  TWIN,
  NO_FAULT,
};

struct fault {
  enum mode mode;
  char argument[128];
  char at[64];
  char text[256];  // "" = any program
  char path[1024]; // only while this file exists; "" = always
  int call;        // the nth matching call of the process; 0 = each
  bool once;       // one process only
  bool twin;       // only in contexts of the twin
  int calls;
};

// fault_modes is a set of modes, as bits.
#define MODES(...) fault_bits((const enum mode[]){__VA_ARGS__, NO_FAULT})
uint32_t fault_bits(const enum mode *modes);

// fault_support names an entry point and the results that it can have. A fault
// anywhere else, or with another result, ends the process with code 97.
void fault_support(const char *at, uint32_t results);

// fault_hit acts at an entry point, for a program with the given tags. It returns the
// mode of the result and sets *argument, or returns NO_FAULT.
enum mode fault_hit(const char *at, uint32_t tags, const char **argument);

// fault_tags returns the tags of a program text: a bit for each fault whose text it
// contains.
uint32_t fault_tags(const char *text, size_t length);

// fault_remember keeps the tags of a program binary for later processes, fault_recall
// returns them.
void fault_remember(const void *payload, size_t length, uint32_t tags);
uint32_t fault_recall(const void *payload, size_t length);

// egl_real returns a function of the real libEGL, gl_hook the function with faults that
// stands in for a GL function, or real.
void *egl_real(const char *name);
void *gl_hook(const char *name, void *real);
void gl_support(void);

// twin_hook is gl_hook with the functions of EGL that know the twin, see twin.c. The
// others get the display that twin_display returns, and twin_make_current has the one that
// becomes current with a context.
void *twin_hook(const char *name, void *real);
void *twin_display(void *display);
void twin_make_current(void *display, void *context);
bool twin_is_current(void);
const unsigned char *twin_name(const unsigned char *renderer);
// gl_reset forgets a lost context on this thread.
void gl_reset(void);

#endif
