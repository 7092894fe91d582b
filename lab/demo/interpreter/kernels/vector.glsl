// vector.glsl: instructions on vector registers, of VECTOR elements of 64 bits each. The
// including file, after machine.glsl, defines the access to them:
//
//   uvec2 vectorGet(uint number, uint element)
//   void vectorPut(uint number, uint element, uvec2 value)

#define VECTOR_ADD 0u
#define VECTOR_SUB 1u
#define VECTOR_XOR 2u
#define VECTOR_MUL 3u
#define VECTOR_DUP 4u
#define VECTOR_INDEX 5u
#define VECTOR_LOAD 6u
#define VECTOR_STORE 7u

// product returns the low 64 bits of a * b.
uvec2 product(uvec2 a, uvec2 b) {
    uint upper, lower;
    umulExtended(a.x, b.x, upper, lower);
    return uvec2(lower, upper + a.x * b.y + a.y * b.x);
}

// VectorOrder is an instruction with the values of its registers that are not vectors.
struct VectorOrder {
    uint what;  // the first word of the instruction
    uint word;  // of memory, for an access
    uvec2 a, b; // operands
};

// prepareVector returns the order of an instruction, or stops the machine.
VectorOrder prepareVector(uvec4 instruction) {
    uint what = instruction.x, operation = what >> 26 & 7u;
    VectorOrder order = VectorOrder(what, 0u, get(what >> 14 & 63u), get(what >> 20 & 63u));
    if (operation >= VECTOR_LOAD) {
        uint carry = 0u;
        order.word = checkAccess(sum(order.a, instruction.yz, carry), uint(VECTOR), operation == VECTOR_STORE);
    }
    return order;
}

// executeElement does an order for one element.
void executeElement(VectorOrder order, uint element) {
    uint operation = order.what >> 26 & 7u, written = order.what >> 8 & 31u;
    if (operation == VECTOR_STORE) {
        memory[memoryAt(order.word + element)] = vectorGet(written, element);
        return;
    }
    uvec2 value = order.a; // of VECTOR_DUP
    uint carry = 0u;
    if (operation == VECTOR_LOAD) {
        value = memory[memoryAt(order.word + element)];
    } else if (operation == VECTOR_INDEX) {
        value = sum(order.a, product(order.b, uvec2(element, 0u)), carry);
    } else if (operation < VECTOR_DUP) {
        uvec2 a = vectorGet(order.what >> 14 & 31u, element);
        uvec2 b = vectorGet(order.what >> 20 & 31u, element);
        if (operation == VECTOR_MUL) {
            value = product(a, b);
        } else if (operation == VECTOR_XOR) {
            value = a ^ b;
        } else {
            carry = operation == VECTOR_SUB ? 1u : 0u;
            value = sum(a, operation == VECTOR_SUB ? ~b : b, carry);
        }
    }
    vectorPut(written, element, value);
}
