"""Long runs in which memory stays flat: training steps, recordings, inspectors, key presses.

Memory is what the process occupies, read when a tenth of the run is over and at its end. Python's own garbage collector
is off in the training steps, so that what a step leaves in a circle would be seen.
"""

from __future__ import annotations

import gc
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil

import minigrad
from minigrad import nn
from minigrad.recorder import Trace, record
from minigrad_widgets import Inspector
from tests.groups import chromium

WARM = 0.1  # of a run: what is made once is there by then
KEYS = ("ArrowRight", "ArrowRight", "ArrowRight", "ArrowLeft", "Enter", "ArrowDown", "End", "Home")
INTERPRETED = "--js-flags=--jitless"  # what V8 compiles in the course of a run would count as growth of its heap
ROOT = Path(__file__).resolve().parents[2]


def occupied() -> int:
    """The bytes of memory that this process occupies."""
    return int(psutil.Process().memory_info().rss)


def growth(repeat: Callable[[], object], count: int, memory: Callable[[], int] = occupied) -> float:
    """By what share memory grew while something was done again and again."""
    warm = max(1, int(count * WARM))
    for _ in range(warm):
        repeat()
    before = memory()
    for _ in range(count - warm):
        repeat()
    return memory() / before - 1


def steps(count: int) -> float:
    """Training steps, without the garbage collector."""
    model = nn.Sequential(nn.Linear(8, 16), nn.BatchNorm1d(16), nn.Tanh(), nn.Dropout(0.1), nn.Linear(16, 2))
    optimizer = minigrad.optim.Adam(model.parameters())
    x, y = minigrad.randn(4, 8), minigrad.randn(4, 2)

    def step() -> None:
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()

    gc.collect()
    gc.disable()
    try:
        return growth(step, count)
    finally:
        gc.enable()


def trace() -> Trace:
    """A recording of two steps of a small model."""
    layer = nn.Linear(3, 2)
    with record() as recorded:
        for _ in range(2):
            layer(minigrad.ones(4, 3)).tanh().sum().backward()
    return recorded


def recordings(count: int) -> float:
    """Recordings, each written as JSON and dropped."""
    return growth(lambda: trace().to_json(), count)


def inspectors(count: int) -> float:
    """Inspectors, each drawn as text, closed and dropped."""
    def show() -> None:
        inspector = Inspector(trace())
        assert inspector.text
        inspector.close()
        del inspector
        gc.collect()

    return growth(show, count)


def keys(count: int) -> float:
    """Key presses in an exported page; its memory is the heap of JavaScript after it was collected."""
    from tests.browser.jupyter import chrome  # noqa: PLC0415 - only this one needs a browser

    with chrome(str(chromium()), INTERPRETED) as browser, tempfile.TemporaryDirectory() as name:
        page = browser.new_page()
        Inspector(trace(), lens="all").to_html(Path(name, "page.html"))
        page.goto(Path(name, "page.html").as_uri())
        page.locator(".mg-root").focus()
        session = page.context.new_cdp_session(page)

        def heap() -> int:
            session.send("HeapProfiler.collectGarbage")
            return int(session.send("Runtime.getHeapUsage")["usedSize"])

        pressed = iter(KEYS * (count // len(KEYS) + 1))
        return growth(lambda: page.keyboard.press(next(pressed)), count, heap)


RUNS: dict[str, tuple[Callable[[int], float], int]] = {
    "training steps": (steps, 20_000), "recordings": (recordings, 500), "inspectors": (inspectors, 300),
    "key presses": (keys, 10_000)}


def alone(name: str, count: int) -> float:
    """One of the runs in a process of its own, so that no other has left it memory."""
    program = f"from tests.reliability.soak import RUNS; print(RUNS[{name!r}][0]({count}))"
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    return float(done.stdout)


KERNEL = """
import gc
from IPython.display import display
from minigrad_widgets import Inspector
from tests.reliability.soak import occupied, trace
def show():
    inspector = Inspector(trace())
    display(inspector)
    inspector.close()
for _ in range(10):
    show()
before = occupied()
for _ in range(COUNT):
    show()
gc.collect()
"""


def in_a_kernel(count: int) -> float:
    """By how many megabytes a kernel grows when so many inspectors are shown in it, closed and dropped."""
    from jupyter_client.manager import start_new_kernel  # noqa: PLC0415 - only this one needs a kernel

    manager, client = start_new_kernel(cwd=str(ROOT))
    try:
        answer = client.execute_interactive(
            KERNEL.replace("COUNT", str(count)), timeout=1800, output_hook=lambda message: None,
            user_expressions={"grown": "occupied() - before"})["content"]
        if answer["status"] != "ok":
            raise RuntimeError(json.dumps(answer)[:2000])
        return float(answer["user_expressions"]["grown"]["data"]["text/plain"]) / 2**20
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)


def million_events() -> Iterator[str | None]:
    """A trace of 1,000,000 events is refused with its size and the limit, by the inspector and by a page."""
    whole = trace().to_dict()
    whole["events"] = (whole["events"] * (1_000_000 // len(whole["events"]) + 1))[:1_000_000]
    large = Trace()
    large._parts.events = whole["events"]
    try:
        Inspector(large)
        yield "it was not refused"
    except ValueError as error:
        yield None if "1,000,000 events" in str(error) and "500,000" in str(error) else str(error)
