// Functions to be included: there is no main, and one has no body here.
shared bool going;
uniform uint budget;

bool step(uvec2 number);

bool agree(bool mine) {
    if (gl_LocalInvocationIndex == 0u) {
        going = mine;
    }
    barrier();
    bool all = going;
    barrier();
    return all;
}

void run() {
    for (uint i = 0u; i < budget; ++i) {
        if (!step(uvec2(i, 0u))) {
            break;
        }
        if (!agree(gl_LocalInvocationIndex > 3u)) {
            return;
        }
        barrier();
    }
}
