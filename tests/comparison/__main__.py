"""Makes docs/comparison.md and its pictures: `python -m tests.comparison [MODEL …]`.

It needs Chromium, the extra `models`, and the tools: `pip install torchvista ai-edge-model-explorer torchview torchinfo
torchlens`. Drawings for Graphviz are drawn by the Graphviz that torchvista brings along, compiled to JavaScript. With
models named, only theirs are made anew; the page is written from docs/images/comparison/results.json.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from contextlib import suppress
from html import escape
from importlib.metadata import version
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from typing import Any

import torch
from PIL import Image
from playwright.sync_api import Browser, Page

from tests.browser.jupyter import chrome
from tests.comparison.models import MODELS
from tests.comparison.page import IMAGES, LARGEST, PAGE, RESULTS, ROOT, page
from tests.comparison.tools import TOOLS
from tests.groups import chromium

LIMIT = 600  # seconds for a tool and a model
WINDOW = (1280, 800)
WIDTH = 640  # of a picture, in pixels
TEXT = "<body style='margin: 16px; background: white'><pre style='font: 13px/1.3 monospace'>{}</pre>"
DRAWING = "<body style='margin: 16px; background: white'><script>{}</script>"
DRAW = """async dot => {
  const drawn = (await Viz.instance()).renderSVGElement(dot);
  document.body.append(drawn);
  const { width, height } = drawn.getBoundingClientRect();
  const scale = Math.min(1248 / width, 768 / height);
  drawn.setAttribute('width', width * scale);
  drawn.setAttribute('height', height * scale);
}"""


def main(wanted: list[str]) -> None:
    """All models, or those named, then the page."""
    executable = chromium()
    if executable is None:
        raise SystemExit("no Chromium was found: install it, or name it in MINIGRAD_CHROMIUM")
    unknown = set(wanted) - MODELS.keys()
    if unknown:
        raise SystemExit(f"there is no model {', '.join(sorted(unknown))}")
    IMAGES.mkdir(parents=True, exist_ok=True)
    results: dict[str, Any] = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    results["versions"] = {tool: version(package) for tool, (package, *_) in TOOLS.items() if tool != "here"}
    results["torch"] = torch.__version__
    with chrome(executable, "--enable-unsafe-swiftshader") as browser:
        for model in wanted or MODELS:
            for tool in TOOLS:
                results[f"{model} {tool}"] = one(browser, tool, model)
                print(model, tool, results[f"{model} {tool}"])
                RESULTS.write_text(json.dumps(results, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    PAGE.write_text(page(results), encoding="utf-8")


def one(browser: Browser, tool: str, model: str) -> dict[str, Any]:
    """The seconds that a tool takes for a model, or its error, and its picture."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        command = [sys.executable, "-m", "tests.comparison.tools", tool, model, name]
        output = folder / "output.txt"
        with output.open("w", encoding="utf-8") as out, subprocess.Popen(command, stdout=out,
                                                                         stderr=subprocess.STDOUT, cwd=ROOT) as run:
            try:
                if tool == "explorer":
                    return explored(browser, run, output, model)
                run.wait(LIMIT)
            except subprocess.TimeoutExpired:
                return {"error": f"not done after {LIMIT} s"}
            finally:
                run.kill()
        found = answer(output)
        if "seconds" in found:
            draw(browser, tool, folder, f"{model}/{tool}")
        return found


def answer(output: Path) -> dict[str, Any]:
    """What the process has printed so far: its last line of JSON."""
    text = output.read_text(encoding="utf-8")
    for line in reversed(text.splitlines()):
        with suppress(json.JSONDecodeError):
            found = json.loads(line)
            if isinstance(found, dict):
                return found
    last = [line for line in text.splitlines() if line.strip()][-1:]
    return {"error": last[0][:200] if last else "it ended and printed nothing"}


def explored(browser: Browser, run: subprocess.Popen[bytes], output: Path, model: str) -> dict[str, Any]:
    """Model Explorer, whose page is served until its process is ended."""
    page = browser.new_page(viewport={"width": WINDOW[0], "height": WINDOW[1]})
    for _ in range(2 * LIMIT):
        address = re.search(r"http://localhost:\d+/\S+", output.read_text(encoding="utf-8"))
        if address or run.poll() is not None:
            break
        page.wait_for_timeout(500)
    found = answer(output)
    if address:
        page.goto(address[0])
        page.locator("canvas").first.wait_for()
        page.wait_for_timeout(3_000)  # it draws on a canvas, which does not say when it is done
        save(page.screenshot(), f"{model}/explorer")
    page.close()
    return found


def draw(browser: Browser, tool: str, folder: Path, name: str) -> None:
    """The picture of what a tool made: its page, its drawing or its text, as a window of 1280 × 800 shows it."""
    page = browser.new_page(viewport={"width": WINDOW[0], "height": WINDOW[1]}, reduced_motion="reduce")
    drawing = next((folder / each for each in ("made.dot", "drawing") if (folder / each).exists()), None)
    if (folder / "made.html").exists():
        page.goto((folder / "made.html").as_uri())
        page.locator("svg").first.wait_for()
    elif drawing is not None:
        page.set_content(DRAWING.format(viz()))
        page.evaluate(DRAW, drawing.read_text(encoding="utf-8"))
    else:
        text = folder / ("made.txt" if tool == "torchinfo" else "summary.txt")
        page.set_content(TEXT.format(escape(text.read_text(encoding="utf-8"))))
    settle(page)
    save(page.screenshot(), name)
    page.close()


def settle(page: Page) -> None:
    """Wait until the page looks the same twice."""
    before = b""
    for _ in range(40):
        page.wait_for_timeout(500)
        now = page.screenshot()
        if now == before:
            return
        before = now


def viz() -> str:
    """Graphviz, compiled to JavaScript, of torchvista."""
    spec = find_spec("torchvista")
    if spec is None or spec.origin is None:
        raise SystemExit("torchvista is not installed")
    return (Path(spec.origin).parent / "assets" / "viz-standalone.js").read_text(encoding="utf-8")


def save(shot: bytes, name: str) -> None:
    """Write a small picture: in 64 colours, or fewer until it is small enough."""
    image = Image.open(BytesIO(shot)).convert("RGB")
    image = image.resize((WIDTH, round(WIDTH * image.height / image.width)), Image.Resampling.LANCZOS)
    for colors in (32, 16, 8):
        out = BytesIO()
        image.quantize(colors, Image.Quantize.MAXCOVERAGE, kmeans=1, dither=Image.Dither.NONE).save(out, "PNG",
                                                                                                    optimize=True)
        if len(out.getvalue()) <= LARGEST:
            break
    (IMAGES / name).parent.mkdir(exist_ok=True)
    (IMAGES / f"{name}.png").write_bytes(out.getvalue())


if __name__ == "__main__":
    main(sys.argv[1:])
