"""What a notebook's page says of drawings and of text in its outputs leaves ours as large as in a page of its own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.groups import has_browser, installed, require

pytestmark = pytest.mark.browser
require("browser", has_browser() and installed("jupyterlab"), "chromium, playwright or jupyterlab is not installed")

from playwright.sync_api import Page

from tests.browser.test_look import VIEWS

# What nbclassic's style sheet says of drawings and of text, in its strength: an element more than one class.
HOST = """<style>div.output_area svg { max-width: 100%; height: auto }
div.output_area pre { margin: 0; padding: 1px 0; border: 0; vertical-align: baseline; color: black;
  background-color: transparent; border-radius: 0 }</style>"""
INTO_AN_OUTPUT = """root => {
  const output = document.createElement('div');
  output.className = 'output_area';
  output.style.display = 'contents';
  root.parentElement.replaceChild(output, root);
  output.append(root);
}"""
SIZES = """root => [...root.querySelectorAll('svg, pre')].map(each => {
  const style = getComputedStyle(each);
  return [each.tagName, each.getAttribute('class'), style.color, style.padding, style.margin, style.borderWidth,
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


@pytest.mark.parametrize("name", ["backward", "checkpoint", "comparison", "explorer", "compiled"])
def test_the_rules_of_a_notebook_change_no_drawing(page: Page, tmp_path: Path, name: str) -> None:
    page.emulate_media(reduced_motion="reduce")
    bare = VIEWS[name]()[0].to_html()
    alone = sizes(page, tmp_path / "page.html", bare)
    hosted = sizes(page, tmp_path / "page.html", bare.replace("<style>", f"{HOST}<style>", 1))
    assert hosted == alone
    assert any(each[0] == "svg" and each[-1] for each in alone)
