"""The lanes of 2 and of 8 ranks, recorded from MPI processes, in JupyterLab: two windows and two themes."""

from __future__ import annotations

import re
from ast import literal_eval
from collections.abc import Iterator
from typing import Any

import pytest

from tests.distributed.jobs import need_mpi
from tests.groups import has_browser, installed, require

pytestmark = [pytest.mark.browser, pytest.mark.mpi]
require("browser", has_browser() and installed("jupyterlab"), "chromium, playwright or jupyterlab is not installed")
need_mpi()

from playwright.sync_api import BrowserContext, Locator, Page, expect

from tests.browser.book import turn
from tests.browser.fixtures import Axe, ran
from tests.browser.jupyter import Lab

NAME = "lanes.ipynb"
STEP = """import time
import minigrad as torch
import minigrad.distributed as dist
from minigrad.recorder import record
from minigrad_lessons import ranks
from minigrad_widgets import inspect

def step():
    layers = [torch.nn.Linear(64, 64) for _ in range(6)]
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Sequential(*layers), bucket_cap_mb=0.03)
    for last in (False, False, True):  # the ranks agree on the order of buckets in the second pass
        dist.barrier()
        with record(times=True) as trace:
            loss = model(torch.ones(4, 64)).sum()
            if last and dist.get_rank() == dist.get_world_size() - 1:
                time.sleep(0.2)
            loss.backward()
    return trace"""
RANKS = (2, 8)


@pytest.fixture(scope="module")
def notebook(pages: BrowserContext, server: Lab) -> Iterator[Page]:
    """A notebook with both, run."""
    shown = [f"traces{count} = ranks({count}, step)\nshown{count} = inspect(traces{count})\nshown{count}"
             for count in RANKS]
    with ran(pages, server, NAME, STEP, *shown, widgets=2) as page:
        yield page


def lanes(page: Page, ranks: int) -> Locator:
    """Those of so many ranks, in view, at the first operation and the first rank."""
    root = page.locator(".mg-root").nth(RANKS.index(ranks))
    root.evaluate("root => root.scrollIntoView({block: 'start'})")
    page.mouse.move(0, 0)
    root.focus()
    root.press("Home")
    return root


def drawn(server: Lab, ranks: int) -> Any:
    """What Python gave the widget."""
    return literal_eval(server.evaluate(NAME, f"shown{ranks}.lanes"))


@pytest.mark.parametrize("ranks", RANKS)
def test_lanes_can_be_read_by_everybody(seen: Page, axe: Axe, ranks: int) -> None:
    root = lanes(seen, ranks)
    turn(root.locator("details"))  # the step on other ranks
    wrong = {name: root.evaluate(f"root => read.{name}(root)") for name in ("overlaps", "outside", "spilled", "small")}
    wrong["faint"] = root.evaluate("root => read.faint(root, root.closest('.jp-Notebook').getBoundingClientRect())")
    wrong["axe"] = axe(seen, RANKS.index(ranks))
    turn(root.locator("details"))
    assert {name: found for name, found in wrong.items() if found} == {}
    window = seen.viewport_size
    chart = root.locator(".mg-rank-chart").bounding_box()
    assert window is not None and chart is not None
    assert chart["height"] < 0.7 * window["height"]  # all lanes are seen at once


@pytest.mark.parametrize("ranks", RANKS)
def test_who_waits_for_whom(notebook: Page, server: Lab, ranks: int) -> None:
    """By the keyboard: the sentence, the lit bars and the table are of the operation that Python knows."""
    root, found = lanes(notebook, ranks), drawn(server, ranks)
    assert len(found["operations"]) > 2 and root.locator(".mg-rank-name").count() == ranks
    for number, operation in enumerate(found["operations"]):
        calls = [seen["called"] for seen in operation["seen"]]
        said = root.locator(".mg-text").inner_text()
        late = re.fullmatch(r"bucket (\d+), [\d.]+ KiB: rank (\d) was waited for: ([\d.]+) ms; then it ran .*", said)
        assert late is not None, said
        assert (int(late[1]), int(late[2])) == (operation["bucket"], calls.index(max(calls)))
        assert float(late[3]) == pytest.approx(max(calls) - min(calls), abs=0.5)
        lit = root.locator(".mg-collective[data-look]")
        assert lit.evaluate_all("all => all.map(each => each.ariaLabel)") == [
            f"bucket {operation['bucket']}, rank {rank}" for rank in range(ranks)]
        assert root.locator(".mg-waiting b").all_inner_texts() == operation["parameters"]
        expect(root.locator(".mg-seen tbody th").first).to_have_text(f"rank {calls.index(max(calls))}, the last")
        assert root.get_attribute("data-step") == str(number)
        root.press("ArrowRight")
    first = [seen["called"] for seen in found["operations"][0]["seen"]]
    assert first.index(max(first)) == ranks - 1  # the rank that sleeps


def test_bars_lie_along_one_axis_and_are_pointed_at(notebook: Page, server: Lab) -> None:
    root, found = lanes(notebook, 2), drawn(server, 2)
    track = root.locator(".mg-rank .mg-track").last.bounding_box()
    assert track is not None
    for rank in (0, 1):
        seen = found["operations"][1]["seen"][rank]
        bar = root.get_by_role("button", name=f"bucket {found['operations'][1]['bucket']}, rank {rank}", exact=True)
        runs = bar.locator("[data-kind=running]").bounding_box()
        assert runs is not None
        assert runs["x"] == pytest.approx(track["x"] + track["width"] * seen["begun"] / found["span"], abs=2)
        bar.hover(force=True)
        expect(root.locator(".mg-waiters .mg-quiet")).to_contain_text(f"waited on rank {rank}")
        expect(root.locator(".mg-waiting b").first).to_have_text(found["operations"][1]["parameters"][0])
        assert root.get_attribute("data-step") == "0"
    notebook.mouse.move(0, 0)
    expect(root.locator(".mg-waiting b").first).to_have_text(found["operations"][0]["parameters"][0])


def test_the_step_on_other_ranks_is_what_python_says(notebook: Page, server: Lab) -> None:
    root = lanes(notebook, 2)
    turn(root.locator("details"))
    root.get_by_label("ranks", exact=True).select_option("1024")
    root.get_by_label("alpha, microseconds for each message").fill("20")
    says = root.locator(".mg-elsewhere-says").inner_text()
    seconds = float(server.evaluate(NAME, "traces2[0].simulate(1024, 20e-6, 0.04e-9).seconds"))
    told = re.search(r"step: ([\d.]+) ms", says)
    assert told is not None and float(told[1]) == pytest.approx(1e3 * seconds, rel=0.01)
    turn(root.locator("details"))
