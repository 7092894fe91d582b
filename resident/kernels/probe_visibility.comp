#version 450 core

// probe_visibility: measures whether host and kernel see each other's writes while the
// kernel runs, and the round-trip time of a word.
//
//   binding  buffer  layout, in 32-bit words
//   0        Words   0: from the host    16: answer    17: polls    18: 1 once it runs
//
//   grid     one group; its leader polls, the others wait for it
//
// Each new word is answered with itself. The kernel ends at STOP, or after POLLS polls.

#ifndef POLLS
#define POLLS 400000
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
        uint polls = 0u;
        // The loop carries the word: a compiler may load it again at each use of a copy,
        // and a newer word would then count as seen without an answer.
        uint now = words[0];
        for (; polls < uint(POLLS) && seen != STOP; ++polls) { // lint:leader one invocation is measured
            if (now != seen) {
                seen = now;
                words[16] = seen;
            }
            now = words[0];
        }
        words[17] = polls;
    }
    barrier();
}
