"""How fast is minigrad on a GPU? `python -m benchmarks.gpu [--all] [--out FILE] [--only WORD]`.

Steps of training (an MLP, a CNN, a block of a transformer, the same checkpointed, a small model) and a chain of small
ops, eagerly and in a CUDA graph, in minigrad and in PyTorch, each in a process of its own on the same GPU, with the
same weights and data. Both compute
float32 products in float32 (TF32 is off), and PyTorch's attention takes its path of plain products. The losses of three
steps are compared before anything is timed. Times are medians between CUDA events, and end when the GPU has done the
work; beside them stand the most bytes that a step held. Writes benchmarks/results/gpu-CARD-DATE.json after each row; a
row that fails stands there with its error, and the others go on. Without a PyTorch that finds the GPU, minigrad's own
figures are all there is. Then four of PyTorch's steps are recorded at each level of detail, as the inspector does it:
how long they take then, and the most bytes on the GPU.

`--all` is for a card that is rented: first the tests for GPUs, for 270 seconds at most, their output in a file of the
same name that ends in .log; then this, for 200 seconds at most.

`--device cpu --tiny` is for testing this file, and measures nothing that counts.
"""

from __future__ import annotations

import argparse
import contextlib
import datetime
import functools
import importlib.util
import json
import math
import os
import re
import signal
import statistics
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.timing import Process

ROOT = Path(__file__).parents[1]
RESULTS = Path(__file__).parent / "results"
LIBRARIES = ("minigrad", "torch")
FOR_TESTS, FOR_ROWS, FOR_ORDER = 270, 200, 60  # seconds: with --all, for the tests and for all rows; for one answer
TESTS = ("tests/device/test_gpu.py", "tests/device/test_gpu_lessons.py", "tests/parity/trace/test_devices.py")
RECORDED = ("small mlp", "mlp", "transformer block", "checkpointed block")  # also while PyTorch is recorded
IN_GRAPHS = ("300 small ops", "small mlp", "mlp", "transformer block", "checkpointed block")
# What is asked of minigrad: the row, the figure, the row of PyTorch's that it is measured by, and the multiple at most.
TARGETS = (*[(name, "ms", name, 1.5) for name in IN_GRAPHS if name != "small mlp"],
           *[(f"{name}, graph", "ms", name, 1.0) for name in IN_GRAPHS],
           *[(name, "peak bytes", name, 1.1) for name in ("mlp", "cnn", "transformer block", "checkpointed block")])
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


def block(lib: Any, device: str, tiny: bool, keep: bool = False, again: bool = False) -> Run:
    """A transformer's layer: 1,024 wide, 16 heads, 8 texts of 1,024 tokens. `again`: checkpointed."""
    width, heads, batch, length = (16, 2, 2, 6) if tiny else (1024, 16, 8, 1024)
    model = lib.nn.TransformerEncoderLayer(width, heads, 4 * width, 0.0, "gelu", batch_first=True, norm_first=True)
    if again:
        inner, model = model, lib.nn.Sequential(model)
        model.forward = functools.partial(importlib.import_module(f"{lib.__name__}.utils.checkpoint").checkpoint, inner,
                                          use_reentrant=False, preserve_rng_state=False)
    return training(lib, filled(lib, model, device), data(lib, device, batch, length, width),
                    lambda out: (out * out).mean(), keep)


def small(lib: Any, device: str, tiny: bool, keep: bool = True) -> Run:
    """An MLP of 64, a batch of 64: what Python costs."""
    return mlp(lib, device, tiny, keep, 64, 64)


def ops(lib: Any, device: str, tiny: bool, keep: bool = False) -> Run:
    """A chain of 300 ops on one element, forward and backward: what an op costs."""
    x = lib.full((1,), 0.5, requires_grad=True, device=device)
    w = lib.full((1,), 0.9, requires_grad=True, device=device)

    def run() -> Any:
        if keep and w.grad is not None:
            x.grad.zero_()
            w.grad.zero_()
        else:
            x.grad = w.grad = None
        y = x
        for _ in range(100):
            y = (y * w + w).tanh()
        y.backward()
        return w.grad

    return run


def graphed(make: Callable[..., Run]) -> Callable[[Any, str, bool], Run]:
    """The same in a CUDA graph; on the CPU there is none, and nothing is compared."""
    def made(lib: Any, device: str, tiny: bool) -> Run:
        step = make(lib, device, tiny, keep=True)
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
    return made


EAGER: dict[str, Callable[..., Run]] = {
    "mlp": mlp, "cnn": cnn, "transformer block": block, "checkpointed block": functools.partial(block, again=True),
    "small mlp": small, "300 small ops": ops,
}
WORKLOADS: dict[str, Callable[[Any, str, bool], Run]] = {
    **EAGER, **{f"{name}, graph": graphed(EAGER[name]) for name in IN_GRAPHS}}


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


def recorded(lib: Any, device: str, run: Run, repeats: int) -> dict[str, Any]:
    """What a recording of PyTorch costs, by level of detail: `record` is on during a run."""
    record = importlib.import_module("minigrad_widgets.torch_reader").record

    def watched(detail: str) -> Any:
        with record(detail=detail):
            return run()

    runs = {"plain": run, **{detail: functools.partial(watched, detail) for detail in ("modules", "ops", "values")}}
    return {name: {"ms": statistics.median(milliseconds(lib, device, each) for _ in range(repeats)),
                   "peak bytes": peak(lib, device, each)} for name, each in runs.items()}


def answer(lib: Any, order: dict[str, Any], kept: dict[str, Run]) -> Any:
    """What a worker does: make a workload and run it three times, or time what it made."""
    name, device = order["name"], order["device"]
    if order["do"] == "check":
        kept.clear()
        kept[name] = WORKLOADS[name](lib, device, order["tiny"])
        return [float(np.sum(kept[name]().detach().cpu().numpy())) for _ in range(3)]
    run = kept[name]
    if order["do"] == "record":
        return recorded(lib, device, run, order["repeats"])
    times = [milliseconds(lib, device, run) for _ in range(order["repeats"])]
    return {"ms": statistics.median(times), "least": min(times), "peak bytes": peak(lib, device, run)}


def serve(library: str) -> None:
    """Take orders from stdin, a line of JSON each, and answer on stdout; an order that fails with its error."""
    try:
        lib, kept = importlib.import_module(library), dict[str, Run]()
        card = lib.cuda.get_device_name() if lib.cuda.is_available() else None
        about = {"version": str(lib.__version__), "card": card}
    except Exception as error:  # noqa: BLE001 (whatever keeps it from loading is told)
        print(json.dumps({"version": None, "card": None, "why": repr(error)}), flush=True)
        return
    exact: Any = contextlib.nullcontext()
    if library == "torch":
        lib.backends.cuda.matmul.allow_tf32 = lib.backends.cudnn.allow_tf32 = False
        attention = importlib.import_module("torch.nn.attention")
        exact = attention.sdpa_kernel(attention.SDPBackend.MATH)
    print(json.dumps(about), flush=True)
    with exact:
        for line in sys.stdin:
            try:
                said = {"answer": answer(lib, json.loads(line), kept)}
            except Exception:  # noqa: BLE001 (the row says it, and the next one goes on)
                kept.clear()
                said = {"error": traceback.format_exc()}
            print(json.dumps(said), flush=True)


class Worker(Process):
    """A library in a process of its own, as a context."""

    def __init__(self, library: str) -> None:
        environment = {name: value for name, value in os.environ.items() if name != "CUPY_TF32"}
        super().__init__("benchmarks.gpu", "--serve", library, env=environment)
        self.about = self.answer()

    def order(self, **what: Any) -> Any:
        """Send an order and wait for the answer, for a while.

        Raises:
            RuntimeError: with the error of the process, or if it has ended.
        """
        timer = threading.Timer(FOR_ORDER, self.process.kill)
        timer.start()
        try:
            said = super().order(**what)
        except OSError as error:
            raise RuntimeError("the process has ended") from error
        finally:
            timer.cancel()
        if "error" in said:
            raise RuntimeError(said["error"])
        return said["answer"]


def compared(workers: dict[str, Worker], name: str, given: argparse.Namespace) -> dict[str, Any]:
    """One row; of one library, if there is one alone.

    Raises:
        AssertionError: if the libraries do not compute the same.
    """
    common = {"name": name, "device": given.device, "tiny": given.tiny}
    losses = [worker.order(do="check", **common) for worker in workers.values()]
    if len(losses) == 2:
        np.testing.assert_allclose(*losses, rtol=2e-3, err_msg=f"{name}: the libraries differ")
    row: dict[str, Any] = {"name": name, "losses": losses[0]}
    for library, worker in workers.items():
        row[library] = worker.order(do="time", repeats=2 if given.tiny else 30, **common)
    if len(losses) == 2:
        row["ratio"] = row["minigrad"]["ms"] / row["torch"]["ms"]
    return row


def told(row: dict[str, Any]) -> str:
    """A row as a line of text."""
    if "error" in row:
        return f"{row['name']:<26} FAILED\n{row['error']}"
    figures = [f"{library} {row[library]['ms']:9.3f} ms" + (f", {row[library]['peak bytes'] / 2**20:,.0f} MiB"
               if row[library]["peak bytes"] is not None else "") for library in LIBRARIES if library in row]
    return f"{row['name']:<26} {row.get('ratio', math.nan):6.2f}   ({'; '.join(figures)})"


def reached(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What is asked, with what was measured; None for what was not."""
    by_name, found = {row["name"]: row for row in rows}, []
    for name, figure, other, most in TARGETS:
        ours, theirs = [by_name.get(each, {}).get(library, {}).get(figure)
                        for each, library in ((name, "minigrad"), (other, "torch"))]
        multiple = ours / theirs if ours and theirs else None
        found.append({"what": f"{figure} of {name!r}, over PyTorch's of {other!r}", "at most": most, "is": multiple,
                      "reached": None if multiple is None else multiple <= most})
    return found


def measure(given: argparse.Namespace, libraries: list[str], report: Callable[[list[dict[str, Any]]], None]) -> int:
    """All rows, one after the other; how many failed. A worker that has ended is replaced."""
    rows: list[dict[str, Any]] = []
    with contextlib.ExitStack() as stack:
        workers: dict[str, Worker] = {}
        end = time.monotonic() + (FOR_ROWS if given.all else math.inf)
        for name in [each for each in WORKLOADS if given.only in each]:
            try:
                if time.monotonic() > end:
                    raise RuntimeError("no time was left")
                for library in libraries:
                    if library not in workers or workers[library].process.poll() is not None:
                        workers[library] = stack.enter_context(Worker(library))
                rows.append(compared(workers, name, given))
            except (AssertionError, RuntimeError, ValueError) as error:
                rows.append({"name": name, "error": str(error)})
            print(told(rows[-1]), flush=True)
            report(rows)
    for each in reached(rows) if given.device == "cuda" else []:
        print(f"{'-' if each['is'] is None else round(each['is'], 2):>6} of at most {each['at most']}: {each['what']}")
    return sum("error" in row for row in rows)


def measure_recordings(given: argparse.Namespace) -> list[dict[str, Any]]:
    """A row for each step of PyTorch's that is recorded; one that fails has its error."""
    rows: list[dict[str, Any]] = []
    with Worker("torch") as worker:
        for name in [each for each in RECORDED if given.only in each]:
            common = {"name": name, "device": given.device, "tiny": given.tiny}
            try:
                worker.order(do="check", **common)
                rows.append({"name": name, **worker.order(do="record", repeats=2 if given.tiny else 5, **common)})
            except RuntimeError as error:
                rows.append({"name": name, "error": str(error)})
            print(f"recording {name:<16} {json.dumps(rows[-1])}", flush=True)
    return rows


def tested(log: Path) -> dict[str, Any]:
    """Run the tests for GPUs; what pytest says goes to the log, its last line into the results.

    Without our settings: warnings are no errors there, since the versions of pytest, CuPy and NumPy are the card's.
    """
    many = ["-n", "8"] if importlib.util.find_spec("xdist") else []
    plain = ["-c", os.devnull, "--rootdir", str(ROOT), "--confcutdir", str(ROOT), "-p", "no:cacheprovider",
             "-p", "no:benchmark", "--disable-warnings"]
    with log.open("w", encoding="utf-8") as file:
        running = subprocess.Popen([sys.executable, "-m", "pytest", *TESTS, *many, *plain, "-q", "-ra", "--tb=short"],
                                   cwd=ROOT, stdout=file, stderr=subprocess.STDOUT, start_new_session=True)
        try:
            status: int | None = running.wait(FOR_TESTS)
        except subprocess.TimeoutExpired:
            status = None
            os.killpg(running.pid, signal.SIGKILL)  # those that it has started too: the GPU is for the rows now
            running.wait()
    last = [line for line in log.read_text(encoding="utf-8", errors="replace").splitlines() if line.strip()][-1:]
    return {"status": status, "said": last[0] if last and status is not None else f"not done after {FOR_TESTS} s"}


def arguments_of(arguments: list[str] | None) -> argparse.Namespace:
    """What the command line says."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu", description=str(__doc__).splitlines()[0])
    parser.add_argument("--all", action="store_true", help="the tests for GPUs first")
    parser.add_argument("--out", type=Path, help="the JSON file to write")
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda")
    parser.add_argument("--tiny", action="store_true", help="sizes that measure nothing")
    parser.add_argument("--only", default="", help="the rows whose names hold this word")
    parser.add_argument("--serve", choices=LIBRARIES, help=argparse.SUPPRESS)
    return parser.parse_args(arguments)


def main(arguments: list[str] | None = None) -> int:
    """Test, compare, measure, print, write."""
    given = arguments_of(arguments)
    if given.serve:
        serve(given.serve)
        return 0
    about = {}
    for library in LIBRARIES:
        with Worker(library) as worker:
            about[library] = worker.about
    there = [library for library in LIBRARIES if about[library]["card" if given.device == "cuda" else "version"]]
    missing = [f"not measured: {library}" for library in LIBRARIES if library not in there]
    print(json.dumps(about), *missing, sep="\n", flush=True)
    if "minigrad" not in there:
        print("no GPU is there for minigrad: see docs/gpu.md", file=sys.stderr)
        return 2
    card = re.sub(r"\W+", "-", str(about["minigrad"]["card"] or given.device)).lower()
    out = given.out or RESULTS / f"gpu-{card}-{datetime.date.today().isoformat()}.json"
    out.parent.mkdir(parents=True, exist_ok=True)
    said: dict[str, Any] = {"date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"), "about": about}
    if given.all:
        said["tests"] = tested(out.with_suffix(".log"))
        print(said["tests"]["said"], flush=True)

    def report(rows: list[dict[str, Any]]) -> None:
        said.update(rows=rows, targets=reached(rows))
        out.write_text(json.dumps(said, indent=1) + "\n", encoding="utf-8")

    failed = measure(given, there, report)
    if "torch" in there:
        said["recording"] = measure_recordings(given)
        failed += sum("error" in row for row in said["recording"])
        out.write_text(json.dumps(said, indent=1) + "\n", encoding="utf-8")
    print(f"written: {out}")
    return 1 if failed or said.get("tests", {}).get("status", 0) != 0 else 0


if __name__ == "__main__":
    sys.exit(main())
