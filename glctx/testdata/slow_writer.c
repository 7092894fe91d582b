// Makes the thread that writes Mesa's cache busy for 50 ms before each item gets its
// name. Preloaded into a process.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <string.h>
#include <time.h>

int rename(const char *from, const char *to) {
  static int (*real)(const char *, const char *);
  if (!real)
    real = (int (*)(const char *, const char *))dlsym(RTLD_NEXT, "rename");
  char name[16] = "";
  pthread_getname_np(pthread_self(), name, sizeof name);
  if (strstr(name, "disk$")) {
    struct timespec begin, now;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    do
      clock_gettime(CLOCK_MONOTONIC, &now);
    while ((now.tv_sec - begin.tv_sec) * 1000000000L + now.tv_nsec - begin.tv_nsec < 50000000L);
  }
  return real(from, to);
}
