"""Runs the steps that its arguments name through shadercache.py, and prints for each "ok",
"wrong" for a result that is, or the name of the error. check.c has the same steps.

    check.py SOCKET STEP...
"""
import ctypes
import os
import select
import signal
import sys
import time
from array import array

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "python"))

import shadercache  # noqa: E402

COUNT = 1024

DOUBLER = """layout(local_size_x = 64) in;
layout(std430, binding = 0) readonly buffer In { float values[]; };
layout(std430, binding = 1) writeonly buffer Out { float doubled[]; };
void main() { uint i = gl_GlobalInvocationID.x;
  if (i < values.length()) doubled[i] = FACTOR * values[i]; }
"""

UNIFORMS = """layout(local_size_x = 1) in;
layout(std430, binding = 0) writeonly buffer Out { float y[]; };
layout(std140, binding = 2) uniform Params { float p; };
uniform int i; uniform uint u; uniform float f;
void main() { y[0] = float(i); y[1] = float(u); y[2] = f; y[3] = p; }
"""


SLOW = """layout(local_size_x = 64) in;
layout(std430, binding = 1) buffer Out { uint y[]; };
uniform uint k;
void main() { uint x = k;
  for (uint i = 0u; i < 60000u; i++) x = x * 1664525u + 1013904223u;
  y[gl_LocalInvocationIndex] = x == 77u ? 1u : k; }
"""

COUNTED = """
layout(local_size_x = 64) in;
layout(binding = 0, offset = 0) uniform atomic_uint invocations;
layout(binding = 0, offset = 4) uniform atomic_uint added;
layout(std140, binding = 1) uniform Add { uint add; };
void main() { atomicCounterIncrement(invocations);
  for (uint i = 0u; i < add; i++) atomicCounterIncrement(added); }
"""
TEXTURES = """layout(local_size_x = 8, local_size_y = 8) in;
layout(r32f) writeonly uniform image2D to;
uniform sampler2D from;
uniform vec2 f; uniform ivec2 i; uniform uvec2 u; uniform float list[3];
void main() { ivec2 at = ivec2(gl_GlobalInvocationID.xy);
  float add = f.x + f.y + float(i.x + i.y) + float(u.x + (u.y >> 30)) + list[gl_NumWorkGroups.z - 1u] + list[2];
  imageStore(to, at, vec4(texelFetch(from, at, 1).r + add)); }
"""


SHADOW = """layout(local_size_x = 1) in;
layout(std430, binding = 0) writeonly buffer Out { float y[]; };
uniform sampler2DShadow depths;
void main() { y[0] = textureLod(depths, vec3(0.5, 0.5, 0.25), 0.0); }
"""


class Wrong(Exception):
    """A result that is wrong."""


def want(good: bool) -> None:
    if not good:
        raise Wrong


def floats(n: int, first: int) -> array:
    return array("f", range(first, first + n))


def poisoned(n: int) -> array:
    return array("f", b"\xff" * 4 * n)


def double(values: array) -> array:
    return array("f", [2 * v for v in values])


class Check:
    """What the steps share; each method without an underscore is a step."""

    def __init__(self, path: str) -> None:
        self._path = path or None
        self._gpu: "shadercache.Client | None" = None

    def open(self) -> None:
        self._close()
        try:
            self._gpu = shadercache.connect(self._path)
        except shadercache.Error as e:
            self._refused = e
            raise

    def _place(self, **place: object) -> None:
        self._close()
        self._gpu = gpu = shadercache.connect(self._path, **place)
        want((gpu.number, gpu.devices, gpu.uuid) == (1, 2, "c0ffee"))

    def placed(self) -> None:
        self._place(device=1)

    def misplaced(self) -> None:
        self._place(device="0")

    def near(self) -> None:
        self._place(near="check")

    def _close(self) -> None:
        if self._gpu:
            self._gpu.close()
        self._gpu = None

    def impatient(self) -> None:
        self._gpu._timeout = self._gpu._compile_timeout = 0.2

    def hasty(self) -> None:
        """Waits little for what does not compile."""
        self._gpu._timeout = 0.5

    def directory(self) -> None:
        """Checks the path as the directory of the default place."""
        shadercache._check_directory(self._path)

    def load(self) -> None:
        self._program = self._gpu.program(DOUBLER, name="check-double", defines={"FACTOR": 2.0})

    def find(self) -> None:
        self._program = self._gpu.program_by_name("check-double")

    def broken(self) -> None:
        self._gpu.program("void main() { mistake; }", name="check-broken")

    def _submit(self, values, results, deadline=None):
        groups = (len(values) + 63) // 64
        return self._gpu.submit(
            self._program.dispatch(groups),
            inputs={0: values},
            outputs={1: results},
            deadline=deadline,
        )

    def run(self) -> None:
        values, results = floats(COUNT, 1), poisoned(COUNT)
        want(self._submit(values, results).result()[1] is results)
        want(results == double(values))
        returned = self._program.run(16, inputs={0: values}, outputs={1: 4 * COUNT})[1]
        want(isinstance(returned, bytes) and returned == double(values).tobytes())

    def memory(self) -> None:
        n = 1 << 18
        with self._gpu.memory(8 * n) as m:
            values = floats(n, 3)
            m.view[: 4 * n] = memoryview(values).cast("B")
            job = self._program.dispatch(n // 64)
            self._gpu.run(job, inputs={0: m.range(0, 4 * n)}, outputs={1: m.range(4 * n)})
            want(bytes(m.view[4 * n :]) == double(values).tobytes())
        staged = poisoned(n)
        self._submit(values, staged).result()
        want(staged == double(values))
        want(
            self._program.run(n // 64, inputs={0: values}, outputs={1: 4 * n})[1]
            == double(values).tobytes()
        )

    def many(self) -> None:
        values = [floats(COUNT, i * COUNT) for i in range(64)]
        results = [poisoned(COUNT) for _ in values]
        jobs = [self._submit(v, r) for v, r in zip(values, results)]
        for job in reversed(jobs):
            job.result()
        for v, r in zip(values, results):
            want(r == double(v))

    def large(self) -> None:
        """Sends more than the server reads while its replies are not read."""
        values = floats(15 << 10, 1)
        results = [poisoned(len(values)) for _ in range(200)]
        for job in [self._submit(values, r) for r in results]:
            job.result()
        right = double(values)
        want(all(r == right for r in results))

    def deadline(self) -> None:
        self._submit(floats(COUNT, 1), poisoned(COUNT), deadline=1e-9).result()

    def late(self) -> None:
        """Asks for a result after its time, which came within it."""
        values, results = floats(COUNT, 1), poisoned(COUNT)
        job = self._submit(values, results)
        select.select([self._gpu._socket.fileno()], [], [], 60)
        job.until = 0
        job.result()
        want(results == double(values))

    def whole(self) -> None:
        """Takes all memory that there may be, some of which is kept for reuse."""
        self._gpu.memory(self._gpu.limits["memory"]).release()

    def cancel(self) -> None:
        job = self._submit(floats(COUNT, 1), poisoned(COUNT))
        job.cancel()
        try:
            job.result()
        except shadercache.Error as e:
            want(e.name == "cancelled")

    def params(self) -> None:
        program = self._gpu.program(UNIFORMS, name="check-uniforms")
        kinds = {r.name: r.kind for r in program.resources}
        want(
            kinds["u"] == "uniform"
            and "storage" in kinds.values()
            and program.work_group == (1, 1, 1)
        )
        uniforms = {"i": -7, "u": shadercache.uint(9), "f": 0.25}
        block = array("f", [4.5, 0, 0, 0])
        got = program.run(
            1, outputs={0: poisoned(4)}, uniforms=uniforms, params=block, params_binding=2
        )
        want(list(got[0]) == [-7, 9, 0.25, 4.5])
        try:  # the client does not know which of its ints are unsigned
            program.run(1, outputs={0: 16}, uniforms={**uniforms, "u": 9}, params=block, params_binding=2)
            want(False)
        except shadercache.Error as e:
            want(e.name == "invalid" and "u is of type uint and was given int" in str(e))

    def buffer(self) -> None:
        self._buffer = self._gpu.buffer(4 * COUNT, name="check")

    def write(self) -> None:
        before = self._buffer.version
        want(self._buffer.write(floats(COUNT, 5)) == before + 1)

    def read(self) -> None:
        want(self._buffer.read() == floats(COUNT, 5).tobytes())
        part = poisoned(2)
        want(self._buffer.read(4, into=part) is part and list(part) == [6, 7])

    def conflict(self) -> None:
        try:
            self._buffer.write(floats(COUNT, 6), expect=self._buffer.version + 10)
        except shadercache.Conflict as e:
            raise e

    def device(self) -> None:
        """Chains two dispatches over a buffer on the device."""
        n = 100_000
        with self._gpu.buffer(4 * n) as middle:
            first = self._program.dispatch((n + 63) // 64, buffers={1: middle})
            second = self._program.dispatch(
                (n + 63) // 64, buffers={0: middle.range(read_only=True)}
            )
            values, results = floats(n, 0), poisoned(n)
            self._gpu.run([first, second], inputs={0: values}, outputs={1: results})
            want(results == double(double(values)))
            want(middle.read() == double(values).tobytes())
            middle.write(values)
            into = poisoned(n)
            want(middle.read(into=into) == values)

    def delete(self) -> None:
        self._gpu.delete_buffer("check")

    def gemm(self) -> None:
        plan = self._gpu.gemm(2, 2, 3, name="check-gemm")
        if plan.version != 7:
            want(plan.set_weights(array("f", [1, 0, 0, 1, 1, 1]), version=7))
        result = array("f", plan.run(floats(6, 1)))
        want(list(result) == [4, 5, 10, 11])

    def conv2d(self) -> None:
        with self._gpu.conv2d((1, 1, 4, 4), (1, 3, 3), bias=True) as plan:
            want((plan.input, plan.weights, plan.bias, plan.output) == (16, 9, 1, 4))
            want(len(plan.layers) == 1 and plan.programs[0][1] in ("compiled", "disk", "resident"))
            plan.set_weights(array("f", [1] * 9), array("f", [1]))
            result = poisoned(4)
            plan.run(floats(16, 0), result)
            want(list(result) == [46, 55, 82, 91])

    def network(self) -> None:
        """A convolution and a product, whose weights a second client finds."""
        spec = "conv2d:1x1x4x4-1,3x3,bias\ngemm:1x2x4"
        for version in (0, 3):
            net = self._gpu.plan(spec, name="check-network", exact=True)
            want(net.version == version and net.has_weights == (version > 0))
            if net.version != 3:
                weights = array("f", [1] * 9 + [1, 0, 0, 1, 1, 0, 0, 1])
                net.set_weights(weights, array("f", [1]), version=3)
            want(list(array("f", net.run(floats(16, 0)))) == [46 + 82, 55 + 91])
            self.open()
        self._gpu.delete_plan("check-network")

    def numpy(self) -> None:
        """Arrays of numpy: inline, staged, in shared memory, and as result of a plan."""
        import numpy as np

        small = np.arange(COUNT, dtype="f4").reshape(32, 32)
        got = self._submit(small.reshape(-1), np.empty(COUNT, "f4")).result()[1]
        want(np.array_equal(got, 2 * small.reshape(-1)))
        large = np.arange(300_000, dtype="f4")
        want(np.array_equal(self._submit(large, np.empty_like(large)).result()[1], 2 * large))
        shared, out = self._gpu.empty((300, 1000)), self._gpu.empty(300_000)
        shared[:] = large.reshape(300, 1000)
        held = len(self._gpu._arrays)
        spare = len(self._gpu._spare)
        job = self._gpu.submit(
            self._program.dispatch(300_000 // 64 + 1), inputs={0: shared}, outputs={1: out}
        )
        want(len(self._gpu._spare) == spare)  # none of it was copied
        want(np.array_equal(job.result()[1], 2 * large))
        part = shared[100:200]
        del shared
        self._submit(part.reshape(-1), out[:100_000]).result()
        want(np.array_equal(out[:100_000], 2 * large[100_000:200_000]))
        del part, job
        self._gpu.status()
        want(len(self._gpu._arrays) == held - 1)
        plan = self._gpu.gemm(2, 2, 3)
        plan.set_weights(np.array([1, 0, 0, 1, 1, 1], "f4"))
        result = plan.run(np.arange(1, 7, dtype="f4"))
        want(isinstance(result, np.ndarray) and result.tolist() == [4, 5, 10, 11])
        try:
            self._submit(large[::2], 4)
            want(False)
        except shadercache.Error as e:
            want(e.name == "usage")

    def textures(self) -> None:
        """Samples and stores texels, small and large, with vectors of each type."""
        program = self._gpu.program(TEXTURES, name="check-textures")
        for width, height in ((16, 8), (512, 256)):
            n = width * height
            values, result = floats(n, 1), poisoned(n)
            source = self._gpu.texture(2 * width, 2 * height, "r32f", levels=2)
            with self._gpu.texture(width, height, "r32f", kind="2d array", depth=2) as target:
                want(source.read(4 * n, level=1) == bytes(4 * n))
                source.write(values, level=1)
                program.run(
                    (width // 8, height // 8),
                    images={"to": target.image(layer=1, access="write")},
                    samplers={"from": source.sampler(mip="nearest")},
                    uniforms={"f": [1, 2.5], "i": (-1, 2), "u": [shadercache.uint(3), 2**31], "list": array("f", (1, 2, 3))},
                )
                want(target.read(result, at=(0, 0, 1), size=(0, 0, 1)) is result)
                add = 1 + 2.5 - 1 + 2 + 3 + 2 + 1 + 3
                want(result == array("f", (v + add for v in values)))
            source.release()

        shadow = self._gpu.program(SHADOW, name="check-shadow")
        with self._gpu.texture(1, 1, "depth_component32f") as depths:
            depths.write(array("f", [0.5]))
            for compare, lit in (("<=", 1), (">", 0)):
                got = shadow.run(1, outputs={0: 4}, samplers={"depths": depths.sampler(compare=compare)})
                want(got[0] == array("f", [lit]).tobytes())

    def texture(self) -> None:
        self._gpu.texture(1 << 40, 1)

    def counters(self) -> None:
        """Counts the invocations of groups that a buffer has, in words and then in a buffer."""
        program = self._gpu.program(COUNTED, name="check-counters")
        sizes, sums = self._gpu.buffer(12), self._gpu.buffer(8)
        sizes.write(array("I", (4, 1, 1)))
        words = array("I", (5, 10))
        sums.write(words)
        for counters in (words, sums.range()):
            program.run(sizes.range(), blocks={1: array("I", (2, 0, 0, 0))}, counters={0: counters})
        want(words == array("I", (5 + 256, 10 + 512)))
        want(sums.read() == words.tobytes())

    def types(self) -> None:
        """Gives what does not fit, and wants errors that say what was given and what fits."""
        values, wide = floats(64, 1), array("d", range(64))
        gemm = self._gpu.gemm(2, 2, 3)
        program = self._program

        def refused(f, *words: str) -> None:
            try:
                f()
            except shadercache.Error as e:
                if e.name != "usage" or not all(w in str(e) for w in words):
                    raise Wrong(str(e)) from e
                return
            raise Wrong(words)

        refused(lambda: program.run(1, inputs={0: wide}, outputs={1: 256}), "input 0 is float64", "check-double", "float32")
        refused(lambda: program.run(1, inputs={0: values}, outputs={1: wide}), "output 1 is float64")
        swapped = (ctypes.c_float.__ctype_be__ * 6)()  # as on disk in many formats
        refused(lambda: program.run(1, inputs={0: swapped}, outputs={1: 24}), "input 0 is float32 of another byte order")
        refused(lambda: gemm.set_weights(swapped), "24 bytes of type float32 of another byte order", "6 float32")
        refused(lambda: program.run(1, inputs={0: array("q", [1])}, outputs={1: 4}), "int64")
        refused(lambda: program.run(1, inputs={0: [1.0, 2.0]}, outputs={1: 8}), "a list", "array.array")
        refused(lambda: program.dispatch(1, params=wide), "params is float64")
        refused(lambda: program.run(1.5, inputs={0: values}, outputs={1: 256}), "1.5 work groups", "whole numbers")
        refused(lambda: program.run(64 / 64, inputs={0: values}, outputs={1: 256}), "1.0 work groups")
        refused(lambda: program.run(0, inputs={0: values}, outputs={1: 256}), "0 work groups", "above 0")
        refused(lambda: program.run((1, 0, 1), inputs={0: values}, outputs={1: 256}), "(1, 0, 1)")
        for value in ([[1.0, 2.0], [3.0, 4.0]], [[1.0]], [], "abc"):
            refused(lambda: program.run(1, uniforms={"m": value}), '"m"', "one sequence of numbers")
        texture = self._gpu.texture(4, 4)
        refused(lambda: program.run(1, images={"im": texture.sampler()}), "the image", "Texture.sampler")
        refused(lambda: program.run(1, samplers={"s": texture.image()}), "the sampler", "Texture.image")
        refused(lambda: self._gpu.run([]), "without dispatches")
        refused(lambda: program.run(1, counters={0: bytearray(5)}), "counters 0", "words")
        refused(lambda: program.run(1, counters={0: self._gpu.buffer(8).range(0, 8)}), "counters 0", "range(offset)")
        refused(lambda: gemm.set_weights([[1.0], [2.0]]), "weights is a list", "6 float32")
        refused(lambda: gemm.set_weights(array("d", range(6))), "48 bytes of type float64", "6 float32")
        refused(lambda: gemm.set_weights(floats(5, 0)), "20 bytes of type float32", "6 float32")
        refused(lambda: gemm.run(array("d", range(6))), "input has 48 bytes of type float64")
        small, word = self._gpu.buffer(64), shadercache.uint(1 << 32)
        refused(lambda: program.run(1, uniforms={"k": word}), 'the uniform "k" cannot be 4294967296')
        refused(lambda: program.run(1, uniforms={"k": -(1 << 40)}), 'the uniform "k"')
        refused(lambda: program.run(1, uniforms={"k": [1, word]}), 'the uniform "k"')
        refused(lambda: program.run(1, uniforms={"k": 1e300}), 'the uniform "k" cannot be 1e+300')
        refused(lambda: program.run(1, uniforms={"k": [1, 0.5, 1e300]}), 'the uniform "k"')
        refused(lambda: program.run(1, inputs={-1: values}), "a binding cannot be -1")
        refused(lambda: program.dispatch(1, buffers={1 << 32: small}), "a binding")
        refused(lambda: program.dispatch(1, blocks={-1: b""}), "a binding")
        refused(lambda: program.run(1, counters={-1: small}), "a binding")
        refused(lambda: program.dispatch(1, params_binding=-1), "params_binding cannot be -1")
        refused(lambda: program.run(1, inputs={0: values}, outputs={1: -64}), "the bytes of an output cannot be -64")
        refused(lambda: program.run(1, inputs={0: values}, outputs={1: 1 << 70}), "memory of")
        refused(lambda: self._gpu.buffer(-4), "size cannot be -4")
        refused(lambda: small.range(1 << 64, 4), "offset and size of a range cannot be 18446744073709551616, 4")
        refused(lambda: small.range(-4), "offset and size of a range")
        refused(lambda: small.write(b"", 1.5), "offset and size of a range cannot be 1.5, 0")
        refused(lambda: small.write(bytes(4), version=-1), "version and expect cannot be -1")
        refused(lambda: gemm.set_weights(floats(6, 0), version=-1), "version cannot be -1")
        refused(lambda: texture.write(bytes(4), at=(1 << 31, 0, 0)), "level, at and size")
        refused(lambda: texture.image(layer=1 << 31), "level and layer")
        refused(lambda: self._gpu.texture(1 << 64), "width, height, depth and levels")
        try:
            self._gpu.run(program.dispatch(1, buffers={1: small.range((1 << 64) - 4, 400)}), inputs={0: values})
            want(False)
        except shadercache.Error as e:
            want(e.name == "invalid")
        for endless in (1e300, float("inf")):
            program.run(1, inputs={0: values}, outputs={1: 256}, deadline=endless)
            shadercache.connect(self._path, timeout=endless).close()
        with shadercache.connect(self._path) as other:
            theirs = other.buffer(256)
            doubler = other.program(DOUBLER, name="check-double", defines={"FACTOR": 2.0})
            for work in (
                doubler.dispatch(1),
                program.dispatch(1, buffers={0: theirs}),
                program.dispatch(theirs.range(0, 12)),
                program.dispatch(1, blocks={2: theirs.range()}),
                program.dispatch(1, images={"im": other.texture(4, 4)}),
                program.dispatch(1, samplers={"s": other.texture(4, 4).sampler()}),
            ):
                refused(lambda: self._gpu.run(work, inputs={0: values}, outputs={1: 256}), "another client")
            refused(lambda: program.run(1, inputs={0: values}, outputs={1: 256}, counters={0: theirs}), "another client")
        got = program.run(1, inputs={0: values.tobytes()}, outputs={1: 256})[1]
        want(got == double(values).tobytes())
        for doubles in (
            self._gpu.program(DOUBLER.replace("float", "double"), name="wide", defines={"FACTOR": 2.0}),
            self._gpu.program_by_name("wide"),
        ):
            got = array("d", bytes(512))
            doubles.run(1, inputs={0: wide}, outputs={1: got})
            want(got == array("d", [2 * v for v in wide]))
        try:
            self._gpu.program("void main() { mistake; }", name="check-broken")
        except shadercache.CompileError as e:
            want('program "check-broken" does not compile' in str(e) and "mistake" in e.args[0])

    def resized(self) -> None:
        """Takes an output away before its bytes come: that job fails, and no other."""
        gone, kept = bytearray(4 * COUNT), poisoned(COUNT)
        jobs = [self._submit(floats(COUNT, 1), gone), self._submit(floats(COUNT, 1), kept)]
        del gone[8:]
        jobs[1].result()
        want(kept == double(floats(COUNT, 1)))
        try:
            jobs[0].result()
            want(False)
        except ValueError:
            pass

    def interrupted(self) -> None:
        """Ends waits as Ctrl-C does, before and after the reply has come: it is dropped."""
        program, seven = self._gpu.program(SLOW, name="check-slow"), {"k": shadercache.uint(7)}
        slow = program.dispatch(100, uniforms=seven)
        buffer, values, results = self._gpu.buffer(4 * COUNT), bytearray(4 * COUNT), bytearray(4 * COUNT)
        for comes in (False, True):
            for wait in (
                lambda: self._gpu.run(slow, outputs={1: results}),
                lambda: buffer.read(into=results),
            ):
                first = self._gpu.submit(program.dispatch(100, buffers={1: buffer}, uniforms=seven))  # takes its time
                if comes:
                    first.result()
                self._interrupted(wait, comes)
                results[:] = b"\xaa" * len(results)
                buffer.write(values)  # after the copy of the read, whose reply comes before
                first.result()
                self._gpu.run(slow, outputs={1: 4 * COUNT})
                want(results == b"\xaa" * len(results))

    def staged(self) -> None:
        """Stages a large job behind one with a long deadline: its memory has that time too, and that
        of compiles where the server has to import it."""
        untils = []
        write = self._gpu._write

        def record(type, parts, until, *rest):
            if type == shadercache._MEMORY:
                untils.append(until)
            return write(type, parts, until, *rest)

        self._gpu._write = record
        try:
            for size, zero_copy in ((1 << 17, False), (1 << 18, True)):
                self._gpu.zero_copy = zero_copy
                first = self._gpu.submit(self._program.dispatch(1), inputs={0: floats(64, 1)}, outputs={1: 256}, deadline=300)
                least = time.monotonic() + 600 if zero_copy else first.until
                self._gpu.run(self._program.dispatch(1), inputs={0: bytes(size)}, outputs={1: size})
                first.result()
                want(untils.pop() >= least and not untils)
        finally:
            del self._gpu._write

    def abandoned(self) -> None:
        self._interrupted(self.load, False)

    def _interrupted(self, call, comes: bool) -> None:
        """Ends the wait of a call. A signal could do so before the wait begins."""

        def interrupt(until: float) -> None:
            if comes:
                select.select([self._gpu._socket.fileno()], [], [], 60)
            raise KeyboardInterrupt

        self._gpu._receive = interrupt
        try:
            call()
            want(False)
        except KeyboardInterrupt:
            del self._gpu._receive

    def status(self) -> None:
        want(isinstance(self._gpu.status(), dict))

    def forked(self) -> None:
        staged = self._gpu.buffer(1 << 20)
        staged.write(bytes(1 << 20))
        before = [bytes(m.view) for m in self._gpu._spare]
        child = os.fork()
        if child == 0:
            os._exit(self._in_child(staged))
        _, status = os.waitpid(child, 0)
        want(before and [bytes(m.view) for m in self._gpu._spare] == before)  # the next job's inputs
        if os.WEXITSTATUS(status) == 1:
            raise shadercache.Error("forked", "as it has to be")
        want(False)

    def left(self) -> None:
        """Opens a client again while a child has the socket of the one before."""
        child = os.fork()
        if child == 0:
            signal.pause()
        try:
            for _ in range(1000):
                try:
                    return self.open()
                except shadercache.Error as e:
                    if e.name != "quota":
                        raise
                    time.sleep(0.005)
        finally:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
        raise self._refused

    def _in_child(self, staged: shadercache.Buffer) -> int:
        for use in (self.run, lambda: staged.write(bytes([9]) * (1 << 20))):
            try:
                use()
                return 2
            except shadercache.Error as e:
                if e.name != "forked":
                    return 2
        try:
            self.open()
            self.load()
            self.run()
            self._close()
            return 1
        except shadercache.Error:
            return 3

    def oversize(self) -> None:
        self._gpu.program("/" * (2 << 20))

    def crowded(self) -> None:
        self._gpu.submit([self._program.dispatch(1)] * 40000, inputs={0: floats(COUNT << 8, 1)})

    def again(self) -> None:
        """Opens a session, runs a job and closes it, 300 times; errors are expected."""
        first = self._gpu
        for _ in range(300):
            self._gpu = None
            try:
                self.open()
                for step in (self.load, self.buffer, self.run, self.gemm, self.status):
                    step()
            except (shadercache.Error, Wrong, ValueError):
                pass
            self._close()
        self._gpu = first


setattr(Check, "placed-uuid", lambda self: self._place(device="c0ffee", near="check"))
setattr(Check, "delete-plan", lambda self: self._gpu.delete_plan("check-gemm"))


def main() -> None:
    check = Check(sys.argv[1])
    for name in sys.argv[2:]:
        try:
            if check._gpu is None and name not in ("open", "again", "directory", "near", "placed", "placed-uuid", "misplaced"):
                raise check._refused
            getattr(check, name)()
            result = "ok"
        except Wrong:
            result = "wrong"
        except shadercache.Error as e:
            print(f"{name}: {e}", file=sys.stderr)
            result = e.name
        print(name, result, flush=True)
    check._close()


if __name__ == "__main__":
    main()
