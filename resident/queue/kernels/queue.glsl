// queue.glsl: declarations of all kernels of a queue.
//
//   binding  buffer         layout
//   0        QueueState     below; each atomic has its own line of 64 bytes
//
// The items of a level are divided into ranges, evenly and in order. The first item
// of a range follows from their number, so that only the items taken are stored.

// Words of an item.
#ifndef QUEUE_WORDS
#define QUEUE_WORDS 1
#endif

// Levels, one for each priority.
#ifndef QUEUE_LEVELS
#define QUEUE_LEVELS 1
#endif

// Ranges that the items of a level are divided into: 1, or with stealing one for each
// group.
#ifndef QUEUE_RANGES
#define QUEUE_RANGES 1
#endif

// 0: groups do not steal from each other's ranges, to measure what stealing brings.
#ifndef QUEUE_STEAL
#define QUEUE_STEAL 1
#endif

// Largest number of items of a level.
#ifndef QUEUE_CAPACITY
#define QUEUE_CAPACITY 1024
#endif

// 1: the newest item first.
#ifndef QUEUE_LIFO
#define QUEUE_LIFO 0
#endif

// Largest number of work groups that take items, and their size.
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
    uint kept;     // of them, those that were not taken
    uint added;    // pushed during the round before
    uint returned; // during this round, from the end of the memory for pushed items
    uint retried;  // returned during the round before
    uint unused[9];
};

struct QueueRange {
    uint taken;       // in this round
    uint takenBefore; // in the round before
    uint keptFirst;   // index of the first one that was not taken
    uint unused[13];
};

layout(std430, binding = 0) coherent restrict buffer QueueState {
    int credits; // items that may still be added
    uint unusedCredits[15];
    uint runGroups[4]; // of the next dispatches
    uint gatherGroups[4];
    uint rounds; // with items in them
    uint unusedGroups[7];
    uint finished; // items, in all rounds
    uint returned; // items, in all rounds
    uint unreserved;
    uint refused; // reservations, in all rounds
    uint loopsCut; // 1: the driver ended a loop early
    uint unusedCounts[11];
    QueueLevel levels[QUEUE_LEVELS];
    QueueRange ranges[]; // levels x ranges
} queue;

// rangesOf returns the number of ranges that n items are divided into.
uint rangesOf(uint n) { return min(n, uint(QUEUE_RANGES)); }

// rangeFirst returns the first item of range r of n items; r may be the number of
// ranges.
uint rangeFirst(uint n, uint r) { return n * r / rangesOf(n); }

// rangeWith returns the range of item i of n.
uint rangeWith(uint n, uint i) { return ((i + 1u) * rangesOf(n) - 1u) / n; }
