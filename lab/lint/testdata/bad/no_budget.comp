#version 450 core
// Loops that only memory ends, or nothing at all.
layout(local_size_x = 1) in;
layout(std430, binding = 0) coherent volatile buffer Control { uint stop; uint next; uint lock; };
layout(std430, binding = 1) readonly buffer Links { uint links[]; };
uniform uint budget;

uint peek() { return stop; }

void main() {
    while (true) { // want unbounded-loop
        if (stop != 0u) {
            break;
        }
    }
    for (;;) { // want unbounded-loop
        uint job = atomicAdd(next, 1u);
        if (job >= budget) {
            break;
        }
    }
    uint node = 0u;
    while (node != 0xFFFFFFFFu) { // want unbounded-loop
        node = links[node];
    }
    do { // want unbounded-loop
    } while (atomicCompSwap(lock, 0u, 1u) != 0u);
    bool done = false;
    while (!done) { // want unbounded-loop
        if (peek() != 0u) {
            done = true;
        }
    }
    uint spent = 0u;
    while (stop == 0u || spent < budget) { // want unbounded-loop
        ++spent;
    }
    for (uint left = budget; left >= 0u; --left) { // want unbounded-loop
        links.length();
    }
    for (uint left = budget; 0u <= left; left--) { // want unbounded-loop
    }
    for (int left = 9; left >= 0; --left) {
    }
    for (uint left = budget;; --left) {
        if (left <= 0u) {
            break;
        }
    }
}
