#version 450 core

// queue_gather: copies the items that remain, were pushed or were returned to the
// items of the next round. Returned items are taken last, so that they delay no other.
//
//   binding  buffer       layout
//   0        QueueState   queue.glsl
//   1        Before       levels x capacity x words: the items of the round before
//   2        QueuePushed  levels x capacity x words
//   3        Next         levels x capacity x words
//
//   grid     x: items of the longest level     y: levels

#include "queue.glsl"

layout(local_size_x = 64) in;

layout(std430, binding = 1) restrict readonly buffer Before { uint before[]; };
layout(std430, binding = 2) restrict readonly buffer QueuePushed { uint pushed[]; };
layout(std430, binding = 3) restrict writeonly buffer Next { uint next[]; };

void main() {
    uint level = gl_WorkGroupID.y;
    uint i = gl_GlobalInvocationID.x;
    uint retried = queue.levels[level].retried;
    uint added = queue.levels[level].added;
    uint kept = queue.levels[level].kept;
    uint keptAt = QUEUE_LIFO == 1 ? retried : 0u;
    uint base = level * QUEUE_CAPACITY;
    uint n = queue.levels[level].before;
    if (i < n) {
        uint r = rangeWith(n, i);
        uint at = i - rangeFirst(n, r);
        uint size = rangeFirst(n, r + 1u) - rangeFirst(n, r);
        uint range = level * QUEUE_RANGES + r;
        uint taken = queue.ranges[range].takenBefore;
        bool left = QUEUE_LIFO == 1 ? at < size - taken : at >= taken;
        uint to = keptAt + queue.ranges[range].keptFirst + (QUEUE_LIFO == 1 ? at : at - taken);
        for (int w = 0; left && w < QUEUE_WORDS; ++w) {
            next[(base + to) * QUEUE_WORDS + w] = before[(base + i) * QUEUE_WORDS + w];
        }
    }
    if (i < added) {
        uint to = keptAt + kept + i;
        for (int w = 0; w < QUEUE_WORDS; ++w) {
            next[(base + to) * QUEUE_WORDS + w] = pushed[(base + i) * QUEUE_WORDS + w];
        }
    }
    if (i < retried) {
        uint from = QUEUE_CAPACITY - 1u - i;
        uint to = QUEUE_LIFO == 1 ? i : kept + added + i;
        for (int w = 0; w < QUEUE_WORDS; ++w) {
            next[(base + to) * QUEUE_WORDS + w] = pushed[(base + from) * QUEUE_WORDS + w];
        }
    }
}
