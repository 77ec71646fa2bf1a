"""Inspectors as pages of their own, opened with the network cut: no kernel, no server, up to 2,000 nodes."""

from __future__ import annotations

from collections import OrderedDict
from itertools import combinations
from statistics import median
from typing import Any, Literal

import pytest

from tests.groups import has_browser, installed, require

pytestmark = pytest.mark.browser
require("browser", has_browser() and installed("jupyterlab"), "chromium, playwright or jupyterlab is not installed")

from playwright.sync_api import Locator, Page, expect

import minigrad as torch
from benchmarks.browser import processor
from minigrad import nn
from minigrad.recorder import Trace, record
from minigrad_widgets import Inspector, inspect
from tests.browser import expected
from tests.browser.fixtures import Axe, Opened
from tests.widgets import synthetic
from tests.widgets.programs import blocks, network
from tests.widgets.test_model_map import Misfit, Model, trained

STEPPED = """root => {
  const observer = new MutationObserver(() => {});
  observer.observe(root, { subtree: true, childList: true, attributes: true, characterData: true });
  return Array.from({ length: 160 }, (_, at) => {
    const key = at % 4 < 3 ? 'ArrowRight' : 'ArrowLeft';
    root.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true }));
    root.querySelector('.mg-svg').getBoundingClientRect();
    void root.offsetHeight;
    return observer.takeRecords().length;
  });
}"""
SCALE = "world => new DOMMatrix(getComputedStyle(world).transform).a"
UNFOLDED = """root => {
  const times = [];
  for (let at = 0; at < 6; at++) {
    const rows = [...root.querySelectorAll('.mg-unfold[aria-expanded=false]')];
    if (rows.length === 0) break;
    const start = performance.now();
    rows[Math.min(at, rows.length - 1)].click();
    root.querySelector('.mg-svg').getBoundingClientRect();
    times.push(performance.now() - start);
  }
  return times;
}"""
SIZES = [(800, 900), (1280, 800), (1440, 900), (2560, 1440)]
# The sides of each element, in pixels of the window.
SIDES = """elements => elements.map(element => element.getBoundingClientRect()).filter(({ width }) => width > 0)
  .map(({ left, right, top, bottom }) => [left, right, top, bottom])"""
# The size of each text on the map that is shown, in pixels of the window.
LETTERS = """texts => texts.filter(text => text.textContent && text.getClientRects().length && text.checkVisibility())
  .map(text => parseFloat(getComputedStyle(text).fontSize) * text.getScreenCTM().a)"""
SETTLED = """root => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => {
  for (const each of document.getAnimations()) if (each.id === 'mg-move') each.finish();
  done();
})))"""
# Clicks the title of a box, or a button of the table, and samples the middles of all boxes by their titles: before,
# right after the click, and in each frame until no box moves.
SAMPLED = """async ([root, clicked]) => {
  const middles = () => Object.fromEntries([...root.querySelectorAll('.mg-node')].map(node => {
    const { left, right, top, bottom } = node.querySelector('.mg-box').getBoundingClientRect();
    return [node.querySelector('.mg-title').textContent, [(left + right) / 2, (top + bottom) / 2]];
  }));
  const samples = [middles()];
  clicked.dispatchEvent(new MouseEvent('click', { bubbles: true }));
  do {
    samples.push(middles());
    await new Promise(requestAnimationFrame);
  } while (document.getAnimations().some(each => each.id === 'mg-move'));
  return [...samples, middles()];
}"""
# Whether each column of numbers is seen whole, or covered by the shadow and the strip of the two that stay in sight.
WHOLE = """() => {
  const heads = [...document.querySelectorAll('.mg-summary thead tr > *')];
  const sides = heads.map(head => head.getBoundingClientRect()), [left, right] = [sides[0].right, sides.at(-1).left];
  const shadow = parseFloat(getComputedStyle(heads[0]).boxShadow.match(/(-?[\\d.]+)px/)[1]);
  const strip = parseFloat(getComputedStyle(heads.at(-1), '::before').width);
  return sides.slice(1, -2).every(each =>
    (each.left > left - 2 || each.right < left + 2 || each.right <= left + shadow + 1) &&
    (each.left > right - 2 || each.right < right + 2 || each.left >= right - strip - 1));
}"""
Sides = list[list[float]]


@pytest.mark.parametrize("lens", ["forward", "backward", "checkpoint", "all"])
def test_an_export_steps_with_the_network_cut(page: Page, opened: Opened, lens: str) -> None:
    trace = blocks(False)
    root = opened(Inspector(trace, lens=lens))
    for step in trace.steps(lens)[:25]:
        drawn, wanted = root.evaluate("read.drawn"), expected.drawn(trace, lens, step)
        assert {name: drawn[name] for name in wanted} == wanted
        page.keyboard.press("ArrowRight")


def test_the_graph_grows_in_the_forward_lens(page: Page, opened: Opened) -> None:
    """Where the lit node is, the reader looks: from the first step on."""
    trace = blocks(None)
    root = opened(Inspector(trace, lens="forward"))
    for step in trace.steps("forward"):
        states = root.evaluate("read.drawn")["status"].values()
        assert sum(state != "unknown" for state in states) == len(trace.frame(step)["status"])
        if root.locator(".mg-lit").count():
            assert in_view(root, ".mg-lit .mg-box")
        page.keyboard.press("ArrowRight")


def in_view(root: Locator, selector: str) -> bool:
    """Whether a box lies within the drawing's frame."""
    box, frame = root.locator(selector).bounding_box(), root.locator(".mg-svg").bounding_box()
    assert box is not None
    assert frame is not None
    return frame["y"] <= box["y"] < frame["y"] + frame["height"] and frame["x"] - box["width"] < box["x"]


def test_modules_fold_by_mouse_and_by_keyboard(page: Page, opened: Opened) -> None:
    inspector = network(2)
    root, whole = opened(inspector), len(inspector._trace.nodes)
    boxes = root.locator(".mg-node")
    assert boxes.count() == whole
    root.locator(".mg-summary > summary").click()
    root.locator(".mg-folds button", has_text="fold all").first.click()
    assert boxes.count() == 3  # the two layers, not one box that holds them both
    root.locator(".mg-unfold[aria-expanded=true]").first.click()
    assert boxes.count() == 2
    root.locator(".mg-node[data-scope]").click()
    assert boxes.count() == 3
    root.locator(".mg-unfold[aria-expanded=false]").first.press("Enter")
    assert boxes.count() > 3
    assert root.locator(".mg-unfold:focus").get_attribute("aria-expanded") == "true"
    root.locator(".mg-folds button", has_text="unfold all").click()
    assert boxes.count() == whole


def test_search_goes_from_one_match_to_the_next(page: Page, opened: Opened) -> None:
    root = opened(network(20))
    root.locator(".mg-find").fill("layers.1 addmm")
    page.keyboard.press("Enter")
    one = root.locator(".mg-selected").get_attribute("data-node")
    page.keyboard.press("Enter")
    assert root.locator(".mg-found").inner_text() == "2 of 20"
    assert root.locator(".mg-selected").get_attribute("data-node") != one
    assert in_view(root, ".mg-selected .mg-box")


def test_the_graph_is_zoomed_moved_and_shown_whole(page: Page, opened: Opened) -> None:
    root = opened(network(6))
    root.press("3")  # every op
    frame = root.locator(".mg-svg").bounding_box()
    assert frame is not None

    def scale() -> float:
        return float(root.locator(".mg-world").evaluate(SCALE))

    before = scale()
    root.locator("[title='zoom in']").press("Enter")
    assert scale() > before
    root.locator("[title='show the whole graph']").click()
    assert scale() < before
    left = root.locator(".mg-node").first.bounding_box()
    page.mouse.move(frame["x"] + 200, frame["y"] + 300)
    page.mouse.down()
    page.mouse.move(frame["x"] + 260, frame["y"] + 330)
    page.mouse.up()
    right = root.locator(".mg-node").first.bounding_box()
    assert left is not None
    assert right is not None
    assert abs(right["x"] - left["x"] - 60) < 2
    before = scale()
    page.mouse.wheel(0, -200)
    page.wait_for_function(f"at => ({SCALE})(document.querySelector('.mg-world')) > at", arg=before)


def test_questions_are_answered_by_keyboard(page: Page, opened: Opened) -> None:
    """The first one wrong, the others right; nothing but keys."""
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    w = torch.tensor([3.0, 4.0], requires_grad=True)
    with record() as trace:
        ((x * w) * x).sum().backward()
    inspector = Inspector(trace, ask=True)
    root = opened(inspector)
    for at, question in enumerate(inspector.ask):
        page.keyboard.press("End")
        assert int(root.get_attribute("data-step") or 0) < question["step"]
        assert root.locator(".mg-ask").get_attribute("data-asking") == question["kind"]
        page.keyboard.press("ArrowRight")
        answer(page, root, trace, trace.events[question["step"]], right=at > 0)
        assert root.get_attribute("data-score") == f"{at}/{at + 1}"
        assert root.locator(".mg-verdict").inner_text().startswith("✓ Right" if at else "✗ Not so")
    page.keyboard.press("End")
    assert root.get_attribute("data-step") == str(len(trace.events) - 1)


def answer(page: Page, root: Locator, trace: Trace, event: Any, right: bool) -> None:
    """Answers the question that has the focus."""
    if event["kind"] == "run":
        options = root.locator(".mg-ask input").evaluate_all("all => all.map(each => Number(each.value))")
        page.keyboard.press("Space")
        for _ in range(options.index(event["node"]) + (not right)):
            page.keyboard.press("ArrowDown")
    elif not right:
        page.keyboard.type("[7, 7, 7]")
    else:
        value = trace.values[event["gradient" if event["kind"] == "flow" else "grad"]]
        page.keyboard.type(str(value["data"] if event["kind"] == "accumulate" else value["shape"]))
    page.keyboard.press("Enter")


def test_the_memory_pane_adds_up(page: Page, opened: Opened) -> None:
    trace = blocks(None)
    root = opened(Inspector(trace, lens="all"))
    root.locator(".mg-toggle").press("Enter")
    kinds = {"saved": 2, "parameters": 0, "activations": 1, "gradients": 3}  # as the pane has them, and as events do
    held = [0, 0, 0, 0]
    root.focus()
    for event in trace.events:
        held = event.get("bytes", held)
        told = root.locator("[data-kind]").evaluate_all("all => all.map(({dataset}) => [dataset.kind, +dataset.bytes])")
        assert told == [[name, held[at]] for name, at in kinds.items() if held[at]]
        page.keyboard.press("ArrowRight")


def test_a_step_is_quick(page: Page, opened: Opened) -> None:
    """The processor's time from a key to the page laid out anew, which other programs do not lengthen as they do the
    clock's; and the changes that a step makes to the page, which do not grow with the graph."""
    changes = []
    for size in (200, 2000):
        root = opened(Inspector(Trace.from_dict(synthetic.layers(size))))
        root.evaluate(STEPPED)  # the browser translates a script once it has run a while
        clock = processor(page)
        before = clock()
        counts = root.evaluate(STEPPED)
        took = (clock() - before) / len(counts)
        changes.append(median(counts))
        print(f"\na step at {size} nodes: {took:.2f} ms of the processor, {changes[-1]} changes")
        assert took < 33
    assert 0 < changes[1] < 1.5 * changes[0] + 10


def test_a_step_is_quick_with_all_drawn_and_the_table_open(page: Page, opened: Opened) -> None:
    """The rows are not made anew at each step, and the boxes that a step leaves alone are not styled anew."""
    root = opened(network(18))
    root.locator(".mg-summary > summary").click()
    root.get_by_role("button", name="unfold all").click()
    root.locator("[data-lens=backward]").click()
    root.press("Home")
    root.evaluate(STEPPED)
    root.press("Home")
    clock = processor(page)
    before = clock()
    steps = len(root.evaluate(STEPPED))
    took = (clock() - before) / steps
    print(f"\na step with all drawn: {took:.2f} ms of the processor")
    assert root.locator(".mg-node").count() > 180
    assert root.locator(".mg-table tr[aria-current=step]").count() == 1
    assert took < 33


def test_a_graph_of_2000_nodes_opens_folded_and_is_quick(page: Page, opened: Opened) -> None:
    inspector = network(180)
    root = opened(inspector)
    page.wait_for_function("performance.getEntriesByName('first-contentful-paint').length")  # it comes after the layout
    paint = page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime")
    assert len(inspector._trace.nodes) > 1_900
    assert root.locator(".mg-node").count() <= 500
    root.locator(".mg-summary > summary").click()
    times = root.evaluate(UNFOLDED)
    count = len(inspector._trace.nodes)
    print(f"\n{count} nodes: first paint {paint:.0f} ms; to unfold a module {median(times):.0f} ms")
    assert median(times) < 1_000


def test_what_is_drawn_does_not_grow_with_the_trace(page: Page, opened: Opened) -> None:
    """Of the model, of the table, and of the chart below: three times as many nodes, as many elements."""
    found = []
    for size in (120, 360):
        root = opened(network(size))
        root.locator(".mg-summary > summary").click()
        expect(root.locator(".mg-summary tbody tr").first).to_be_visible()
        points = root.locator(".mg-chart path").evaluate_all("paths => paths.map(path => path.outerHTML.length)")
        found.append((root.locator(".mg-panes *").count(), max(points)))
    (few, short), (many, long) = found
    assert many < 1.1 * few and long < 100_000 and short > 1_000, found


# The map of a model fills its window, nothing overlaps, nothing is cut, no text is small.
@pytest.fixture(params=["light", "dark"])
def scheme(page: Page, request: pytest.FixtureRequest) -> None:
    page.emulate_media(color_scheme=request.param)


def mapped(opened: Opened, blocks: int = 12) -> Locator:
    root = opened(Inspector(trained(Model(blocks))))
    expect(root.locator(".mg-node").filter(has_text="loss")).to_be_visible()
    root.evaluate(SETTLED)
    return root


def sides(root: Locator, parts: str) -> Sides:
    """The sides of these parts of a picture, in one look: a drawing that gets another size is drawn anew."""
    found: Sides = root.evaluate(f"(root, parts) => ({SIDES})([...root.querySelectorAll(parts)])", parts)
    return found


def overlap(one: list[float], other: list[float]) -> bool:
    """Whether two parts of the page lie over each other, by more than the rounding of a pixel."""
    return min(one[1], other[1]) - max(one[0], other[0]) > 1 and min(one[3], other[3]) - max(one[2], other[2]) > 1


@pytest.mark.parametrize(("width", "height"), SIZES)
@pytest.mark.usefixtures("scheme")
def test_the_map_is_whole_and_legible(page: Page, opened: Opened, width: int, height: int) -> None:
    page.set_viewport_size({"width": width, "height": height})
    root = mapped(opened)
    [frame] = sides(root, ".mg-svg")
    boxes = sides(root, ".mg-box")
    assert 8 <= len(boxes) <= 30
    for left, right, top, bottom in boxes:
        assert frame[0] <= left and right <= frame[1] and frame[2] <= top and bottom <= frame[3]
    assert not [pair for pair in combinations(boxes, 2) if overlap(*pair)]
    tools = sides(root, ".mg-tools summary, .mg-colour, .mg-zoom, .mg-legend, .mg-scales")
    assert not [(box, tool) for box in boxes for tool in tools if overlap(box, tool)]
    assert min(root.locator(".mg-world text").evaluate_all(LETTERS)) >= 11
    titles = sides(root, ".mg-title")
    assert len(titles) == len(boxes)
    assert all(any(box[0] <= title[0] and title[1] <= box[1] for box in boxes) for title in titles)
    said = sides(root, ".mg-measured :is(.mg-caption, .mg-told, .mg-class)")
    drawn = [each for each in said if each[1] > each[0]]
    assert len(drawn) >= len(boxes) / 2
    assert all(any(box[0] <= left and right <= box[1] and box[2] <= top and bottom <= box[3] + 1 for box in boxes)
               for left, right, top, bottom in drawn)


class Nested(nn.Module):
    """As many modules inside each other as it is deep: each has its own button."""

    def __init__(self, deep: int) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.inner = Nested(deep - 1) if deep > 1 else nn.ReLU()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.inner(self.linear(x)).sin()  # type: ignore[no-any-return]  # a module returns what it likes


@pytest.mark.parametrize("width", [800, 1280])
def test_the_legend_lies_over_nothing(page: Page, opened: Opened, width: int) -> None:
    """Neither over the buttons of six levels or more, nor over the drawing, nor over what is open on it."""
    page.set_viewport_size({"width": width, "height": 800})
    root = opened(inspect(Nested(5), torch.ones(2, 4)))
    assert root.locator(".mg-levels button").count() >= 6
    legend, parts = root.locator(".mg-scales"), root.locator(".mg-levels button, .mg-zooms > button, svg.mg-svg")
    for measure in ("gradient", "flops", "saved"):
        root.locator(".mg-colour select").select_option(measure)
        expect(legend).to_be_visible()
        [drawn] = legend.evaluate_all(SIDES)
        assert not [part for part in parts.evaluate_all(SIDES) if overlap(drawn, part)]
    root.locator(".mg-summary > summary").click()
    body = root.locator(".mg-summary[open] > :not(summary)").last
    expect(body).to_be_visible()
    assert not overlap(legend.evaluate_all(SIDES)[0], body.evaluate_all(SIDES)[0])


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(("model", "said", "lens"), [
    (nn.Linear(4, 3), "is no loss: this is the backward pass of its sum. For a training step give loss_", "backward"),
    (nn.LSTM(4, 3), "out[0], out[1][0], out[1][1], so no backward pass was run: this is the forward pass", "forward"),
], ids=["one", "several"])
def test_a_result_that_is_no_loss_is_shown_and_a_banner_says_so(
    page: Page, opened: Opened, axe: Axe, model: nn.Module, said: str, lens: str, scheme: Literal["light", "dark"]
) -> None:
    page.emulate_media(color_scheme=scheme)
    root = opened(inspect(model, torch.ones(5, 4)))
    expect(root.locator(".mg-banner")).to_contain_text(said)
    expect(root).to_have_attribute("data-lens", lens)
    expect(root.locator('.mg-node:not([data-status="unknown"])').first).to_be_visible()
    expect(root.locator("output.mg-text")).not_to_contain_text("retain_graph")
    assert axe(page) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(("width", "height"), SIZES)
def test_the_first_screen_says_what_the_model_is_and_what_it_costs(
    page: Page, opened: Opened, axe: Axe, width: int, height: int, scheme: Literal["light", "dark"]
) -> None:
    """Without a click: the model, its most expensive parts, and where the gradient shrinks."""
    page.set_viewport_size({"width": width, "height": height})
    page.emulate_media(color_scheme=scheme)
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 64), nn.Tanh(), nn.Linear(64, 4))
    inspector = inspect(model, torch.ones(32, 8), target=torch.zeros(32, 4), loss_fn=nn.functional.mse_loss)
    root = opened(inspector)
    card = root.locator(".mg-overview")
    told = dict(zip(card.locator("dt").all_inner_texts(), card.locator("dd").all_inner_texts(), strict=True))
    assert told["is"] == f"Sequential, 836 parameters, {len(inspector._trace.nodes)} nodes"
    assert "FLOPs" in told["costs most"] and told["saves most"] == "1 Tanh and 2 Linear, each 8 KiB"
    assert told["is largest"].startswith("0 Linear: 576 parameters")
    gradient = told["gradient"]
    assert " from the output (2 Linear: " in gradient and ") to the input (0 Linear: " in gradient
    [box] = card.evaluate_all(SIDES)
    assert 0 <= box[0] < box[1] <= width
    assert axe(page) == []
    root.locator(".mg-overview .mg-link").first.click()
    expect(card).to_have_count(0)


@pytest.mark.parametrize("width", [800, 1280])
def test_the_table_has_its_gradients_in_sight(page: Page, opened: Opened, width: int) -> None:
    """However long the names and wide the numbers are; a name that is cut can be read in full."""
    page.set_viewport_size({"width": width, "height": 800})
    model = nn.Sequential(OrderedDict(a_long_name_of_a_layer_that_nobody_shortened=nn.Conv2d(1, 8, 3), act=nn.ReLU()))
    root = opened(inspect(model, torch.ones(200, 1, 120, 120)))
    root.locator(".mg-summary > summary").click()
    cells = root.locator(".mg-summary td[data-measure=gradient]")
    expect(cells.last).to_be_visible()
    [body] = sides(root, ".mg-summary > .mg-nodelist-body")
    assert max(right for _, right, _, _ in cells.evaluate_all(SIDES)) <= body[1] + 1
    assert root.locator(".mg-summary tbody th[title*='a_long_name_of_a_layer_that_nobody_shortened']").count()


@pytest.mark.parametrize("width", [640, 800])
def test_no_number_of_the_table_is_cut(page: Page, opened: Opened, width: int) -> None:
    """A column of which there is room for a part is not shown, wherever the table is scrolled to."""
    page.set_viewport_size({"width": width, "height": 600})
    root = mapped(opened)
    root.locator(".mg-summary > summary").click()
    body = root.locator(".mg-summary > .mg-nodelist-body")
    expect(body.locator("tbody tr").first).to_be_visible()
    [row, *_], [around] = sides(body, "tbody tr"), body.evaluate_all(SIDES)
    assert (around[3] - row[2]) / 25 >= 6  # rows in view
    assert body.evaluate("body => body.scrollWidth > body.clientWidth")
    for left in (0, 30, 60, 90, 120):
        body.evaluate("(body, left) => { body.scrollLeft = left; }", left)
        page.wait_for_function(WHOLE)


def test_names_in_a_search_can_be_told_apart(page: Page, opened: Opened) -> None:
    """The number of a layer stays, however deep it is, and no name is cut off by its column."""
    page.set_viewport_size({"width": 800, "height": 600})
    model: nn.Module = nn.Sequential(*(nn.Linear(2, 2) for _ in range(12)))
    for name in ("feed_forward", "transformer_layer", "encoder_of_the_model"):
        model = nn.Sequential(OrderedDict({name: model}))
    root = opened(inspect(model, torch.ones(1, 2)))
    root.locator(".mg-summary > summary").click()
    root.locator(".mg-filter").fill("weight")
    names = root.locator(".mg-summary tbody th button")
    expect(names).to_have_count(12)
    assert [name.split(".")[-2:] for name in names.all_inner_texts()] == [[str(at), "weight"] for at in range(12)]
    assert names.evaluate_all("""names => names.every(name =>
        name.getBoundingClientRect().right <= name.closest('th').getBoundingClientRect().right)""")


def test_keys_work_before_the_first_click(page: Page, opened: Opened) -> None:
    root = opened(Inspector(blocks(False)))
    root.evaluate("root => root.blur()")
    first = root.get_attribute("data-step")
    page.keyboard.press("End")
    expect(root.locator("output.mg-text")).to_contain_text("backward ends")
    page.keyboard.press("Home")
    expect(root).to_have_attribute("data-step", first or "")
    page.keyboard.press("ArrowRight")
    expect(root).not_to_have_attribute("data-step", first or "")


@pytest.mark.parametrize(("width", "height"), SIZES)
def test_the_map_fills_its_window(page: Page, opened: Opened, width: int, height: int) -> None:
    """A page of its own, and then the whole window."""
    page.set_viewport_size({"width": width, "height": height})
    root = mapped(opened)
    [around] = root.evaluate_all(SIDES)
    assert around[3] - around[2] > 0.9 * height
    root.press("f")
    expect(root).to_have_attribute("data-whole", "")
    root.evaluate(SETTLED)
    [frame] = sides(root, ".mg-svg")
    boxes = sides(root, ".mg-box")
    wide = max(box[1] for box in boxes) - min(box[0] for box in boxes)
    high = max(box[3] for box in boxes) - min(box[2] for box in boxes)
    assert wide > 0.6 * (frame[1] - frame[0]) or high > 0.6 * (frame[3] - frame[2])


def test_columns_follow_the_window(page: Page, opened: Opened) -> None:
    """A low window has several columns, a high one has one; the step stays."""
    page.set_viewport_size({"width": 1280, "height": 640})
    root = mapped(opened)
    count = "boxes => new Set(boxes.map(box => box.getBoundingClientRect().top | 0)).size"
    rows = root.locator(".mg-box").evaluate_all(count)
    root.press("ArrowRight")
    said = root.locator("output.mg-text").inner_text()
    page.set_viewport_size({"width": 1280, "height": 1900})
    page.wait_for_function(f"rows => ({count})([...document.querySelectorAll('.mg-box')]) > rows", arg=rows)
    expect(root.locator("output.mg-text")).to_have_text(said)
    expect(root.locator(".mg-lit")).to_have_count(1)


PLACED = """boxes => Object.fromEntries(boxes.map(box => {
  const { left, top, width, height } = box.getBoundingClientRect();
  return [box.parentElement.querySelector('.mg-title').textContent, [left, top, width, height].map(Math.round)];
}))"""


@pytest.mark.parametrize(("width", "height"), SIZES[:2])
def test_forward_and_backward_are_the_same_map(page: Page, opened: Opened, width: int, height: int) -> None:
    """The same boxes at the same places, however long the sentence above; only what they say of the step differs."""
    page.set_viewport_size({"width": width, "height": height})
    root = mapped(opened)
    page.wait_for_timeout(400)  # the panes take their size
    boxes, tabs = root.locator(".mg-node .mg-box"), root.locator(".mg-tab")
    before = boxes.evaluate_all(PLACED)
    assert len(before) >= 8
    for lens in ("forward", "backward", "forward"):
        tabs.filter(has_text=lens).click()
        expect(root).to_have_attribute("data-lens", lens)
        for key in ("End", "ArrowLeft"):
            root.press(key)
            root.evaluate(SETTLED)
            shown = boxes.evaluate_all(PLACED)
            assert len(shown) == len(before) or lens == "forward" and key == "ArrowLeft"
            assert [title for title, place in shown.items() if place != before.get(title)] == []


def test_a_row_of_blocks_opens_into_its_blocks(page: Page, opened: Opened) -> None:
    root = mapped(opened)
    root.locator(".mg-node[data-scope]").filter(has_text="×11").locator(".mg-title").click()
    titles = root.locator(".mg-node[data-scope] .mg-title")
    expect(titles.filter(has_text="h.11")).to_have_count(1)
    assert {f"h.{at}" for at in range(1, 12)} <= set(titles.all_text_contents())


def sampled(page: Page, root: Locator, clicked: Locator) -> list[dict[str, list[float]]]:
    """Where each box was in each frame after a click."""
    frames: list[dict[str, list[float]]] = page.evaluate(SAMPLED, [root.element_handle(), clicked.element_handle()])
    return frames


def test_boxes_move_smoothly_and_what_was_opened_stays(page: Page, opened: Opened) -> None:
    """Every box begins where it, or the box that held it, was; the step is in view; closing goes the same way back."""
    page.set_viewport_size({"width": 1280, "height": 800})
    root = mapped(opened)
    root.press("ArrowRight")
    expect(root.locator(".mg-lit")).to_have_count(1)
    said = root.locator("output.mg-text").inner_text()
    row = next(title for title in root.locator(".mg-title").all_text_contents() if "×11" in title)
    before, *frames = sampled(page, root, root.locator(".mg-title", has_text=row))
    before = {title.removesuffix("Backward0"): at for title, at in before.items()}  # the opened map is drawn smaller
    first, last = frames[0], frames[-1]
    blocks = {f"h.{at}" for at in range(1, 12)}
    assert blocks <= set(last) and row not in last
    for title, at in first.items():
        assert at == pytest.approx(before[row if title in blocks else title], abs=1), title
    assert min(abs(last[each][1] - before[row][1]) for each in blocks) < 2  # one of them is where their box was
    for title in ("loss", "last", "first"):
        ways = [sum((a - b) ** 2 for a, b in zip(frame[title], last[title], strict=True)) ** 0.5 for frame in frames]
        assert ways == sorted(ways, reverse=True), f"{title} does not go straight to its place"
    expect(root.locator("output.mg-text")).to_have_text(said)
    expect(root.locator(".mg-lit")).to_have_count(1)
    [frame], [lit] = sides(root, ".mg-svg"), sides(root, ".mg-lit .mg-box")
    assert frame[0] <= lit[0] < lit[1] <= frame[1] and frame[2] <= lit[2] < lit[3] <= frame[3]
    root.locator(".mg-summary > summary").click()
    expect(root.locator(".mg-summary tbody tr").first).to_be_visible()
    root.evaluate(SETTLED)
    button = root.locator(".mg-summary tbody tr", has_text=row).locator("button.mg-unfold")
    before, *frames = sampled(page, root, button)
    assert row in frames[-1] and not blocks & set(frames[-1])
    assert frames[0][row] == pytest.approx(before["h.1"], abs=1)


def test_boxes_do_not_move_where_less_motion_is_asked_for(page: Page, opened: Opened) -> None:
    page.emulate_media(reduced_motion="reduce")
    root = mapped(opened)
    _, first, *_, last = sampled(page, root, root.locator(".mg-title", has_text="×11"))
    assert "h.1" in first and first == last


@pytest.mark.usefixtures("scheme")
def test_the_module_that_raised_is_marked(page: Page, opened: Opened) -> None:
    """Its box, or the folded one around it, with the shapes that met; the edge is broken, and the dot is a cross."""
    page.set_viewport_size({"width": 1440, "height": 1600})
    root = opened(inspect(nn.Sequential(*(Misfit(16 + (at == 5)) for at in range(6))), torch.ones(3, 8)))
    marked = root.locator(".mg-node[data-failed]")
    told = "raised: [3, 16] · weight [8, 17]"
    expect(marked).to_have_count(1)
    expect(marked.locator(".mg-caption")).to_have_text(told)
    expect(marked).to_have_attribute("aria-label", f"module back, folded, {told}")
    expect(marked.locator(".mg-box")).to_have_css("stroke-dasharray", "7px, 4px")
    dot = root.locator(".mg-node:not([data-failed]) .mg-glyph").first.get_attribute("d") or ""
    expect(marked.locator(".mg-glyph")).not_to_have_attribute("d", dot)
    expect(marked.locator(".mg-caption")).to_be_visible()
    [box], [text] = (marked.locator(part).evaluate_all(SIDES) for part in (".mg-box", ".mg-caption"))
    assert box[0] < text[0] and text[1] < box[1]
    marked.locator(".mg-title").click()
    expect(marked).to_have_attribute("data-failed", "within")
    expect(marked.locator(".mg-title")).not_to_have_text("5.back")
    expect(marked.locator(".mg-caption")).to_have_text(f"back {told}")
