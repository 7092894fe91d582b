# A program of moderngl with compute shaders, as any other: it knows nothing of shadercache.
import struct
import time

import moderngl

SHADER = """#version 430
layout(local_size_x = 64) in;
layout(std430, binding = 0) buffer Values { float values[]; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    float x = float(i);
    for (int k = 0; k < %d; k++) { x = fma(x, 0.5, sin(x * %d.0) + sqrt(abs(x))); }
    values[i] = x - x + float(%d);
}"""

context = moderngl.create_standalone_context(backend="egl", require=430)
cpu, wall = time.process_time(), time.perf_counter()
values = context.buffer(reserve=4 * 256)
wrong = 0
for n in range(24):
    shader = context.compute_shader(SHADER % (n + 4, n + 1, n))
    values.write(b"\xff" * values.size)
    values.bind_to_storage_buffer(0)
    shader.run(4)
    wrong += sum(v != n for v in struct.unpack("256f", values.read()))
print("24 programs, %d wrong values, %.1f ms of CPU, %.1f ms" %
      (wrong, 1000 * (time.process_time() - cpu), 1000 * (time.perf_counter() - wall)))
raise SystemExit(wrong > 0)
