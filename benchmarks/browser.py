"""How fast is an inspector in a browser? `python -m benchmarks.browser [--out FILE] [--quick]`.

Opens exported pages of 200, 2,000, 5,000 and 50,000 nodes in Chromium, with no kernel and the network cut. Takes the
time of a step: from the key's handler to the updated page, its layout forced. Beside this median stands what a step
takes of the processor on average, script, styles and layout: on a busy machine the clock counts other programs' turns.
A limit is broken if both are over it. First paint is the browser's own figure, from the start of the page's loading.
Prints all rows, writes them to a JSON file; exits with 1 if a limit is broken.

`--quick` measures next to nothing and knows no limits: it is for testing this file.
"""

from __future__ import annotations

import argparse
import gzip
import json
import math
import os
import platform
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

from playwright.sync_api import Browser, Locator, Page

import minigrad as torch
from benchmarks.timing import cpu
from minigrad import nn
from minigrad.recorder import Trace, record
from minigrad_widgets import Inspector
from minigrad_widgets.widget.page import STATIC
from tests.browser.jupyter import chrome
from tests.groups import chromium

RESULTS = Path(__file__).parent / "results" / "browser.json"
Row = dict[str, Any]

SPENT = ("ScriptDuration", "RecalcStyleDuration", "LayoutDuration")
STEPS = """async (root, [count, key]) => {
  const times = [];
  const graph = root.querySelector('.mg-svg');
  for (let at = 0; at < count; at++) {
    await new Promise(requestAnimationFrame);
    const start = performance.now();
    root.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true }));
    graph.getBoundingClientRect();
    document.body.getBoundingClientRect();
    times.push(performance.now() - start);
  }
  return times;
}"""
CLICK = """(element) => {
  const start = performance.now();
  element.click();
  document.body.getBoundingClientRect();
  return performance.now() - start;
}"""
ELEMENTS = "root => root.querySelectorAll('*').length"
PAINT = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime"


class Block(nn.Module):
    """Two layers with a shortcut around them: 11 nodes."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(4, 4), nn.Linear(4, 4)])
        self.act = nn.ReLU()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = x
        for layer in self.layers:
            h = self.act(layer(h))
        return x + h


def network(blocks: int) -> Trace:
    """A network of blocks, forward and backward."""
    torch.manual_seed(0)
    net = nn.Sequential(*[Block() for _ in range(blocks)])
    with record() as trace:
        net(torch.ones(1, 4)).sum().backward()
    return trace


def chain(length: int) -> Trace:
    """Ops in a row, in no module: what is folded here was found by the inspector."""
    x = torch.ones(8, requires_grad=True)
    with record() as trace:
        h = x
        for _ in range(length):
            h = h * 0.999
        h.sum().backward()
    return trace


class Case:
    """One inspector in a page of its own."""

    def __init__(self, browser: Browser, folder: Path, trace: Trace) -> None:
        self.nodes = len(trace.nodes)
        start = time.perf_counter()
        inspector = Inspector(trace)
        self.made = (time.perf_counter() - start) * 1e3
        self.path = folder / "page.html"
        page = inspector.to_html(self.path)
        self.beyond = (len(page.encode()) - len(inspector.trace.encode())) / 1e3
        self.browser = browser

    @contextmanager
    def opened(self) -> Iterator[tuple[Page, Locator]]:
        """The page, open, with the network cut."""
        context = self.browser.new_context(viewport={"width": 1200, "height": 900}, offline=True)
        page = context.new_page()
        page.set_default_timeout(120_000)
        page.goto(self.path.as_uri())
        root = page.locator(".mg-root")
        root.wait_for()
        yield page, root
        context.close()

    def paints(self, repeats: int) -> float:
        """First contentful paint, the median of several openings."""
        found = []
        for _ in range(repeats):
            with self.opened() as (page, _):
                page.wait_for_function(f"() => {PAINT}")
                found.append(page.evaluate(PAINT))
        return median(found)


def processor(page: Page) -> Callable[[], float]:
    """A clock that counts what the page's script, styles and layout take of the processor, in ms."""
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})

    def clock() -> float:
        metrics = session.send("Performance.getMetrics")["metrics"]
        return sum(float(each["value"]) for each in metrics if each["name"] in SPENT) * 1e3

    return clock


def steps(root: Locator, count: int, lens: str, key: str = "ArrowRight") -> tuple[float, float]:
    """The median step of a lens, and the mean of the processor's time."""
    root.locator(f"[data-lens={lens}]").click()
    root.press("Home" if key == "ArrowRight" else "End")
    first = root.get_attribute("data-position")
    clock = processor(root.page)
    before = clock()
    times = root.evaluate(STEPS, [count, key])
    took = (clock() - before) / count
    if root.get_attribute("data-position") == first:
        raise AssertionError(f"the {lens} lens did not step")
    return float(median(times)), took


def folded_and_open(case: Case, count: int, name: str, limit: float | None) -> Iterator[Row]:
    """Steps as it opens, and with everything unfolded."""
    with case.opened() as (_, root):
        boxes = root.locator(".mg-node").count()
        for lens in ("backward", "forward", "all"):
            yield row(f"{name}, {boxes} boxes: step, {lens}", steps(root, count, lens), limit, "ms")
        yield row(f"{name}, {boxes} boxes: step back", steps(root, count, "all", "ArrowLeft"), limit, "ms")
        yield row(f"{name}: elements of the page", float(root.evaluate(ELEMENTS)), None, "")
        if boxes < case.nodes and case.nodes < 3_000:
            took = unfold_all(root)
            yield row(f"{name}: unfold all", took, None, "ms")
            yield row(f"{name}, all drawn: step, backward", steps(root, count, "backward"), limit, "ms")


def unfold_all(root: Locator) -> float:
    root.locator(".mg-summary > summary").click()
    return float(root.locator(".mg-folds button", has_text="unfold all").evaluate(CLICK))


def unfold_one(root: Locator) -> float:
    """What unfolding one box takes: its layout in the browser, and drawing all anew."""
    before = root.locator(".mg-node").count()
    root.locator(".mg-summary > summary").click()
    took = float(root.locator(".mg-summary .mg-unfold[aria-expanded=false]").first.evaluate(CLICK))
    if root.locator(".mg-node").count() <= before:
        raise AssertionError("nothing was unfolded")
    return took


def row(name: str, figure: float | tuple[float, float], limit: float | None, unit: str) -> Row:
    """A row; of a pair the second is the processor's time."""
    if not isinstance(figure, tuple):
        return {"name": name, "figure": figure, "limit": limit, "unit": unit}
    return {"name": name, "figure": figure[0], "processor": figure[1], "limit": limit, "unit": unit}


def measure(browser: Browser, folder: Path, quick: bool) -> Iterator[Row]:
    """All rows, as they are measured. `quick`: tiny."""
    count, repeats = (4, 1) if quick else (120, 5)
    cases: list[tuple[str, Callable[[], Trace], float | None, float | None]] = [
        ("200 nodes", lambda: network(2 if quick else 18), 16, None),
        ("2,000 nodes", lambda: network(4 if quick else 180), 33, 1_000),
        ("5,000 nodes", lambda: network(6 if quick else 453), 33, 1_000),
        ("50,000 nodes", lambda: network(8 if quick else 4_530), 50, 3_000),
        ("a chain of 10,000", lambda: chain(700 if quick else 10_000), None, None),
    ]
    for name, make, limit, paint in cases:
        case = Case(browser, folder, make())
        yield row(f"{name}: first paint", case.paints(repeats), paint, "ms")
        yield from folded_and_open(case, count, name, limit)
        if case.nodes > 600:
            with case.opened() as (_, root):
                yield row(f"{name}: unfold one", unfold_one(root), None, "ms")
        yield row(f"{name}: to make it in Python", case.made, None, "ms")
        yield row(f"{name}: page, beside its trace", case.beyond, 360, "kB")
    bundle = sum(len(gzip.compress((STATIC / file).read_bytes())) for file in ("inspector.js", "inspector.css"))
    yield row("bundle, gzipped", bundle / 1e3, 180, "kB")


def told(each: Row) -> str:
    """A row as a line of text."""
    limit = "" if each["limit"] is None else f"   limit {each['limit']:<5}  {'BROKEN' if broken(each) else 'kept'}"
    used = f"   processor {each['processor']:5.1f}" if "processor" in each else ""
    return f"{each['name']:<50} {each['figure']:8.1f} {each['unit']:<3}{limit}{used}"


def broken(each: Row) -> bool:
    """Whether a row is over its limit."""
    return each["limit"] is not None and min(each["figure"], each.get("processor", math.inf)) > each["limit"]


def main(arguments: list[str] | None = None) -> int:
    """Measure, print, write; 1 if a limit is broken, 2 if there is no browser."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.browser", description=str(__doc__).splitlines()[0])
    parser.add_argument("--out", type=Path, default=RESULTS, help="the JSON file to write")
    parser.add_argument("--quick", action="store_true", help="measure next to nothing, without limits")
    given = parser.parse_args(arguments)
    executable = chromium()
    if executable is None:
        print("no Chromium was found: install it, or name it in MINIGRAD_CHROMIUM", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as folder, chrome(executable) as browser:
        where = {"cpu": cpu(), "cores": str(os.cpu_count()), "python": platform.python_version(),
                 "chromium": browser.version, "load": f"{os.getloadavg()[0]:.1f}"}
        print("\n".join(f"{key}: {value}" for key, value in where.items()), end="\n\n", flush=True)
        rows = []
        for each in measure(browser, Path(folder), given.quick):
            rows.append({**each, "limit": None} if given.quick else each)
            print(told(rows[-1]), flush=True)
    given.out.parent.mkdir(parents=True, exist_ok=True)
    given.out.write_text(json.dumps({"machine": where, "rows": rows}, indent=1) + "\n", encoding="utf-8")
    return int(any(map(broken, rows)))


if __name__ == "__main__":
    sys.exit(main())
