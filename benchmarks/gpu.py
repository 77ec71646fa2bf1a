"""How fast is minigrad on a GPU? `python -m benchmarks.gpu [--out FILE] [--device cuda|cpu] [--tiny] [--only WORD]`.

Steps of training (an MLP, a CNN, a block of a transformer, a small model with and without a CUDA graph) and single ops,
in minigrad and in PyTorch, each in a process of its own on the same GPU, with the same weights and data. Both compute
float32 products in float32 (TF32 is off), and PyTorch's attention takes its path of plain products. The losses of three
steps are compared before anything is timed. Times are medians between CUDA events, and end when the GPU has done the
work; beside them stand the most bytes that a step held. Writes benchmarks/results/gpu-CARD-DATE.json.

`--device cpu --tiny` is for testing this file, and measures nothing that counts.
"""

from __future__ import annotations

import argparse
import contextlib
import datetime
import importlib
import json
import os
import re
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.timing import Process

RESULTS = Path(__file__).parent / "results"
LIBRARIES = ("minigrad", "torch")
Run = Callable[[], Any]


def filled(lib: Any, model: Any, device: str) -> Any:
    """A model whose weights are the same in both libraries, on the device."""
    draw = np.random.default_rng(0)
    with lib.no_grad():
        for p in model.parameters():
            values = draw.standard_normal(tuple(p.shape)) / np.sqrt(max(np.prod(p.shape[1:]), 1)) * 0.5
            p.copy_(lib.tensor(values.astype(np.float32)))
    return model.to(device)


def data(lib: Any, device: str, *shape: int, classes: int = 0) -> Any:
    """Input, or classes as labels, the same in both libraries."""
    draw = np.random.default_rng(1)
    values = draw.integers(0, classes, shape) if classes else draw.standard_normal(shape).astype(np.float32)
    return lib.tensor(values).to(device)


def training(lib: Any, model: Any, x: Any, loss_of: Callable[[Any], Any], keep: bool = False) -> Run:
    """A step of SGD with momentum; gives the loss. `keep`: the memory of gradients stays the same."""
    optimizer = lib.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)

    def step() -> Any:
        optimizer.zero_grad(set_to_none=not keep)
        loss = loss_of(model(x))
        loss.backward()
        optimizer.step()
        return loss

    return step


def mlp(lib: Any, device: str, tiny: bool, keep: bool = False, width: int = 4096, batch: int = 8192) -> Run:
    """Two hidden layers of 4,096, a batch of 8,192."""
    width, batch = (16, 8) if tiny else (width, batch)
    nn = lib.nn
    model = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 10))
    y = data(lib, device, batch, classes=10)
    return training(lib, filled(lib, model, device), data(lib, device, batch, width),
                    lambda out: nn.functional.cross_entropy(out, y), keep)


def cnn(lib: Any, device: str, tiny: bool) -> Run:
    """Three convolutions of 64 to 256 channels on 256 images of 32 × 32."""
    width, batch, side = (4, 2, 8) if tiny else (64, 256, 32)
    nn = lib.nn
    layers = [layer for a, b in ((3, width), (width, 2 * width), (2 * width, 4 * width))
              for layer in (nn.Conv2d(a, b, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2))]
    model = nn.Sequential(*layers, nn.Flatten(), nn.Linear(4 * width * (side // 8) ** 2, 10))
    y = data(lib, device, batch, classes=10)
    return training(lib, filled(lib, model, device), data(lib, device, batch, 3, side, side),
                    lambda out: nn.functional.cross_entropy(out, y))


def block(lib: Any, device: str, tiny: bool) -> Run:
    """A transformer's layer: 1,024 wide, 16 heads, 8 texts of 1,024 tokens."""
    width, heads, batch, length = (16, 2, 2, 6) if tiny else (1024, 16, 8, 1024)
    model = lib.nn.TransformerEncoderLayer(width, heads, 4 * width, 0.0, "gelu", batch_first=True, norm_first=True)
    return training(lib, filled(lib, model, device), data(lib, device, batch, length, width),
                    lambda out: (out * out).mean())


def small(lib: Any, device: str, tiny: bool) -> Run:
    """An MLP of 64, a batch of 64: what Python costs."""
    return mlp(lib, device, tiny, True, 64, 64)


def small_graph(lib: Any, device: str, tiny: bool) -> Run:
    """The same in a CUDA graph; on the CPU there is none, and nothing is compared."""
    step = small(lib, device, tiny)
    if device == "cpu":
        return step
    side = contextlib.nullcontext()
    if lib.__name__ == "torch":  # it wants its first steps on another stream
        stream = lib.cuda.Stream()
        stream.wait_stream(lib.cuda.current_stream())
        side = lib.cuda.stream(stream)
    with side:
        first = [step() for _ in range(3)]
    lib.cuda.synchronize()
    graph, held = lib.cuda.CUDAGraph(), [first]
    with lib.cuda.graph(graph):
        held.append(step())

    def replay() -> Any:
        graph.replay()
        return held[-1]

    return replay


def ops(lib: Any, device: str, tiny: bool) -> Run:
    """A chain of 300 ops on one element, forward and backward: what an op costs."""
    x = lib.full((1,), 0.5, requires_grad=True, device=device)
    w = lib.full((1,), 0.9, requires_grad=True, device=device)

    def run() -> Any:
        x.grad = w.grad = None
        y = x
        for _ in range(100):
            y = (y * w + w).tanh()
        y.backward()
        return x.grad

    return run


WORKLOADS: dict[str, Callable[[Any, str, bool], Run]] = {
    "mlp": mlp, "cnn": cnn, "transformer block": block, "small mlp": small, "small mlp, graph": small_graph,
    "300 small ops": ops,
}


def peak(lib: Any, device: str, run: Run) -> int | None:
    """The most bytes on the GPU during a run."""
    if device == "cpu":
        return None
    lib.cuda.reset_peak_memory_stats()
    run()
    lib.cuda.synchronize()
    return int(lib.cuda.max_memory_allocated())


def milliseconds(lib: Any, device: str, run: Run) -> float:
    """How long a run takes, until the GPU has done it."""
    if device == "cpu":
        begun = time.perf_counter()
        run()
        return (time.perf_counter() - begun) * 1e3
    start, end = lib.cuda.Event(enable_timing=True), lib.cuda.Event(enable_timing=True)
    start.record()
    run()
    end.record()
    end.synchronize()
    return float(start.elapsed_time(end))


def answer(lib: Any, order: dict[str, Any], kept: dict[str, Run]) -> Any:
    """What a worker does: make a workload and run it three times, or time what it made."""
    name, device = order["name"], order["device"]
    if order["do"] == "check":
        kept.clear()
        kept[name] = WORKLOADS[name](lib, device, order["tiny"])
        return [float(np.sum(kept[name]().detach().cpu().numpy())) for _ in range(3)]
    run = kept[name]
    times = [milliseconds(lib, device, run) for _ in range(order["repeats"])]
    return {"ms": statistics.median(times), "least": min(times), "peak bytes": peak(lib, device, run)}


def serve(library: str) -> None:
    """Take orders from stdin, a line of JSON each, and answer on stdout."""
    lib, kept = importlib.import_module(library), dict[str, Run]()
    exact: Any = contextlib.nullcontext()
    if library == "torch":
        lib.backends.cuda.matmul.allow_tf32 = lib.backends.cudnn.allow_tf32 = False
        attention = importlib.import_module("torch.nn.attention")
        exact = attention.sdpa_kernel(attention.SDPBackend.MATH)
    card = lib.cuda.get_device_name() if lib.cuda.is_available() else None
    print(json.dumps({"version": str(lib.__version__), "card": card}), flush=True)
    with exact:
        for line in sys.stdin:
            print(json.dumps(answer(lib, json.loads(line), kept)), flush=True)


class Worker(Process):
    """A library in a process of its own, as a context."""

    def __init__(self, library: str) -> None:
        environment = {name: value for name, value in os.environ.items() if name != "CUPY_TF32"}
        super().__init__("benchmarks.gpu", "--serve", library, env=environment)
        self.about = self.answer()


def compared(workers: dict[str, Worker], name: str, given: argparse.Namespace) -> dict[str, Any]:
    """One row.

    Raises:
        AssertionError: if the libraries do not compute the same.
    """
    common = {"name": name, "device": given.device, "tiny": given.tiny}
    losses = [worker.order(do="check", **common) for worker in workers.values()]
    np.testing.assert_allclose(*losses, rtol=2e-3, err_msg=f"{name}: the libraries differ")
    row: dict[str, Any] = {"name": name, "losses": losses[0]}
    for library, worker in workers.items():
        row[library] = worker.order(do="time", repeats=2 if given.tiny else 30, **common)
    row["ratio"] = row["minigrad"]["ms"] / row["torch"]["ms"]
    return row


def told(row: dict[str, Any]) -> str:
    """A row as a line of text."""
    figures = [f"{library} {row[library]['ms']:9.3f} ms" + (f", {row[library]['peak bytes'] / 2**20:,.0f} MiB"
               if row[library]["peak bytes"] is not None else "") for library in LIBRARIES]
    return f"{row['name']:<20} {row['ratio']:6.2f}   ({'; '.join(figures)})"


def main(arguments: list[str] | None = None) -> int:
    """Compare, measure, print, write."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu", description=str(__doc__).splitlines()[0])
    parser.add_argument("--out", type=Path, help="the JSON file to write")
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda")
    parser.add_argument("--tiny", action="store_true", help="sizes that measure nothing")
    parser.add_argument("--only", default="", help="the rows whose names hold this word")
    parser.add_argument("--serve", choices=LIBRARIES, help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    if given.serve:
        serve(given.serve)
        return 0
    with contextlib.ExitStack() as stack:
        workers = {library: stack.enter_context(Worker(library)) for library in LIBRARIES}
        about = {library: worker.about for library, worker in workers.items()}
        missing = [library for library in LIBRARIES if given.device == "cuda" and about[library]["card"] is None]
        if missing:
            print(f"no GPU is there for {' and '.join(missing)}: see docs/gpu.md", file=sys.stderr)
            return 2
        rows = []
        for name in [each for each in WORKLOADS if given.only in each]:
            rows.append(compared(workers, name, given))
            print(told(rows[-1]), flush=True)
    card = re.sub(r"\W+", "-", str(about["minigrad"]["card"] or given.device)).lower()
    out = given.out or RESULTS / f"gpu-{card}-{datetime.date.today().isoformat()}.json"
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps({"about": about, "rows": rows}, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
