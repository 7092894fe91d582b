// machine.glsl: a machine that runs a program of 64-bit ARM instructions: its state, and
// its instructions without those on vectors. All machines run the same program, and have
// registers, flags and memory of their own.
//
//   machine    0      1      2     ...
//            +------+------+------+----+   The state of the machines is in rows, with
//   slot 0   | x0   | x0   | x0   |    |   one entry for each machine, so that accesses
//   slot 1   | x1   | x1   | x1   |    |   of neighbouring invocations that execute the
//    ...     |      |      |      |    |   same instruction are coalesced.
//   slot 30  | x30  | x30  | x30  |    |
//   slot 31  | sp   | sp   | sp   |    |
//            +------+------+------+----+
//
// A 64-bit number is a uvec2, the low half first.
//
//   binding  buffer     layout
//   0        Code       one uvec4 for each instruction, see below
//   1        Registers  32 rows of uvec2: x0 to x30, sp
//   2        Machines   rows of uint: ROW_PC and so on
//   3        Memory     uvec2 for every 8 bytes of memory, see memoryAt
//   4        Report     uint: for slot s, word 3s is the number of the last batch
//                       after which a machine was running, 3s+1 the same for one at a
//                       system call, 3s+2 for one whose loop the driver cut
//   5        Chain      uvec3, packed: indirect arguments of successive batches
//   6        Trace      with TRACE: uvec4 pairs, a ring buffer
//   7        Vectors    with VECTORS: 32 registers of VECTOR uvec2: see vectorPlace of
//                       the including file
//
// The host decodes the code:
//
//   word  bits   content
//   x     0-2    KIND_...
//         3      set flags
//         4      subtract: the second operand is inverted, and 1 is added
//         5      a breakpoint is set here
//         8-13   slot to write; slot to store
//         14-19  slot of the first operand; of the address
//         20-25  slot of the second operand
//         26-28  VECTOR_..., of KIND_VECTOR
//   y, z         an immediate, added to the second operand, which is 0 then. For a
//                branch y is the destination, and bit f of z is set where the branch
//                is taken with the flags f. For HLT and SVC y is the number
//
// Slot 32 always reads 0. Slot 33 is for results that are discarded.
//
// A machine runs until it has done `budget` instructions, its count has reached its
// target, or it stops. Some drivers silently end long loops, so the count is incremented
// in the loop, and the state reached is stored for the next batch.
//
// The including file defines, before: LANES, and MACHINE_PER_GROUP, which is 1 where a
// work group has one machine, and 0 where each invocation has one.

// Where registers are while a batch runs.
#define IN_SHARED 0
#define IN_ARRAY 1
#ifndef REGISTERS
#define REGISTERS IN_SHARED
#endif

// 1: additions use 64-bit integers of the driver.
#ifndef INT64
#define INT64 0
#endif

// 1: a machine stops after a store into the watched range of memory.
#ifndef WATCH
#define WATCH 0
#endif

// 1: the next instruction is fetched while this one is executed. Then only a branch that
// is taken waits for its destination.
#ifndef AHEAD
#define AHEAD 0
#endif

// Entries of the ring buffer with the instructions of one machine; 0: no trace.
#ifndef TRACE
#define TRACE 0
#endif

// 0: there are no loads and stores.
#ifndef MEMORY
#define MEMORY 1
#endif

// 1: instructions on vectors are executed; else they are undefined.
#ifndef VECTORS
#define VECTORS MACHINE_PER_GROUP
#endif

#if INT64
#extension GL_ARB_gpu_shader_int64 : require
#endif

#define SLOTS 34
#define SLOTS_KEPT 32

#define KIND_SUM 0u
#define KIND_BRANCH 1u
#define KIND_LOAD 2u
#define KIND_STORE 3u
#define KIND_SYSCALL 4u
#define KIND_HALT 5u
#define KIND_VECTOR 7u // 6 is undefined
#define SET_FLAGS 0x08u
#define SUBTRACT 0x10u
#define BREAKPOINT 0x20u

#define ROW_PC 0u       // index of the instruction in the code
#define ROW_FLAGS 1u    // N 8, Z 4, C 2, V 1
#define ROW_SIGNAL 2u   // SIGNAL_...
#define ROW_DETAIL 3u   // number of a system call; FAULT_...
#define ROW_ADDRESS 4u  // of a fault or a watched store: low, then high in the next row
#define ROW_CYCLES 6u   // instructions done: low, then high in the next row
#define ROW_TARGET 8u   // instructions at which this run ends: low, then high

#define SIGNAL_RUNNING 0u
#define SIGNAL_HALT 1u
#define SIGNAL_SYSCALL 2u
#define SIGNAL_CHECKPOINT 3u
#define SIGNAL_BREAK 4u
#define SIGNAL_FAULT 5u
#define SIGNAL_WATCH 6u

#define FAULT_UNDEFINED 1u
#define FAULT_PC 2u
#define FAULT_ADDRESS 3u
#define FAULT_ALIGNMENT 4u
#define FAULT_CODE 5u

// Invocations of a group exchange memory only where they have one machine together.
#if MACHINE_PER_GROUP
#define MEMORY_QUALIFIERS coherent
#else
#define MEMORY_QUALIFIERS restrict
#endif

layout(std430, binding = 0) restrict readonly buffer Code { uvec4 code[]; };
layout(std430, binding = 1) restrict buffer Registers { uvec2 kept[]; };
layout(std430, binding = 2) restrict buffer Machines { uint rows[]; };
layout(std430, binding = 3) MEMORY_QUALIFIERS buffer Memory { uvec2 memory[]; };
layout(std430, binding = 4) restrict buffer Report { uint report[]; };
layout(std430, binding = 5) restrict buffer Chain { uint chain[]; };
#if TRACE
layout(std430, binding = 6) restrict buffer Trace { uvec4 trace[]; };
uniform uint traced; // the machine
#endif

#if VECTORS
#define VECTOR 32 // elements
layout(std430, binding = 7) restrict buffer Vectors { uvec2 vectors[]; };
#endif

#if WATCH
uniform uint watchFirst; // watched range, in words of 8 bytes: first
uniform uint watchEnd;   // and after the last
#endif

uniform uint machines;
uniform uint codeCount; // instructions
uniform uint codeWord;  // place of the code in memory, in words of 8 bytes: first
uniform uint codeEnd;   // and after the last
uniform uint words;     // memory of a machine, in words of 8 bytes
uniform uint budget;    // instructions in this batch
uniform uint resume;    // 1: a run begins, and resumes machines after a break or a system call
uniform uint allowedLow, allowedHigh; // instructions of the run that begins
uniform uint batch;     // number, from 1
uniform uint slot;      // of Report
uniform uint next;      // entry of Chain with the arguments of the next batch

#if MACHINE_PER_GROUP
shared uint low[SLOTS];
shared uint high[SLOTS];
#elif REGISTERS == IN_SHARED
// Separate halves: 32 neighbouring invocations then use 32 banks, for any slots.
shared uint low[SLOTS * LANES];
shared uint high[SLOTS * LANES];
#else
uint low[SLOTS];
uint high[SLOTS];
#endif

uint place(uint number) {
#if !MACHINE_PER_GROUP && REGISTERS == IN_SHARED
    return number * uint(LANES) + gl_LocalInvocationIndex;
#else
    return number;
#endif
}

uvec2 get(uint number) {
    uint at = place(number);
    return uvec2(low[at], high[at]);
}

void put(uint number, uvec2 value) {
    uint at = place(number);
    low[at] = value.x;
    high[at] = value.y;
}

// sum returns a + b + carry, and sets carry to the carry out.
uvec2 sum(uvec2 a, uvec2 b, inout uint carry) {
#if INT64
    uint64_t first = packUint2x32(a), second = packUint2x32(b);
    uint64_t result = first + second + uint64_t(carry);
    carry = result < first || carry != 0u && result == first ? 1u : 0u;
    return unpackUint2x32(result);
#else
    uint one, two;
    uint lower = uaddCarry(a.x, b.x, one);
    lower = uaddCarry(lower, carry, two);
    uint between = one + two; // at most 1
    uint upper = uaddCarry(a.y, b.y, one);
    upper = uaddCarry(upper, between, two);
    carry = one + two;
    return uvec2(lower, upper);
#endif
}

// The state of the machine while a batch runs.
uint machine;
uint pc;
uint flags;
uint signal;
uint detail = 0u;
uvec2 address = uvec2(0u);
uvec2 cycles;          // before the batch
uvec2 target;          // cycles at which this run ends
uint most = 0u;        // instructions of the batch
uint done = 0u;        // of them
uint resumedAt = 0xFFFFFFFFu; // a breakpoint at which the machine has stopped before
#if AHEAD
uvec4 ahead;
#endif

// memoryAt returns the place of 8 bytes of the machine's memory. The memories of machines
// that have an invocation each alternate; else each is in one piece.
uint memoryAt(uint word) {
#if MACHINE_PER_GROUP
    return machine * words + word;
#else
    return word * machines + machine;
#endif
}

#if TRACE
void traceInstruction(uint at, uint number) {
    if (machine != traced) {
        return;
    }
    uint carried;
    uvec2 cycle = uvec2(uaddCarry(cycles.x, done, carried), 0u);
    uint entry = (cycle.x - 1u) % uint(TRACE) * 2u;
    trace[entry] = uvec4(cycle.x, cycles.y + carried, at, flags);
    trace[entry + 1u] = uvec4(get(number), number, batch);
}
#endif

// beginBatch reads the state of the machine, without its registers, and returns whether
// it runs in this batch.
bool beginBatch() {
    signal = rows[ROW_SIGNAL * machines + machine];
    pc = rows[ROW_PC * machines + machine];
    cycles = uvec2(rows[ROW_CYCLES * machines + machine], rows[(ROW_CYCLES + 1u) * machines + machine]);
    target = uvec2(rows[ROW_TARGET * machines + machine], rows[(ROW_TARGET + 1u) * machines + machine]);
    if (resume != 0u && signal != SIGNAL_HALT && signal != SIGNAL_FAULT) {
        uint carry;
        pc += signal == SIGNAL_SYSCALL ? 1u : 0u;
        resumedAt = signal == SIGNAL_BREAK ? pc : resumedAt;
        signal = SIGNAL_RUNNING;
        target = uvec2(uaddCarry(cycles.x, allowedLow, carry), cycles.y + allowedHigh);
        target.y += carry;
    }
    if (signal != SIGNAL_RUNNING) {
        return false;
    }
    flags = rows[ROW_FLAGS * machines + machine];
    uint borrow;
    uint leftLow = usubBorrow(target.x, cycles.x, borrow);
    uint leftHigh = target.y - cycles.y - borrow;
    most = leftHigh == 0u ? min(budget, leftLow) : budget;
#if AHEAD
    ahead = code[min(pc, codeCount - 1u)];
#endif
    return true;
}

// endBatch stores the state of the machine, without its registers, and reports it.
void endBatch() {
    uint carry;
    cycles.x = uaddCarry(cycles.x, done, carry);
    cycles.y += carry;
    if (signal == SIGNAL_RUNNING && cycles == target) {
        signal = SIGNAL_CHECKPOINT;
    }
    rows[ROW_PC * machines + machine] = pc;
    rows[ROW_FLAGS * machines + machine] = flags;
    rows[ROW_SIGNAL * machines + machine] = signal;
    rows[ROW_DETAIL * machines + machine] = detail;
    rows[ROW_ADDRESS * machines + machine] = address.x;
    rows[(ROW_ADDRESS + 1u) * machines + machine] = address.y;
    rows[ROW_CYCLES * machines + machine] = cycles.x;
    rows[(ROW_CYCLES + 1u) * machines + machine] = cycles.y;
    rows[ROW_TARGET * machines + machine] = target.x;
    rows[(ROW_TARGET + 1u) * machines + machine] = target.y;

    // All machines that write here write the same value.
    if (signal == SIGNAL_RUNNING) {
        report[slot * 3u] = batch;
        chain[next * 3u] = gl_NumWorkGroups.x;
        if (done < most) {
            report[slot * 3u + 2u] = batch;
        }
    } else if (signal == SIGNAL_SYSCALL) {
        report[slot * 3u + 1u] = batch;
    }
}

// fault stops the machine at an access.
void fault(uint reason, uvec2 at) {
    signal = SIGNAL_FAULT;
    detail = reason;
    address = at;
}

// checkAccess returns the place in memory of an access of a number of words of 8 bytes, or
// stops the machine.
uint checkAccess(uvec2 at, uint count, bool isStore) {
    uint word = at.x >> 3 | at.y << 29;
    if (at.y >> 3 != 0u || word >= words || count > words - word) {
        fault(FAULT_ADDRESS, at);
    } else if ((at.x & 7u) != 0u) {
        fault(FAULT_ALIGNMENT, at);
    } else if (isStore && word + count > codeWord && word < codeEnd) {
        fault(FAULT_CODE, at);
    }
#if WATCH
    else if (isStore && word + count > watchFirst && word < watchEnd) {
        signal = SIGNAL_WATCH; // after the store
        address = at;
    }
#endif
    return word;
}

// complete counts an instruction that was done, and continues at nextPC.
void complete(uint written, uint nextPC) {
    ++done;
#if TRACE
    traceInstruction(pc, written);
#endif
    pc = nextPC;
}
