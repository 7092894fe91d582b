//go:build linux && cgo

#define _GNU_SOURCE
#include "crash_output.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

// The handlers below call Go's, which panic or print a message on Go's threads and
// end the process without output on others.
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

// Go sets a signal stack on each of its threads, and on each that calls Go. So a
// thread without one belongs to the driver.
static int on_driver_thread(void) {
  stack_t stack;
  return sigaltstack(NULL, &stack) == 0 && (stack.ss_flags & SS_DISABLE);
}

static void report_crash(int number, siginfo_t *info, void *context) {
  for (int i = 0; i < CRASHES; i++) {
    if (crashes[i].number != number)
      continue;
    if (on_driver_thread()) {
      int file = atomic_exchange(&crash_file, -1);  // only the first crash
      if (file >= 0 && write(file, crashes[i].line, strlen(crashes[i].line)) < 0)
        (void)0;  // the process ends: the error cannot be returned
    }
    go_handlers[i].sa_sigaction(number, info, context);
    return;
  }
}

static int install_handlers(void) {
  for (int i = 0; i < CRASHES; i++) {
    // Once: a handler installed since over ours calls ours. If ours called that one
    // in turn, the calls would not end.
    if (go_handlers[i].sa_sigaction)
      continue;
    struct sigaction now;
    if (sigaction(crashes[i].number, NULL, &now) != 0)
      return errno;
    if (!(now.sa_flags & SA_SIGINFO))
      continue;  // not Go's
    go_handlers[i] = now;
    now.sa_sigaction = report_crash;
    if (sigaction(crashes[i].number, &now, NULL) != 0)
      return errno;
  }
  return 0;
}

int sc_set_crash_output(int fd) {
  int failed = install_handlers();
  int before = atomic_exchange(&crash_file, fd);
  if (before >= 0)
    close(before);
  return failed;
}
