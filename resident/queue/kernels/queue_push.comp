#version 450 core

// queue_push: adds items of the host. It runs while no other item is pushed, and the
// host has checked that there is room.
//
//   binding  buffer       layout
//   0        QueueState   queue.glsl
//   1        QueueInput   for each level: its first item here, their number;
//                         then the items, level by level, words each
//   2        QueuePushed  levels x capacity x words
//
//   grid     x: items of the longest level     y: levels

#include "queue.glsl"

layout(local_size_x = 64) in;

layout(std430, binding = 1) restrict readonly buffer QueueInput {
    uvec2 span[QUEUE_LEVELS];
    uint incoming[];
};
layout(std430, binding = 2) restrict writeonly buffer QueuePushed { uint pushed[]; };

void main() {
    uint level = gl_WorkGroupID.y;
    uint i = gl_GlobalInvocationID.x;
    uint count = span[level].y;
    if (i == 0u) {
        queue.levels[level].pushed = count;
        atomicAdd(queue.credits, -int(count));
    }
    if (i < count) {
        uint to = (level * QUEUE_CAPACITY + i) * QUEUE_WORDS;
        uint from = (span[level].x + i) * QUEUE_WORDS;
        for (int w = 0; w < QUEUE_WORDS; ++w) {
            pushed[to + w] = incoming[from + w];
        }
    }
}
