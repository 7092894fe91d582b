// What the peers of `shadercache bench startup` share: the problem, 128x128x128 in 48
// variants, what they should compute, and the line that they print.

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { programs = 48, SIDE = 128 };

static const unsigned poisonWord = 0x7fc0dead;

typedef struct {
    float a[SIDE * SIDE], b[SIDE * SIDE], c[SIDE * SIDE];
    float results[programs][SIDE * SIDE];
} Work;

static int tileOf(int i) { return 32 << i % 3; }

// seconds returns the time since 1970.
static double seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double processStart(void) {
    const char *started = getenv("SHADERCACHE_BENCH_STARTED");
    return started ? 1e-9 * strtod(started, NULL) : seconds();
}

static void makeWork(Work *w) {
    unsigned x = 1;
    for (int i = 0; i < 2 * SIDE * SIDE; ++i) {
        x = x * 1664525u + 1013904223u;
        (i < SIDE * SIDE ? w->a : w->b - SIDE * SIDE)[i] = (float)(x >> 8) / (1 << 24) - 0.5f;
    }
}

static double activated(double x, int activation) {
    switch (activation) {
    case 1:
        return x < 0 ? 0 : x;
    case 2:
        return tanh(x);
    case 3:
        return x / (1 + exp(-x));
    }
    return x;
}

// report verifies every element, prints the figures and returns the exit code.
static int report(const char *peer, const char *gpu, Work *w, double started, double opened, double took) {
    static double product[SIDE * SIDE];
    int wrong = 0;
    for (int i = 0; i < SIDE * SIDE; ++i) {
        for (int k = 0; k < SIDE; ++k) {
            product[i] += (double)w->a[i / SIDE * SIDE + k] * w->b[k * SIDE + i % SIDE];
        }
    }
    for (int p = 0; p < programs; ++p) {
        for (int i = 0; i < SIDE * SIDE; ++i) {
            double want = activated((p / 12 + 1) * product[i], p / 3 % 4);
            wrong += !(fabs(w->results[p][i] - want) <= 1e-4 * (1 + fabs(want)));
        }
    }
    printf("%s on %s: %d programs, context %.1f ms, programs %.1f ms, process %.1f ms, %s\n", peer, gpu, programs,
           1e3 * (opened - started), 1e3 * took, 1e3 * (seconds() - started), wrong ? "WRONG" : "verified");
    return wrong > 0;
}
