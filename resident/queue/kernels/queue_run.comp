#version 450 core

// queue_run: takes items and works on them.
//
//   binding  buffer        layout
//   0        QueueState    queue.glsl
//   1        QueueItems    levels x capacity x words: this round's items
//   2        QueuePushed   levels x capacity x words: the next round's, from the
//                          front those pushed, from the end those put back
//   3        QueueGroups   what each group has done
//   4...                   the user's
//
//   grid     x: groups, each of which may take from every range
//
// An item is taken by adding to what was taken from its range. An owner that adds
// one too many takes it back: the count only ever stands too high for a moment,
// and then nobody finds an item. A thief adds by compare and swap, and never the
// last one.

#include "queue.glsl"

// Items that an invocation takes in a round, at most.
#ifndef QUEUE_TAKES
#define QUEUE_TAKES 16
#endif

// Attempts of a thief at one range. After that the item is left to others, or to
// the next round.
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

uint queueReserved = 0u;               // room that the current item has left
uint queueVictim[QUEUE_LEVELS];        // ranges that were found empty, counted from the own one

bool queueReserve(uint n) {
    int wanted = int(n);
    int room = atomicAdd(queue.credits, -wanted);
    if (room < wanted) {
        atomicAdd(queue.credits, wanted);
        atomicAdd(queue.refused, 1u);
        return false;
    }
    queueReserved += n;
    return true;
}

// queueWrite writes an item for the next round to its place among those pushed.
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

// queueOwn takes from a range of size items that anybody who asks may empty.
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

// queueSteal takes from somebody else's range, and leaves the last one.
uint queueSteal(uint range, uint size) {
    // From atomics, which give one value: compilers may load a variable again wherever it
    // is used.
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

// queueTake finds an item of a level: its place, or queueNone.
uint queueTake(uint level, inout uint own, inout uint stolen) {
    uint n = queue.levels[level].items;
    uint dealt = rangesOf(n);
    uint group = gl_WorkGroupID.x;
    for (uint v = queueVictim[level]; v < dealt; ++v) {
        uint r = (group + v) % dealt;
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
    queueVictim[level] = dealt;
    return queueNone;
}

// queueWork works on one item, and puts it back where it wants to be.
void queueWork(uint level, uint index) {
    uint item[QUEUE_WORDS];
    uint at = (level * QUEUE_CAPACITY + index) * QUEUE_WORDS;
    for (int w = 0; w < QUEUE_WORDS; ++w) {
        item[w] = queueItems.word[at + w];
    }
    queueReserved = 0u;
    if (queueRun(level, item)) {
        atomicAdd(queue.finished, 1u);
        ++queueReserved; // its own room
    } else {
        atomicAdd(queue.returned, 1u);
        queueWrite(level, QUEUE_CAPACITY - 1u - atomicAdd(queue.levels[level].putBack, 1u), item);
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
            ++level; // nothing comes back during a round
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
}
