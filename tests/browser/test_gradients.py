"""What is shown of gradients in JupyterLab, in two windows and two themes: arithmetic, heat, what is no number."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from tests.groups import has_browser, installed, require

pytestmark = pytest.mark.browser
require("browser", has_browser() and installed("jupyterlab"), "chromium, playwright or jupyterlab is not installed")

from playwright.sync_api import BrowserContext, Locator, Page, expect

from tests.browser.book import turn
from tests.browser.fixtures import Axe, keep, ran
from tests.browser.jupyter import Lab

NAME = "arithmetic.ipynb"
IMPORTS = "import minigrad as torch\nfrom minigrad.recorder import record\nfrom minigrad_widgets import Inspector"
SUMS = """a = torch.tensor([1., 2.], requires_grad=True)
b = torch.tensor([5., 6.], requires_grad=True)
a.grad = torch.tensor([1., 1.])
with record() as trace:
    c = a * b
    loss = (c * 3 + c).sum()
    loss.backward()
Inspector(trace)"""
BROKEN = """x = torch.tensor([1., 2.], requires_grad=True)
with record() as odd:
    z = x * 0
    (z / z).sum().backward()
Inspector(odd)"""
VANISHING = """torch.manual_seed(0)
net = torch.nn.Sequential(*[layer for _ in range(4) for layer in (torch.nn.Linear(4, 4), torch.nn.Sigmoid())])
for p in net.parameters():
    p.data.mul_(0.01)
with record() as cold:
    net(torch.ones(2, 4)).sum().backward()
Inspector(cold)"""

TRAINED = """torch.manual_seed(0)
linear = torch.nn.Linear(2, 2)
optimizer = torch.optim.SGD(linear.parameters(), lr=0.1)
with record() as trained:
    (linear(torch.ones(3, 2)) ** 2).mean().backward()
    after = linear.weight.detach().clone().requires_grad_().sum()
    optimizer.step()
Inspector(trained)"""


@pytest.fixture(scope="module")
def notebook(pages: BrowserContext, server: Lab) -> Iterator[Page]:
    """A notebook with the four programs, run."""
    with ran(pages, server, NAME, IMPORTS, SUMS, BROKEN, VANISHING, TRAINED, widgets=4) as page:
        yield page


def inspector(page: Page, number: int) -> Locator:
    """One of the four, in view, at its first step, as it was before other tests chose a node or opened a list."""
    root = page.locator(".mg-root").nth(number)
    root.evaluate("""root => {
      root.closest(".jp-Cell").scrollIntoView({block: "start"});
      root.querySelector(".mg-unpin")?.click();
      for (const list of root.querySelectorAll(".mg-nodelist:not(.mg-numbers)")) list.open = false;
    }""")
    root.focus()
    root.press("Home")
    return root


def arithmetic(root: Locator) -> list[str]:
    """The lines of arithmetic that stand in the details."""
    return [" = ".join(block.locator("> div").all_inner_texts()) for block in root.locator(".mg-arithmetic").all()]


def go_to(root: Locator, text: str) -> None:
    """Steps on to the first step whose sentence says so, but for the numbers of nodes."""
    for _ in range(60):
        if text in re.sub(r" #\d+", "", root.locator("output.mg-text").inner_text()):
            return
        root.press("ArrowRight")
    raise AssertionError(f"no step says {text}")


def lit(root: Locator) -> list[str]:
    """What the graph lights as operands: the edges by their keys, then squares of saved tensors."""
    return root.locator("svg.mg-svg [data-operand]:not(text)").evaluate_all(
        "parts => parts.map(part => part.dataset.edge ?? 'saved').sort()")


def test_a_derivative_with_names_and_numbers(seen: Page, axe: Axe) -> None:
    root = inspector(seen, 0)
    go_to(root, "MulBackward0 runs")
    assert arithmetic(root) == ["grad of c = grad · 3 = [1., 1.] · 3"]
    go_to(root, "sends tensor([3., 3.])")
    assert arithmetic(root) == ["grad of c = grad · 3 = [1., 1.] · 3 = [3., 3.]"]
    root.press("ArrowRight")
    go_to(root, "MulBackward0 runs")
    assert arithmetic(root) == ["grad, where 2 gradients meet = [3., 3.] + [1., 1.] = [4., 4.]",
                                "grad of a = grad · b = [4., 4.] · [5., 6.]",
                                "grad of b = grad · a = [4., 4.] · [1., 2.]"]
    assert axe(seen, 0) == []


def test_operands_are_lit_where_they_are_drawn(seen: Page) -> None:
    root = inspector(seen, 0)
    go_to(root, "MulBackward0 runs")
    root.press("ArrowRight")
    go_to(root, "MulBackward0 runs")
    everything = lit(root)
    assert len(everything) == 3 and everything[-1] == "saved"
    wide, plain = [root.locator(f"svg.mg-svg path.mg-edge{which}").first.evaluate(
        "path => Number.parseFloat(getComputedStyle(path).strokeWidth)")
        for which in ("[data-operand]", ":not([data-operand])")]
    assert wide > plain
    root.locator('.mg-operand[data-operand="saved"]').first.hover()
    assert lit(root) == ["saved"]
    root.locator(".mg-name").hover()
    assert lit(root) == everything


def test_what_is_added_to_grad(seen: Page) -> None:
    """`.grad` of `a` was set before the recording began, that of `b` was None."""
    root = inspector(seen, 0)
    for leaf, line in {"a": "a.grad = what it held + [20., 24.] = [21., 25.]", "b": "b.grad = [4., 8.]"}.items():
        go_to(root, f"{leaf}.grad ")
        assert arithmetic(root) == [line]
    root.press("End")
    assert arithmetic(root) == [] and lit(root) == []
    given = root.locator(".mg-details dl")
    assert dict(zip(given.locator("dt").all_inner_texts(), given.locator("dd").all_inner_texts(), strict=True)) == {
        "a": "tensor([21., 25.])", "b": "tensor([4., 8.])"}


def tray(root: Locator, leaf: str) -> tuple[str | None, str | None, float]:
    """Of a leaf: the state of its `.grad`, its text, and how much of it is full."""
    node = root.locator("svg.mg-svg .mg-leaf").filter(has_text=f"{leaf} · ")
    widths = [float(node.locator(part).get_attribute("width") or 0) for part in (".mg-tray-level", ".mg-tray")]
    drawn = node.locator(".mg-grad")
    return drawn.get_attribute("data-grad"), drawn.locator("text").text_content(), round(widths[0] / widths[1], 2)


def test_grad_is_drawn_at_its_leaf_and_fills(seen: Page) -> None:
    root = inspector(seen, 0)
    assert tray(root, "a") == ("held", ".grad set before", 1) and tray(root, "b") == ("none", ".grad None", 0)
    go_to(root, "sends tensor([4., 8.])")
    assert tray(root, "b") == ("coming", ".grad None", 1)
    go_to(root, "b.grad ")
    assert tray(root, "b") == ("held", ".grad [4., 8.]", 1)
    root.press("End")
    assert tray(root, "a") == ("held", ".grad [21., 25.]", 1)
    box, grad = [root.locator(f"svg.mg-svg .mg-leaf .mg-{part}").first.bounding_box() for part in ("box", "tray")]
    assert box and grad and box["y"] + box["height"] <= grad["y"] + 1


def called(root: Locator) -> list[str]:
    """What the graph lights for a name: nodes and edges."""
    return root.locator("svg.mg-svg [data-called]:not(text)").evaluate_all(
        "parts => parts.map(part => part.dataset.edge ?? part.querySelector('.mg-title').textContent).sort()")


def test_a_name_in_the_source_lights_what_it_stands_for(seen: Page, axe: Axe) -> None:
    """With the pointer, and with the keyboard, which may go on stepping."""
    root = inspector(seen, 0)
    go_to(root, "b.grad ")
    names = root.locator(".mg-called")
    names.filter(has_text="b").first.hover()
    assert called(root)[-1] == "AccumulateGrad" and len(called(root)) == 2
    card = root.locator(".mg-card dd")
    assert card.all_inner_texts() == ["[2] tensor([5., 6.])", "AccumulateGrad(b)", "tensor([4., 8.])",
                                      "tensor([4., 8.])"]
    colours = root.evaluate("""root => ['[data-called] > .mg-halo', '.mg-leaf:not([data-called]) > .mg-halo'].map(
        part => getComputedStyle(root.querySelector(part)).stroke)""")
    assert colours[0] != colours[1]
    assert axe(seen, 0) == []
    root.locator(".mg-name").first.hover()
    assert called(root) == []
    root.press("Home")
    root.locator(".mg-called").filter(has_text="c").first.hover()
    assert card.all_inner_texts()[2] == "none so far"  # the pass begins here
    go_to(root, "b.grad ")
    root.locator(".mg-called[tabindex='0']").focus()
    step = int(root.get_attribute("data-step") or 0)
    root.page.keyboard.press("ArrowDown")
    root.page.keyboard.press("ArrowLeft")
    assert root.get_attribute("data-step") == str(step - 1)
    assert called(root) != []
    root.page.keyboard.press("Enter")
    assert root.locator("svg.mg-svg .mg-selected").count() == 1
    root.page.keyboard.press("Enter")
    root.page.mouse.move(0, 0)  # from the name that the pointer was left at
    root.focus()
    assert called(root) == []


def test_a_gradient_that_is_no_number_is_loud(seen: Page, axe: Axe) -> None:
    """On the edge, at the node, in the table, in the search, in the arithmetic and in the sentence."""
    root = inspector(seen, 1)
    go_to(root, "sends tensor([nan, nan])")
    assert root.locator("svg.mg-svg text.mg-gradient[data-broken='nan']").first.text_content() == "[nan, nan]"
    assert root.locator("svg.mg-svg [data-node][data-broken='nan']").count() >= 1
    assert arithmetic(root)[0].endswith("= [inf, inf]") and arithmetic(root)[1].endswith("= [nan, nan]")
    assert "nan" in root.locator("output.mg-text").inner_text()
    table = root.locator(".mg-summary")
    turn(table)
    assert "nan" in table.locator("tr[aria-current=step]").inner_text()
    turn(table)
    root.focus()
    words = root.locator("svg.mg-svg [data-broken] .mg-word, svg.mg-svg [data-broken] .mg-caption").evaluate_all(
        "texts => texts.map(text => [text.textContent, text.getBoundingClientRect().toJSON()])")
    assert any("nan" in text for text, _ in words)
    assert root.evaluate("read.overlaps") == []
    find = root.locator(".mg-find")
    find.fill("nan")
    assert root.locator(".mg-found").inner_text() not in ("", "0", "0 of 0")
    find.fill("")
    find.press("Escape")
    colours = root.evaluate("""root => {
      const of = part => getComputedStyle(root.querySelector(part));
      return [of('svg.mg-svg text.mg-gradient[data-broken]').fill, of('svg.mg-svg text.mg-title').fill];
    }""")
    assert colours[0] != colours[1]
    assert axe(seen, 1) == []


def test_a_value_and_its_gradient_stand_on_one_card(seen: Page, axe: Axe) -> None:
    """What an op made, and what came back for it, once it has."""
    root = inspector(seen, 0)
    go_to(root, "MulBackward0 runs")
    root.press("ArrowRight")
    go_to(root, "MulBackward0 runs")
    card = root.locator(".mg-details .mg-part", has_text="output c")
    told = dict(zip(card.locator("dt").all_inner_texts(), card.locator("dd").all_inner_texts(), strict=True))
    assert (told["value"], told["gradient"]) == ("tensor([5., 12.])", "tensor([4., 4.])")
    root.press("Home")
    root.locator(".mg-node", has_text="c · [2]").locator(".mg-title").click()
    assert "gradient" not in card.locator("dt").all_inner_texts()
    assert axe(seen, 0) == []
    root.locator(".mg-unpin").click()


def test_the_last_step_says_what_every_leaf_got(seen: Page, axe: Axe) -> None:
    """Also where an optimizer's step, or another write, comes behind the pass; and no sentence is cut off."""
    root = inspector(seen, 3)
    long = root.locator("output.mg-text")
    for key in ("Home", *["ArrowRight"] * 6):
        root.press(key)
        assert long.evaluate("text => text.scrollHeight <= text.clientHeight + 1"), long.inner_text()
    root.press("End")
    assert "is changed in place" in long.inner_text()
    given = root.locator(".mg-details .mg-part", has_text="each .grad at the end")
    assert given.locator("dt").all_inner_texts() == ["linear.bias", "linear.weight"]
    assert axe(seen, 3) == []
    root.press("Home")
    find = root.locator(".mg-find")
    find.fill("SumBackward0")
    find.press("Enter")
    expect(root.locator(".mg-found")).to_have_text("1 of 1")  # it is recorded behind the pass, and shown there
    assert root.locator(".mg-node.mg-selected").get_attribute("data-status") == "recorded"
    find.fill("")
    root.locator(".mg-unpin").click()
    keep(seen, f"last-{seen.viewport_size}")


def test_costs_shade_the_boxes_and_the_summary_lists_them(seen: Page, axe: Axe) -> None:
    """Saved bytes and FLOPs; times only where they were recorded. What is saved comes first among the bytes held."""
    root = inspector(seen, 2)
    assert root.locator(".mg-memory .mg-kind").first.inner_text().startswith("saved")
    choice = root.locator(".mg-colour select")
    assert choice.locator("option:not([disabled])").all_inner_texts() == [
        "none", "saved bytes", "FLOPs (estimate)", "parameters", "gradient per entry"]
    choice.select_option("flops")
    root.locator(".mg-graph.mg-costs").wait_for()
    turn(root.locator(".mg-summary"))
    root.locator(".mg-summary thead button", has_text="FLOPs").click()
    expect(root.locator("[aria-sort]")).to_have_text("FLOPs")
    rows = root.locator(".mg-summary tbody tr")
    amounts = [each.split() for each in rows.locator("[data-measure=flops]").all_inner_texts() if each]
    flops = [float(number) * (1000 if unit == "kFLOP" else 1) for number, unit in amounts]
    assert 64 in flops and flops[0] == max(flops)
    fills = root.locator("svg.mg-svg .mg-node").evaluate_all("""nodes => Object.fromEntries(nodes.map(node =>
        [node.style.getPropertyValue('--mg-share'), getComputedStyle(node.querySelector('.mg-box')).fill]))""")
    assert {"0.000", "1.000"} <= set(fills) and len(set(fills.values())) == len(fills)
    assert axe(seen, 2) == []
    keep(seen, f"cost-{seen.viewport_size}")
    root.locator(".mg-summary thead button", has_text="module or op").click()
    expect(root.locator("[aria-sort]")).to_have_count(0)
    turn(root.locator(".mg-summary"))
    choice.select_option("")
    root.locator(".mg-graph:not(.mg-costs):not(.mg-docked)").wait_for()


def test_colours_show_where_gradients_vanish(seen: Page, axe: Axe) -> None:
    """Each size has its colour and its width; the table has all leaves by their names, and bars that grow."""
    root = inspector(seen, 2)
    root.press("End")
    strokes = """root => Object.fromEntries([...root.querySelectorAll('path.mg-edge')].map(edge =>
        [edge.dataset.heat, getComputedStyle(edge).stroke + ' ' + getComputedStyle(edge).strokeWidth]))"""
    assert len(set(root.evaluate(strokes).values())) == 1
    root.locator(".mg-colour select").select_option("gradient")
    root.locator(".mg-graph.mg-heat").wait_for()
    legend = root.locator(".mg-scales .mg-size")
    assert legend.all_inner_texts() == ["0", "below 1e-6", "below 1e-3", "1e-3 to 10", "above 10", "above 1e3",
                                        "nan, inf"]
    drawn = root.evaluate(strokes)
    assert {"tiny", "small", "usual"} <= set(drawn) and len(set(drawn.values())) == len(drawn)
    turn(root.locator(".mg-summary"))
    root.locator(".mg-filter").fill("leaf net")
    rows = root.locator(".mg-summary tbody tr")
    expect(rows).to_have_count(8)
    assert set(rows.locator("button").all_inner_texts()) == {
        f"net.{layer}.{name}" for layer in (0, 2, 4, 6) for name in ("weight", "bias")}
    bars = rows.filter(has_text="weight").locator(".mg-heatbar")
    widths = bars.evaluate_all("bars => bars.map(bar => bar.getBoundingClientRect().width)")
    assert widths == sorted(widths) and widths[0] < widths[-1] / 2
    assert len(set(bars.evaluate_all("bars => bars.map(bar => Math.round(bar.getBoundingClientRect().left))"))) == 1
    rows.nth(2).locator("button").click()
    expect(root.locator(".mg-node.mg-selected")).to_have_count(1)
    expect(root.locator(".mg-summary .mg-chosen")).to_have_count(1)
    assert axe(seen, 2) == []
    root.locator(".mg-filter").fill("")
    root.locator(".mg-unpin").click()
    turn(root.locator(".mg-summary"))
    root.locator(".mg-colour select").select_option("")
    root.locator(".mg-graph:not(.mg-heat)").wait_for()
    assert len(set(root.evaluate(strokes).values())) == 1


def boxes(root: Locator) -> tuple[list[str], int]:
    """The modules that stand as one box each, without their classes, and how many nodes stand there themselves."""
    folded = root.locator(".mg-node[data-scope] .mg-title").all_text_contents()
    return sorted(title.split()[0] for title in folded), root.locator(".mg-node[data-node]").count()


def level(root: Locator) -> str:
    """How much is folded, as the buttons say it."""
    return " ".join(root.locator(".mg-levels [aria-pressed=true]").all_inner_texts())


def test_zooming_goes_from_the_model_to_its_ops(seen: Page) -> None:
    """By digits, by buttons, and by the wheel, which folds what is too small to read."""
    root = inspector(seen, 2)
    levels = root.locator(".mg-levels .mg-tab")
    assert levels.all_inner_texts() == ["model", "block", "op"]
    before, found = boxes(root), []
    for digit in "123":
        root.press(digit)
        found.append(boxes(root))
        assert level(root) == levels.nth(int(digit) - 1).inner_text()
    (model, beside), (blocks, _), (none, all_nodes) = found
    assert model == ["net"] and len(blocks) > 4 and none == [] and all_nodes > beside + len(blocks)
    svg = root.locator(".mg-svg")
    svg.focus()
    svg.hover(position={"x": 260, "y": 200})
    for wanted in ("block", "model"):
        for _ in range(30):
            if level(root) == wanted:
                break
            seen.mouse.wheel(0, 120)
            seen.wait_for_timeout(60)
        assert level(root) == wanted
    root.locator(".mg-node[data-scope] .mg-box").hover()
    for _ in range(60):
        if boxes(root)[0] != model:
            break
        seen.mouse.wheel(0, -120)
        seen.wait_for_timeout(60)
    assert boxes(root)[0] == blocks
    root.focus()
    root.press("123"[found.index(before)])
    assert boxes(root) == before
