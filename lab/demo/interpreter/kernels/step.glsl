// step.glsl: one turn of the loop over instructions, as the text of its body. It ends the
// loop where the machine stops before the instruction, or after it. Functions that return
// early would be slower: see docs/interpreter.md. The including file defines, with VECTORS:
//
//   bool executeVector(uvec4 instruction)   executes it and reports whether the loop continues

if (pc >= codeCount) {
    signal = SIGNAL_FAULT;
    detail = FAULT_PC;
    break;
}
#if AHEAD
uvec4 instruction = ahead;
ahead = code[min(pc + 1u, codeCount - 1u)];
#else
uvec4 instruction = code[pc];
#endif
uint what = instruction.x, kind = what & 7u, written = what >> 8 & 63u;
if ((what & BREAKPOINT) != 0u && pc != resumedAt) {
    signal = SIGNAL_BREAK;
    break;
}
resumedAt = 0xFFFFFFFFu;
#if VECTORS
if (kind == KIND_VECTOR) {
    if (!executeVector(instruction)) {
        break;
    }
    continue;
}
#endif
uint nextPC = pc + 1u;
if (kind == KIND_BRANCH) {
    if ((instruction.z >> flags & 1u) != 0u) {
        nextPC = instruction.y;
#if AHEAD
        ahead = code[min(nextPC, codeCount - 1u)];
#endif
    }
} else if (kind <= KIND_STORE) {
    uvec2 a = get(what >> 14 & 63u);
    uvec2 b = get(what >> 20 & 63u) | instruction.yz;
    bool minus = (what & SUBTRACT) != 0u;
    uint carry = minus ? 1u : 0u;
    b = minus ? ~b : b;
    uvec2 result = sum(a, b, carry);
#if MEMORY
    if (kind == KIND_SUM)
#endif
    {
        put(written, result);
        if ((what & SET_FLAGS) != 0u) {
            uint overflow = ((a.y ^ result.y) & (b.y ^ result.y)) >> 31;
            flags = result.y >> 31 << 3 | ((result.x | result.y) == 0u ? 4u : 0u) | carry << 1 | overflow;
        }
    }
#if MEMORY
    else {
        uint word = checkAccess(result, 1u, kind == KIND_STORE);
        if (detail != 0u) {
            break;
        }
        if (kind == KIND_LOAD) {
            put(written, memory[memoryAt(word)]);
        } else {
            memory[memoryAt(word)] = get(written);
#if MACHINE_PER_GROUP
            stored = true;
#endif
        }
    }
#endif
} else {
    detail = instruction.y;
    if (kind > KIND_HALT) {
        signal = SIGNAL_FAULT;
        detail = FAULT_UNDEFINED;
        break;
    }
    signal = kind == KIND_HALT ? SIGNAL_HALT : SIGNAL_SYSCALL;
    nextPC = pc;
}
complete(written, nextPC);
if (signal != SIGNAL_RUNNING) {
    break;
}
