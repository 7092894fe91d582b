#version 450 core

// queue_plan: counts the items of the next round, one invocation for each level.
//
//   binding  buffer       layout
//   0        QueueState   queue.glsl
//   2        QueueReport  counters for the host
//
//   grid     one group

#include "queue.glsl"

layout(local_size_x = QUEUE_LEVELS) in;

layout(std430, binding = 2) restrict writeonly buffer QueueReport {
    uint reportItems;
    int reportCredits;
    uint reportFinished;
    uint reportReturned;
    uint reportRefused;
    uint reportUnreserved;
    uint reportRounds;
    uint reportLoopsCut;
    uint reportLevels[QUEUE_LEVELS];
};

shared uint total;   // items of all levels
shared uint ranges;  // most ranges of a level
shared uint taken;   // items taken in the round that ends
shared uint longest; // most items to gather of a level

uint groupsFor(uint n, uint size) { return (n + size - 1u) / size; }

// planLevel ends the round of a level and returns the number of items of the next
// one. Between dispatches no range has taken more items than its size.
uint planLevel(uint level) {
    uint before = queue.levels[level].items;
    uint count = rangesOf(before);
    uint kept = 0u;
    for (uint r = 0u; r < count; ++r) {
        uint range = level * QUEUE_RANGES + r;
        uint used = queue.ranges[range].taken;
        queue.ranges[range].keptFirst = kept;
        queue.ranges[range].takenBefore = used;
        queue.ranges[range].taken = 0u;
        kept += rangeFirst(before, r + 1u) - rangeFirst(before, r) - used;
    }
    queue.levels[level].before = before;
    queue.levels[level].kept = kept;
    queue.levels[level].added = queue.levels[level].pushed;
    queue.levels[level].pushed = 0u;
    queue.levels[level].retried = queue.levels[level].returned;
    queue.levels[level].returned = 0u;
    queue.levels[level].items = kept + queue.levels[level].added + queue.levels[level].retried;
    return queue.levels[level].items;
}

void main() {
    uint level = gl_LocalInvocationIndex;
    if (level == 0u) {
        total = 0u;
        ranges = 0u;
        taken = 0u;
        longest = 0u;
    }
    barrier();
    uint n = planLevel(level);
    reportLevels[level] = n;
    atomicAdd(total, n);
    atomicMax(ranges, rangesOf(n));
    atomicMax(longest, max(queue.levels[level].before, max(queue.levels[level].added, queue.levels[level].retried)));
    atomicAdd(taken, queue.levels[level].before - queue.levels[level].kept);
    barrier();
    if (level == 0u) {
        uint run = QUEUE_RANGES == 1 ? min(groupsFor(total, QUEUE_LOCAL), QUEUE_GROUPS) : ranges;
        queue.runGroups[0] = run;
        queue.runGroups[1] = 1u;
        queue.runGroups[2] = 1u;
        queue.gatherGroups[0] = groupsFor(longest, 64u);
        queue.gatherGroups[1] = uint(QUEUE_LEVELS);
        queue.gatherGroups[2] = 1u;
        queue.rounds += taken == 0u ? 0u : 1u;
        reportItems = total;
        reportCredits = queue.credits;
        reportFinished = queue.finished;
        reportReturned = queue.returned;
        reportRefused = queue.refused;
        reportUnreserved = queue.unreserved;
        reportRounds = queue.rounds;
        reportLoopsCut = queue.loopsCut;
    }
}
