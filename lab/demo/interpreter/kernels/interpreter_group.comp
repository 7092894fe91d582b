#version 450 core

// interpreter_group: machines that run a program of 64-bit ARM instructions, one machine
// for each work group: see machine.glsl. The leader does instructions until one is on
// vectors. That one it publishes, and each invocation does it for one element.
//
//   grid     x: machines

#define MACHINE_PER_GROUP 1
#include "machine.glsl"

layout(local_size_x = VECTOR) in;

// Vector registers while a batch runs, in halves: 32 invocations use 32 banks.
shared uint vectorLow[32 * VECTOR];
shared uint vectorHigh[32 * VECTOR];

uvec2 vectorGet(uint number, uint element) {
    uint at = number * uint(VECTOR) + element;
    return uvec2(vectorLow[at], vectorHigh[at]);
}

void vectorPut(uint number, uint element, uvec2 value) {
    uint at = number * uint(VECTOR) + element;
    vectorLow[at] = value.x;
    vectorHigh[at] = value.y;
}

#include "vector.glsl"

// vectorPlace: the registers of a machine are in one piece.
uint vectorPlace(uint number, uint element) { return (machine * 32u + number) * uint(VECTOR) + element; }

// The published instruction, in turns: the leader writes one place while others may read
// the other one. ORDER_END is no instruction.
#define ORDER_END 0xFFFFFFFFu
shared uint orderWhat[2];
shared uint orderWord[2];
shared uvec2 orderA[2];
shared uvec2 orderB[2];

shared bool runs; // the machine does instructions in this batch

bool stored = false; // the leader stored to memory since the last order

uint turn = 0u; // of the instruction that is published next

// executeVector publishes an instruction on vectors, or stops the machine. Either ends the
// leader's loop.
bool executeVector(uvec4 instruction) {
    VectorOrder order = prepareVector(instruction);
    if (signal == SIGNAL_FAULT) {
        return false;
    }
    orderWord[turn] = order.word;
    orderA[turn] = order.a;
    orderB[turn] = order.b;
    orderWhat[turn] = order.what;
    complete(33u, pc + 1u);
    return false;
}

// runToOrder does instructions until one is on vectors, and publishes that one. The leader
// calls it.
void runToOrder() {
    orderWhat[turn] = ORDER_END; // where a driver ends the loop too
    // lint:leader what is not on vectors has nothing for other lanes
    for (uint i = done; i < most && signal == SIGNAL_RUNNING; ++i) {
#include "step.glsl"
    }
    if (stored) {
        memoryBarrierBuffer();
        stored = false;
    }
}

// runBatch does the instructions of the batch. All invocations call it.
void runBatch(uint lane) {
    for (uint i = 0u; i <= budget; ++i) {
        turn = i & 1u;
        if (lane == 0u) {
            runToOrder();
        }
        barrier();
        uint what = orderWhat[turn];
        if (what == ORDER_END) {
            break;
        }
        executeElement(VectorOrder(what, orderWord[turn], orderA[turn], orderB[turn]), lane);
        if ((what >> 26 & 7u) >= VECTOR_LOAD) { // before the leader's next access
            memoryBarrierBuffer();
            barrier();
        }
    }
}

void main() {
    uint lane = gl_LocalInvocationIndex;
    machine = gl_WorkGroupID.x;
    if (lane == 0u) {
        runs = beginBatch();
        put(32u, uvec2(0u));
    }
    barrier();
    if (runs) {
        put(lane, kept[lane * machines + machine]);
        for (uint number = 0u; number < 32u; ++number) {
            vectorPut(number, lane, vectors[vectorPlace(number, lane)]);
        }
        barrier();
        runBatch(lane);
        kept[lane * machines + machine] = get(lane);
        for (uint number = 0u; number < 32u; ++number) {
            vectors[vectorPlace(number, lane)] = vectorGet(number, lane);
        }
        if (lane == 0u) {
            endBatch();
        }
    }
}
