// queue.glsl: what the kernels of a queue share.
//
//   binding  buffer         layout
//   0        QueueState     below; atomics have lines of 64 bytes of their own
//
// The items of a level are dealt out to ranges, evenly and in order. Where they
// begin follows from their number, so that only what was taken is stored.

// Words of an item.
#ifndef QUEUE_WORDS
#define QUEUE_WORDS 1
#endif

// Rings, one for each priority.
#ifndef QUEUE_LEVELS
#define QUEUE_LEVELS 1
#endif

// Ranges that the items of a level are dealt out to: 1, or with stealing one for
// each group.
#ifndef QUEUE_RANGES
#define QUEUE_RANGES 1
#endif

// Items that a level has room for.
#ifndef QUEUE_CAPACITY
#define QUEUE_CAPACITY 1024
#endif

// 1: the newest item first.
#ifndef QUEUE_LIFO
#define QUEUE_LIFO 0
#endif

// Work groups that take items, at most, and their size.
#ifndef QUEUE_GROUPS
#define QUEUE_GROUPS 16
#endif
#ifndef QUEUE_LOCAL
#define QUEUE_LOCAL 64
#endif

struct QueueLevel {
    uint items;    // in this round
    uint pushed;   // during this round, for the next one
    uint before;   // items of the round before
    uint kept;     // of them, those that were left
    uint added;    // pushed during the round before
    uint putBack;  // during this round, from the end of the memory for pushed items
    uint again;    // put back during the round before
    uint unused[9];
};

struct QueueRange {
    uint taken;       // in this round
    uint takenBefore; // in the round before
    uint keptFirst;   // where those that were left go
    uint unused[13];
};

layout(std430, binding = 0) coherent restrict buffer QueueState {
    int credits; // items that there is room for
    uint unusedCredits[15];
    uint runGroups[4]; // of the dispatches that follow
    uint gatherGroups[4];
    uint rounds; // with items in them
    uint unusedGroups[7];
    uint finished; // items, ever
    uint returned; // items put back, ever
    uint unreserved;
    uint refused; // reservations, ever
    uint unusedCounts[12];
    QueueLevel levels[QUEUE_LEVELS];
    QueueRange ranges[]; // levels x ranges
} queue;

// rangesOf is how many ranges n items are dealt out to.
uint rangesOf(uint n) { return min(n, uint(QUEUE_RANGES)); }

// rangeFirst is where range r of n items begins; r may be the number of ranges.
uint rangeFirst(uint n, uint r) { return n * r / rangesOf(n); }

// rangeWith is the range that item i of n is in.
uint rangeWith(uint n, uint i) { return ((i + 1u) * rangesOf(n) - 1u) / n; }
