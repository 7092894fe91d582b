#version 450 core

// roundtrip: answers each new word of the host by 3 * word + 1, in one of the forms
// that BenchmarkRoundTripForms compares.
//
//   binding  buffer    layout, in 32-bit words
//   0        Asked     0: the word, growing, all ones to end; 1 to 3: read beside it where WIDE is set
//   1        Answered  ANSWER_AT: the answer      2048: 1 once it runs      2049: looks, once it has ended
//
//   grid     one group; every POLL_EVERYth invocation looks, by itself
//
// It ends at the word STOP, or after LOOKS looks in a row that showed nothing new,
// which takes less than 2 s.

// Invocations of the group.
#ifndef LANES
#define LANES 1
#endif
// 1: all lanes look. 32: the first one of each 32.
#ifndef POLL_EVERY
#define POLL_EVERY 32
#endif
// How a look is done: 0 load, 1 atomicAdd of 0, 2 atomicOr of 0.
#ifndef POLL
#define POLL 0
#endif
// 1: a look loads 16 bytes.
#ifndef WIDE
#define WIDE 0
#endif
// Loads that an invocation has under way, 1, 2 or 4.
#ifndef PIPE
#define PIPE 1
#endif
// How it answers: 0 store, 1 atomicExchange.
#ifndef ANSWER
#define ANSWER 0
#endif
#ifndef ANSWER_AT
#define ANSWER_AT 16
#endif
// 1: memoryBarrierBuffer() after the answer.
#ifndef FENCE
#define FENCE 0
#endif
// Multiply-adds between looks.
#ifndef WORK
#define WORK 0
#endif
// 1: without coherent, only volatile.
#ifndef VOLATILE_ONLY
#define VOLATILE_ONLY 0
#endif
#ifndef LOOKS
#define LOOKS 1000000
#endif
#ifndef STOP
#define STOP 0xffffffffu
#endif

#if VOLATILE_ONLY
#define MEMORY volatile
#else
#define MEMORY coherent volatile
#endif

layout(local_size_x = LANES) in;

#if WIDE
layout(std430, binding = 0) MEMORY buffer Asked { uvec4 asked[]; };
#else
layout(std430, binding = 0) MEMORY buffer Asked { uint asked[]; };
#endif
layout(std430, binding = 1) MEMORY buffer Answered { uint answered[]; };

shared uint answeredHere; // the newest word that somebody answered

uint look() {
#if POLL == 1
    return atomicAdd(asked[0], 0u);
#elif POLL == 2
    return atomicOr(asked[0], 0u);
#elif WIDE
    uvec4 now = asked[0];
    return now.y == 0u && now.z == 0u && now.w == 0u ? now.x : 0u;
#else
    return asked[0];
#endif
}

// answer answers a word, unless another invocation has done so.
void answer(uint word) {
#if LANES > 1
    if (atomicMax(answeredHere, word) >= word) {
        return;
    }
#endif
#if ANSWER == 1
    atomicExchange(answered[ANSWER_AT], 3u * word + 1u);
#else
    answered[ANSWER_AT] = 3u * word + 1u;
#endif
#if FENCE
    memoryBarrierBuffer();
#endif
}

uint seen = 0u;
uint idle = 0u;

void take(uint now) {
    if (now > seen) {
        seen = now;
        idle = 0u;
        answer(now);
    }
}

void main() {
    if (gl_LocalInvocationIndex == 0u) {
        answeredHere = 0u;
        answered[2048] = 1u;
    }
    barrier();
    uint looks = 0u;
    float x = 1.0;
    if (gl_LocalInvocationIndex % uint(POLL_EVERY) == 0u) {
        uint a = look();
#if PIPE > 1
        uint b = look();
#endif
#if PIPE > 2
        uint c = look();
        uint d = look();
#endif
        for (; idle < uint(LOOKS) && seen != STOP; ++looks) { // lint:leader one invocation is what is measured
            ++idle;
            take(a);
            a = look();
#if PIPE > 1
            take(b);
            b = look();
#endif
#if PIPE > 2
            take(c);
            c = look();
            take(d);
            d = look();
#endif
#if WORK
            for (int i = 0; i < WORK; ++i) {
                x = fma(x, 0.9990234375, 0.0009765625);
            }
#endif
        }
    }
    barrier();
    if (gl_LocalInvocationIndex == 0u) {
        answered[2049] = looks + (x == 0.5 ? 1u : 0u);
    }
}
