// steal.glsl: the workload steal as an item. A task is its number, and costs 1 to
// 512 steps of a generator that starts with it. What comes out is added to the
// task's result, so that a task that is done twice, or never, shows.
//
//   binding  buffer        layout
//   4        StealResults  a word for each task

layout(std430, binding = 4) restrict buffer StealResults { uint stealResults[]; };

bool queueRun(uint level, uint item[QUEUE_WORDS]) {
    uint x = item[0];
    uint steps = 1u + (x * 2654435761u >> 23);
    for (uint i = 0u; i < steps; ++i) {
        x = x * 1664525u + 1013904223u;
    }
    atomicAdd(stealResults[item[0]], x + 1u);
    return true;
}
