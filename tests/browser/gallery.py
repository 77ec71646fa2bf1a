"""Makes docs/gallery.md and its pictures: `python -m tests.browser.gallery [NAME …]`.

It needs Chromium and playwright, nothing else; each picture is at most 60 kB. With names, only those pictures are made
anew.
"""

from __future__ import annotations

import sys
import tempfile
from io import BytesIO
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import Browser, Page

from minigrad_widgets import StateCard
from minigrad_widgets.doctor import Explanation
from tests.browser.jupyter import chrome
from tests.gallery import ENTRIES, IMAGES, PAGE, THEMES, Entry, page, run
from tests.groups import chromium

LARGEST = 60_000
WIDTH = 1100
RARE = Image.Quantize.MAXCOVERAGE  # keeps the colours of small parts, such as those of a legend
SHOWN = ".mg-root, .mgd, table"
PLAIN = """<meta charset="utf-8"><meta name="color-scheme" content="light dark">
<body style="font: 13px system-ui, sans-serif; display: inline-block">{}</body>"""


def main(wanted: list[str]) -> None:
    """All pictures, or those that are named, and the page."""
    executable = chromium()
    if executable is None:
        raise SystemExit("no Chromium was found: install it, or name it in MINIGRAD_CHROMIUM")
    unknown = set(wanted) - {entry.name for entry in ENTRIES}
    if unknown:
        raise SystemExit(f"the gallery has no {', '.join(sorted(unknown))}")
    IMAGES.mkdir(parents=True, exist_ok=True)
    with chrome(executable) as browser, tempfile.TemporaryDirectory() as folder:
        for entry in ENTRIES:
            if not wanted or entry.name in wanted:
                shoot(browser, Path(folder) / "page.html", entry)
    PAGE.write_text(page(), encoding="utf-8")


def shoot(browser: Browser, path: Path, entry: Entry) -> None:
    """One entry in both themes."""
    shown = run(entry)
    if isinstance(shown, StateCard):
        path.write_text(PLAIN.format(shown.to_html()), encoding="utf-8")
    elif isinstance(shown, Explanation):
        path.write_text(shown.to_html(), encoding="utf-8")
    else:
        shown.to_html(path)
    for theme, file in zip(THEMES, entry.files, strict=True):
        scheme: Any = theme
        context = browser.new_context(viewport={"width": WIDTH, "height": 900}, color_scheme=scheme, offline=True,
                                      reduced_motion="reduce")
        tab = context.new_page()
        tab.goto(path.as_uri())
        act(tab, entry)
        save(IMAGES / file, tab.locator(SHOWN).first.screenshot())
        context.close()


def act(tab: Page, entry: Entry) -> None:
    """Does with the widget what the entry says."""
    root = tab.locator(SHOWN).first
    root.focus()
    for each in entry.acts:
        if each.startswith("click "):
            root.locator(each.removeprefix("click ").replace("_", " ")).first.click()
            root.focus()
        elif each.startswith("choose "):
            _, selector, name = each.split(" ")
            root.locator(selector.replace("_", " ")).first.select_option(name)
        elif each.startswith("fill "):
            _, selector, text = each.split(" ")
            root.locator(selector.replace("_", " ")).first.fill(text)
            root.focus()
        else:
            tab.keyboard.press(each)
    tab.mouse.move(0, 0)
    root.evaluate("root => root.blur()")
    tab.wait_for_timeout(300)


def save(path: Path, shot: bytes) -> None:
    """Writes a picture in as many colours as its size allows."""
    image = Image.open(BytesIO(shot)).convert("RGB")
    for colors in (128, 64, 48, 32, 24):
        out = BytesIO()
        image.quantize(colors, RARE, kmeans=1, dither=Image.Dither.NONE).save(out, "PNG", optimize=True)
        if len(out.getvalue()) <= LARGEST:
            path.write_bytes(out.getvalue())
            print(f"{path.name} {len(out.getvalue())} bytes, {colors} colours")
            return
    raise ValueError(f"{path.name} is {len(out.getvalue())} bytes even in {colors} colours")


if __name__ == "__main__":
    main(sys.argv[1:])
