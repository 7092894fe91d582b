#version 450 core

// interpreter: machines that run a program of 64-bit ARM instructions, one machine for
// each invocation: see machine.glsl. An invocation does an instruction on vectors element
// by element. There is no barrier: machines are independent.
//
//   grid     x: machines, LANES to a group

// Invocations in a group, a multiple of 32.
#ifndef LANES
#define LANES 64
#endif

#define MACHINE_PER_GROUP 0
#include "machine.glsl"

layout(local_size_x = LANES) in;

#if VECTORS
// Vector registers are in rows with an entry for each machine.
uint vectorPlace(uint number, uint element) { return (number * uint(VECTOR) + element) * machines + machine; }
uvec2 vectorGet(uint number, uint element) { return vectors[vectorPlace(number, element)]; }
void vectorPut(uint number, uint element, uvec2 value) { vectors[vectorPlace(number, element)] = value; }

#include "vector.glsl"

bool executeVector(uvec4 instruction) {
    VectorOrder order = prepareVector(instruction);
    if (signal == SIGNAL_FAULT) {
        return false;
    }
    for (uint element = 0u; element < uint(VECTOR); ++element) {
        executeElement(order, element);
    }
    complete(33u, pc + 1u);
    return signal == SIGNAL_RUNNING;
}
#endif

void main() {
    machine = gl_GlobalInvocationID.x;
    if (machine >= machines || !beginBatch()) {
        return;
    }
    for (uint i = 0u; i < uint(SLOTS_KEPT); ++i) {
        put(i, kept[i * machines + machine]);
    }
    put(32u, uvec2(0u));
    for (uint i = 0u; i < most; ++i) {
#include "step.glsl"
    }
    for (uint i = 0u; i < uint(SLOTS_KEPT); ++i) {
        kept[i * machines + machine] = get(i);
    }
    endBatch();
}
