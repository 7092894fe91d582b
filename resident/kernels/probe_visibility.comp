#version 450 core

// probe_visibility: finds out whether host and kernel see each other's writes while
// the kernel runs, and how long a word takes there and back.
//
//   binding  buffer  layout, in 32-bit words
//   0        Words   0: from the host    16: answer    17: looks    18: 1 once it runs
//
//   grid     one group; its leader looks, the others wait for it
//
// Each new word is answered with itself. The kernel ends at STOP, or after LOOKS
// looks, whatever the host does.

#ifndef LOOKS
#define LOOKS 400000
#endif
#ifndef STOP
#define STOP 0xffffffffu
#endif

layout(local_size_x = 32) in;

layout(std430, binding = 0) coherent volatile buffer Words { uint words[]; };

void main() {
    if (gl_LocalInvocationIndex == 0u) {
        words[18] = 1u;
        uint seen = 0u;
        uint looks = 0u;
        // The word goes round the loop: a compiler may load it again wherever a copy
        // of it is used, and then a newer one counts as seen that was not answered.
        uint now = words[0];
        for (; looks < uint(LOOKS) && seen != STOP; ++looks) { // lint:leader one invocation is what is measured
            if (now != seen) {
                seen = now;
                words[16] = seen;
            }
            now = words[0];
        }
        words[17] = looks;
    }
    barrier();
}
