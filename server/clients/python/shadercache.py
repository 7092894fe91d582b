"""A client of ``shadercache serve`` for Python 3.9 or later on Linux, in one file.

The server keeps an OpenGL context, compiled programs, buffers and weights. A client
connects, runs GLSL compute programs and exits: it needs no GL and no other package::

    import shadercache

    with shadercache.connect() as gpu:
        double = gpu.program(GLSL, name="double")
        result = double.run(16, inputs={0: data}, outputs={1: len(data)})
        print(result[1])

Install: copy this file. docs/clients.md has an example and a table of errors, and
docs/protocol.md is the protocol.

Data is anything with the buffer protocol: bytes, bytearray, array.array, memoryview, numpy
arrays. Up to 64 KiB travels through the socket, more through shared memory, which costs one
copy; an array of ``Client.empty`` or a range of ``Client.memory`` costs none. Elements of 64
bits that no block of the program can have are refused. Those of 32 bits are sent as they are,
whatever the block declares: an int32 array for ``float[]`` is read as the bits of floats, as
a reply of the protocol has no types of elements. Convert it: ``values.astype("f4")``.

Threads: a client, and what was made with it, is used by one thread at a time. Open one for
each thread. A client belongs to the process that opened it: after a fork every call in the
child raises ``Error``.

SPDX-License-Identifier: Apache-2.0
"""

# The time of an import is a part of every start: socket, typing, dataclasses, enum and
# ctypes cost more than a job, so that this file does without, or imports late.
import os
from sys import byteorder
from time import monotonic, sleep

try:
    import _socket
    from _struct import Struct, error as _struct_error, pack, unpack_from  # type: ignore[import]
except ImportError:  # not CPython
    import socket as _socket  # type: ignore[no-redef]
    from struct import Struct, error as _struct_error, pack, unpack_from  # type: ignore[assignment]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Mapping, Sequence, Union

    Data = Any  # whatever has the buffer protocol, or a Range
    Work = Union["Dispatch", Sequence["Dispatch"]]

__all__ = [
    "Buffer",
    "Client",
    "CompileError",
    "Conflict",
    "DeadlineExceeded",
    "Dispatch",
    "Error",
    "Future",
    "Memory",
    "NoServer",
    "NotFound",
    "OtherDevice",
    "Plan",
    "Program",
    "QuotaExceeded",
    "Range",
    "Resource",
    "SessionEnded",
    "Texture",
    "connect",
    "uint",
]

PROTOCOL_VERSION = 5
MAX_BODY = 1 << 20
_INLINE = 64 << 10  # more bytes of one input or output go through shared memory
_INLINE_SUM = 512 << 10  # likewise, of one request
_ALIGN = 256  # of offsets in shared memory that this file chooses
_TIMEOUT = 60.0  # seconds
_COMPILE_TIMEOUT = 660.0  # likewise: a server compiles for at most 10 minutes
_LONGEST_WAIT = 1e6  # likewise: what every system call takes
_GRACE = 5.0  # seconds beyond a deadline until a server counts as dead
_MAX_SPARE = 256 << 20  # bytes of shared memory that are kept for reuse

_HEADER = Struct("<IHHQ")
_REPLY = 0x8000
_WAKE = 0x800E  # with request 0: the server goes on
(
    _HELLO,
    _PROGRAM,
    _MEMORY,
    _BUFFER,
    _COPY,
    _JOB,
    _PLAN,
    _WEIGHTS,
    _RUN,
    _RELEASE,
    _DELETE,
    _CANCEL,
    _STATUS,
) = range(1, 14)
_TEXTURE = 15
_KIND_PROGRAM, _KIND_MEMORY, _KIND_BUFFER, _KIND_PLAN, _KIND_TEXTURE = range(1, 6)
_PLACE_NONE, _PLACE_INLINE, _PLACE_MEMORY, _PLACE_BUFFER, _PLACE_TEXTURE = range(5)
_FORMATS = (
    "rgba32f rg32f r32f rgba16f rg16f r16f r11f_g11f_b10f rgba16 rg16 r16 rgb10_a2 rgba8 rg8 r8 "
    "rgba16_snorm rg16_snorm r16_snorm rgba8_snorm rg8_snorm r8_snorm rgba32i rg32i r32i rgba16i "
    "rg16i r16i rgba8i rg8i r8i rgba32ui rg32ui r32ui rgba16ui rg16ui r16ui rgba8ui rg8ui r8ui "
    "rgb10_a2ui srgb8_alpha8 depth_component16 depth_component32f"  # three of samplers alone
).split()
_CODES = (
    "ok",
    "malformed",
    "version",
    "quota",
    "deadline",
    "cancelled",
    "not found",
    "exists",
    "invalid",
    "compile",
    "out of memory",
    "conflict",
    "lost",
    "draining",
    "internal",
    "other device",
)
_SAME_RELEASE = "use a client and a server of the same release"


# ---- Errors ----


class Error(Exception):
    """A request that failed.

    ``name`` is that of the table of errors in docs/clients.md, such as ``"not found"``;
    ``hint`` is what to do about it, and may be empty.
    """

    name: str
    hint: str

    def __init__(self, name: str, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.name = name
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.args[0]} ({self.hint})" if self.hint else self.args[0]

    def __reduce__(self) -> tuple:
        return _error, (self.name, self.args[0], self.hint), self.__dict__


class CompileError(Error):
    """A program does not compile. ``args[0]`` is the driver's log, ``program`` its name."""

    program = ""

    def __str__(self) -> str:
        return f'program "{self.program}" does not compile: {super().__str__()}'


class QuotaExceeded(Error):
    """A limit of the session or the server is reached."""


class DeadlineExceeded(Error, TimeoutError):
    """The deadline passed before the request was done."""


class NotFound(Error):
    """There is no program, buffer or plan of this name."""


class Conflict(Error):
    """A buffer has another version than expected."""


class OtherDevice(Error):
    """The named buffer is on another device of the server: connect near it."""


class NoServer(Error, ConnectionError):
    """No server listens at the socket, or its directory is not safe."""


class SessionEnded(Error, ConnectionError):
    """The session has ended: connect again. ``name`` is how it ended."""


_CLASSES = {
    "compile": CompileError,
    "quota": QuotaExceeded,
    "deadline": DeadlineExceeded,
    "not found": NotFound,
    "conflict": Conflict,
    "no server": NoServer,
    "other device": OtherDevice,
    "malformed": SessionEnded,
    "version": SessionEnded,
    "lost": SessionEnded,
    "closed": SessionEnded,
    "protocol": SessionEnded,
    "timeout": SessionEnded,
}


def _error(name: str, message: str, hint: str = "") -> Error:
    return _CLASSES.get(name, Error)(name, message, hint)


def _usage(message: str, hint: str = "") -> Error:
    return Error("usage", message, hint)


class _Malformed(Exception):
    """A reply that is not one of the protocol."""


# ---- Encoding and decoding ----


def _packed(what: str, form: str, *values: "Any") -> bytes:
    """Packs what the caller of this file gave."""
    try:
        return pack(form, *values)
    except (_struct_error, OverflowError) as e:
        raise _usage(f"{what} cannot be {', '.join(map(str, values))}: {e}") from None


def _text(s: str, most: int = 255) -> bytes:
    b = s.encode()
    if len(b) > most:
        raise _usage(f"a text of {len(b)} bytes, at most {most} are allowed")
    return pack("<H", len(b)) + b


def _count(n: int) -> bytes:
    if n > 65535:
        raise _usage(f"a list of {n} elements, at most 65535 are allowed")
    return pack("<H", n)


def _nanoseconds(seconds: "float | None") -> int:
    if seconds is None:
        return 0
    if not seconds > 0:
        raise _usage(f"a deadline of {seconds} s")
    return max(1, int(min(seconds * 1e9, (1 << 63) - 1)))


def _view(data: "Data") -> memoryview:
    """Returns a view of data whose bytes follow one another in memory."""
    try:
        view = memoryview(data)
    except TypeError:
        raise _usage(
            f"data is a {type(data).__name__}, which has no buffer protocol",
            "give bytes or one array, such as array.array('f', values)",
        ) from None
    if not view.c_contiguous:
        raise _usage(
            "the array's elements do not follow one another", "copy it with numpy.ascontiguousarray"
        )
    return view


def _element(data: "Data") -> str:
    """Returns the type of the elements of data, such as float64; "" for bytes and others."""
    if isinstance(data, (int, bytes, bytearray, Range, _Object)):
        return ""
    view = _view(data)
    letter = view.format.lstrip("@=<>!")
    kind = {"f": "float", "d": "float", "e": "float", "g": "float", "Zd": "complex", "?": "bool"}.get(
        letter, "uint" if letter in "HILQN" else "int" if letter in "hilqn" else ""
    )
    name = f"{kind}{8 * view.itemsize}" if kind else ""
    if view.itemsize > 1 and view.format[0] in ("<" if byteorder == "big" else ">!"):
        return f"{name or view.format} of another byte order"
    return name


def _check_elements(what: str, data: "Data", programs: "list[Program]") -> None:
    """Refuses elements that no program can have: Python's floats and ints have 64 bits."""
    kind = _element(data)
    wide = kind.endswith(("64", "128")) and not any(p._is_wide() for p in programs)
    if kind == "bool8" or kind.endswith("order") or wide:
        names = ", ".join(f'"{p.name}"' for p in programs)
        raise _usage(
            f"{what} is {kind}, and no block of the program {names} has elements of that type",
            "give float32, int32 or uint32, as in values.astype('f4'); bytes are taken as they are",
        )


def _flat(data: "Data") -> memoryview:
    """Returns a view of data as bytes."""
    try:
        return _view(data).cast("B")
    except (TypeError, ValueError):  # a type of numpy's that memoryview does not have
        return memoryview(data.reshape(-1).view("u1"))


def _bytes_of(data: "Data") -> memoryview:
    """Returns a view of data as bytes that can be assigned to."""
    if _view(data).readonly:
        raise _usage("an output that is read-only", "give a bytearray or an array")
    return _flat(data)


class _Reader:
    """Reads the fields of a body. A field beyond its end raises _Malformed."""

    __slots__ = ("body", "at")

    def __init__(self, body: memoryview) -> None:
        self.body = body
        self.at = 0

    def take(self, n: int) -> memoryview:
        end = self.at + n
        if end > len(self.body):
            raise _Malformed("a reply that ends within a field")
        taken = self.body[self.at : end]
        self.at = end
        return taken

    def unpack(self, form: str, size: int) -> tuple:
        return unpack_from(form, self.take(size))

    def flag(self) -> bool:
        (v,) = self.take(1)
        if v > 1:
            raise _Malformed("a flag that is neither 0 nor 1")
        return v == 1

    def text(self, most: int = 255) -> str:
        (n,) = self.unpack("<H", 2)
        if n > most:
            raise _Malformed("a text that is too long")
        return str(self.take(n), "utf-8", "replace")

    def data(self) -> memoryview:
        return self.take(self.unpack("<I", 4)[0])

    def end(self) -> None:
        if self.at != len(self.body):
            raise _Malformed("a reply with bytes left over")


def _nothing(r: _Reader) -> None:
    return None


def _ignored(r: _Reader) -> None:
    r.at = len(r.body)


# ---- Ranges, dispatches ----


class uint(int):
    """The value of a uniform of type uint. A plain int is one of type int."""


class Range:
    """A range of bytes in shared memory or in a buffer, made by their method range."""

    __slots__ = ("owner", "place", "offset", "size", "read_only", "encoded")

    def __init__(
        self, owner: "_Object", place: int, offset: int, size: int, read_only: bool = False
    ) -> None:
        self.owner = owner
        self.place = place
        self.offset = offset
        self.size = size
        self.read_only = read_only
        self.encoded = pack("<BI", place, owner.id)
        self.encoded += _packed("offset and size of a range", "<QQ", offset, size)


class Dispatch:
    """One dispatch of a program, made by Program.dispatch."""

    __slots__ = ("encoded", "keep")

    def __init__(self, encoded: bytes, keep: tuple) -> None:
        self.encoded = encoded
        self.keep = keep

    def _check(self, client: "Client") -> None:
        """Refuses objects of another client, whose numbers are those of others here."""
        program, *maps, groups = self.keep
        for used in (program, groups, *(v for m in maps for v in (m or {}).values())):
            _check_client(client, used)


def _check_client(client: "Client", used: "Any") -> None:
    if isinstance(used, Bound):
        used = used.texture
    elif isinstance(used, Range):
        used = used.owner
    if isinstance(used, _Object) and used.client is not client:
        raise _usage("an object of another client")


def _uniform(name: str, value: "int | float | Sequence[int | float]") -> bytes:
    if hasattr(value, "__len__"):
        return _components(name, list(value))  # type: ignore[arg-type]
    kind = getattr(getattr(value, "dtype", None), "kind", "")
    what = f'the uniform "{name}"'
    if isinstance(value, float) or kind == "f":
        return b"\3" + _packed(what, "<f", value) + _text(name)
    if isinstance(value, uint) or kind == "u" or value > 0x7FFFFFFF:
        return b"\2" + _packed(what, "<I", int(value)) + _text(name)
    return b"\1" + _packed(what, "<i", int(value)) + _text(name)


def _components(name: str, values: list) -> bytes:
    """Encodes a vector, a matrix column by column, or an array element by element."""
    if not values or any(hasattr(v, "__len__") for v in values):
        raise _usage(
            f'the uniform "{name}" is not one sequence of numbers',
            "give a matrix column by column, as in m.T.ravel()",
        )
    if len(values) == 1:
        return _uniform(name, values[0])
    words = [_uniform(name, v) for v in values]  # {kind, word, name}
    kind = max(w[0] for w in words)  # of ints and floats, floats
    if kind == 3:
        words = [_uniform(name, float(v)) for v in values]
    return pack("<BI", kind + 3, 4 * len(words)) + b"".join(w[1:5] for w in words) + _text(name)


def _binding(binding: int) -> bytes:
    return _packed("a binding", "<I", binding)


def _groups(groups: "int | Sequence[int]") -> bytes:
    sizes = tuple(groups) if hasattr(groups, "__iter__") else (groups,)
    if not 1 <= len(sizes) <= 3 or not all(
        hasattr(n, "__index__") and 0 < n < 1 << 32 for n in sizes
    ):
        raise _usage(
            f"{groups} work groups",
            "give one to three whole numbers above 0, such as (n + 63) // 64 for groups of 64",
        )
    return pack("<3I", *(sizes + (1, 1))[:3])


# ---- Objects ----


class _Object:
    """An object of a session. As a context manager it is released at the end."""

    _kind = 0

    def __init__(self, client: "Client", id: int) -> None:
        self.client = client
        self.id = id
        self._released = False

    def release(self) -> None:
        """Ends the use of the object. Again, or after the session, this does nothing."""
        if not self._released:
            self._released = True
            if self.client._usable():
                self.client._call(_RELEASE, [pack("<BI", self._kind, self.id)])

    def __enter__(self):  # type: ignore[no-untyped-def]
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


class Resource:
    """An input or output of a program.

    ``kind`` is "storage", "uniform block", "atomic counter" or "uniform"; ``binding`` is
    the location for a uniform.
    """

    __slots__ = ("kind", "binding", "size", "name")
    kinds = ("", "storage", "uniform block", "atomic counter", "uniform")

    def __init__(self, kind: int, binding: int, size: int, name: str) -> None:
        self.kind = self.kinds[kind] if kind < len(self.kinds) else str(kind)
        self.binding = binding
        self.size = size
        self.name = name

    def __repr__(self) -> str:
        return f"<{self.kind} {self.name} at {self.binding}, {self.size} bytes>"


class Program(_Object):
    """A program that is resident in the server."""

    _kind = _KIND_PROGRAM
    name: str
    key: str  # SHA-256, in hexadecimal
    origin: str  # "compiled", "disk", "memory" or "resident"
    work_group: "tuple[int, int, int]"
    resources: "list[Resource]"

    def _decode(self, r: _Reader) -> "Program":
        self.key = bytes(r.take(32)).hex()
        (origin,) = r.take(1)
        names = ("", "compiled", "disk", "memory", "resident")
        self.origin = names[origin] if origin < len(names) else str(origin)
        self.work_group = r.unpack("<3I", 12)  # type: ignore[assignment]
        self.resources = []
        for _ in range(r.unpack("<H", 2)[0]):
            kind, binding, size = r.unpack("<BiQ", 13)
            self.resources.append(Resource(kind, binding, size, r.text(4096)))
            r.take(20)  # what a client needs that checks jobs itself
            r.text()
        return self

    def _is_wide(self) -> bool:
        """Reports whether a type of 64 bits is in the text, or may be where it is not known."""
        import re

        code = re.sub(rb"//[^\n]*|/\*.*?\*/", b"", self._text, flags=re.S)
        wide = re.search(rb"\b(double|d(vec|mat)\w+|u?int64\w*|[iu]64vec\d)\b", code)
        return not self._text or wide is not None

    def dispatch(
        self,
        groups: "int | Sequence[int] | Range",
        *,
        buffers: "Mapping[int, Buffer | Range] | None" = None,
        uniforms: "Mapping[str, int | float | Sequence[int | float]] | None" = None,
        params: "Data" = b"",
        params_binding: int = 0,
        blocks: "Mapping[int, Data] | None" = None,
        images: "Mapping[str, Texture | Bound] | None" = None,
        samplers: "Mapping[str, Texture | Bound] | None" = None,
        group_size: "int | Sequence[int] | None" = None,
    ) -> Dispatch:
        """Returns a dispatch of the program.

        ``groups`` are the work groups in x, y and z, or a range of a buffer that has them.
        ``buffers`` are those on the device, by their binding; ``params`` is the content of
        the uniform block at params_binding, ``blocks`` that of others: bytes, or a range of
        a buffer. A vector, a matrix column by column, or an array is a sequence among
        ``uniforms``. ``images`` and ``samplers`` are textures by the name of the uniform, or
        what Texture.image and Texture.sampler return. ``group_size`` is for a program with
        local_size_variable.
        """
        _check_elements("params", params, [self])
        parts = [
            pack("<I", self.id),
            bytes(12) if isinstance(groups, Range) else _groups(groups),
            _packed("params_binding", "<I", params_binding),
            pack("<I", _view(params).nbytes),
            params,
        ]
        uniforms = uniforms or {}
        parts.append(_count(len(uniforms)))
        parts += [_uniform(name, value) for name, value in uniforms.items()]
        parts.append(_count(len(buffers or {})))
        for binding, b in (buffers or {}).items():
            r = _of_buffer(f"binding {binding} of a dispatch", b)
            parts += [_binding(binding), pack("?", r.read_only), r.encoded]
        more = [b"", b"", b"", b"", b""]  # what each bit of the byte before it stands for
        if group_size is not None:
            more[0] = _groups(group_size)
        if isinstance(groups, Range):
            r = _of_buffer("groups", groups)
            more[1] = pack("<IQ", r.owner.id, r.offset)
        if blocks:
            more[2] = _count(len(blocks))
            for binding, data in blocks.items():
                more[2] += _binding(binding) + _inline_or_buffer(data)
        for i, textures, use in ((3, images, "image"), (4, samplers, "sampler")):
            if textures:
                more[i] = _count(len(textures))
            for n, t in (textures or {}).items():
                b = t if isinstance(t, Bound) else getattr(t, use)()
                if b.use != use:
                    raise _usage(f'the {use} "{n}" has what Texture.{b.use} returns')
                more[i] += _text(n) + pack("<II", 0, b.texture.id) + b.encoded
        parts += [pack("<B", sum(1 << i for i in range(5) if more[i])), *more]
        return Dispatch(b"".join(parts), (self, buffers, blocks, images, samplers, groups))

    def run(
        self,
        groups: "int | Sequence[int] | Range",
        *,
        inputs: "Mapping[int, Data] | None" = None,
        outputs: "Mapping[int, Data | int] | None" = None,
        counters: "Mapping[int, Data] | None" = None,
        deadline: "float | None" = None,
        **dispatch: "Any",
    ) -> "dict[int, Any]":
        """Runs one dispatch of the program; see Client.run and Program.dispatch."""
        work = self.dispatch(groups, **dispatch)
        return self.client.run(
            work, inputs=inputs, outputs=outputs, counters=counters, deadline=deadline
        )


class Memory(_Object):
    """Shared memory that the server reads and writes in place."""

    _kind = _KIND_MEMORY

    def __init__(self, client: "Client", size: int, compiles: bool = True) -> None:
        super().__init__(client, client._next_id())
        self.size = size
        fd = _memfd(size)
        try:
            from mmap import mmap

            self._map = mmap(fd, size)
            try:
                client._call(_MEMORY, [pack("<IQ", self.id, size)], compiles=compiles, descriptor=fd)
            except QuotaExceeded:
                if not client._spare:
                    raise
                while client._spare:
                    client._spare.pop().release()
                client._call(_MEMORY, [pack("<IQ", self.id, size)], compiles=compiles, descriptor=fd)
        finally:
            os.close(fd)
        self.view = memoryview(self._map)

    def range(self, offset: int = 0, size: "int | None" = None) -> Range:
        """Returns a part of the memory, all of it by default, for an input or output."""
        return Range(self, _PLACE_MEMORY, offset, self.size - offset if size is None else size)

    def release(self) -> None:
        """Gives the memory back. Arrays over it stay valid, but are shared no longer."""
        super().release()
        try:
            self.view.release()
            self._map.close()
        except BufferError:  # an array uses it; the map is closed with the array
            pass


def _memfd(size: int) -> int:
    """Returns the descriptor of new shared memory that can not shrink."""
    if not 0 < size < 1 << 63:
        raise _usage(f"memory of {size} bytes")
    import fcntl

    if hasattr(os, "memfd_create"):
        fd = os.memfd_create("shadercache", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    else:  # built against a C library of before 2018, as portable builds of Python are
        import ctypes

        libc = ctypes.CDLL(None, use_errno=True)
        fd = libc.memfd_create(b"shadercache", 3)
        if fd < 0:
            raise OSError(ctypes.get_errno(), "memfd_create")
    try:
        os.ftruncate(fd, size)
        fcntl.fcntl(fd, 1033, 2)  # F_ADD_SEALS, F_SEAL_SHRINK
    except BaseException:
        os.close(fd)
        raise
    return fd


class Buffer(_Object):
    """A buffer on the device."""

    _kind = _KIND_BUFFER
    size: int  # bytes
    version: int  # when it was opened, and after each copy by this object
    created: bool  # it is new, and all zero

    def _decode(self, r: _Reader) -> "Buffer":
        asked = self.size
        self.size, self.version = r.unpack("<QQ", 16)
        self.created = r.flag()
        if asked not in (0, self.size) or self.size >> 62:
            raise _Malformed(f"a buffer of {self.size} bytes")
        return self

    def range(self, offset: int = 0, size: int = 0, *, read_only: bool = False) -> Range:
        """Returns a part of the buffer; size 0 is the rest. A program only reads one that
        is read-only: that saves a barrier between jobs."""
        return Range(self, _PLACE_BUFFER, offset, size, read_only)

    def write(
        self,
        data: "Data",
        offset: int = 0,
        *,
        version: int = 0,
        expect: "int | None" = None,
        deadline: "float | None" = None,
    ) -> int:
        """Copies data into the buffer, as one step, and returns the new version.

        ``version`` sets that; 0 is 1 more than before. With ``expect``, Conflict is raised,
        and nothing written, where the buffer has another version.
        """
        if isinstance(data, (Buffer, Memory)):
            data = data.range()
        size = data.size if isinstance(data, Range) else _view(data).nbytes
        tail = _packed("version and expect", "<QQ", version, expect or 0)
        tail += pack("?", expect is not None)
        to = self.range(offset, size).encoded
        self.version, _ = self.client._copy(data, to, tail, deadline, True)
        return self.version

    def read(
        self,
        offset: int = 0,
        size: "int | None" = None,
        *,
        into: "Data" = None,
        deadline: "float | None" = None,
    ) -> "Any":
        """Returns the bytes of the buffer, or fills ``into`` (an array) and returns that.

        Sets version to the one that was read.
        """
        if size is None:
            size = (
                self.size - offset
                if into is None
                else into.size
                if isinstance(into, Range)
                else _view(into).nbytes
            )
        of = self.range(offset, size).encoded
        into = size if into is None else into
        self.version, results = self.client._copy(into, of, bytes(17), deadline, False)
        return results[0]


class Bound:
    """A texture as a dispatch uses it, made by Texture.image or Texture.sampler."""

    __slots__ = ("texture", "use", "encoded")

    def __init__(self, texture: "Texture", use: str, encoded: bytes) -> None:
        self.texture = texture
        self.use = use
        self.encoded = encoded


def _number(what: str, value: str, names: "Sequence[str]") -> int:
    if value not in names:
        raise _usage(f"{what} {value!r}", "give one of " + ", ".join(repr(n) for n in names))
    return names.index(value)


def _of_buffer(what: str, data: "Buffer | Range") -> Range:
    r = data.range() if isinstance(data, Buffer) else data
    if not isinstance(r, Range) or r.place != _PLACE_BUFFER:
        raise _usage(f"{what} is no buffer", "give other data as input or output")
    return r


def _inline_or_buffer(data: "Data") -> bytes:
    if isinstance(data, (Buffer, Range)):
        return _of_buffer("a block or counter", data).encoded
    view = _view(data)
    return pack("<BI", _PLACE_INLINE, view.nbytes) + view.tobytes()


def _region(level: int, at: "Sequence[int]", size: "Sequence[int]") -> bytes:
    return _packed("level, at and size", "<7i", level, *at, *size)


class Texture(_Object):
    """A texture on the device, at first all zero."""

    _kind = _KIND_TEXTURE
    width: int
    height: int
    format: str  # of images in GLSL, such as "rgba8"

    def _decode(self, r: _Reader) -> "Texture":
        r.flag()
        return self

    def write(
        self,
        data: "Data",
        *,
        level: int = 0,
        at: "tuple[int, int, int]" = (0, 0, 0),
        size: "tuple[int, int, int]" = (0, 0, 0),
        deadline: "float | None" = None,
    ) -> None:
        """Copies texels, row by row without padding, into the texture: into all of a level,
        or from ``at`` on, where a ``size`` of 0 is the rest. z counts layers."""
        tail = _region(level, at, size) + bytes(17)
        self.client._copy(data, self._encode(), tail, deadline, True)

    def read(
        self,
        into: "Data | int",
        *,
        level: int = 0,
        at: "tuple[int, int, int]" = (0, 0, 0),
        size: "tuple[int, int, int]" = (0, 0, 0),
        deadline: "float | None" = None,
    ) -> "Any":
        """Fills ``into`` with the texels that write means, and returns it; for a number that
        many bytes."""
        tail = _region(level, at, size) + bytes(17)
        return self.client._copy(into, self._encode(), tail, deadline, False)[1][0]

    def image(
        self, level: int = 0, *, layer: int = 0, access: str = "", format: str = ""
    ) -> Bound:
        """Returns one level for an image. ``layer`` is for an image2D or image1D that is one
        layer of the texture, ``access`` "read", "write" or both, which is "", and ``format``
        as what the bits of texels are read; "" is the texture's."""
        form = _number("format", format, ("", *_FORMATS))
        way = _number("access", access, ("", "read", "write"))
        encoded = _packed("level and layer", "<ii", level, layer) + pack("<BB", way, form)
        return Bound(self, "image", encoded)

    def sampler(
        self, *, linear: bool = False, mip: str = "", wrap: str = "clamp", compare: str = ""
    ) -> Bound:
        """Returns the texture for a sampler: with ``linear`` it blends the nearest texels.
        ``mip`` is "nearest" or "linear" between levels; "" reads level 0 alone. ``wrap`` is
        "clamp", "repeat", "mirror" or "border", of zeros; ``compare`` is the comparison of a
        shadow sampler, such as "<="."""
        levels = (_number("mip", mip, ("", "nearest", "linear")) + 2) % 3
        edge = _number("wrap", wrap, ("clamp", "repeat", "mirror", "border"))
        tests = ("", "never", "<", "==", "<=", ">", "!=", ">=", "always")
        test = _number("compare", compare, tests)
        return Bound(self, "sampler", bytes((linear, linear, levels, edge, edge, edge, test)))

    def _encode(self) -> bytes:
        return pack("<BI", _PLACE_TEXTURE, self.id)


def _table(data: memoryview) -> "list[list[str]]":
    return [line.split("\t") for line in str(data, "utf-8", "replace").splitlines()]


def _check_floats(what: str, data: "Data", count: int) -> None:
    """Refuses what is not count elements of float32."""
    if isinstance(data, (int, Range, _Object)):
        return
    fits = f"give one array of {count} float32"
    if isinstance(data, (list, tuple)):
        raise _usage(f"{what} is a {type(data).__name__}", fits + ", layer after layer")
    kind, size = _element(data) or "bytes", _view(data).nbytes
    if kind not in ("float32", "bytes") or size != 4 * count:
        raise _usage(f"{what} has {size} bytes of type {kind}", fits)


class Plan(_Object):
    """A convolution, a matrix product or a network of them, with its weights.

    ``input``, ``weights``, ``bias`` and ``output`` are lengths in float32.
    """

    _kind = _KIND_PLAN
    created: bool
    has_weights: bool
    version: int  # of the weights
    input: int
    weights: int
    bias: int
    output: int
    layers: "list[list[str]]"  # of each: algorithm, basis of the choice, tolerance
    programs: "list[list[str]]"  # of each: name, and origin as of a Program

    def _decode(self, r: _Reader) -> "Plan":
        self.created = r.flag()
        self.has_weights = r.flag()
        self.version, self.input, self.weights, self.bias, self.output = r.unpack("<5Q", 40)
        self.layers = _table(r.data())
        self.programs = _table(r.data())
        return self

    def set_weights(self, weights: "Data", bias: "Data" = None, *, version: int = 1) -> bool:
        """Sets the weights of all layers, one after the other, and likewise the bias.

        Each is one array of float32, with as many elements as the attributes ``weights`` and
        ``bias`` say. Returns False where the plan has this version already: then nothing was
        read. For a matrix product the weights are B.
        """
        _check_floats("weights", weights, self.weights)
        if bias is not None:
            _check_floats("bias", bias, self.bias)
        with _Staging(self.client) as s:
            w, b = s.read(weights), s.read(bias)
            s.fill()
            head = pack("<I", self.id) + _packed("version", "<Q", version) + bytes(8)
            uploaded = self.client._call(
                _WEIGHTS, [head, *w(), *b()], deadline=None, decode=_Reader.flag
            )
        self.version, self.has_weights = version, True
        return uploaded

    def submit(
        self, input: "Data", output: "Data | int | None" = None, *, deadline: "float | None" = None
    ) -> "Future":
        """Starts a run; result() of the future is what run returns."""
        _check_floats("input", input, self.input)
        if output is not None:
            _check_floats("output", output, self.output)
        if output is None:
            output = 4 * self.output
            if hasattr(input, "__array_interface__"):
                import numpy

                output = numpy.empty(self.output, "f4")
        with _Staging(self.client) as s:
            i, o = s.read(input), s.write(output)
            s.fill()
            parts = [pack("<IQ", self.id, _nanoseconds(deadline)), *i(), *o()]
            return s.submit(_RUN, parts, deadline, lambda results: results[0], (self, input))

    def run(
        self, input: "Data", output: "Data | int | None" = None, *, deadline: "float | None" = None
    ) -> "Any":
        """Runs the plan and returns its output: the one given, filled; else a numpy array
        where the input is one, else bytes."""
        return self.submit(input, output, deadline=deadline)._await()


# ---- Where the bytes of a request travel ----


class _Staging:
    """Decides for each operand of a request whether its bytes go inline or through shared
    memory, and copies them there. read and write return functions that encode the operand
    once fill has been called."""

    def __init__(self, client: "Client") -> None:
        self.client = client
        self.inputs: "list[list]" = []  # [data, bytes, staged offset or None]
        self.outputs: "list[list]" = []
        self.counters: "list[memoryview]" = []  # come before the outputs
        self.keep: "list[Any]" = []
        self.memory: "Memory | None" = None

    def __enter__(self) -> "_Staging":
        return self

    def __exit__(self, kind: "type | None" = None, *_: object) -> None:
        if self.memory is not None:
            # A request that failed may still use the memory: a job that was past its
            # deadline runs to its end.
            self.client._give_back(self.memory, reuse=kind is None)
            self.memory = None

    def read(self, data: "Data") -> "Callable[[], list]":
        if data is None:
            return lambda: [b"\0"]
        shared = self._shared(data)
        if shared is not None:
            return shared
        operand = [data, _view(data).nbytes, None]
        self.inputs.append(operand)
        return lambda: self._encoded(operand) or [pack("<BI", _PLACE_INLINE, operand[1]), data]

    def write(self, data: "Data | int") -> "Callable[[], list]":
        shared = self._shared(data)
        if shared is not None:
            self.outputs.append([data, -1, None])
            return shared
        size = data if isinstance(data, int) else _bytes_of(data).nbytes
        operand = [data, size, None]
        self.outputs.append(operand)
        return lambda: self._encoded(operand) or [
            pack("<B", _PLACE_INLINE) + _packed("the bytes of an output", "<I", size)
        ]

    def _encoded(self, operand: list) -> list:
        if operand[2] is None:
            return []
        assert self.memory is not None
        return [self.memory.range(operand[2], operand[1]).encoded]

    def _shared(self, data: "Data") -> "Callable[[], list] | None":
        """Encodes what is no bytes of this process alone."""
        if isinstance(data, (Range, Buffer, Memory)):
            r = data if isinstance(data, Range) else data.range()
            _check_client(self.client, r)
            self.keep.append(r)
            encoded = r.encoded
        else:
            found = self.client._find_shared(data)
            if found is None:
                return None
            encoded = found.encoded
        return lambda: [encoded]

    def fill(self) -> None:
        """Allocates shared memory for what is too large, and copies the inputs into it."""
        operands = [o for o in self.inputs + self.outputs if o[1] >= 0]
        total, room = 0, _INLINE_SUM
        for o in operands:
            if o[1] > _INLINE or o[1] > room:
                o[2] = total
                total += -(-o[1] // _ALIGN) * _ALIGN
            else:
                room -= o[1]
        if total == 0:
            return
        self.memory = self.client._borrow(total)
        for data, size, offset in self.inputs:
            if offset is not None:
                self.memory.view[offset : offset + size] = _flat(data)

    def results(self, inline: bytes) -> list:
        """Returns the outputs, filled from the inline bytes of the reply and from memory."""
        expected = sum(size for _, size, offset in self.outputs if size >= 0 and offset is None)
        expected += sum(words.nbytes for words in self.counters)
        if len(inline) != expected:
            raise _Malformed(f"{len(inline)} bytes of outputs, not {expected}")
        done, at = [], 0
        for words in self.counters:
            words[:] = inline[at : at + words.nbytes]
            at += words.nbytes
        for data, size, offset in self.outputs:
            if size < 0:
                done.append(data)
                continue
            if offset is None:
                source: "Any" = inline[at : at + size]
                at += size
            else:
                assert self.memory is not None
                source = self.memory.view[offset : offset + size]
            if isinstance(data, int):
                done.append(bytes(source))
            else:
                _bytes_of(data)[:] = source
                done.append(data)
        return done

    def copied(self, r: _Reader) -> "tuple[int, list]":
        """Decodes the reply to a copy: the version of the buffer, and the outputs."""
        (version,) = r.unpack("<Q", 8)
        return version, self.results(bytes(r.data()))

    def submit(
        self,
        type: int,
        parts: list,
        deadline: "float | None",
        shape: "Callable[[list], Any]",
        keep: tuple,
    ) -> "Future":
        """Sends a request whose reply is data. Its future then owns the staging memory."""
        moved = _Staging(self.client)
        moved.outputs, moved.keep = self.outputs, [self.keep, keep]
        moved.counters = self.counters

        def decode(r: _Reader) -> "Any":
            return shape(moved.results(bytes(r.data())))

        moved.memory, self.memory = self.memory, None
        try:
            return self.client._send(type, parts, self.client._until(deadline), decode, moved)
        except BaseException as e:
            moved.__exit__(e.__class__)  # sent, perhaps, where a signal's exception came after it
            raise


class Future:
    """A request that was sent."""

    __slots__ = ("client", "number", "type", "until", "decode", "staging", "done", "value", "error")

    def __init__(
        self,
        client: "Client",
        number: int,
        type: int,
        until: float,
        decode: "Callable",
        staging: "Any",
    ) -> None:
        self.client = client
        self.number = number
        self.type = type
        self.until = until
        self.decode = decode
        self.staging = staging
        self.done = False
        self.value: "Any" = None
        self.error: "Exception | None" = None

    def result(self) -> "Any":
        """Waits until the request is done, at the latest at its deadline, and returns its
        result or raises its error."""
        while not self.done:
            self.client._receive(self.until)
        if self.error is not None:
            raise self.error
        return self.value

    def _await(self) -> "Any":
        """result() for the one caller there is: where a signal's exception ends the wait, the
        outputs are the caller's again, and the request is cancelled, but for one that frees."""
        try:
            return self.result()
        except BaseException:
            self.decode = _ignored
            if not (self.done or self.type in (_RELEASE, _DELETE)) and self.client._usable():
                cancel = [pack("<Q", self.number)]
                try:
                    self.client._write(_CANCEL, cancel, self.until, _nothing, None)
                except Error:  # the session has ended
                    pass
            raise

    def cancel(self) -> None:
        """Asks the server to end the request. result() then raises an error of the name
        "cancelled", or returns, if it was done before."""
        if not self.done:
            self.client._call(_CANCEL, [pack("<Q", self.number)])

    def _finish(self, value: "Any", error: "Exception | None") -> None:
        self.value, self.error, self.done = value, error, True
        if self.staging is not None:
            self.staging.__exit__(type(error) if error else None)
            self.staging = None


# ---- The client ----


class Client:
    """A session of a server, made by connect. As a context manager it closes at the end."""

    session: int
    generation: int  # of the worker process: 1 more after each restart
    server: str  # version of the server
    device: str  # as OpenGL names it
    label: str  # of the driver, such as NVIDIA_H200
    fingerprint: bytes
    zero_copy: bool  # jobs use shared memory in place, and write it until they end
    ended: str  # why the worker before this one ended; empty where none did
    number: int  # of the session's device in the server, from 0
    devices: int  # that the server has
    uuid: str  # of the device; empty where the driver has none
    limits: "dict[str, int]"  # jobs, objects, memory, buffers, named; deadline, longest in ns

    def __init__(
        self, path: "str | None", timeout: "float | None", name: str, device: str, near: str
    ) -> None:
        self._timeout = _TIMEOUT if timeout is None else timeout
        self._compile_timeout = _COMPILE_TIMEOUT if timeout is None else timeout
        self._pid = os.getpid()
        self._last_request = 0
        self._last_id = 0
        self._pending: "dict[int, Future]" = {}
        self._in = bytearray(1 << 16)
        self._taken = self._have = 0
        self._end: "Error | None" = None
        self._spare: "list[Memory]" = []  # shared memory to be used again
        self._arrays: "dict[int, tuple[int, int, _Object]]" = {}  # address, size of those of empty
        self._dropped: "list[int]" = []  # arrays that were collected
        self._greeted = False
        self._alive = 0.0  # until when the server said that it goes on
        self._received = 0.0  # when its last bytes came
        self._span = 0.0  # the longest time that a request was given
        self._socket = _connect(path, self._timeout)
        try:
            hello = pack("<IHH", 0x43444853, PROTOCOL_VERSION, PROTOCOL_VERSION) + _text(name)
            if device or near:
                hello += _text(device) + _text(near)
            self._call(_HELLO, [hello], decode=self._welcome)
        except BaseException:
            self._hang_up()
            raise
        self._greeted = True

    def _welcome(self, r: _Reader) -> None:
        (version,) = r.unpack("<H", 2)
        if version != PROTOCOL_VERSION:
            text = f"the server speaks version {version} of the protocol, this client {PROTOCOL_VERSION}"
            raise _error("version", text, _SAME_RELEASE)
        self.session, self.generation = r.unpack("<QQ", 16)
        self.server, self.device, self.label = r.text(), r.text(), r.text()
        self.fingerprint = bytes(r.take(32))
        names = ("jobs", "objects", "memory", "buffers", "named", "deadline", "longest")
        self.limits = dict(zip(names, r.unpack("<2I5Q", 48)))
        self.zero_copy = r.flag()
        self.ended = r.text()
        self.number, self.devices = r.unpack("<2I", 8)
        self.uuid = r.text()
        r.take(60)  # what the GPU allows jobs: the server checks it

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends the session. The server frees what it had, except named buffers and plans."""
        if self._end is None:
            self._finish_all(_error("closed", "the client was closed"))

    # -- what users call

    def program(
        self,
        text: str,
        *,
        name: str = "",
        defines: "Mapping[str, object] | None" = None,
        final: bool = False,
    ) -> Program:
        """Loads a compute program: from the server's cache, else it is compiled.

        The server puts ``#version`` and the defines in front; with ``final`` the driver
        gets the text as it is. The name is a label for people.
        """
        return self._program(1 if final else 0, name, text.encode(), defines or {})

    def program_by_name(self, name: str) -> Program:
        """Returns the newest program of this name that a client gave to this server."""
        return self._program(2, name, b"", {})

    def _program(
        self, form: int, name: str, text: bytes, defines: "Mapping[str, object]"
    ) -> Program:
        p = Program(self, self._next_id())
        p.name, p._text = name, text and text + repr(defines).encode()  # none of one by name
        parts = [
            pack("<IB", p.id, form),
            _text(name),
            pack("<I", len(text)),
            text,
            _count(len(defines)),
        ]
        for key, value in defines.items():
            parts += [_text(key, 4096), _text(str(value), 4096)]
        try:
            return self._call(_PROGRAM, parts, decode=p._decode)
        except CompileError as e:
            e.program = name
            raise

    def memory(self, size: int) -> Memory:
        """Makes shared memory of size bytes, all zero."""
        return Memory(self, size)

    def empty(self, shape: "int | Sequence[int]", dtype: "Any" = "f4") -> "Any":
        """Returns a numpy array in shared memory: as input or output it is not copied."""
        import weakref

        import numpy

        dtype = numpy.dtype(dtype)
        shape = (shape,) if isinstance(shape, int) else tuple(shape)
        count = 1
        for n in shape:
            count *= n
        memory = Memory(self, max(1, count * dtype.itemsize))
        memory.view.release()
        array = numpy.frombuffer(memory._map, dtype, count)
        address = array.__array_interface__["data"][0]
        self._arrays[memory.id] = (address, memory.size, _Object(self, memory.id))
        # Every view of the array refers to the map, not to the array that it was made from.
        weakref.finalize(memory._map, self._dropped.append, memory.id).atexit = False
        return array.reshape(shape)

    def buffer(
        self, size: int = 0, *, name: str = "", create: bool = True, fresh: bool = False
    ) -> Buffer:
        """Makes or opens a buffer of size bytes on the device.

        Without a name it ends with the session. A named one outlives it: other clients open
        it by its name, with size 0 for any. ``fresh`` fails where the name exists; without
        ``create`` it must exist.
        """
        b = Buffer(self, self._next_id())
        b.size = size
        flags = (1 if create and size else 0) | (2 if fresh else 0)
        head = pack("<IB", b.id, flags) + _packed("size", "<Q", size)
        return self._call(_BUFFER, [head, _text(name)], decode=b._decode)

    def texture(
        self,
        width: int,
        height: int = 1,
        format: str = "rgba8",
        *,
        depth: int = 1,
        levels: int = 1,
        kind: str = "2d",
    ) -> Texture:
        """Makes a texture, which ends with the session. ``format`` is that of the image in
        GLSL, or of samplers alone: "srgb8_alpha8", "depth_component16" and
        "depth_component32f"; a shadow sampler needs one of the two. ``kind`` is "1d", "2d",
        "3d", "cube", "1d array", "2d array" or "cube array". ``depth`` counts the layers of
        an array, and the cubes of one of cubes."""
        if format not in _FORMATS:
            raise _usage(f"the format {format}", "give one of GLSL, such as rgba8 or r32f")
        kinds = ("1d", "2d", "3d", "cube", "1d array", "2d array", "cube array")
        shape = _number("kind", kind, kinds) + 1
        t = Texture(self, self._next_id())
        t.width, t.height, t.format = width, height, format
        head = pack("<IBB", t.id, shape, _FORMATS.index(format) + 1)
        sizes = (width, height, depth, levels)
        head += _packed("width, height, depth and levels", "<4q", *sizes)
        return self._call(_TEXTURE, [head], decode=t._decode)

    def plan(
        self,
        spec: str = "",
        *,
        name: str = "",
        create: bool = True,
        fresh: bool = False,
        exact: bool = False,
    ) -> Plan:
        """Makes or opens a plan: one layer a line, as docs/protocol.md has it.

        Without a spec it opens a named plan, which keeps its weights for other clients.
        ``create`` and ``fresh`` are as for a buffer; with ``exact`` no algorithm is chosen
        that errs by more than a sum of products does.
        """
        p = Plan(self, self._next_id())
        flags = (1 if create and spec else 0) | (2 if fresh else 0) | (4 if exact else 0)
        text = spec.encode()
        head = pack("<IB", p.id, flags) + _text(name)
        return self._call(_PLAN, [head, pack("<I", len(text)), text], decode=p._decode)

    def conv2d(
        self,
        input: "tuple[int, int, int, int]",
        kernels: "tuple[int, int, int]",
        *,
        stride: int = 1,
        pad: int = 0,
        dilation: int = 1,
        groups: int = 1,
        bias: bool = False,
        activation: str = "",
        name: str = "",
    ) -> Plan:
        """Makes a plan of one convolution: input N, C, H, W and kernels K, R, S."""
        spec = "conv2d:" + "x".join(map(str, input)) + "-%d,%dx%d" % tuple(kernels)
        for letter, value, usual in (
            ("s", stride, 1),
            ("p", pad, 0),
            ("d", dilation, 1),
            ("g", groups, 1),
        ):
            if value != usual:
                spec += f",{letter}{value}"
        return self.plan(
            spec + (",bias" if bias else "") + ("," + activation if activation else ""), name=name
        )

    def gemm(
        self,
        m: int,
        n: int,
        k: int,
        *,
        transpose_a: bool = False,
        transpose_b: bool = False,
        alpha: float = 1,
        bias: str = "",
        activation: str = "",
        name: str = "",
    ) -> Plan:
        """Makes a plan of one matrix product: A of m x k is the input, B of k x n the
        weights. ``bias`` is "row" or "column"."""
        spec = f"gemm:{m}x{n}x{k}" + (",ta" if transpose_a else "") + (",tb" if transpose_b else "")
        spec += (f",alpha{alpha!r}" if alpha != 1 else "") + (f",{bias}-bias" if bias else "")
        return self.plan(spec + ("," + activation if activation else ""), name=name)

    def run(
        self,
        work: "Work",
        *,
        inputs: "Mapping[int, Data] | None" = None,
        outputs: "Mapping[int, Data | int] | None" = None,
        counters: "Mapping[int, Data] | None" = None,
        deadline: "float | None" = None,
    ) -> "dict[int, Any]":
        """Runs dispatches, each after the writes of the one before, and waits for them.

        ``inputs`` are the bytes of storage blocks by their binding. ``outputs`` are the
        places for theirs: an array is filled, for a number that many bytes are returned.
        ``counters`` are atomic counters by their binding: an array of words, which start as
        they are and are filled, or the rest of a buffer. Returns the outputs by their
        binding. ``deadline`` is in seconds; without one the server's own holds.
        """
        return self.submit(
            work, inputs=inputs, outputs=outputs, counters=counters, deadline=deadline
        )._await()

    def submit(
        self,
        work: "Work",
        *,
        inputs: "Mapping[int, Data] | None" = None,
        outputs: "Mapping[int, Data | int] | None" = None,
        counters: "Mapping[int, Data] | None" = None,
        deadline: "float | None" = None,
    ) -> Future:
        """Starts a job; result() of the future is what run returns. Arrays of inputs may
        be changed at once, except those in shared memory."""
        inputs, outputs = inputs or {}, outputs or {}
        dispatches = [work] if isinstance(work, Dispatch) else list(work)
        if not dispatches:
            raise _usage("a job without dispatches")
        programs = [d.keep[0] for d in dispatches]
        for d in dispatches:
            d._check(self)
        for data in (counters or {}).values():
            _check_client(self, data)
        for what, operands in (("input", inputs), ("output", outputs)):
            for binding, data in operands.items():
                _check_elements(f"{what} {binding}", data, programs)
        with _Staging(self) as s:
            reads = [(binding, s.read(data)) for binding, data in inputs.items()]
            writes = [(binding, s.write(data)) for binding, data in outputs.items()]
            s.fill()
            parts = [pack("<Q", _nanoseconds(deadline))]
            for operands in (reads, writes):
                parts.append(_count(len(operands)))
                for binding, encode in operands:
                    parts += [_binding(binding), b"\0", *encode()]
            parts.append(_count(len(dispatches)))
            parts += [d.encoded for d in dispatches]
            parts += [b"\4", _count(len(counters))] if counters else [b"\0"]
            for binding, data in (counters or {}).items():
                words, wrong = 0, data.size if isinstance(data, Range) else 0
                if not isinstance(data, (Buffer, Range)):
                    s.counters.append(_bytes_of(data))
                    words, wrong = divmod(s.counters[-1].nbytes, 4)
                if wrong:
                    raise _usage(
                        f"counters {binding} are neither words nor the rest of a buffer",
                        "give an array of uint32, or buffer.range(offset)",
                    )
                parts += [_binding(binding), _inline_or_buffer(data), pack("<I", words)]
            bindings = list(outputs)
            keep = (inputs, outputs, counters, [d.keep for d in dispatches])
            return s.submit(
                _JOB, parts, deadline, lambda results: dict(zip(bindings, results)), keep
            )

    def _copy(
        self, data: "Data", device: bytes, tail: bytes, deadline: "float | None", writes: bool
    ) -> "tuple[int, list]":
        """Copies data to what is encoded of the device, or from there to data. Returns the version
        of the buffer, and the outputs."""
        with _Staging(self) as s:
            host = s.read(data) if writes else s.write(data)
            s.fill()
            sides = [*host(), device] if writes else [device, *host()]
            parts = [pack("<Q", _nanoseconds(deadline)), *sides, tail]
            return self._call(_COPY, parts, deadline=deadline, decode=s.copied)

    def delete_buffer(self, name: str) -> None:
        """Removes the name of a buffer. Sessions that have it open keep it."""
        self._call(_DELETE, [pack("<B", _KIND_BUFFER) + _text(name)])

    def delete_plan(self, name: str) -> None:
        """Removes the name of a plan. Sessions that have it open keep it."""
        self._call(_DELETE, [pack("<B", _KIND_PLAN) + _text(name)])

    def status(self) -> "dict[str, Any]":
        """Returns the server's counters."""
        import json

        text = self._call(_STATUS, [], decode=lambda r: bytes(r.data()))
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            raise self._bad_answer("a status that is not JSON") from None

    # -- shared memory that this file manages

    def _next_id(self) -> int:
        self._last_id += 1
        return self._last_id

    def _find_shared(self, data: "Data") -> "Range | None":
        """Returns the range of an array that lies in shared memory of empty."""
        if not self._arrays:
            return None
        interface = getattr(data, "__array_interface__", None)
        if interface is None:
            return None
        if self._dropped:
            self._release_dropped()  # their addresses may have been used again
        address, size = interface["data"][0], _view(data).nbytes
        for start, length, memory in self._arrays.values():
            if start <= address and address + size <= start + length:
                return Range(memory, _PLACE_MEMORY, address - start, size)
        return None

    def _check_process(self) -> None:
        if self._pid != os.getpid():
            raise Error(
                "forked", "this client belongs to the process that opened it", "connect after fork"
            )

    def _borrow(self, size: int) -> Memory:
        self._check_process()  # which shares the memory with what it forked
        for i, memory in enumerate(self._spare):
            if memory.size >= size:
                return self._spare.pop(i)
        return Memory(self, 1 << (size - 1).bit_length(), self.zero_copy)

    def _give_back(self, memory: Memory, reuse: bool) -> None:
        if self._end is None:
            kept = sum(m.size for m in self._spare) + memory.size
            if reuse and len(self._spare) < 4 and kept <= _MAX_SPARE:
                self._spare.append(memory)
            else:
                self._dropped.append(memory.id)

    def _release_dropped(self) -> None:
        while self._dropped and self._usable():
            id = self._dropped.pop()
            self._arrays.pop(id, None)
            self._write(_RELEASE, [pack("<BI", _KIND_MEMORY, id)], self._later(), _nothing, None)

    # -- frames

    def _usable(self) -> bool:
        return self._end is None and self._pid == os.getpid()

    def _later(self) -> float:
        """What has no deadline of its own may wait for the jobs before it."""
        return max([monotonic() + self._timeout] + [f.until for f in self._pending.values()])

    def _left(self, until: float) -> float:
        """Returns the seconds until a server counts as dead that was to answer until then: not
        right after it sent, where the rest may be on its way."""
        rest = self._received + min(_GRACE, self._timeout)
        return max(0, min(max(until, self._alive, rest) - monotonic(), _LONGEST_WAIT))

    def _until(self, deadline: "float | None") -> float:
        longest = self.limits["longest"] / 1e9
        seconds = self.limits["deadline"] / 1e9 if deadline is None else deadline
        span = min(seconds, longest) + _GRACE
        self._span = max(self._span, span)
        return monotonic() + span

    def _call(
        self,
        type: int,
        parts: list,
        *,
        decode: "Callable[[_Reader], Any]" = _nothing,
        deadline: "float | None" = -1,
        compiles: bool = True,
        descriptor: int = -1,
    ) -> "Any":
        """Sends a request and returns what decode makes of its reply. A deadline of -1 is
        that of requests that have none."""
        if compiles and type in (_PROGRAM, _MEMORY, _BUFFER, _PLAN, _TEXTURE):
            until = max(self._later(), monotonic() + self._compile_timeout)
        else:
            until = self._later() if deadline == -1 else self._until(deadline)
        return self._send(type, parts, until, decode, None, descriptor)._await()

    def _send(
        self,
        type: int,
        parts: list,
        until: float,
        decode: "Callable",
        staging: "Any",
        descriptor: int = -1,
    ) -> Future:
        self._check_process()
        if self._end is not None:
            raise self._end.with_traceback(None)  # else each raise would add to it
        if self._dropped:
            self._release_dropped()
        return self._write(type, parts, until, decode, staging, descriptor)

    def _write(
        self,
        type: int,
        parts: list,
        until: float,
        decode: "Callable",
        staging: "Any",
        descriptor: int = -1,
    ) -> Future:
        body = b"".join(parts)
        if len(body) > MAX_BODY:
            raise _usage(f"a request of {len(body)} bytes, at most {MAX_BODY} are allowed")
        self._last_request += 1
        future = Future(self, self._last_request, type, until, decode, staging)
        self._pending[future.number] = future
        try:
            self._put(_HEADER.pack(len(body), type, 0, future.number) + body, descriptor, until)
        except BaseException:
            # A part of the frame may have been sent: nothing can follow it.
            if self._end is None:
                self._finish_all(_error("closed", "a request was interrupted", "connect again"))
            raise
        return future

    def _put(self, frame: bytes, descriptor: int, until: float) -> None:
        """Sends a frame. Replies that arrive meanwhile are taken: a server whose replies
        are not read stops reading."""
        s = self._socket
        s.settimeout(0)
        files = (
            [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, pack("i", descriptor))]
            if descriptor >= 0
            else []
        )
        rest = memoryview(frame)
        while rest:
            try:
                n = s.sendmsg([rest], files, _socket.MSG_NOSIGNAL)
                rest, files = rest[n:], []
            except BlockingIOError:
                self._wait_for_room(until)
            except (BrokenPipeError, ConnectionResetError):
                self._final_error()
            except OSError as e:
                raise self._finish_all(_error("closed", f"send: {e}", "connect again"))

    def _wait_for_room(self, until: float) -> None:
        import select

        poll = select.poll()
        poll.register(self._socket.fileno(), select.POLLIN | select.POLLOUT)
        events = poll.poll(self._left(until) * 1000)
        if not events:
            raise self._timed_out()
        if events[0][1] & select.POLLIN and not self._take():
            self._fill(until)
            while self._take():
                pass
            self._socket.settimeout(0)

    def _final_error(self) -> None:
        """Reads what the server sent before it closed, and raises that it did."""
        until = monotonic() + 1
        while self._end is None:
            self._receive(until)
        raise self._end

    def _receive(self, until: float) -> None:
        """Waits for the next frame and completes its request."""
        self._check_process()
        while self._end is None and not self._take():
            self._fill(until)

    def _fill(self, until: float) -> None:
        """Reads what the socket has, and waits for at least one byte. What has come counts,
        also where the caller asks for it late."""
        try:
            self._socket.settimeout(self._left(until))
            n = self._socket.recv_into(memoryview(self._in)[self._have :])
        except (_socket.timeout, TimeoutError, BlockingIOError):
            raise self._timed_out() from None
        except ConnectionError:
            n = 0
        if n == 0:
            raise self._finish_all(self._closed())
        self._have += n
        self._received = monotonic()

    def _closed(self) -> Error:
        if self._greeted:
            hint = "connect again: the new client's attribute ended has the reason"
            return _error("closed", "the server closed the connection without an error", hint)
        hint = "connect again: it may have ended just now, and serves only its own user"
        return _error("closed", "the server closed the connection", hint)

    def _timed_out(self) -> Error:
        return self._finish_all(
            _error("timeout", "the server does not answer", "it hangs or is stopped: restart it")
        )

    def _take(self) -> bool:
        """Takes one frame from the input and completes its request. Returns False, and
        makes room, where it has not arrived yet."""
        have = self._have - self._taken
        if have < 16:
            self._room(1 << 16)
            return False
        size, type, flags, request = _HEADER.unpack_from(self._in, self._taken)
        if size > MAX_BODY or flags != 0:
            raise self._bad_answer("what is not a frame")
        if have < 16 + size:
            self._room(16 + size)
            return False
        start = self._taken + 16
        self._taken = start + size
        with memoryview(self._in)[start : start + size] as body:
            self._complete(type, request, body)
        return True

    def _room(self, size: int) -> None:
        if self._taken:
            rest = self._in[self._taken : self._have]
            self._in[: len(rest)] = rest
            self._taken, self._have = 0, len(rest)
        if size > len(self._in):
            self._in += bytes(size - len(self._in))

    def _complete(self, type: int, request: int, body: memoryview) -> None:
        if type == _WAKE and request == 0:
            # It says so every 3 s; what it has not received has its deadline then.
            self._alive = monotonic() + max(10, self._span)
            return
        future = self._pending.get(request)
        try:
            reader = _Reader(body)
            if type == _REPLY and (future is not None or request == 0):
                self._failed(future, reader)
                return
            if future is None:
                raise _Malformed("a reply to no request")
            if type != future.type | _REPLY:
                raise _Malformed("a reply of another type than its request")
            value, error = self._decoded(future, reader)
        except _Malformed as e:
            raise self._bad_answer(str(e)) from None
        del self._pending[request]
        future._finish(value, error)

    def _decoded(self, future: Future, reader: _Reader) -> "tuple[Any, Exception | None]":
        try:
            value = future.decode(reader)
            reader.end()
            return value, None
        except _Malformed:
            raise
        except Error as e:  # the welcome of another version
            raise self._finish_all(e)
        except Exception as e:  # an output that does not take its bytes any more
            return None, e

    def _failed(self, future: "Future | None", r: _Reader) -> None:
        (code,) = r.unpack("<H", 2)
        message, hint = (str(r.data(), "utf-8", "replace") for _ in range(2))
        r.end()
        if code == 0:
            raise _Malformed("an error without a code")
        error = _error(_CODES[code] if code < len(_CODES) else "unknown", message, hint)
        if future is None or code in (1, 2, 12):
            self._finish_all(error)
            return
        del self._pending[future.number]
        future._finish(None, error)

    def _hang_up(self) -> None:
        if self._pid == os.getpid() and self._socket.fileno() >= 0:
            try:  # a process that was forked has the socket too
                self._socket.shutdown(_socket.SHUT_RDWR)
            except OSError:
                pass
        self._socket.close()

    def _bad_answer(self, what: str) -> Error:
        return self._finish_all(_error("protocol", "the server sent " + what, _SAME_RELEASE))

    def _finish_all(self, error: Error) -> Error:
        """Ends the session: each request that is unanswered fails with the error."""
        self._end = error
        self._hang_up()
        pending, self._pending = self._pending, {}
        for future in pending.values():
            future._finish(None, error)
        self._spare.clear()
        self._arrays.clear()
        return error


# ---- Where the server is ----


def connect(
    path: "str | None" = None,
    *,
    timeout: "float | None" = None,
    name: str = "python",
    device: "int | str" = "",
    near: str = "",
) -> Client:
    """Connects to the server at the socket path: by default $SHADERCACHE_SERVER, else the
    default place. Raises NoServer where none listens.

    ``timeout``, in seconds, bounds requests without a deadline: by default 60 s, and 11
    minutes for those that make an object, which may wait for a compile. Jobs, copies, runs and
    weights have a deadline, by default the server's 30 s, and are waited for 5 s longer. Beyond
    it the server counts as dead, and the session ends. ``name`` is for the server's status.

    ``device`` is one of a server with several: its number, from 0, or its UUID. Raises
    NotFound where no such device serves. Without it the session is on the device that has the
    named buffer ``near``, if there is one, else on the one with the fewest sessions.
    """
    return Client(path, timeout, name, str(device), near)


def _connect(path: "str | None", timeout: float) -> "Any":
    path = path or _find_socket()
    if not path.startswith("/"):
        hint = "give an absolute path, or auto, start or off in SHADERCACHE_SERVER"
        raise _usage(f'the path of the socket is "{path}"', hint)
    if len(os.fsencode(path)) > 107:
        raise _usage("the path of the socket is too long", "give a path of at most 107 bytes")
    s = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM | _socket.SOCK_CLOEXEC)
    s.settimeout(min(timeout, _LONGEST_WAIT))
    until = monotonic() + timeout
    try:
        while True:
            try:
                s.connect(path)
                return s
            except BlockingIOError:  # too many wait for the server to accept them
                if monotonic() > until:
                    raise
                sleep(0.01)
    except (_socket.timeout, TimeoutError, BlockingIOError):
        s.close()
        raise _error(
            "timeout", "the server does not answer", "it hangs or is stopped: restart it"
        ) from None
    except OSError as e:
        s.close()
        reason = e.strerror or e  # a path that is too long has no strerror
        raise _error(
            "no server", f"no server at {path}: {reason}", "start one: shadercache serve"
        ) from None


def _find_socket() -> str:
    path = os.environ.get("SHADERCACHE_SERVER", "")
    if path == "off":
        raise _error("no server", "SHADERCACHE_SERVER is off", "unset it, or give a path")
    if path not in ("", "auto", "start"):
        return path
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    if runtime and runtime.startswith("/"):
        return runtime + "/shadercache/socket"
    dir = f"/tmp/shadercache-{os.getuid()}"
    _check_directory(dir)
    return dir + "/socket"


def _check_directory(dir: str) -> None:
    """Checks the directory of the default place: every user can write to /tmp."""
    try:
        s = os.lstat(dir)
    except OSError as e:
        raise _error(
            "no server", f"no server: {dir}: {e.strerror}", "start one: shadercache serve"
        ) from None
    if s.st_mode & 0o170077 != 0o040000 or s.st_uid != os.getuid():
        message = f"{dir} is not a directory that only this user can use"
        raise _error("no server", message, "remove it, and start the server again")
