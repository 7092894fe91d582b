// Reports of crashes on threads that Go did not start.
#pragma once

// sc_set_crash_output makes a signal such as SIGSEGV on a thread that Go did not
// start write a line to fd, which it owns from then on. It returns 0 or errno.
int sc_set_crash_output(int fd);
