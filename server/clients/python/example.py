"""Doubles 1,024 numbers on the GPU of a running `shadercache serve`: python3 example.py"""
import sys

import shadercache

GLSL = """
layout(local_size_x = 64) in;
layout(std430, binding = 0) readonly buffer In { float values[]; };
layout(std430, binding = 1) writeonly buffer Out { float doubled[]; };
void main() { uint i = gl_GlobalInvocationID.x; doubled[i] = 2.0 * values[i]; }
"""


def main() -> int:
    values = memoryview(bytearray(4 * 1024)).cast("f")  # or an array.array, or one of numpy
    doubled = memoryview(bytearray(4 * 1024)).cast("f")
    for i in range(1024):
        values[i] = i
    try:
        with shadercache.connect() as gpu:
            program = gpu.program(GLSL, name="double")
            program.run(1024 // 64, inputs={0: values}, outputs={1: doubled}, deadline=10.0)
            wrong = sum(d != 2 * v for d, v in zip(doubled, values))
            print(f"{gpu.device}: {wrong} of 1024 wrong")
    except shadercache.Error as e:
        print("example:", e, file=sys.stderr)
        return 1
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
