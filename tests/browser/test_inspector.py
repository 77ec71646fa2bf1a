"""The inspector in a real JupyterLab: what the browser shows is what Python's frame says, step by step."""

from __future__ import annotations

import json
from ast import literal_eval
from collections.abc import Iterator
from pathlib import Path
from shutil import copy
from statistics import median, quantiles
from typing import Any

import pytest

from tests.groups import chromium, has_browser, installed, require
from tests.widgets import synthetic

pytestmark = pytest.mark.browser
require("browser", has_browser() and installed("jupyterlab"), "chromium, playwright or jupyterlab is not installed")

from playwright.sync_api import Browser, Locator, Page

from minigrad.recorder import Trace
from minigrad_widgets import Inspector
from tests.browser.jupyter import Lab, await_idle, chrome, first_inspector, lab, open_notebook, run_all

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
LESSON = next(iter(sorted(NOTEBOOKS.glob("01_*.ipynb"))), None)
SMALL = [
    "import minigrad as torch\nfrom minigrad.recorder import record\nfrom minigrad_widgets import Inspector",
    "x = torch.tensor([1., 2.], requires_grad=True)\nw = torch.tensor([3., 4.], requires_grad=True)\n"
    "with record() as trace:\n    y = x * w\n    loss = (y * y + x).sum()\n    loss.backward()\n"
    "trace.save('trace.json')",
    "inspector = Inspector(trace)\ninspector",
]
LARGE = [
    "from minigrad.recorder import Trace\nfrom minigrad_widgets import Inspector",
    "inspector = Inspector(Trace.load('large.json'))\ninspector",
]
TIMED = """root => {
  const times = [];
  for (const key of [...Array(300).fill('ArrowRight'), ...Array(100).fill('ArrowLeft')]) {
    const start = performance.now();
    root.dispatchEvent(new KeyboardEvent('keydown', {key, bubbles: true, cancelable: true}));
    root.querySelector('.mg-svg').getBoundingClientRect();
    root.getBoundingClientRect();
    void root.offsetHeight;
    times.push(performance.now() - start);
  }
  return times;
}"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    with lab(tmp_path_factory.mktemp("notebooks"), tmp_path_factory.mktemp("home")) as running:
        yield running


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chrome(str(chromium())) as running:
        yield running


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    context = browser.new_context(viewport={"width": 1500, "height": 1000})
    yield context.new_page()
    context.close()


def show(page: Page, server: Lab, name: str) -> tuple[Locator, dict[str, Any]]:
    """Runs a notebook and gives its first inspector, focused."""
    session = open_notebook(page, server, name)
    run_all(page, server, name)
    root = first_inspector(page)
    await_idle(page, server, name)
    root.scroll_into_view_if_needed()
    root.focus()
    return root, session


def shown(root: Locator) -> dict[str, Any]:
    """What the page shows, in the words of a frame."""
    read = root.evaluate("root => ({...root.dataset})")
    lit, gradient = (int(read[name]) if read[name] else None for name in ("lit", "gradient"))
    ready = [int(node) for node in read["ready"].split()]
    return {"step": int(read["step"]), "lit": lit, "ready": ready, "gradient": gradient}


def told(trace: Trace, step: int) -> dict[str, Any]:
    """What Python's frame says of the same."""
    frame = trace.frame(step)
    return {"step": frame["step"], "lit": frame["lit"], "ready": frame["ready"], "gradient": frame["gradient"]}


def walk(page: Page, root: Locator, trace: Trace) -> None:
    """Ten steps forward and four back by keyboard, each compared with Python's frame."""
    step = trace.steps("backward")[0]
    assert shown(root) == told(trace, step)
    for key, by in [("ArrowRight", 1)] * 10 + [("ArrowLeft", -1)] * 4:
        page.keyboard.press(key)
        step += by
        assert shown(root) == told(trace, step)
    statuses = root.evaluate("r => [...r.querySelectorAll('[data-node]')].map(n => [n.dataset.node, n.dataset.status])")
    expected = trace.frame(step)["status"]
    assert {int(node): status for node, status in statuses if status != "unknown"} == expected


def test_steps_are_pythons_frames(page: Page, server: Lab) -> None:
    root, _ = show(page, server, server.write("small.ipynb", *SMALL))
    walk(page, root, Trace.load(server.folder / "trace.json"))


@pytest.mark.skipif(LESSON is None, reason="lesson 1 is not there")
def test_lesson_one(page: Page, server: Lab) -> None:
    copy(str(LESSON), server.folder)
    root, _ = show(page, server, Path(str(LESSON)).name)
    written = server.evaluate(Path(str(LESSON)).name, "trace.to_json()")
    walk(page, root, Trace.from_json(literal_eval(written)))


def test_keys_stay_inside(page: Page, server: Lab) -> None:
    root, _ = show(page, server, server.write("keys.ipynb", *SMALL))
    cells = page.locator(".jp-Notebook .jp-Cell")
    before = cells.count(), page.locator(".jp-Cell.jp-mod-active").evaluate("cell => cell.innerText")
    for key in ["b", "a", "j", "k", "d", "d", "x", "ArrowDown", "ArrowUp", "m", "Enter"]:
        page.keyboard.press(key)
    page.wait_for_timeout(300)
    assert (cells.count(), page.locator(".jp-Cell.jp-mod-active").evaluate("cell => cell.innerText")) == before
    assert root.evaluate("root => root.contains(document.activeElement)")


def test_hundred_presses_are_few_messages(page: Page, server: Lab) -> None:
    sent: list[str | bytes] = []
    page.on("websocket", lambda socket: socket.on("framesent", lambda frame: sent.append(frame)))
    (server.folder / "large.json").write_text(json.dumps(synthetic.layers(200)))
    root, _ = show(page, server, server.write("messages.ipynb", *LARGE))
    page.wait_for_timeout(1000)
    first = shown(root)["step"]
    sent.clear()
    for _ in range(100):
        page.keyboard.press("ArrowRight")
    page.wait_for_timeout(1500)
    messages = [frame for frame in sent if b"comm_msg" in (frame if isinstance(frame, bytes) else frame.encode())]
    print(f"\n100 rapid presses: {len(messages)} comm messages")
    assert 1 <= len(messages) <= 3
    assert server.evaluate("messages.ipynb", "inspector.step") == str(first + 100)


def test_python_moves_the_browser(page: Page, server: Lab) -> None:
    root, _ = show(page, server, server.write("moved.ipynb", *SMALL))
    trace = Trace.load(server.folder / "trace.json")
    server.evaluate("moved.ipynb", "inspector.set_trait('step', 12)")
    page.wait_for_function("root => root.dataset.step === '12'", arg=root.element_handle())
    assert shown(root) == told(trace, 12)


def test_steps_without_a_kernel(page: Page, server: Lab) -> None:
    (server.folder / "large.json").write_text(json.dumps(synthetic.layers(200)))
    root, session = show(page, server, server.write("alone.ipynb", *LARGE))
    trace = Trace.load(server.folder / "large.json")
    first = trace.steps("backward")[0]
    server.ask(f"api/sessions/{session['id']}", "DELETE")
    page.wait_for_timeout(1500)
    for dialog in page.locator(".jp-Dialog button.jp-mod-accept").all():
        dialog.click()
    root.focus()
    for press in range(100):
        page.keyboard.press("ArrowRight")
        if press % 20 == 0:
            page.wait_for_timeout(300)
    assert shown(root) == told(trace, first + 100)


@pytest.mark.parametrize("size", [200, 2000])
def test_a_step_is_quick(page: Page, server: Lab, size: int) -> None:
    (server.folder / "large.json").write_text(json.dumps(synthetic.layers(size)))
    root, _ = show(page, server, server.write(f"quick{size}.ipynb", *LARGE))
    page.wait_for_timeout(500)
    times = root.evaluate(TIMED)
    middle, slow = median(times), quantiles(times, n=20)[18]
    nodes = root.locator("[data-node]").count()
    print(f"\na step at {nodes} nodes: median {middle:.2f} ms, p95 {slow:.2f} ms, {len(times)} steps")
    assert size > 200 or middle < 16


def test_the_page_plays_alone(page: Page, tmp_path: Path) -> None:
    """`to_html()`: no server, no kernel, no requests."""
    trace = Trace.from_dict(synthetic.diamond())
    (tmp_path / "page.html").write_text(Inspector(trace).to_html(), encoding="utf-8")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto((tmp_path / "page.html").as_uri())
    root = page.locator(".mg-root")
    root.focus()
    walk(page, root, trace)
    assert asked == [(tmp_path / "page.html").as_uri()]


def test_the_forward_lens_lets_the_graph_grow(page: Page, server: Lab) -> None:
    inspect = SMALL[2].replace("(trace)", "(trace, lens='forward')")
    root, _ = show(page, server, server.write("forward.ipynb", *SMALL[:2], inspect))
    trace = Trace.load(server.folder / "trace.json")
    drawn = "r => [...r.querySelectorAll('[data-node]')].filter(n => n.dataset.status !== 'unknown').length"
    for step in trace.steps("forward"):
        assert shown(root) == told(trace, step)
        assert root.evaluate(drawn) == len(trace.frame(step)["status"])
        page.keyboard.press("ArrowRight")


def test_nothing_is_cut_or_overlaps(page: Page, tmp_path: Path) -> None:
    """Every text fits into its box, and no two boxes touch."""
    trace = Trace.from_dict(synthetic.layers(20))
    (tmp_path / "page.html").write_text(Inspector(trace).to_html(), encoding="utf-8")
    page.goto((tmp_path / "page.html").as_uri())
    root = page.locator(".mg-root")
    root.locator("button[title='show the whole graph']").click()
    for _ in range(3):
        root.locator("button[title='zoom in']").click()
    for key in ["Home", *["ArrowRight"] * 20]:
        root.press(key)
    wrong = root.evaluate("""root => {
      const wrong = [], boxes = [];
      for (const node of root.querySelectorAll('[data-node]')) {
        const box = node.querySelector('.mg-box').getBoundingClientRect();
        for (const text of node.querySelectorAll('.mg-title, .mg-caption, .mg-word')) {
          const { left, right, width } = text.getBoundingClientRect();
          if (width > 0 && (left < box.left || right > box.right)) wrong.push(text.textContent);
        }
        for (const other of boxes) {
          const beside = box.right < other.left || other.right < box.left;
          const above = box.bottom < other.top || other.bottom < box.top;
          if (!beside && !above) wrong.push('boxes overlap');
        }
        boxes.push(box);
      }
      return wrong;
    }""")
    assert wrong == []
