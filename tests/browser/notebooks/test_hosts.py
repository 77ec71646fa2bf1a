"""What a notebook's page says of drawings and of text in its outputs leaves ours as large as in a page of its own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.groups import has_browser, installed, require

pytestmark = pytest.mark.browser
require("browser", has_browser() and installed("jupyterlab"), "chromium, playwright or jupyterlab is not installed")

from playwright.sync_api import Page

from minigrad_lessons.cards import Face
from minigrad_widgets.widget.page import write_page
from tests.browser.test_look import VIEWS

# What nbclassic's style sheet says of drawings and of text, in its strength: an element more than one class.
# Then what Bootstrap in it says of elements, and what a cell hands down.
HOST = """<style>div.output_area svg { max-width: 100%; height: auto }
div.output_area pre { margin: 0; padding: 1px 0; border: 0; vertical-align: baseline; color: black;
  background-color: transparent; border-radius: 0 }
body { font: 10px/1.9 serif } .output_area { text-align: center; letter-spacing: 1px; white-space: pre-wrap }
label { display: inline-block; max-width: 100%; margin-bottom: 5px; font-weight: 700 } p { margin: 0 0 9px }
h3, h4 { margin: 18px 0 9px; font-weight: 500; line-height: 1.1; font-size: 23px } ul, ol { margin: 0 0 9px }
dl { margin: 0 0 18px } dt, dd { line-height: 1.43; margin-left: 0 } dt { font-weight: 700 } small { font-size: 92% }
code { padding: 2px 4px; font-size: 90%; color: #c7254e; background-color: #f9f2f4; border-radius: 2px }
pre { font-size: 12px; line-height: 1.43; word-break: break-all; white-space: pre-wrap } td, th { padding: 0 }
table { border-collapse: collapse; background-color: transparent } caption { padding: 8px 0; text-align: left }
legend { display: block; width: 100%; margin-bottom: 18px; font-size: 19.5px; border-bottom: 1px solid }
input[type=range] { display: block; width: 100% } input, button, select, textarea { font: inherit; margin: 0 }
output { display: block; padding-top: 7px; font-size: 13px; color: #555 } summary { display: block }</style>"""
INTO_AN_OUTPUT = """root => {
  const output = document.createElement('div');
  output.className = 'output_area';
  output.style.display = 'contents';
  root.parentElement.replaceChild(output, root);
  output.append(root);
}"""
SIZES = """root => [root, ...root.querySelectorAll('*')].map(each => {
  const style = getComputedStyle(each);
  return [each.tagName, each.getAttribute('class'), style.color, style.padding, style.margin, style.borderWidth,
          style.font, style.display, style.textAlign, style.letterSpacing, style.whiteSpace, style.backgroundColor,
          Math.round(each.getBoundingClientRect().width), Math.round(each.getBoundingClientRect().height)];
})"""
STILL = """async root => {
  let before = '';
  for (let frames = 0; frames < 600; frames++) {
    const now = JSON.stringify([...root.querySelectorAll('*')].map(each => each.getBoundingClientRect().height));
    if (now === before) return;
    before = now;
    await new Promise(done => setTimeout(done, 60));
  }
  throw new Error('the widget never comes to rest');
}"""


def sizes(page: Page, file: Path, text: str) -> Any:
    file.write_text(text, encoding="utf-8")
    page.goto(file.as_uri())
    root = page.locator(".mg-root")
    root.evaluate(INTO_AN_OUTPUT)
    root.evaluate(STILL)
    return root.evaluate(SIZES)


def card() -> str:
    face = Face("1.1", "1.1", "What do you expect?", choices=(("1", "True"), ("2", "False")), field="a value")
    return write_page({"face": face.to_dict()}, None)


@pytest.mark.parametrize("name", ["backward", "next", "comparison", "explorer", "compiled", "card"])
def test_the_rules_of_a_notebook_change_nothing(page: Page, tmp_path: Path, name: str) -> None:
    page.emulate_media(reduced_motion="reduce")
    bare = card() if name == "card" else VIEWS[name]()[0].to_html()
    alone = sizes(page, tmp_path / "page.html", bare)
    hosted = sizes(page, tmp_path / "page.html", bare.replace("<style>", f"{HOST}<style>", 1))
    assert [pair for pair in zip(alone, hosted, strict=True) if pair[0] != pair[1]] == []
    assert any(each[0] == ("BUTTON" if name == "card" else "svg") and each[-1] for each in alone)
