// steal.glsl: the item of the steal workload. A task is a number, and costs steps of a
// random number generator with this seed: as many as its second word has, or without one
// 1 to 512. The last number is added to the task's result, so that a task that is done
// twice, or never, has a wrong result.
//
//   binding  buffer        layout
//   4        StealResults  a word for each task

layout(std430, binding = 4) restrict buffer StealResults { uint stealResults[]; };

bool queueRun(uint level, uint item[QUEUE_WORDS]) {
    uint x = item[0];
#if QUEUE_WORDS > 1
    uint steps = item[1];
#else
    uint steps = 1u + (x * 2654435761u >> 23);
#endif
    for (uint i = 0u; i < steps; ++i) {
        x = x * 1664525u + 1013904223u;
    }
    atomicAdd(stealResults[item[0]], x + 1u);
    return true;
}
