#!/usr/bin/env python3
"""Times of cuBLAS and cuDNN for shapes of shadercache, through PyTorch.

    python3 lab/bench/peers/peers.py gemm:1024x1024x1024 conv2d:1x64x56x56-64,3x3,p1

prints {SHAPE: {"peer": NAME, "ms": MILLISECONDS, "least_ms": ..., "most_ms": ...}}:
median, shortest and longest batch. In one command with shadercache:

    shadercache-lab bench gemm --peer-command "python3 lab/bench/peers/peers.py"

All of it is float32 with TF32 off and cuDNN's benchmark mode on, which tries its
algorithms first. A figure is the median of batches between CUDA events, with the
calls of a batch captured in a CUDA graph, so that Python's time is not part of it.
The GPU is kept busy before, and measured again until the times no longer drop, as
shadercache does: an idle GPU runs at a fraction of its clock. Tensors are contiguous
NCHW, and the same from run to run. A bias, an activation, alpha and beta are part of
the peer's call where it has a parameter for them (addmm, conv2d's bias), else a call
of their own.
"""

import json
import re
import statistics
import sys
import time

import torch

BATCHES = 9
BATCH_MS = 5.0
MAX_CALLS = 200

# As in conv2d/tune_bench.go.
WAKE_S = 0.150
SETTLE_S = 0.100
SETTLED = 0.97
MAX_ROUNDS = 8

ACTIVATIONS = {
    "relu": torch.relu,
    "tanh": torch.tanh,
    "silu": torch.nn.functional.silu,
    "sigmoid": torch.sigmoid,
}


def parts_of(words):
    """Returns the parts of a shape behind its sizes, by name."""
    parts = {}
    for word in words:
        if word in ACTIVATIONS:
            parts["activation"] = ACTIVATIONS[word]
        elif word in ("ta", "tb", "bias", "row-bias", "column-bias"):
            parts[word] = True
        else:
            name, value = re.fullmatch(r"(batch|alpha|beta|ld[abc]|[spdg])(.+)", word).groups()
            parts[name] = value
    return parts


def two(text, default):
    """Returns a number for both sides, or two as in 2x1."""
    if text is None:
        return (default, default)
    numbers = [int(v) for v in text.split("x")]
    return tuple(numbers * 2) if len(numbers) == 1 else tuple(numbers)


def random(*sizes):
    return torch.rand(*sizes, device="cuda") - 0.5


def matrix(rows, columns, ld, batch, stride):
    """Returns a matrix, or a batch of them, with the shape's memory layout."""
    ld = ld or columns
    storage = random((batch - 1) * stride + rows * ld)
    if batch == 1:
        return torch.as_strided(storage, (rows, columns), (ld, 1))
    return torch.as_strided(storage, (batch, rows, columns), (stride, ld, 1))


def gemm(sizes, parts):
    m, n, k = (int(v) for v in sizes.split("x"))
    batch, *strides = (int(v) for v in parts.get("batch", "1:0:0:0").split(":"))
    ld = {name: int(parts.get(name, 0)) for name in ("lda", "ldb", "ldc")}
    a = matrix(*((k, m) if "ta" in parts else (m, k)), ld["lda"], batch, strides[0])
    b = matrix(*((n, k) if "tb" in parts else (k, n)), ld["ldb"], batch, strides[1])
    c = matrix(m, n, ld["ldc"], batch, strides[2])
    if "ta" in parts:
        a = a.transpose(-1, -2)
    if "tb" in parts:
        b = b.transpose(-1, -2)
    alpha, beta = float(parts.get("alpha", 1)), float(parts.get("beta", 0))
    row, column = random(m, 1), random(n)
    activation = parts.get("activation")

    def call():
        if "column-bias" in parts and batch == 1 and beta == 0:
            out = torch.addmm(column, a, b, alpha=alpha)
        elif beta != 0 or alpha != 1:
            add = torch.addmm if batch == 1 else torch.baddbmm
            out = add(c, a, b, alpha=alpha, beta=beta)
            if "column-bias" in parts:
                out = out + column
        else:
            out = torch.matmul(a, b)
            if "column-bias" in parts:
                out = out + column
        if "row-bias" in parts:
            out = out + row
        return activation(out) if activation else out

    return "cuBLAS", call


def conv2d(words):
    sizes, filters = words[0].split("-")
    n, c, h, w = (int(v) for v in sizes.split("x"))
    r, s = (int(v) for v in words[1].split("x"))
    parts = parts_of(words[2:])
    groups = int(parts.get("g", 1))
    x, weights = random(n, c, h, w), random(int(filters), c // groups, r, s)
    bias = random(int(filters)) if "bias" in parts else None
    options = {
        "stride": two(parts.get("s"), 1),
        "padding": two(parts.get("p"), 0),
        "dilation": two(parts.get("d"), 1),
        "groups": groups,
    }
    activation = parts.get("activation")

    def call():
        out = torch.nn.functional.conv2d(x, weights, bias, **options)
        return activation(out) if activation else out

    return "cuDNN", call


def elapsed(work):
    """Returns the milliseconds of work on the GPU."""
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record()
    work()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end)


def captured(call, calls):
    """Returns a function that makes the calls, as a CUDA graph if possible."""
    try:
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            for _ in range(calls):
                call()
        return graph.replay
    except RuntimeError as reason:
        print(f"peers.py: no graph, so the times include Python's: {reason}", file=sys.stderr)
        torch.cuda.synchronize()
        return lambda: [call() for _ in range(calls)]


def keep_busy(work, seconds):
    begin = time.monotonic()
    while time.monotonic() - begin < seconds:
        work()
        torch.cuda.synchronize()


def settled(work):
    """Returns the times of batches once another round is not faster."""
    keep_busy(work, WAKE_S)
    figures = [elapsed(work) for _ in range(BATCHES)]
    for _ in range(MAX_ROUNDS):
        keep_busy(work, SETTLE_S)
        again = [elapsed(work) for _ in range(BATCHES)]
        last, figures = figures, min(figures, again, key=statistics.median)
        if statistics.median(again) > SETTLED * statistics.median(last):
            break
    return figures


def measure(call):
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):  # work that a capture does not allow runs first
        for _ in range(5):
            call()
    torch.cuda.synchronize()
    once = min(elapsed(call) for _ in range(3))
    calls = int(max(1, min(MAX_CALLS, BATCH_MS / max(once, 1e-3))))
    work = captured(call, calls)
    work()
    torch.cuda.synchronize()
    figures = settled(work)
    return {
        "ms": statistics.median(figures) / calls,
        "least_ms": min(figures) / calls,
        "most_ms": max(figures) / calls,
    }


def main():
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    torch.backends.cudnn.benchmark = True
    torch.set_grad_enabled(False)
    torch.manual_seed(0)
    times = {}
    for shape in sys.argv[1:]:
        kind, text = shape.split(":", 1)
        words = text.split(",")
        peer, call = conv2d(words) if kind == "conv2d" else gemm(words[0], parts_of(words[1:]))
        times[shape] = {"peer": peer, **measure(call)}
        del call
        torch.cuda.empty_cache()
    json.dump(times, sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
