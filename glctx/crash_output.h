// What ends the process on a thread that Go does not know.
#pragma once

// sc_tell_crashes has a line written to fd when a signal such as SIGSEGV comes on
// a thread that is not Go's, and takes fd over. It returns 0, or errno.
int sc_tell_crashes(int fd);
