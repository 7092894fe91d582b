// The builds of the driver libraries that this process has loaded.
#pragma once

#include <stddef.h>

enum { SC_BUILD_ID_BYTES = 64, SC_BUILDS = 32 };

struct sc_build {
  unsigned char id[SC_BUILD_ID_BYTES];
  size_t bytes;
};

// sc_mesa_builds writes the ELF build ids of the loaded libraries of Mesa's drivers to
// builds, of which there are SC_BUILDS, and returns their number. below is what the
// names of others that count begin with, or "".
size_t sc_mesa_builds(struct sc_build *builds, const char *below);
