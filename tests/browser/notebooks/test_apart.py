"""What a page says of its own elements does not reach ours: each part of a widget looks as it does in a bare page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.groups import has_browser, installed, require

pytestmark = pytest.mark.browser
require("browser", has_browser() and installed("jupyterlab"), "chromium, playwright or jupyterlab is not installed")

from playwright.sync_api import Page

from tests.browser.test_look import VIEWS

# What nbclassic's style sheet says, in its words and its strength, and what others may say; at last in a layer.
HOST = """
body main svg, div.output_area svg { max-width: 100%; height: auto; }
body main pre { white-space: pre-wrap; margin: 0 0 9px; padding: 8.5px; border: 1px solid #ccc; word-break: break-all; }
main code { padding: 2px 4px; font-size: 90%; color: #c7254e; background-color: #f9f2f4; }
main label { max-width: 60%; margin-bottom: 5px; font-weight: 700; }
main :is(h3, h4) { font-size: 23px; line-height: 1.1; margin: 18px 0 9px; }
main :is(p, ol, ul, dl) { margin: 0 0 9px; padding-left: 30px; list-style: square; }
main :is(th, td) { padding: 8px; text-align: right; border-top: 1px solid red; vertical-align: top; }
main input[type="range"] { display: block; width: 100%; }
main output { display: block; padding-top: 7px; color: #555; }
main :is(button, select, input, summary) { border: 3px solid red; text-transform: uppercase; min-height: 40px; }
main { white-space: pre; }
body { letter-spacing: 2px; text-align: center; text-transform: uppercase; word-spacing: 9px; }
@layer base { main * { padding: 3px; border: 2px solid; } svg, span { display: block; vertical-align: middle; } }
"""
LOOK = """root => {
  const names = `background-color border-top-width border-top-color color display font-family font-size font-style
    font-weight height letter-spacing line-height list-style-type margin-bottom margin-left margin-top max-height
    max-width min-height min-width opacity overflow-wrap overflow-x padding-left padding-top position text-align
    text-transform vertical-align white-space width word-break word-spacing`.split(/\\s+/);
  return [root, ...root.querySelectorAll(':not(svg *)')].map(each => {
    const style = getComputedStyle(each), { x, y } = each.getBoundingClientRect();
    return [each.tagName + '.' + each.getAttribute('class'), [x, y].map(Math.round).join(),
            ...names.map(name => `${name}: ${style.getPropertyValue(name)}`)];
  });
}"""


def looks(page: Page, file: Path, text: str) -> Any:
    file.write_text(text, encoding="utf-8")
    page.goto(file.as_uri())
    root = page.locator(".mg-root")
    root.wait_for()
    seen = root.evaluate(LOOK)
    while seen != (seen := root.evaluate(LOOK)):
        page.wait_for_timeout(50)
    return seen


@pytest.mark.parametrize("name", ["checkpoint", "comparison", "aliases", "ledger", "explorer", "compiled", "grad"])
def test_the_styles_of_a_page_do_not_reach_a_widget(page: Page, tmp_path: Path, name: str) -> None:
    page.emulate_media(reduced_motion="reduce")
    bare = VIEWS[name]()[0].to_html()
    alone = looks(page, tmp_path / "page.html", bare)
    hosted = looks(page, tmp_path / "page.html", bare.replace("<style>", f"<style>{HOST}</style><style>", 1))
    assert len(hosted) == len(alone) > 20
    changed = {f"{mine[0]}: {was} became {now}" for mine, theirs in zip(alone, hosted, strict=True)
               for was, now in zip(mine, theirs, strict=True) if was != now}
    assert changed == set()
