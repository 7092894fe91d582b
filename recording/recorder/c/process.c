// The process: whether it is recorded, its lock, its forks.
#include "record.h"

#include <errno.h>
#include <stdlib.h>

bool recording;
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

// depth counts the calls of wrapped functions that this thread is in. A call that ends by
// longjmp or an exception leaves it, and the thread is no longer recorded.
static __thread int depth;

static void before_fork(void) {
  pthread_mutex_lock(&lock);
  lock_log();
}

static void after_fork(void) {
  unlock_log();
  pthread_mutex_unlock(&lock);
}

static void in_child(void) {
  restart_log();
  unmark_all(USED);
  after_fork();
}

__attribute__((constructor)) static void start(void) {
  const char *path = getenv("SHADERCACHE_RECORD");
  if (!path || path[0] != '/')
    return;
  open_folder(path);
  recording = !pthread_atfork(before_fork, after_fork, in_child);
}

void begin_visit(struct visit *visit) {
  visit->error = errno;
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &visit->cancel);
}

void end_visit(const struct visit *visit) {
  pthread_setcancelstate(visit->cancel, NULL);
  errno = visit->error;
}

bool enter(void) {
  return depth++ == 0 && recording;
}

void leave(void) {
  depth--;
}
