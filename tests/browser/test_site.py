"""The site, built as a reader would build it and opened from its folder with the network cut."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from urllib.parse import unquote

import pytest

from tests.groups import has_browser, installed, require

pytestmark = pytest.mark.browser
require("browser", has_browser() and installed("sphinx"), "chromium, playwright or sphinx is not installed")

from playwright.sync_api import Browser, Page

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


def test_an_inspector_is_within_the_first_screen(site: Path, offline: tuple[Page, list[str]]) -> None:
    page, wrong = offline
    page.set_viewport_size({"width": 1280, "height": 800})
    page.goto((site / "index.html").as_uri(), wait_until="load")
    root = page.locator(".live .mg-root").first
    box = root.bounding_box()
    assert box is not None and box["y"] + box["height"] <= 800, box
    shown = root.text_content() or ""
    assert "x · [2]" in shown and "w · [2]" in shown, shown  # the leaves have their names
    assert wrong == []


@pytest.mark.parametrize("lesson", LESSONS)
def test_every_inspector_of_a_lesson_is_live(site: Path, offline: tuple[Page, list[str]], lesson: str) -> None:
    page, wrong = offline
    page.goto((site / "lessons" / f"{lesson}.html").as_uri(), wait_until="load")
    places = page.locator(".live[data-minigrad]")
    assert places.count() and places.locator("> *").count() == places.count()
    assert places.locator(".mg-error").count() == 0
    for root in page.locator(".live .mg-root[data-step]").all():
        for every_step in root.locator("[data-lens=all]").all():
            every_step.click()
        root.focus()
        page.keyboard.press("Home")
        before = root.get_attribute("data-step")
        page.keyboard.press("ArrowRight")
        assert root.get_attribute("data-step") != before
    assert wrong == []


def test_the_page_that_a_link_leads_to_is_there(site: Path, offline: tuple[Page, list[str]]) -> None:
    page, wrong = offline
    page.goto((site / "play.html").as_uri(), wait_until="load")
    assert "is shown here" in page.locator("main").inner_text()
    assert wrong == []


def test_search_finds_a_page(site: Path, offline: tuple[Page, list[str]]) -> None:
    page, wrong = offline
    page.goto((site / "search.html").as_uri() + "?q=next_functions", wait_until="load")
    page.locator("#search-results ul.search li a").first.wait_for()
    assert any("next_functions" in title for title in page.locator("#search-results ul.search li a").all_inner_texts())
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
