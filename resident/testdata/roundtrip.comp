#version 450 core

// roundtrip: answers each new word of the host with 3 * word + 1, in one of the forms that
// BenchmarkRoundTripForms compares.
//
//   binding  buffer    layout, in 32-bit words
//   0        Request   0: the word, increasing, all ones to end; 1 to 3: read with it if WIDE is set
//   1        Answer    ANSWER_AT: the answer      2048: 1 once it runs      2049: polls, once it has ended
//
//   grid     one group; every POLL_EVERYth invocation polls
//
// It ends at the word STOP, or after POLLS polls in a row without a new word, which takes
// less than 2 s.

// Invocations of the group.
#ifndef LANES
#define LANES 1
#endif
// 1: all lanes poll. 32: the first one of each 32.
#ifndef POLL_EVERY
#define POLL_EVERY 32
#endif
// How it polls: 0 load, 1 atomicAdd of 0, 2 atomicOr of 0.
#ifndef POLL
#define POLL 0
#endif
// 1: a poll loads 16 bytes.
#ifndef WIDE
#define WIDE 0
#endif
// Loads in flight of an invocation: 1, 2 or 4.
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
// Multiply-adds between polls.
#ifndef WORK
#define WORK 0
#endif
// 1: without coherent, only volatile.
#ifndef VOLATILE_ONLY
#define VOLATILE_ONLY 0
#endif
#ifndef POLLS
#define POLLS 1000000
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
layout(std430, binding = 0) MEMORY buffer Request { uvec4 request[]; };
#else
layout(std430, binding = 0) MEMORY buffer Request { uint request[]; };
#endif
layout(std430, binding = 1) MEMORY buffer Answer { uint answers[]; };

shared uint answeredHere; // the newest word that was answered

uint poll() {
#if POLL == 1
    return atomicAdd(request[0], 0u);
#elif POLL == 2
    return atomicOr(request[0], 0u);
#elif WIDE
    uvec4 now = request[0];
    return now.y == 0u && now.z == 0u && now.w == 0u ? now.x : 0u;
#else
    return request[0];
#endif
}

// answer answers a word, unless another invocation has.
void answer(uint word) {
#if LANES > 1
    if (atomicMax(answeredHere, word) >= word) {
        return;
    }
#endif
#if ANSWER == 1
    atomicExchange(answers[ANSWER_AT], 3u * word + 1u);
#else
    answers[ANSWER_AT] = 3u * word + 1u;
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
        answers[2048] = 1u;
    }
    barrier();
    uint polls = 0u;
    float x = 1.0;
    if (gl_LocalInvocationIndex % uint(POLL_EVERY) == 0u) {
        uint a = poll();
#if PIPE > 1
        uint b = poll();
#endif
#if PIPE > 2
        uint c = poll();
        uint d = poll();
#endif
        for (; idle < uint(POLLS) && seen != STOP; ++polls) { // lint:leader one invocation is measured
            ++idle;
            take(a);
            a = poll();
#if PIPE > 1
            take(b);
            b = poll();
#endif
#if PIPE > 2
            take(c);
            c = poll();
            take(d);
            d = poll();
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
        answers[2049] = polls + (x == 0.5 ? 1u : 0u);
    }
}
