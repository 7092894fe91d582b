//go:build linux

#define _GNU_SOURCE
#include "crash_output.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

// Every handler is Go's, which stays in charge: on its own threads it panics or
// says what happened; on others it ends the process without a word.
static struct {
  int number;
  const char *line;
} crashes[] = {
    {SIGSEGV, "\nSIGSEGV: on a thread of the driver's own\n"},
    {SIGABRT, "\nSIGABRT: on a thread of the driver's own\n"},
    {SIGBUS, "\nSIGBUS: on a thread of the driver's own\n"},
    {SIGFPE, "\nSIGFPE: on a thread of the driver's own\n"},
    {SIGILL, "\nSIGILL: on a thread of the driver's own\n"},
};

enum { CRASHES = sizeof crashes / sizeof crashes[0] };

static struct sigaction go_handlers[CRASHES];

static atomic_int crash_file = -1;

// Go gives each of its threads, and each that called it, a stack for signals, and
// needs one; a thread without one is none of Go's.
static int on_foreign_thread(void) {
  stack_t stack;
  return sigaltstack(NULL, &stack) == 0 && (stack.ss_flags & SS_DISABLE);
}

static void tell(int number, siginfo_t *info, void *context) {
  for (int i = 0; i < CRASHES; i++) {
    if (crashes[i].number != number)
      continue;
    if (on_foreign_thread()) {
      int file = atomic_exchange(&crash_file, -1);  // one line is enough
      if (file >= 0 && write(file, crashes[i].line, strlen(crashes[i].line)) < 0)
        (void)0;  // nobody is left to be told
    }
    go_handlers[i].sa_sigaction(number, info, context);
    return;
  }
}

static int take_over(void) {
  for (int i = 0; i < CRASHES; i++) {
    // Once: who has put a handler before ours since calls ours, and so must not be
    // called by it.
    if (go_handlers[i].sa_sigaction)
      continue;
    struct sigaction now;
    if (sigaction(crashes[i].number, NULL, &now) != 0)
      return errno;
    if (!(now.sa_flags & SA_SIGINFO))
      continue;  // not Go's
    go_handlers[i] = now;
    now.sa_sigaction = tell;
    if (sigaction(crashes[i].number, &now, NULL) != 0)
      return errno;
  }
  return 0;
}

int sc_tell_crashes(int fd) {
  int failed = take_over();
  int before = atomic_exchange(&crash_file, fd);
  if (before >= 0)
    close(before);
  return failed;
}
