"""The site, built as a reader would build it and opened from its folder with the network cut.

MINIGRAD_SITE=DIR tests a site that has been built already.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Literal
from urllib.parse import unquote

import pytest

from tests.groups import has_browser, installed, require

pytestmark = pytest.mark.browser
require("browser", has_browser() and installed("sphinx"), "chromium, playwright or sphinx is not installed")

from playwright.sync_api import Browser, Locator, Page, expect

from tests.browser.fixtures import AXE
from tests.lessons.answers import KEYS

ROOT = Path(__file__).parents[2]
LESSONS = sorted(path.stem for path in (ROOT / "notebooks").glob("*.ipynb"))
LINE = """() => {
  const line = document.createRange(), at = document.querySelector(":target");
  line.setStartAfter(at);
  line.setEndBefore(document.getElementById(`L-${Number(at.id.slice(2)) + 1}`));
  return line.toString();
}"""  # of the source, that the page was asked for


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built site. Its build stops at any link that leads nowhere."""
    if made := os.environ.get("MINIGRAD_SITE"):
        return Path(made)
    target = tmp_path_factory.mktemp("site") / "html"
    built = subprocess.run([sys.executable, "-m", "website", "--to", str(target)], cwd=ROOT, capture_output=True,
                           text=True)
    assert built.returncode == 0, built.stdout + built.stderr
    assert built.stdout.splitlines()[-1] == f"The site is in {target}: open {target / 'index.html'}"
    return target


@pytest.fixture
def offline(browser: Browser) -> Iterator[tuple[Page, list[str]]]:
    """A page with the network cut, and the list of what went wrong in it or was asked of a host."""
    context = browser.new_context(offline=True, viewport={"width": 1280, "height": 900})
    page, wrong = context.new_page(), []
    page.on("request", lambda asked: None if asked.url.startswith(("file:", "data:")) else wrong.append(asked.url))
    page.on("pageerror", lambda error: wrong.append(str(error)))
    yield page, wrong
    context.close()


ASKED = re.compile(r'<(?:img|script|link|source|a|iframe)\b[^>]*?\s(?:src|href|srcset)="([^"#?]+)')


def test_every_resource_of_every_page_is_there(site: Path) -> None:
    missing, asked = set(), set()
    for page in site.rglob("*.html"):
        for name in ASKED.findall(page.read_text(encoding="utf-8")):
            if re.match(r"[a-z]+:|//", name):
                continue
            asked.add(name)
            if not (page.parent / unquote(unescape(name))).exists():
                missing.add((page.relative_to(site).as_posix(), name))
    assert len(asked) > 100 and missing == set()


LEADS = re.compile(r'<a\b[^>]*?\shref="([^"?#]*)(?:#([^"]+))?"')
MARKS = re.compile(r'\s(?:id|name)="([^"]+)"')


def pages_of(site: Path) -> list[Path]:
    """The pages of the site itself; JupyterLite brings its own."""
    return [page for page in sorted(site.rglob("*.html")) if page.relative_to(site).parts[0] not in ("lab", "_static")]


def test_every_link_leads_to_a_place_that_is_there(site: Path) -> None:
    """The page, and the mark in it, also where a script or a source file made the link."""
    texts = {page: page.read_text(encoding="utf-8") for page in pages_of(site)}
    marks = {page: set(map(unescape, MARKS.findall(text))) for page, text in texts.items()}
    asked, missing = 0, set()
    for page, text in texts.items():
        for file, mark in LEADS.findall(text):
            target = (page.parent / unquote(unescape(file))).resolve() if file else page
            if re.match(r"[a-z]+:|//", file) or target not in texts or not mark:
                continue
            asked += 1
            if unquote(unescape(mark)) not in marks[target]:
                missing.add((page.relative_to(site).as_posix(), file, mark))
    assert asked > 1000 and missing == set()


def test_every_question_leads_to_the_cell_that_answers_it(site: Path) -> None:
    text = (site / "questions.html").read_text(encoding="utf-8")
    shown = re.findall(r'href="(lessons/\w+\.html)#(cell-[\w-]+)"', text)
    assert len(shown) > 57
    for lesson, cell in shown:
        page = (site / lesson).read_text(encoding="utf-8")
        after = page.partition(f'id="{cell}"')[2]
        assert re.match(r'></div>\s*<div class="cell ', after), (lesson, cell)


def test_no_lesson_names_a_folder_of_the_machine(site: Path) -> None:
    named = [page.name for page in (site / "lessons").glob("*.html") if f"{ROOT}/" in page.read_text(encoding="utf-8")]
    assert named == []


def test_the_gallery_is_live(site: Path, offline: tuple[Page, list[str]]) -> None:
    page, wrong = offline
    page.goto((site / "gallery.html").as_uri(), wait_until="load")
    places = page.locator(".live[data-minigrad]")
    assert places.count() >= 10 and places.locator("> *").count() == places.count()
    assert places.locator(".mg-error").count() == 0
    for picture in page.locator("article img:visible").all():
        picture.scroll_into_view_if_needed()
        page.wait_for_function("image => image.complete && image.naturalWidth > 0", arg=picture.element_handle())
    assert page.locator("article img").count() and wrong == []


@pytest.mark.parametrize(("width", "height"), [(1440, 900), (1280, 800), (800, 900), (390, 844)])
def test_a_number_is_dragged_in_the_first_screen(site: Path, offline: tuple[Page, list[str]],
                                                 width: int, height: int) -> None:
    page, wrong = offline
    page.set_viewport_size({"width": width, "height": height})
    page.goto((site / "index.html").as_uri(), wait_until="load")
    root = page.locator(".live .mg-root").first
    w, loss = root.locator("svg [aria-label=w]"), root.locator(".mg-result")
    expect(loss).to_have_text("loss = 4")
    if width > 400:  # a telephone shows a part of the picture, and scrolls
        assert root.locator(".mg-values").evaluate("pane => pane.scrollWidth <= pane.clientWidth")
    for seen in (w, loss):
        place = seen.bounding_box()
        assert place is not None and place["y"] + place["height"] <= height, place
        assert place["x"] + place["width"] <= width, place
    place = w.bounding_box()
    assert place is not None
    page.mouse.move(place["x"] + 30, place["y"] + 20)
    page.mouse.down()
    page.mouse.move(place["x"] + 50, place["y"] + 20, steps=4)
    page.mouse.up()
    expect(loss).not_to_have_text("loss = 4")
    moved = float(w.get_attribute("aria-valuenow") or "nan")
    root.focus()
    page.keyboard.press("End")
    expect(w).to_contain_text(f"{4 * (2 * moved - 1):g}".replace("-", "−"))  # its gradient, 2 * error * x
    assert moved > 1.5 and wrong == []


def test_the_first_page_plays_until_it_is_touched(site: Path, offline: tuple[Page, list[str]]) -> None:
    page, wrong = offline
    page.clock.install()
    page.goto((site / "index.html").as_uri(), wait_until="load")
    root = page.locator(".live .mg-root").first
    steps = {root.get_attribute("data-step")}
    for _ in range(2):
        page.clock.run_for(1500)
        steps.add(root.get_attribute("data-step"))
    assert len(steps) == 3, steps
    root.locator(".mg-result").click()
    touched = root.get_attribute("data-step")
    page.clock.run_for(10_000)
    assert root.get_attribute("data-step") == touched and wrong == []


def test_the_first_page_has_each_lesson_once_with_its_picture(site: Path, offline: tuple[Page, list[str]]) -> None:
    page, wrong = offline
    page.goto((site / "index.html").as_uri(), wait_until="load")
    links = [link.get_attribute("href") or "" for link in page.locator(".lessons a").all()]
    assert sorted(links) == [f"lessons/{name}.html" for name in LESSONS]
    for picture in page.locator(".lessons img").all():
        picture.scroll_into_view_if_needed()
        expect(picture).to_have_js_property("complete", True)
        assert picture.evaluate("picture => picture.naturalWidth") > 0
    assert wrong == []


@pytest.mark.parametrize("touch", [False, True])
def test_a_lesson_speaks_of_buttons_that_a_telephone_has_too(site: Path, browser: Browser, touch: bool) -> None:
    context = browser.new_context(offline=True, viewport={"width": 390, "height": 844}, has_touch=touch,
                                  is_mobile=touch)
    page = context.new_page()
    page.goto((site / "lessons" / "01_tensors_and_leaves.html").as_uri(), wait_until="load")
    said = page.locator("article p", has_text="step through").first
    expect(said).to_contain_text("Press next → under the picture", use_inner_text=True)
    button = page.locator(".live .mg-root[data-step] button", has_text="next →").locator("visible=true").first
    button.scroll_into_view_if_needed()
    root = page.locator(".live .mg-root[data-step]").first
    before = root.get_attribute("data-step")
    (button.tap if touch else button.click)()
    expect(root).not_to_have_attribute("data-step", before or "")
    context.close()


@pytest.mark.parametrize("lesson", LESSONS)
def test_every_inspector_of_a_lesson_is_live(site: Path, offline: tuple[Page, list[str]], lesson: str) -> None:
    page, wrong = offline
    page.goto((site / "lessons" / f"{lesson}.html").as_uri(), wait_until="load")
    places = page.locator(".live[data-minigrad]")
    assert places.count() and places.locator("> *").count() == places.count()
    assert places.locator(".mg-error").count() == 0
    for root in page.locator(".live .mg-root[data-step]").all():
        for every_step in root.locator("[data-lens=all]:visible").all():
            every_step.click()
        root.focus()
        page.keyboard.press("Home")
        before = root.get_attribute("data-step")
        page.keyboard.press("ArrowRight")
        assert root.get_attribute("data-step") != before
    answer_all(page, lesson)
    assert wrong == []


def answer_all(page: Page, lesson: str) -> None:
    """Answer all questions of a lesson's page as the key does; the page judges them."""
    key = KEYS[lesson]
    cards = page.locator(".mg-question-card")
    assert cards.count() == len(key.recall) + 2 * len(key.predict)
    rights = [*key.recall.values(), *(right for id, said in key.predict.items() for right in (said, key.why[id]))]
    for at, right in enumerate(rights):
        answer(cards.nth(at), right)
    assert [cards.nth(at).get_attribute("data-done") for at in range(len(rights))] == ["true"] * len(rights)
    tones = page.locator(".mg-question-card .mg-line").evaluate_all("all => all.map(line => line.dataset.tone)")
    assert tones.count("good") == len(rights) and not {"bad", "refused"} & set(tones)


def answer(card: Locator, text: str) -> None:
    """Click an answer, or type it."""
    if card.locator(".mg-field").count():
        card.locator(".mg-field").fill(text)
        card.locator(".mg-answer").click()
    else:
        choice = card.locator(f".mg-choice[data-value='{text}']")
        choice.click()
        try:
            expect(choice).to_have_attribute("aria-pressed", "true", timeout=5_000)
        except AssertionError:  # busy: the page was still scrolling to this question, away from the pointer
            choice.click()


def test_a_lesson_is_answered_by_the_keyboard_kept_and_cleared(site: Path, offline: tuple[Page, list[str]]) -> None:
    page, wrong = offline
    address = (site / "lessons" / "01_tensors_and_leaves.html").as_uri()
    page.goto(address, wait_until="load")
    cards, press = page.locator(".mg-question-card"), page.keyboard.press
    cards.nth(0).locator(".mg-field").focus()
    page.keyboard.type("often")
    press("Enter")
    assert cards.nth(0).locator("[data-tone=refused]").is_visible()
    press("ControlOrMeta+a")
    page.keyboard.type("(2, 3)")
    press("Enter")
    assert "(2, 3): right." in cards.nth(0).inner_text()
    assert page.evaluate("document.activeElement.closest('.mg-question-card').textContent.includes('A[0, 0]')")
    cards.nth(5).locator(".mg-choice").first.focus()
    for key in ("ArrowRight", "Enter", "Enter", "ArrowRight", "ArrowRight", "Enter"):  # False, then reasons a and c
        press(key)
    told = cards.nth(6)
    assert "You said False. The run disagrees." in told.inner_text() and "Reason c holds" in told.inner_text()
    assert page.evaluate("document.activeElement.closest('.mg-question-card').textContent").startswith("Prediction 1.2")
    page.reload(wait_until="load")
    assert "Reason c holds" in told.inner_text() and "2 of 11 answered" in page.locator(".mg-lesson").inner_text()
    page.once("dialog", lambda asked: asked.accept())
    page.get_by_role("button", name="Clear answers").press("Enter")
    assert "not yet" in told.inner_text() and "0 of 11 answered" in page.locator(".mg-lesson").inner_text()
    assert page.evaluate("localStorage.length") == 0
    page.reload(wait_until="load")
    assert "not yet" in told.inner_text()
    assert page.locator(".needs-python a[href*='mybinder.org']").count() == 3
    assert wrong == []


def test_ask_mode_works_in_a_page_and_its_answers_are_kept(site: Path, offline: tuple[Page, list[str]]) -> None:
    page, wrong = offline
    page.goto((site / "lessons" / "04_engine.html").as_uri(), wait_until="load")
    root = page.locator(".mg-root:has(.mg-ask:not([hidden]))")
    while root.locator(".mg-question:not([hidden])").count() == 0:
        root.focus()
        page.keyboard.press("ArrowRight")
    form = root.locator(".mg-question")
    if form.locator("input[type=radio]").count():
        form.locator("input").first.check()
    else:
        form.locator("input").fill("1")
    form.locator(".mg-answer").click()
    score = root.get_attribute("data-score")
    assert score is not None and score.endswith("/1")
    page.wait_for_function("() => localStorage.length === 1")
    page.reload(wait_until="load")
    assert root.get_attribute("data-score") == score
    assert wrong == []


def test_the_page_that_a_link_leads_to_is_there(site: Path, offline: tuple[Page, list[str]]) -> None:
    page, wrong = offline
    page.goto((site / "play.html").as_uri(), wait_until="load")
    assert "is shown here" in page.locator("main").inner_text()
    assert wrong == []


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("name", ["lessons/09_function", "engine", "source/minigrad/autograd/graph"])
def test_code_can_be_read(site: Path, offline: tuple[Page, list[str]], name: str,
                          theme: Literal["light", "dark"]) -> None:
    page, _ = offline
    page.emulate_media(color_scheme=theme)
    page.goto((site / f"{name}.html").as_uri(), wait_until="load")
    assert page.locator(".highlight pre span").count() > 10
    page.evaluate("library => (0, eval)(library)", AXE.read_text(encoding="utf-8"))
    faint = page.evaluate("axe.run('.highlight', {runOnly: ['color-contrast']}).then(({violations}) =>"
                          " violations.flatMap(({nodes}) => nodes.map(({html}) => html)))")
    assert faint == []


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("lesson", ["00_build_it_yourself", "22_the_other_direction"])
def test_no_code_of_a_lesson_is_out_of_sight(site: Path, offline: tuple[Page, list[str]], lesson: str,
                                            width: int) -> None:
    page, _ = offline
    page.set_viewport_size({"width": width, "height": 800})
    page.goto((site / "lessons" / f"{lesson}.html").as_uri(), wait_until="load")
    wide = page.locator(".cell_input :is(pre, .cell-field)").evaluate_all(
        "all => all.filter(each => each.scrollWidth > each.clientWidth + 1"
        " || each.scrollHeight > each.clientHeight + 1).map(each => each.textContent.slice(0, 60))")
    assert wide == []


def test_a_telephone_shows_where_a_question_is_answered(site: Path, offline: tuple[Page, list[str]]) -> None:
    page, _ = offline
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto((site / "questions.html").as_uri(), wait_until="load")
    links = page.locator("table a[href*='#cell-']")
    places = [link.bounding_box() for link in links.all()]
    assert len(places) > 57 and all(place and place["x"] + place["width"] <= 390 for place in places)


def test_search_finds_a_page(site: Path, offline: tuple[Page, list[str]]) -> None:
    page, wrong = offline
    page.goto((site / "search.html").as_uri() + "?q=next_functions", wait_until="load")
    page.locator("#search-results ul.search li a").first.wait_for()
    assert any("next_functions" in title for title in page.locator("#search-results ul.search li a").all_inner_texts())
    assert wrong == []


@pytest.mark.parametrize(("asked", "first"), [("broadcasting", "17_"), ("hooks", "06_"), ("NaN", "19_"),
                                              ("tangent", "22_")])
def test_search_puts_first_what_says_most_and_shows_no_answers(site: Path, offline: tuple[Page, list[str]], asked: str,
                                                              first: str) -> None:
    page, wrong = offline
    page.goto((site / "search.html").as_uri() + f"?q={asked}", wait_until="load")
    found = page.locator("#search-results ul.search li a")
    found.first.wait_for()
    places = found.evaluate_all("links => links.map(link => link.getAttribute('href'))")
    assert f"lessons/{first}" in places[0] and not any("teaching/" in place for place in places), places
    assert wrong == []


def test_the_first_page_steps_in_the_theme_that_is_chosen(site: Path, offline: tuple[Page, list[str]]) -> None:
    page, wrong = offline
    page.emulate_media(color_scheme="light")
    page.goto((site / "index.html").as_uri(), wait_until="load")
    shade = "() => getComputedStyle(document.querySelector('.live .mg-root')).backgroundColor"
    light = page.evaluate(shade)
    page.locator(".theme-toggle:visible").first.click()
    assert page.evaluate("document.body.dataset.theme") == "dark"
    page.wait_for_function(f"before => ({shade})() !== before", arg=light)
    assert wrong == []


def test_a_link_to_a_line_of_the_source_leads_there(site: Path, offline: tuple[Page, list[str]]) -> None:
    page, _ = offline
    page.goto((site / "engine.html").as_uri(), wait_until="load")
    link = page.locator("a[href*='source/minigrad/autograd/graph.html#L-']").first
    name = link.inner_text().rpartition(".")[2]
    link.click()
    page.wait_for_url("**/graph.html#L-*", wait_until="load")  # a click returns while the next page is still read
    assert name in page.evaluate(LINE)
    page.wait_for_function("() => { const at = document.querySelector(':target').getBoundingClientRect();"
                           " return 0 <= at.top && at.bottom <= innerHeight; }")  # the theme scrolls there smoothly
