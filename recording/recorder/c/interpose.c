// What stands between a program and its drivers. A program gets at a function of GL in three
// ways, and one process may have several drivers with functions of the same name:
//
//   by its symbol      the linker finds the recorder's, since it is preloaded
//   by dlsym           the recorder's dlsym returns a function of the recorder's
//   by GetProcAddress  likewise
//
// So each wrapped function exists several times, and each of these calls one function of one
// driver, the one that the program would have called. Number 0 is the symbol.
//
// dlsym depends on who calls it, for RTLD_NEXT and for RTLD_DEFAULT. It is left by a jump
// where the caller matters.
#define _GNU_SOURCE
#include "record.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef __GLIBC__
#error "the recorder needs the GNU C library: its dlsym is replaced"
#endif

#define PUBLIC __attribute__((visibility("default")))
#define UNCHECKED __attribute__((no_sanitize("address"), no_sanitize("thread"), no_sanitize("undefined")))
enum { COPIES = 8 };

// ---- The wrapped functions: their handlers, their copies, and the table of both.

#define LIST(...) __VA_ARGS__
#define FUNCTION(...) FUNCTION_(__VA_ARGS__) // its arguments are macros

#define FUNCTION_(type, name, handler, parameters, arguments) I_##name,
#define FUNCTION0(type, name, handler) I_##name,
enum {
#include "functions.h"
  FUNCTIONS
};
#undef FUNCTION_
#undef FUNCTION0

static struct entry entries[FUNCTIONS][COPIES];

static const struct entry *by_symbol(int function, const void *caller);

#define COPY(i, type, name, handler, parameters, arguments) \
  static type name##_##i parameters { return on_##handler(&entries[I_##name][i], LIST arguments); }
#define FUNCTION_(type, name, handler, parameters, arguments)                                       \
  type on_##handler(const struct entry *, LIST parameters);                                         \
  PUBLIC type name parameters {                                                                     \
    return on_##handler(by_symbol(I_##name, __builtin_return_address(0)), LIST arguments);          \
  }                                                                                                 \
  COPY(1, type, name, handler, parameters, arguments)                                               \
  COPY(2, type, name, handler, parameters, arguments)                                               \
  COPY(3, type, name, handler, parameters, arguments)                                               \
  COPY(4, type, name, handler, parameters, arguments)                                               \
  COPY(5, type, name, handler, parameters, arguments)                                               \
  COPY(6, type, name, handler, parameters, arguments)                                               \
  COPY(7, type, name, handler, parameters, arguments)
#define COPY0(i, type, name, handler) \
  static type name##_##i(void) { return on_##handler(&entries[I_##name][i]); }
#define FUNCTION0(type, name, handler)                                                          \
  type on_##handler(const struct entry *);                                                      \
  PUBLIC type name(void) { return on_##handler(by_symbol(I_##name, __builtin_return_address(0))); } \
  COPY0(1, type, name, handler)                                                                 \
  COPY0(2, type, name, handler)                                                                 \
  COPY0(3, type, name, handler)                                                                 \
  COPY0(4, type, name, handler)                                                                 \
  COPY0(5, type, name, handler)                                                                 \
  COPY0(6, type, name, handler)                                                                 \
  COPY0(7, type, name, handler)
#include "functions.h"
#undef FUNCTION_
#undef FUNCTION0

#define FUNCTION_(type, name, handler, parameters, arguments) FUNCTION0(type, name, handler)
#define FUNCTION0(type, name, handler) \
  {#name, {name, name##_1, name##_2, name##_3, name##_4, name##_5, name##_6, name##_7}},
static const struct {
  const char *name;
  void *copies[COPIES];
} functions[FUNCTIONS] = {
#include "functions.h"
};

static int compare(const void *name, const void *function) {
  return strcmp(name, *(const char *const *)function);
}

// has_prefix reports whether a name may be one of GL, EGL or GLX. It calls nothing, see dlsym.
UNCHECKED static bool has_prefix(const char *name) {
  name += *name == 'e';
  return name[0] == 'g' && name[1] == 'l';
}

// index_of returns the number of a function, or -1.
static int index_of(const char *name) {
  if (!has_prefix(name))
    return -1;
  const void *function = bsearch(name, functions, FUNCTIONS, sizeof *functions, compare);
  return function ? (int)(((const char *)function - (const char *)functions) / (ptrdiff_t)sizeof *functions) : -1;
}

static bool own(int function, const void *address) {
  for (int i = 0; i < COPIES; i++)
    if (functions[function].copies[i] == address)
      return true;
  return false;
}

// copy_of returns the copy that calls a function, or NULL where none does.
static void *copy_of(int function, const void *address) {
  for (int i = 1; i < COPIES; i++)
    if (entries[function][i].function == address)
      return functions[function].copies[i];
  return NULL;
}

// add_copy returns the copy that calls an entry's function from now on.
static void *add_copy(int function, struct entry entry) {
  pthread_mutex_lock(&lock);
  void *copy = copy_of(function, entry.function);
  for (int i = 1; i < COPIES && !copy; i++) {
    if (entries[function][i].function)
      continue;
    entries[function][i] = entry;
    copy = functions[function].copies[i];
  }
  pthread_mutex_unlock(&lock);
  if (copy)
    return copy;
  log_lost("the process has too many drivers");
  return entry.function;
}

// ---- By symbol, and by dlsym.

typedef void *(*dlsym_function)(void *, const char *);

static void *real;

// find_dlsym finds the dlsym behind the recorder's. dlvsym is not wrapped: no function of GL
// has a version.
UNCHECKED static void find_dlsym(void) {
  static const char *const versions[] = {"GLIBC_2.34", "GLIBC_2.2.5", "GLIBC_2.17", "GLIBC_2.27", "GLIBC_2.0", "GLIBC_2.4"};
  void *function = NULL;
  for (size_t i = 0; i < sizeof versions / sizeof *versions && !function; i++)
    function = dlvsym(RTLD_NEXT, "dlsym", versions[i]);
  if (!function) {
    fprintf(stderr, "libshadercache-record.so: this C library has no dlsym\n");
    _exit(127);
  }
  __atomic_store_n(&real, function, __ATOMIC_RELEASE);
}

UNCHECKED static dlsym_function real_dlsym(void) {
  if (!__atomic_load_n(&real, __ATOMIC_ACQUIRE))
    find_dlsym();
  return (dlsym_function)real;
}

static struct entry entry_in(void *handle, const char *name) {
  dlsym_function look_up = real_dlsym();
  struct entry entry = {look_up(handle, name), NULL, NULL};
  if (entry.function) {
    entry.get_string = (get_string_function)look_up(handle, "glGetString");
    entry.get_integer = (get_integer_function)look_up(handle, "glGetIntegerv");
  }
  return entry;
}

// keep_loaded keeps the library of a function for the rest of the process.
static void keep_loaded(const void *function) {
  Dl_info library;
  if (function && dladdr(function, &library))
    dlopen(library.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
}

// entry_of_library looks in a library that is loaded, and in those that it needs.
static struct entry entry_of_library(const char *path, int function) {
  struct entry entry = {0};
  void *handle = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
  if (!handle)
    return entry;
  entry = entry_in(handle, functions[function].name);
  if (own(function, entry.function))
    entry = (struct entry){0};
  keep_loaded(entry.function);
  dlclose(handle);
  return entry;
}

// entry_for looks where the linker would for a caller: in what is global, then in what the
// caller's library needs.
static struct entry entry_for(const void *caller, int function) {
  Dl_info library;
  struct entry entry = entry_in(RTLD_NEXT, functions[function].name);
  if (!entry.function && dladdr(caller, &library))
    entry = entry_of_library(library.dli_fname, function);
  return entry;
}

// resolve returns the entry of a symbol, or NULL where no library has it.
static const struct entry *resolve(int function, const void *caller) {
  struct entry *first = &entries[function][0];
  if (__atomic_load_n(&first->function, __ATOMIC_ACQUIRE))
    return first;
  struct entry entry = entry_for(caller, function);
  if (!entry.function)
    return NULL;
  pthread_mutex_lock(&lock);
  if (!first->function) {
    first->get_string = entry.get_string;
    first->get_integer = entry.get_integer;
    __atomic_store_n(&first->function, entry.function, __ATOMIC_RELEASE);
  }
  pthread_mutex_unlock(&lock);
  return first;
}

static const struct entry *by_symbol(int function, const void *caller) {
  if (__atomic_load_n(&entries[function][0].function, __ATOMIC_ACQUIRE))
    return &entries[function][0];
  struct visit visit;
  begin_visit(&visit);
  const struct entry *entry = resolve(function, caller);
  end_visit(&visit);
  if (entry)
    return entry;
  // Without the recorder the linker would have said the same.
  fprintf(stderr, "symbol lookup error: undefined symbol: %s\n", functions[function].name);
  _exit(127);
}

// global stands for RTLD_DEFAULT, which finds the recorder's symbol whether there is a
// driver or not.
static void *global(int function, const void *caller) {
  return resolve(function, caller) ? functions[function].copies[0] : NULL;
}

__attribute__((noinline)) static void *wrapped_dlsym(int function, void *handle, const void *caller) {
  if (handle == RTLD_DEFAULT)
    return global(function, caller);
  struct entry entry = entry_in(handle, functions[function].name);
  if (own(function, entry.function))
    return global(function, caller); // of dlopen(NULL)
  return entry.function && recording ? add_copy(function, entry) : entry.function;
}

// A jump keeps the address of the caller. Compilers without the attribute do it where they
// optimize such calls.
#if defined(__has_attribute) && __has_attribute(musttail)
#define JUMP __attribute__((musttail)) return
#define JUMPS
#else
#define JUMP return
#define JUMPS __attribute__((optimize("optimize-sibling-calls")))
#endif

// dlsym is called before anything else is ready, by the sanitizers among others.
PUBLIC JUMPS UNCHECKED void *dlsym(void *restrict handle, const char *restrict name) {
  if (handle != RTLD_NEXT && has_prefix(name)) {
    int function = index_of(name);
    if (function >= 0)
      return wrapped_dlsym(function, handle, __builtin_return_address(0));
  }
  JUMP real_dlsym()(handle, name);
}

void *on_get_proc_address(const struct entry *e, const char *name) {
  void *(*real)(const char *) = (void *(*)(const char *))e->function;
  void *address = real(name);
  int function = address && recording ? index_of(name) : -1;
  if (function < 0 || own(function, address))
    return address;
  struct visit visit;
  begin_visit(&visit);
  pthread_mutex_lock(&lock);
  void *copy = copy_of(function, address);
  pthread_mutex_unlock(&lock);
  if (!copy) {
    struct entry entry = {address, (get_string_function)real("glGetString"), (get_integer_function)real("glGetIntegerv")};
    copy = add_copy(function, entry);
  }
  end_visit(&visit);
  return copy;
}
