"""How an inspector opens in JupyterLab, and what it says of itself, in two windows and two themes: which part of a
graph is looked at first, names, the node that stays chosen, calls by hand, models of PyTorch, saved pictures."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

import pytest

from tests.groups import has_browser, installed, require

pytestmark = pytest.mark.browser
require("browser", has_browser() and installed("jupyterlab"), "chromium, playwright or jupyterlab is not installed")

import nbformat
from PIL import Image, ImageChops
from playwright.sync_api import BrowserContext, Locator, Page, expect

from minigrad_widgets.pictures.sketch import STRIP, with_note
from minigrad_widgets.widget.base import STILL
from tests.browser.book import await_widgets, turn
from tests.browser.fixtures import Axe, keep, ran, whole
from tests.browser.jupyter import PATIENCE, Lab, await_idle, open_notebook, run_all, saved

NAME = "opening.ipynb"
IMPORTS = """import minigrad as torch
import torch as pytorch
from minigrad.recorder import record
from minigrad_lessons import reveal
from minigrad_widgets import Inspector, inspect"""
ISLANDS = """with record() as islands:
    for seed in range(4):
        x = torch.full((2,), seed + 1., requires_grad=True)
        h = x
        for _ in range(12):
            h = (h * x).sin()
        h.sum().backward()
Inspector(islands)"""
ENCODER = """torch.manual_seed(0)
layer = torch.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
encoder = torch.nn.TransformerEncoder(layer, 6, enable_nested_tensor=False)
inspect(encoder, torch.randn(1, 3, 8), loss_fn=lambda output: output.square().mean())"""
BLOCKS = ENCODER.replace("6,", "12,")
WIDE = """with record() as wide:
    a = torch.tensor(0.5, requires_grad=True)
    b = a * a
    c, d = b * 3, b.exp()
    f = c * d + b
    f.backward()
Inspector(wide, lens="traversal")"""
MEETING = """net = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Tanh())
for p in net.parameters():
    p.data.fill_(0.5)
with record() as meeting:
    h = net(torch.ones(1, 2))
    loss = (h * 123.456 + h * -7891.23 + h.exp()).sum()
    loss.backward()
reveal("3.2", 1)
Inspector(meeting)"""
BY_HAND = """m = torch.tensor([2., 3.], requires_grad=True)
with record() as walk:
    a, b = m.unbind()
    loss = (a * b + a).sum()
    loss.backward()
Inspector(walk, lens="traversal")"""
PYTORCH = """pytorch.manual_seed(0)
model = pytorch.nn.Sequential(pytorch.nn.Linear(4, 3), pytorch.nn.ReLU(), pytorch.nn.Linear(3, 2))
batch, labels = pytorch.randn(5, 4), pytorch.tensor([0, 1, 0, 1, 1])
inspect(model, batch, target=labels, loss_fn=pytorch.nn.functional.cross_entropy)"""
MODULES = """wide, many = pytorch.nn.Linear(16, 16), pytorch.randn(8, 16)
inspect(wide, many, detail="modules")"""
LAYERS = PYTORCH.replace("Linear(3, 2)", "Linear(3, 3), pytorch.nn.Tanh(), pytorch.nn.Linear(3, 2)")
COMPILED = "inspect(pytorch.compile(model), batch)"
UNET = f"""import sys
sys.path.append({str(Path(__file__).parents[2])!r})
from tests.comparison.models import MODELS
case = MODELS["unet"][1]()
inspect(case.model, *case.inputs, **case.loss)"""
CELLS = (IMPORTS, ISLANDS, ENCODER, MEETING, BY_HAND, PYTORCH, MODULES, COMPILED, BLOCKS, LAYERS, WIDE, UNET)


@pytest.fixture(scope="module")
def notebook(pages: BrowserContext, server: Lab) -> Iterator[Page]:
    """A notebook of these programs, run: eleven inspectors and the card of `reveal`."""
    with ran(pages, server, NAME, *CELLS, widgets=12) as page:
        yield page


def cell(page: Page, program: str) -> Locator:
    """The cell of a program."""
    return page.locator(".jp-Notebook .jp-Cell").nth(CELLS.index(program))


def shown(page: Page, program: str) -> Locator:
    """The inspector of a cell, in view and with the keyboard in it."""
    root = cell(page, program).locator(".mg-root:has(svg.mg-svg)")
    root.evaluate("root => root.closest('.jp-Cell').scrollIntoView({block: 'start'})")
    root.focus()
    return root


def node(root: Locator, title: str) -> Locator:
    """The first node of this title."""
    return root.locator(".mg-node", has_text=title).first


def at(page: Page, root: Locator) -> int:
    """Which of the page's widgets it is."""
    found: int = page.evaluate("root => [...document.querySelectorAll('.mg-root')].indexOf(root)",
                               root.element_handle())
    return found


def inside(root: Locator, part: Locator) -> bool:
    """Whether all of a part of the drawing lies in the graph's frame."""
    frame, box = root.locator("svg.mg-svg").bounding_box(), part.bounding_box()
    return bool(frame and box and frame["x"] <= box["x"] and box["x"] + box["width"] <= frame["x"] + frame["width"]
                and frame["y"] <= box["y"] and box["y"] + box["height"] <= frame["y"] + frame["height"])


def apart(first: Locator, second: Locator) -> bool:
    """Whether two parts of the page do not lie over each other."""
    one, other = first.bounding_box(), second.bounding_box()
    assert one and other
    return any(one[side] + one[size] <= other[side] or other[side] + other[size] <= one[side]
               for side, size in (("x", "width"), ("y", "height")))


def test_of_several_graphs_the_one_that_the_step_is_about_is_in_view(seen: Page, axe: Axe) -> None:
    root, found = shown(seen, ISLANDS), 0
    for key in ("Home", "ArrowRight", "ArrowRight", "End", *["ArrowLeft"] * 4):
        root.press(key)
        seen.wait_for_timeout(400)  # the view glides
        lit = root.locator(".mg-node.mg-lit .mg-box")
        found += lit.count()
        assert lit.count() == 0 or inside(root, lit.first), root.locator("output.mg-text").inner_text()
        over = [root.locator(".mg-map"), root.locator(".mg-zoom"), *root.locator(".mg-tools summary:visible").all()]
        assert lit.count() == 0 or all(apart(lit.first, each) for each in over)
    assert found > 4
    assert axe(seen, at(seen, root)) == []


@pytest.mark.parametrize(("program", "least"), [(BLOCKS, 8), (LAYERS, 6), (WIDE, 6), (UNET, 18)],
                         ids=["map", "model", "ops", "unet"])
def test_a_drawing_fills_its_cell_and_is_whole(seen: Page, program: str, least: int) -> None:
    """A model opens at 8 to 30 boxes, or at all that it has; what fits beside its window's edges is not cut."""
    root = shown(seen, program)
    seen.wait_for_timeout(400)  # the panes take their size
    assert least <= root.locator(".mg-node .mg-box").count() <= 30
    whole(root)
    assert root.evaluate("root => root.offsetWidth / root.closest('.jp-OutputArea-output').clientWidth") > 0.95
    wide, high = root.locator(".mg-nodes").evaluate("""nodes => {
      const [all, frame] = [nodes, nodes.closest('.mg-svg')].map(part => part.getBoundingClientRect());
      return [all.width / frame.width, all.height / frame.height];
    }""")
    assert max(wide, high) > 0.6
    words = root.locator(".mg-overview dd, .mg-colour select")
    assert words.evaluate_all("words => words.filter(each => each.scrollWidth > each.clientWidth + 1).length") == 0


@pytest.mark.parametrize("height", [720, 800])
def test_a_small_graph_and_the_buttons_below_it_are_in_sight_together(seen: Page, height: int) -> None:
    """In a low window, beside JupyterLab's list of files: the picture is no higher than what shows the notebook."""
    before = seen.viewport_size
    seen.set_viewport_size({"width": 1280, "height": height})
    root = shown(seen, WIDE)
    seen.wait_for_function("""([root, height]) => innerHeight === height
      && root.offsetHeight <= root.closest('.jp-WindowedPanel-outer, .jp-Notebook').clientHeight""",
                           arg=[root.element_handle(), height])
    assert before
    seen.set_viewport_size(before)


@pytest.mark.parametrize("program", [BLOCKS, UNET], ids=["map", "unet"])
def test_all_that_is_said_of_the_gradient_is_in_sight(seen: Page, program: str) -> None:
    """In the narrow pane of a notebook, too, without scrolling; the lines below it may be further down."""
    root = shown(seen, program)
    seen.wait_for_timeout(400)  # the panes take their size
    body, told = (root.locator(part).bounding_box()
                  for part in (".mg-details-body", ".mg-overview dt:text-is('gradient') + dd"))
    assert body and told and told["y"] + told["height"] <= body["y"] + body["height"]
    assert told["x"] + told["width"] <= body["x"] + body["width"]


def test_an_encoder_shows_its_layers(seen: Page, axe: Axe) -> None:
    """The first one and the others, which are alike; the loss is beside them. The legend stays in sight."""
    root = shown(seen, ENCODER)
    folded = root.locator(".mg-node[data-scope] .mg-title")
    for digit in "2132":
        root.press(digit)
        titles = folded.all_text_contents()
        assert titles == ["encoder", "loss"] if digit == "1" else len(titles) > 2
    assert titles == ["layers.0", "layers.1 … layers.5 ×5", "loss"]
    assert inside(root, node(root, "loss").locator(".mg-box"))
    assert apart(root.locator(":is(.mg-legend, .mg-scales):visible"), root.locator(".mg-levels"))
    assert axe(seen, at(seen, root)) == []


@pytest.mark.parametrize(("program", "least"), [(MEETING, 10), (ISLANDS, 15)], ids=["two", "thirteen"])
def test_gradients_that_arrive_at_one_node_are_apart(seen: Page, axe: Axe, program: str, least: int) -> None:
    """In the whole window, at a size at which numbers are shown, where the last ones arrive."""
    root = shown(seen, program)
    root.press("f")
    for key in ("End", *["ArrowLeft"] * 4):
        root.press(key)
    seen.wait_for_timeout(600)  # the view glides
    boxes = root.locator(".mg-labels text.mg-gradient").evaluate_all("""labels => labels
        .filter(label => label.textContent !== '').map(label => label.getBoundingClientRect())
        .filter(({width}) => width > 0).map(({left, top, right, bottom}) => [left, top, right, bottom])""")
    assert len(boxes) >= least
    assert axe(seen, at(seen, root)) == []
    keep(seen, f"arriving-{least}-{seen.viewport_size}")
    root.press("f")
    assert [] == [(one, other) for number, one in enumerate(boxes) for other in boxes[:number]
                  if one[0] < other[2] and other[0] < one[2] and one[1] + 1 < other[3] and other[1] + 1 < one[3]]


def test_every_leaf_has_a_name(seen: Page) -> None:
    """Also where the program's own name for it is that of a loop over parameters."""
    captions = shown(seen, MEETING).locator(".mg-leaf .mg-caption").all_text_contents()
    assert sorted(caption.split(" · ")[0] for caption in captions) == ["net.0.bias", "net.0.weight"]


def test_the_program_ends_where_the_recording_does(seen: Page) -> None:
    """What the lessons' helpers are asked afterwards is not part of it."""
    source = shown(seen, MEETING).locator(".mg-source")
    assert "loss.backward()" in source.inner_text()
    assert "reveal" not in source.inner_text() and "Inspector" not in source.inner_text()


def test_a_node_stays_chosen_until_it_is_unpinned(seen: Page, axe: Axe) -> None:
    root = shown(seen, MEETING)
    root.press("Home")
    title = root.locator(".mg-details h3")
    node(root, "AddBackward0").locator(".mg-title").click()
    unpin = root.locator(".mg-unpin")
    expect(unpin).to_be_visible()
    assert "AddBackward0" in title.inner_text()
    assert axe(seen, at(seen, root)) == []
    root.press("ArrowRight")
    root.press("ArrowRight")
    assert "AddBackward0" in title.inner_text()
    unpin.click()
    assert "AddBackward0" not in title.inner_text()
    assert unpin.count() == 0


def test_a_walk_that_calls_too_early_and_then_the_rest_is_right(seen: Page, axe: Axe) -> None:
    root = shown(seen, BY_HAND)
    root.press("Home")
    said = root.locator("output.mg-text")
    for name in ("Sum", "Add", "Unbind"):
        node(root, f"{name}Backward0").locator(".mg-title").click()
    assert "was called too early: 1 of 3 gradients had arrived" in said.inner_text()
    for name in ("MulBackward0", "UnbindBackward0"):
        node(root, name).locator(".mg-title").click()
    root.press("ArrowDown")  # to the leaf, which may lie below the window
    node(root, "AccumulateGrad").locator(".mg-title").click()
    assert "m.grad is now tensor([4., 2.])" in said.inner_text()
    assert "the sums are right" in said.inner_text() and "partial" not in said.inner_text()
    assert axe(seen, at(seen, root)) == []
    root.press("Home")


def test_a_model_of_pytorch_is_inspected_with_its_loss(seen: Page, axe: Axe) -> None:
    """Its leaves have the model's names, its numbers are PyTorch's, and the line that asked is marked."""
    root = shown(seen, PYTORCH)
    root.press("End")
    assert "inspect(model, batch" in root.locator(".mg-line.mg-current").inner_text()
    given = root.locator(".mg-details dl dt").all_inner_texts()
    assert given == [f"model.{layer}.{name}" for layer in (2, 0) for name in ("bias", "weight")]
    titles = root.locator(".mg-node .mg-title").all_text_contents()  # with their class where it has no line of its own
    assert [title.split()[0] for title in titles] == ["0", "1", "2", "loss"]
    assert axe(seen, at(seen, root)) == []


def test_times_of_a_model_are_shaded_and_listed(seen: Page, axe: Axe) -> None:
    """`inspect` records them: of the ops and of their derivatives, by node and by module."""
    root = shown(seen, PYTORCH)
    root.locator(".mg-colour select").select_option("forward")
    root.locator(".mg-graph.mg-costs").wait_for()
    turn(root.locator(".mg-summary"))
    heads = root.locator(".mg-summary thead th")
    assert heads.all_inner_texts()[:5] == ["module or op", "state", "output", "time", "derivative"]
    cells = root.locator(".mg-summary tbody [data-measure=forward]")
    expect(cells.first).not_to_be_empty()
    assert all(text == "" or text.endswith("s") for text in cells.all_inner_texts())
    assert axe(seen, at(seen, root)) == []
    turn(root.locator(".mg-summary"))
    root.locator(".mg-colour select").select_option("")
    root.locator(".mg-graph:not(.mg-costs)").wait_for()


def test_what_was_not_kept_says_so(seen: Page, axe: Axe) -> None:
    """With `detail="modules"`: on the edges, at the last step, in the table."""
    root = shown(seen, MODULES)
    root.press("End")
    assert "16×16, not kept" in root.locator(".mg-labels text.mg-gradient").all_text_contents()
    assert "tensor of [16, 16]: values not kept" in root.locator(".mg-details dl dd").all_inner_texts()
    turn(root.locator(".mg-summary"))
    root.locator(".mg-filter").fill("leaf")
    expect(root.locator(".mg-summary tbody [data-measure=gradient]")).to_have_text(["not kept"] * 2)
    assert axe(seen, at(seen, root)) == []
    root.locator(".mg-filter").fill("")
    turn(root.locator(".mg-summary"))


def test_a_compiled_model_is_inspected_as_it_runs_eagerly(seen: Page, axe: Axe) -> None:
    root = shown(seen, COMPILED)
    root.press("End")
    assert root.locator(".mg-node .mg-title").all_text_contents() == [f"_orig_mod.{at}" for at in range(3)]
    assert axe(seen, at(seen, root)) == []


def test_the_picture_in_a_notebook_that_is_not_trusted_says_that_the_cell_must_run(tab: Page, server: Lab) -> None:
    """JupyterLab shows no widgets of a notebook that was changed elsewhere, but the pictures that were saved."""
    name = server.write("changed.ipynb", IMPORTS, ISLANDS.replace("range(4)", "range(1)"))
    open_notebook(tab, server, name)
    run_all(tab, server, name)
    await_widgets(tab, 1)
    notebook = saved(tab, server, name)
    server.ask(f"api/sessions/{await_idle(tab, server, name)['id']}", "DELETE")
    tab.goto("about:blank")
    notebook.cells[0].source += "  # changed elsewhere"
    nbformat.write(notebook, server.folder / name)
    open_notebook(tab, server, name)
    picture = tab.locator(".jp-OutputArea-output img")
    picture.wait_for(timeout=PATIENCE * 1000)
    assert tab.locator(".mg-root").count() == 0
    image = Image.open(BytesIO(b64decode((picture.get_attribute("src") or "").partition(",")[2]))).convert("RGB")
    wanted = with_note(Image.new("RGB", (image.width, image.height - STRIP), "white"), STILL)
    assert image.size == wanted.size
    strip = (0, image.height - STRIP, image.width, image.height)
    bands = ImageChops.difference(image.crop(strip), wanted.crop(strip)).getextrema()
    assert all(most < 40 for _, most in bands), bands  # a picture has few colours
