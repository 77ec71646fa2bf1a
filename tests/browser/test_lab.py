"""Every lens in a real JupyterLab, by keyboard and by mouse: what is drawn is what Python's frame says at each step."""

from __future__ import annotations

from ast import literal_eval
from collections.abc import Iterator
from typing import Any

import pytest

from tests.groups import has_browser, installed, require

pytestmark = pytest.mark.browser
require("browser", has_browser() and installed("jupyterlab"), "chromium, playwright or jupyterlab is not installed")

from playwright.sync_api import Locator

from minigrad.recorder import Trace
from tests.browser import expected
from tests.browser.book import Book, turn

WALKS = ["forward", "backward", "checkpoint", "all"]


def same(root: Locator, wanted: dict[str, Any]) -> None:
    """What is drawn is what was expected, in every word of it."""
    drawn = root.evaluate("read.drawn")
    assert {name: drawn[name] for name in wanted} == wanted


@pytest.mark.parametrize("lens", WALKS)
def test_every_step_by_keyboard(book: Book, lens: str) -> None:
    root, steps = book.widget(lens), book.trace.steps(lens)
    book.page.keyboard.press("Home")
    for step in steps:
        same(root, expected.drawn(book.trace, lens, step))
        book.page.keyboard.press("ArrowRight")
    for step in steps[:-12:-1]:
        same(root, expected.drawn(book.trace, lens, step))
        book.page.keyboard.press("ArrowLeft")
    for key, step in (("End", steps[-1]), ("Home", steps[0])):
        book.page.keyboard.press(key)
        same(root, expected.drawn(book.trace, lens, step))


@pytest.mark.parametrize("lens", WALKS)
def test_steps_by_mouse(book: Book, lens: str) -> None:
    root, steps = book.widget(lens), book.trace.steps(lens)
    book.page.keyboard.press("End")
    for name, to in [("first", 0), *[("forward", at) for at in range(1, 8)], ("back", 6), ("back", 5),
                     ("last", len(steps) - 1), ("back", len(steps) - 2)]:
        root.locator(f".mg-{name}").click()
        same(root, expected.drawn(book.trace, lens, steps[to]))
    for part in (0.25, 0.8):
        slider = root.locator(".mg-slider")
        box = slider.bounding_box()
        assert box is not None
        slider.click(position={"x": box["width"] * part, "y": box["height"] / 2})
        at = int(root.get_attribute("data-position") or 0)
        wanted = max(steps[0], part * steps[-1])  # the slider counts steps, as the counter beside it
        assert steps[at] < wanted + 2 and (at + 1 == len(steps) or steps[at + 1] > wanted - 2)
        same(root, expected.drawn(book.trace, lens, steps[at]))


def test_it_plays_and_pauses(book: Book) -> None:
    root, steps = book.widget("backward"), book.trace.steps("backward")
    book.page.keyboard.press("Home")
    root.locator(".mg-speed").select_option("8")
    root.focus()
    book.page.keyboard.press("Space")
    book.page.wait_for_function("root => Number(root.dataset.position) >= 4", arg=root.element_handle())
    book.page.keyboard.press("Space")
    at = int(root.get_attribute("data-position") or 0)
    assert root.locator(".mg-play").get_attribute("aria-label") == "play (space)"
    same(root, expected.drawn(book.trace, "backward", steps[at]))
    root.locator(".mg-play").click()
    book.page.wait_for_function("([root, at]) => root.dataset.position > at", arg=[root.element_handle(), at])
    root.locator(".mg-play").click()
    root.locator(".mg-speed").select_option("1")


def test_a_click_into_the_bytes_goes_there(book: Book) -> None:
    root = book.widget("checkpoint")
    stop = next(step for step, event in enumerate(book.trace.events) if event["kind"] == "early_stop")
    chart = root.locator(".mg-chart")
    box = chart.bounding_box()
    assert box is not None
    chart.click(position={"x": box["width"] * stop / book.trace.steps("checkpoint")[-1], "y": 5})
    same(root, expected.drawn(book.trace, "checkpoint", stop))
    assert root.locator(".mg-run[data-stop]").get_attribute("data-stop") == str(stop)


def passed(trace: Trace) -> list[int]:
    """The nodes in the order in which the engine ran them."""
    return [event["node"] for event in trace.events if event["kind"] == "run"]


def by_hand(root: Locator, trace: Trace, calls: list[int]) -> None:
    """What the traversal lens draws is what Python says of the same calls."""
    wanted, drawn = expected.called(trace, calls), root.evaluate("read.drawn")
    assert drawn["status"] == wanted["status"]
    assert set(drawn["piled"]) == wanted["piled"]
    assert {node: drawn["words"][node] for node in wanted["counts"]} == wanted["counts"]
    assert root.locator(".mg-source code").all_inner_texts() == [line or " " for line in wanted["python"]]


@pytest.fixture
def uncalled(book: Book) -> Iterator[Locator]:
    """The traversal lens before the first call, the whole graph in view."""
    root = book.widget("traversal")
    book.page.keyboard.press("Home")
    root.locator("[title='show the whole graph']").click()
    root.focus()
    yield root
    root.focus()
    book.page.keyboard.press("Home")


def test_nodes_are_called_by_mouse(book: Book, uncalled: Locator) -> None:
    order = passed(book.trace)
    for count, node in enumerate(order):
        by_hand(uncalled, book.trace, order[:count])
        uncalled.locator(f"[data-node='{node}'] .mg-box").click(position={"x": 8, "y": 8})
    by_hand(uncalled, book.trace, order)
    assert "Every gradient has arrived, as the engine does it" in uncalled.locator(".mg-text").inner_text()
    uncalled.locator(".mg-back").click()
    by_hand(uncalled, book.trace, order[:-1])
    early = next(to for to, _ in filter(None, book.trace.nodes[order[0]]["next"]))
    uncalled.locator(".mg-first").click()
    uncalled.locator(f"[data-node='{early}'] .mg-box").click(position={"x": 8, "y": 8})
    assert "cannot be called now: no gradient has arrived there" in uncalled.locator(".mg-text").inner_text()


def test_nodes_are_called_by_keyboard(book: Book, uncalled: Locator) -> None:
    """The root is searched for and called with Enter; then the chips of what is complete."""
    press, root = book.page.keyboard.press, passed(book.trace)[0]
    uncalled.locator(".mg-find").fill(f"#{root}")
    press("Enter")
    uncalled.focus()
    press("Enter")
    by_hand(uncalled, book.trace, [root])
    calls = [root]
    for _ in range(3):
        uncalled.locator(".mg-queue .mg-chip").first.focus()
        press("Enter")
        uncalled.focus()
        press("Enter")
        calls.append(int(uncalled.get_attribute("data-lit") or -1))
        by_hand(uncalled, book.trace, calls)
    press("ArrowLeft")
    by_hand(uncalled, book.trace, calls[:-1])
    press("ArrowRight")
    by_hand(uncalled, book.trace, calls)
    book.page.wait_for_timeout(400)
    assert literal_eval(book.evaluate("traversal.calls")) == calls


@pytest.mark.parametrize("way", ["mouse", "keyboard"])
def test_the_comparison(book: Book, way: str) -> None:
    root = book.widget("comparison")
    book.page.keyboard.press("Home")
    longest = max(len(trace.events) for trace in book.ways.values())
    for step in range(longest):
        rows = root.locator(".mg-row").evaluate_all("rows => rows.map(row => Number(row.dataset.bytes))")
        assert rows == [total(trace, step) for trace in book.ways.values()]
        if way == "mouse" and step + 1 < longest:
            root.locator(".mg-forward").click()
        else:
            book.page.keyboard.press("ArrowRight")
    assert root.get_attribute("data-step") == str(longest - 1)


def total(trace: Trace, step: int) -> int:
    """The bytes that a trace holds at a step, or at its end."""
    return sum(trace.frame(min(step, len(trace.events) - 1))["bytes"] or [])


def test_questions_are_answered_by_mouse(book: Book) -> None:
    """The first one wrong, the others right; Python hears of it."""
    root = book.widget("ask")
    questions = literal_eval(book.evaluate("asking.ask"))
    for at, question in enumerate(questions):
        root.locator(".mg-last").click()
        event = book.trace.events[question["step"]]
        if question["kind"] == "next":
            right = f"[value='{event['node']}']"
            root.locator(f".mg-ask input{right if at else f':not({right})'}").first.check()
        else:
            value = book.trace.values[event["gradient" if event["kind"] == "flow" else "grad"]]
            given = value["data"] if event["kind"] == "accumulate" else value["shape"]
            root.locator(".mg-field").fill(str(given) if at else "[9, 9]")
        root.locator(".mg-answer").click()
        assert root.locator(".mg-verdict").inner_text().startswith("✓ Right" if at else "✗ Not so")
    book.page.wait_for_timeout(400)
    right = len(questions) - 1
    assert literal_eval(book.evaluate("asking.score")) == {"right": right, "answered": right + 1, "of": right + 1}
    assert literal_eval(book.evaluate("[each['right'] for each in asking.answers]")) == [False] + [True] * right
    assert f"{right} of {right + 1}" in book.evaluate("asking.text")


def test_modules_fold_by_keyboard_and_by_mouse(book: Book) -> None:
    root = book.widget("backward")
    book.page.keyboard.press("End")
    step = book.trace.steps("backward")[-1]
    inside = [node for node, record in enumerate(book.trace.nodes) if record.get("scope") is not None]
    root.locator(".mg-find").fill(f"#{inside[0]}")
    book.page.keyboard.press("Enter")
    root.focus()
    for key in "--":
        book.page.keyboard.press(key)
    statuses = root.evaluate("read.drawn")["status"]
    wanted = expected.drawn(book.trace, "backward", step)["status"]
    assert set(statuses) == {node for node in wanted if int(node) not in inside}
    assert statuses == {node: wanted[node] for node in statuses}
    assert root.locator("[data-scope]").locator("visible=true").count() > 0
    root.locator(".mg-node[data-scope]").click()
    assert len(root.evaluate("read.drawn")["status"]) > len(statuses)
    turn(root.locator(".mg-summary"))
    root.locator(".mg-folds button", has_text="unfold all").click()
    turn(root.locator(".mg-summary"))
    root.focus()
    book.page.keyboard.press("Enter")  # nothing is chosen any more
    same(root, expected.drawn(book.trace, "backward", step))


def test_a_node_is_chosen_by_mouse_and_by_keyboard(book: Book) -> None:
    root, node = book.widget("all"), len(book.trace.nodes) - 1
    book.page.keyboard.press("End")
    root.locator("[title='show the whole graph']").click()
    root.locator(f"[data-node='{node}'] .mg-box").click(position={"x": 8, "y": 8})
    name = book.trace.nodes[node]["name"]
    assert root.locator(".mg-details h3").inner_text().startswith(name)
    link = root.locator(".mg-details .mg-link").first
    link.click()
    chosen = root.locator(".mg-selected").get_attribute("data-node")
    assert chosen == str(next(edge for edge in book.trace.nodes[node]["next"] if edge)[0])
    root.focus()
    book.page.keyboard.press("ArrowUp")
    assert root.locator(".mg-selected").get_attribute("data-node") != chosen
    book.page.keyboard.press("Enter")
    assert root.locator(".mg-selected").count() == 0


def test_lenses_are_switched_by_mouse_and_by_keyboard(book: Book) -> None:
    """A lens that is left and entered again stands where it stood."""
    root = book.widget("magic")
    for name in ("all", "traversal", "forward", "backward"):
        root.locator(f".mg-tab[data-lens='{name}']").click()
        assert root.get_attribute("data-lens") == name
    root.locator(".mg-tab[data-lens='all']").focus()
    book.page.keyboard.press("Enter")
    assert root.get_attribute("data-lens") == "all"
    book.page.wait_for_timeout(400)
    assert book.evaluate("made.lens") == "'all'"


def test_python_moves_the_browser(book: Book) -> None:
    root = book.widget("all")
    step = book.trace.steps("all")[40]
    book.evaluate(f"every.set_trait('step', {step})")
    book.page.wait_for_function("([root, step]) => root.dataset.step === step", arg=[root.element_handle(), str(step)])
    same(root, expected.drawn(book.trace, "all", step))


def test_a_hundred_presses_are_few_messages(book: Book) -> None:
    book.widget("all")
    book.page.keyboard.press("Home")
    book.page.wait_for_timeout(600)
    book.sent.clear()
    for _ in range(100):
        book.page.keyboard.press("ArrowRight")
    book.page.wait_for_timeout(600)
    messages = [frame for frame in book.sent if b"comm_msg" in (frame if isinstance(frame, bytes) else frame.encode())]
    print(f"\n100 rapid presses: {len(messages)} comm messages")
    assert 1 <= len(messages) <= 3
    assert book.evaluate("every.step") == "100"


def test_the_state_card(book: Book) -> None:
    table = book.cell("state card").locator(".jp-RenderedHTML table")
    table.scroll_into_view_if_needed()
    rows = [" ".join(row.locator("th, td").all_text_contents()) for row in table.locator("tbody tr").all()]
    written = literal_eval(book.evaluate("state_card(x=x, h=h, b=b, loss=loss).text")).splitlines()
    plain = [" ".join(row.replace("✓", "").split()) for row in rows]
    assert plain == [" ".join(line.split()) for line in written[1:]]

