#version 450 core

// queue_run: takes items and processes them.
//
//   binding  buffer        layout
//   0        QueueState    queue.glsl
//   1        QueueItems    levels x capacity x words: the items of this round
//   2        QueuePushed   levels x capacity x words: items of the next round, those
//                          pushed from the front, those returned from the end
//   3        QueueGroups   counters of each group
//   4...                   storage blocks of the caller
//
//   grid     x: groups, each of which may take from every range
//
// An item is taken by adding 1 to the number taken from its range. An owner that
// exceeds the size of its range subtracts 1 again. While the number is too high, no
// invocation finds an item. A thief adds 1 by compare and swap, and never takes the
// last item.

#include "queue.glsl"

// Largest number of items that an invocation takes in a round.
#ifndef QUEUE_TAKES
#define QUEUE_TAKES 16
#endif

// Attempts of a thief at one range. After them it leaves the item to other
// invocations, or to the next round.
#ifndef QUEUE_ATTEMPTS
#define QUEUE_ATTEMPTS 4
#endif

#define QUEUE_FIRST_BINDING 4

layout(local_size_x = QUEUE_LOCAL) in;

layout(std430, binding = 1) restrict readonly buffer QueueItems { uint word[]; } queueItems;
layout(std430, binding = 2) restrict writeonly buffer QueuePushed { uint word[]; } queuePushed;

struct QueueGroup {
    uint taken; // from its own range
    uint stolen;
    uint unused[14];
};
layout(std430, binding = 3) restrict buffer QueueGroups { QueueGroup group[]; } queueGroups;

const uint queueNone = 0xffffffffu;

uint queueReserved = 0u;               // places that the current item has left
uint queueVictim[QUEUE_LEVELS];        // ranges found empty, counted from the group's own one

bool queueReserve(uint n) {
    int places = int(n);
    int room = atomicAdd(queue.credits, -places);
    if (room < places) {
        atomicAdd(queue.credits, places);
        atomicAdd(queue.refused, 1u);
        return false;
    }
    queueReserved += n;
    return true;
}

// queueWrite writes an item of the next round to its place in QueuePushed.
void queueWrite(uint level, uint place, uint item[QUEUE_WORDS]) {
    uint at = (level * QUEUE_CAPACITY + place) * QUEUE_WORDS;
    for (int w = 0; w < QUEUE_WORDS; ++w) {
        queuePushed.word[at + w] = item[w];
    }
}

void queuePush(uint level, uint item[QUEUE_WORDS]) {
    if (queueReserved == 0u || level >= QUEUE_LEVELS) {
        atomicAdd(queue.unreserved, 1u);
        return;
    }
    --queueReserved;
    queueWrite(level, atomicAdd(queue.levels[level].pushed, 1u), item);
}

#include "item.glsl"
#include "resident_loops.glsl"

// queueOwn takes an item from a range of size items, down to the last one.
uint queueOwn(uint range, uint size) {
    if (queue.ranges[range].taken >= size) {
        return queueNone;
    }
    uint turn = atomicAdd(queue.ranges[range].taken, 1u);
    if (turn < size) {
        return turn;
    }
    atomicAdd(queue.ranges[range].taken, queueNone); // minus 1
    return queueNone;
}

// queueSteal takes an item from the range of another group, but not the last one.
uint queueSteal(uint range, uint size) {
    // An atomic, because a compiler may load a plain variable again for each use.
    uint turn = atomicAdd(queue.ranges[range].taken, 0u);
    for (int i = 0; i < QUEUE_ATTEMPTS && turn + 1u < size; ++i) {
        uint seen = atomicCompSwap(queue.ranges[range].taken, turn, turn + 1u);
        if (seen == turn) {
            return turn;
        }
        turn = seen;
    }
    return queueNone;
}

// queueTake takes an item of a level and returns its place, or queueNone.
uint queueTake(uint level, inout uint own, inout uint stolen) {
    uint n = queue.levels[level].items;
    uint ranges = rangesOf(n);
    uint group = gl_WorkGroupID.x;
    uint visited = QUEUE_STEAL == 1 ? ranges : min(ranges, 1u);
    for (uint v = queueVictim[level]; v < visited; ++v) {
        uint r = (group + v) % ranges;
        bool mine = QUEUE_RANGES == 1 || r == group;
        uint first = rangeFirst(n, r);
        uint size = rangeFirst(n, r + 1u) - first;
        uint range = level * QUEUE_RANGES + r;
        uint turn = mine ? queueOwn(range, size) : queueSteal(range, size);
        if (turn != queueNone) {
            queueVictim[level] = v;
            own += mine ? 1u : 0u;
            stolen += mine ? 0u : 1u;
            return first + (QUEUE_LIFO == 1 ? size - 1u - turn : turn);
        }
    }
    queueVictim[level] = visited;
    return queueNone;
}

// queueWork processes one item, and returns it to the queue where queueRun asks for it.
void queueWork(uint level, uint index) {
    uint item[QUEUE_WORDS];
    uint at = (level * QUEUE_CAPACITY + index) * QUEUE_WORDS;
    for (int w = 0; w < QUEUE_WORDS; ++w) {
        item[w] = queueItems.word[at + w];
    }
    queueReserved = 0u;
    if (queueRun(level, item)) {
        atomicAdd(queue.finished, 1u);
        ++queueReserved; // its own place
    } else {
        atomicAdd(queue.returned, 1u);
        queueWrite(level, QUEUE_CAPACITY - 1u - atomicAdd(queue.levels[level].returned, 1u), item);
    }
    if (queueReserved != 0u) {
        atomicAdd(queue.credits, int(queueReserved));
    }
}

void main() {
    for (int l = 0; l < QUEUE_LEVELS; ++l) {
        queueVictim[l] = 0u;
    }
    uint own = 0u, stolen = 0u;
    uint level = 0u;
    for (int i = 0; i < QUEUE_TAKES + QUEUE_LEVELS && level < QUEUE_LEVELS; ++i) {
        if (own + stolen == QUEUE_TAKES) {
            break;
        }
        uint index = queueTake(level, own, stolen);
        if (index == queueNone) {
            ++level; // no item returns to a range during a round
        } else {
            queueWork(level, index);
        }
    }
    if (own != 0u) {
        atomicAdd(queueGroups.group[gl_WorkGroupID.x].taken, own);
    }
    if (stolen != 0u) {
        atomicAdd(queueGroups.group[gl_WorkGroupID.x].stolen, stolen);
    }
    if (!residentLoopsKept()) {
        atomicOr(queue.loopsCut, 1u);
    }
}
