"""The first screens of models of docs/comparison.md as exported pages, without a click: what is the model, which part
costs most, where does the gradient shrink; and nothing of the map is cut."""

from __future__ import annotations

import re
from typing import Literal

import pytest

from tests.groups import has_browser, has_torch, installed, require

pytestmark = pytest.mark.browser
require("browser", has_browser() and installed("jupyterlab"), "chromium, playwright or jupyterlab is not installed")
require("torch", has_torch(), "PyTorch 2.13 is not installed")

from playwright.sync_api import Locator, Page, expect

import minigrad as torch
from minigrad import nn
from minigrad_widgets import inspect
from tests.browser.fixtures import Axe, Opened, keep, whole
from tests.comparison.models import MODELS

SIZES = [(800, 900), (1280, 800), (1440, 900), (2560, 1440)]
# The lines beside the map that are wider than their pane.
LONG = """root => [...root.querySelectorAll('.mg-code .mg-line')]
  .filter(line => line.getBoundingClientRect().right > line.parentElement.getBoundingClientRect().right + 1).length"""

# What is said beside a name in the card, on another line than the name: a bracket before it, a colon behind it.
SPLIT = """root => {
  const walk = document.createTreeWalker(root.querySelector('.mg-overview'), NodeFilter.SHOW_TEXT), found = [];
  const middle = ({ top, bottom }) => (top + bottom) / 2;
  for (let text; (text = walk.nextNode());) {
    const colon = text.data.startsWith(':'), name = colon ? text.previousSibling : text.nextSibling;
    if (!(name instanceof Element) || (!colon && !text.data.endsWith('('))) continue;
    const range = document.createRange();
    range.setStart(text, colon ? 0 : text.length - 1);
    range.setEnd(text, colon ? 1 : text.length);
    const gap = middle(range.getBoundingClientRect()) - middle(name.getBoundingClientRect());
    if (Math.abs(gap) > 8) found.push(text.data);
  }
  return found;
}"""


def answers(root: Locator) -> None:
    """The card answers the three questions in words, its numbers are those of the boxes, and controls agree with it."""
    card = root.locator(".mg-overview")
    expect(card).to_be_visible()
    told = dict(zip(card.locator("dt").all_inner_texts(), card.locator("dd").all_inner_texts(), strict=True))
    assert "parameters" in told["is"]
    tells = re.search(r"in this run \(\d+\s%, over 2× any other\)", told["costs most"])
    assert tells or told["costs most"].endswith((" is within 2×", " are within 2×"))
    colour = root.locator(".mg-colour select")
    expect(colour).to_have_value("time" if tells else "flops")  # the map shows what the words say
    assert "by FLOPs " in told["costs most"] or "of FLOPs" in told["costs most"]
    gradient = told["gradient"]
    assert gradient.startswith("‖∇‖, the norm at a box’s output, ")
    assert " from the output (" in gradient and " to the input (" in gradient
    assert any(word in gradient for word in ("shrinks", "grows", "stays about as large"))
    assert "per entry" not in gradient
    [time, *_] = re.findall(r"[:(] ?([\d.]+ [mµ]?s)\b", told["costs most"])
    texts = root.locator(".mg-node :is(.mg-caption, .mg-told)").all_text_contents()
    said = [text.split(" · ") for text in root.locator(".mg-measured .mg-caption").all_text_contents()]
    small = root.locator(".mg-brief").count()  # its boxes say the gradient, and the time if there is room
    assert small or any(time in text for text in texts)
    assert all("‖∇‖" in facts[0 if small else 1] for facts in said if small or len(facts) > 1)
    assert root.locator(".mg-levels [aria-pressed=true]").count() == 1
    assert root.locator(".mg-slider").input_value() == root.get_attribute("data-step")
    assert root.evaluate(LONG) == 0
    assert root.evaluate(SPLIT) == []


# How far the line in the chart of bytes is from the middle of the slider's knob, which has 16 pixels.
ASIDE = """root => {
  const [line, slider] = ['.mg-playhead', '.mg-slider'].map(part => root.querySelector(part));
  const [at, { left, width }] = [line.getBoundingClientRect(), slider.getBoundingClientRect()];
  return at.left + at.width / 2 - (left + 8 + (width - 16) * slider.value / slider.max);
}"""

# How far that knob is above the middle of the button that plays, where both are in one row.
LOWER = """root => {
  const [play, slider] = ['.mg-play', '.mg-slider'].map(part => root.querySelector(part).getBoundingClientRect());
  return play.top + play.height / 2 - (slider.top + slider.height / 2);
}"""


# How far the texts in a box are from its upper and its lower edge, in pixels.
AIR = """boxes => boxes.map(box => {
  const edge = box.querySelector('.mg-box').getBoundingClientRect();
  const texts = [...box.querySelectorAll('text')].filter(text => text.checkVisibility() && text.textContent !== '');
  const size = text => parseFloat(getComputedStyle(text).fontSize) * text.getScreenCTM().a;
  const base = text => text.getScreenCTM().f + text.getScreenCTM().d * parseFloat(text.getAttribute('y'));
  return texts.flatMap(text => [base(text) - 0.76 * size(text) - edge.top,
    edge.bottom - base(text) - 0.22 * size(text)]);
})"""
LETTERS = """texts => [...new Set(texts.filter(text => text.checkVisibility() && text.textContent !== '')
  .map(text => getComputedStyle(text).fontSize))]"""


def test_a_narrow_page_has_the_card_above_the_map(page: Page, opened: Opened) -> None:
    """Each has the whole width; all numbers in a box have letters of one size."""
    case = MODELS["mlp"][1]()
    page.set_viewport_size({"width": 416, "height": 900})
    root = opened(inspect(case.model, *case.inputs, **case.loss))
    whole(root)
    parts = [root.locator(part).bounding_box() for part in (".mg-svg", ".mg-details-body", ".mg-overview")]
    assert all(part and part["x"] >= 0 and part["x"] + part["width"] <= 416 for part in parts)
    assert parts[0] and parts[1] and parts[0]["y"] >= parts[1]["y"] + parts[1]["height"]
    assert parts[1]["width"] > 350
    page.set_viewport_size({"width": 1440, "height": 900})
    expect(root.locator(".mg-told").first).not_to_be_empty()
    assert len(root.locator(".mg-measured :is(.mg-caption, .mg-told, .mg-class)").evaluate_all(LETTERS)) == 1
    for lines in root.locator(".mg-measured").evaluate_all(AIR):
        assert min(lines) >= 2, lines
    said = root.locator(".mg-measured .mg-caption").all_text_contents()
    assert len(said) == 6 and all(re.fullmatch(r"[\d.]+ ([mµ]?s|[kM]?FLOP) · ‖∇‖ \S+", text) for text in said)


# How bright a colour is against another, each a selector, a property of its style and, for some, a pseudo-element.
CONTRAST = """(root, pair) => {
  const paint = document.createElement('canvas').getContext('2d');
  const [dark, bright] = pair.map(([selector, property, pseudo]) => {
    const style = getComputedStyle(root.querySelector(selector) ?? root, pseudo)[property];
    paint.fillStyle = style.match(/^[a-z]+\\([^)]*\\)/)[0];
    paint.fillRect(0, 0, 1, 1);
    const [r, g, b] = [...paint.getImageData(0, 0, 1, 1).data].map(each => each / 255)
      .map(each => each <= 0.04045 ? each / 12.92 : ((each + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b + 0.05;
  }).sort((a, b) => a - b);
  return bright / dark;
}"""

SHARES = """root => [...root.querySelectorAll('.mg-measured')].map(box => box.style.getPropertyValue('--mg-share'))"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_colours_stand_out_from_the_background(page: Page, opened: Opened, scheme: Literal["light", "dark"]) -> None:
    """Text by 4.5 to 1, what else has a meaning by 3 to 1; on a dark ground, shades of small parts can be told, too."""
    case = MODELS["mlp"][1]()
    page.emulate_media(color_scheme=scheme)
    root = opened(inspect(case.model, *case.inputs, **case.loss))
    behind = [".mg-root", "backgroundColor"]
    field = [[".mg-find", "color", "::placeholder"], [".mg-find", "backgroundColor"]]
    assert root.evaluate(CONTRAST, field) >= 4.5
    shown = [[[".mg-tab[aria-pressed=true]", "boxShadow"], [".mg-tabs", "backgroundColor"]],
             [[".mg-scale", "borderTopColor"], behind]]
    shown += [[[f".mg-key.mg-{key}", "backgroundColor"], behind] for key in ("parameters", "activations", "gradients")]
    if scheme == "dark":
        shown.append([[".mg-measured[style*='--mg-share: 1'] .mg-box", "fill"], behind])
    assert [pair for pair in shown if root.evaluate(CONTRAST, pair) < 3] == []
    root.locator(".mg-colour select").select_option("saved")
    shares = {float(share): root.evaluate(CONTRAST, [[f".mg-measured[style*='--mg-share: {share}'] .mg-box", "fill"],
                                                     behind]) for share in root.evaluate(SHARES)}
    assert any(0.1 < share < 0.7 for share in shares)
    assert scheme == "light" or all(found > 1 + share ** 0.5 for share, found in shares.items() if share > 0.1)
    root.locator(".mg-colour select").select_option("gradient")
    sizes = root.locator("[data-size]").evaluate_all("all => [...new Set(all.map(each => each.dataset.size))]")
    edges = [[[f"[data-size={size}] .mg-box", "stroke"], behind] for size in sizes]
    assert sizes and [pair for pair in edges if root.evaluate(CONTRAST, pair) < 3] == []


@pytest.mark.parametrize("width", [416, 800, 1440])
def test_the_marks_are_explained_by_one_click(page: Page, opened: Opened, axe: Axe, width: int) -> None:
    """In a key that lies in the pane of the drawing, whole or to be scrolled; another click takes it away."""
    case = MODELS["mlp"][1]()
    page.set_viewport_size({"width": width, "height": 900})
    root = opened(inspect(case.model, *case.inputs, **case.loss))
    key, button = root.locator(".mg-meanings"), root.get_by_role("button", name="what the marks mean")
    expect(key).to_be_hidden()
    button.click()
    expect(key).to_be_visible()
    for meaning in ("waits for gradients", "folded: a click opens it", "norm of the gradient of the box’s output"):
        assert meaning in key.inner_text()
    inside, stage = key.bounding_box(), root.locator(".mg-stage").bounding_box()
    assert inside and stage and stage["y"] <= inside["y"] and stage["x"] <= inside["x"]
    assert inside["y"] + inside["height"] <= stage["y"] + stage["height"]
    assert key.evaluate("key => key.scrollWidth <= key.clientWidth + 1")
    assert axe(page) == []
    button.click()
    expect(key).to_be_hidden()


OUT = """root => {
  const strip = root.querySelector('.mg-strip').getBoundingClientRect();
  return [...root.querySelectorAll('.mg-zoom button')].filter(button => button.checkVisibility()).filter(button => {
    const { left, right, top, bottom } = button.getBoundingClientRect(), levels = button.closest('.mg-levels');
    const within = levels ? levels.getBoundingClientRect() : strip;
    return left < within.left || right > within.right || top < within.top || bottom > within.bottom ||
      right > strip.right;
  }).map(button => button.textContent);
}"""


def test_a_strip_of_many_levels_goes_into_a_narrow_page(page: Page, opened: Opened) -> None:
    page.set_viewport_size({"width": 390, "height": 900})
    model = nn.Linear(2, 2)
    for _ in range(7):
        model = nn.Sequential(model, nn.Tanh())
    root = opened(inspect(model, torch.ones(1, 2)))
    assert root.locator(".mg-levels button").count() > 7
    assert root.evaluate(OUT) == []


def test_a_box_that_is_named_by_a_number_says_its_class(page: Page, opened: Opened) -> None:
    """In a notebook's pane, whose map is drawn so small that other classes are left out."""
    page.set_viewport_size({"width": 896, "height": 760})
    case = MODELS["mlp"][1]()
    root = opened(inspect(case.model, *case.inputs, **case.loss))
    assert root.locator(".mg-brief").count() == 1
    titles = root.locator(".mg-title").all_text_contents()
    assert sorted(titles) == ["1 Linear", "2 ReLU", "3 Linear", "4 ReLU", "5 Linear", "loss"]


# The sizes of letters in boxes on the screen, and whether each text ends in its box.
SMALL = """boxes => boxes.map(box => {
  const [text, edge] = [box.querySelector('.mg-caption'), box.querySelector('.mg-box').getBoundingClientRect()];
  const size = parseFloat(getComputedStyle(text).fontSize) * text.getScreenCTM().a;
  return [size, text.getBoundingClientRect().right < edge.right];
})"""


@pytest.mark.parametrize("size", [(848, 760), (800, 900)])
def test_small_boxes_say_what_the_colour_does_not(page: Page, opened: Opened, size: tuple[int, int]) -> None:
    """Beside colours for the time, all give the gradient's norm: where it shrinks can be read off a notebook's map."""
    page.set_viewport_size({"width": size[0], "height": size[1]})
    case = MODELS["unet"][1]()
    root = opened(inspect(case.model, *case.inputs, **case.loss))
    assert root.locator(".mg-brief").count() == 1
    texts, boxes = root.locator(".mg-measured .mg-caption"), root.locator(".mg-measured")
    assert texts.count() == 18 and all(re.match(r"‖∇‖ \d", text) for text in texts.all_text_contents())
    assert all(letters >= 10.99 and inside for letters, inside in boxes.evaluate_all(SMALL))
    root.locator(".mg-colour select").select_option("gradient")
    assert all(re.match(r"[\d.]+ (µs|ms|s)\b", text) for text in texts.all_text_contents())


# How far above the lower end of their pane the first three lines of the card end: is, gradient, costs most.
ENDS = """card => [...card.querySelectorAll('dd')].slice(0, 3).map(line => {
  const end = Math.max(...[...line.getClientRects()].map(part => part.bottom));
  return Math.min(card.closest('.mg-details-body').getBoundingClientRect().bottom, innerHeight) - end;
})"""

# On how many lines the name of the model's class stands.
NAME = """line => {
  const [range, { firstChild }] = [document.createRange(), line];
  range.setStart(firstChild, 0);
  range.setEnd(firstChild, firstChild.data.indexOf(','));
  return range.getClientRects().length;
}"""


def unscrolled(page: Page, root: Locator) -> None:
    """The card answers where the pane is as low as in a notebook of 800 pixels, and beside or above a narrow map."""
    for width, height in [(896, 665), (800, 900), (416, 800), (1280, 800)]:
        page.set_viewport_size({"width": width, "height": height})
        page.wait_for_timeout(300)  # the panes take their size
        if width == 896:
            assert root.locator(".mg-panes").evaluate("panes => panes.offsetHeight") == 440  # as in a notebook
        assert min(root.locator(".mg-overview").evaluate(ENDS)) >= 0, width
        assert root.locator(".mg-overview dd").first.evaluate(NAME) == 1, width


def test_the_card_answers_without_scrolling(page: Page, opened: Opened) -> None:
    case = MODELS["unet"][1]()
    unscrolled(page, opened(inspect(case.model, *case.inputs, **case.loss)))


# How far the window of the source is from whole lines, at its upper end and in height.
PARTS_OF_LINES = """code => {
  const high = parseFloat(getComputedStyle(code).lineHeight), off = at => Math.abs(at / high - Math.round(at / high));
  return [off(code.scrollTop), off(code.clientHeight), code.scrollTop];
}"""


def test_the_source_shows_whole_lines(page: Page, opened: Opened) -> None:
    case = MODELS["unet"][1]()
    root = opened(inspect(case.model, *case.inputs, **case.loss))
    for width, height in [(896, 665), (800, 900), (1280, 800)]:
        page.set_viewport_size({"width": width, "height": height})
        page.wait_for_timeout(300)  # the panes take their size
        upper, lower, scrolled = root.locator(".mg-code").evaluate(PARTS_OF_LINES)
        assert upper < 0.03 and lower < 0.03 and scrolled > 0, width


def test_the_buttons_that_zoom_stay_in_one_line(page: Page, opened: Opened) -> None:
    """Beside the levels or below them: one of them alone was beside the levels, the others below."""
    page.set_viewport_size({"width": 420, "height": 900})
    deep = nn.Sequential(nn.Sequential(nn.Sequential(nn.Linear(2, 2), nn.Tanh()), nn.Tanh()), nn.Tanh())
    root = opened(inspect(deep, torch.ones(1, 2)))
    rows = "buttons => [...new Set(buttons.map(each => each.getBoundingClientRect().top))].length"
    assert root.locator(".mg-zoom .mg-small").evaluate_all(rows) == 1


@pytest.mark.parametrize("model", ["mlp", "unet", "lstm"])
def test_exported_pages_answer_at_all_widths(page: Page, opened: Opened, model: str) -> None:
    case = MODELS[model][1]()
    root = opened(inspect(case.model, *case.inputs, **case.loss))
    for width, height in SIZES:
        page.set_viewport_size({"width": width, "height": height})
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
            page.wait_for_timeout(300)  # the panes take their size
            answers(root)
            whole(root)
            assert abs(root.evaluate(ASIDE)) < 1.5
            assert width == 800 or abs(root.evaluate(LOWER)) < 1.5
            keep(page, f"{model}-{width}-{scheme}")
