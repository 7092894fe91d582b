# A program in Python with COUNT compute shaders: compute.py [COUNT]. It prints what each of
# them computed, and fails where a result is wrong.
import array
import sys

import moderngl

count = int(sys.argv[1]) if len(sys.argv) > 1 else 24
context = moderngl.create_context(standalone=True, backend="egl", require=430)
buffer = context.buffer(reserve=64 * 4)
buffer.bind_to_storage_buffer(0)
for i in range(count):
    program = context.compute_shader("""#version 430
layout(local_size_x = 64) in;
layout(std430, binding = 0) buffer B { uint v[]; };
void main() {
  uint x = gl_GlobalInvocationID.x;
  for (uint k = 0u; k < %du; k++) x = x * 3u + k;
  v[gl_GlobalInvocationID.x] = x + %du;
}
""" % (i + 1, i))
    buffer.write(b"\xff" * 64 * 4)
    program.run(1)
    got = array.array("I", buffer.read()).tolist()
    want = []
    for x in range(64):
        for k in range(i + 1):
            x = (x * 3 + k) & 0xFFFFFFFF
        want.append((x + i) & 0xFFFFFFFF)
    if got != want:
        sys.exit("shader %d computed %r" % (i, got[:4]))
    print(i, sum(got))
