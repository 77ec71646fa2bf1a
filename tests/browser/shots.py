"""Screenshots of the lessons and of the inspector, light and dark, for the README and for looking at.

    python -m tests.browser.shots

writes them to docs/images/, each at most 150 kB.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from shutil import copy

from PIL import Image
from playwright.sync_api import Browser, Locator, Page

from tests.browser.jupyter import Lab, await_idle, chrome, first_inspector, lab, open_notebook, run_all
from tests.groups import chromium

ROOT = Path(__file__).parents[2]
IMAGES = ROOT / "docs" / "images"
LARGEST = 150_000
RARE = Image.Quantize.MAXCOVERAGE  # keeps the colours of small parts, such as those of a legend
THEMES = {"light": "JupyterLab Light", "dark": "JupyterLab Dark"}
PROGRAM = [
    "import minigrad as torch\nfrom minigrad.recorder import record\n"
    "from minigrad_widgets import Inspector, state_card",
    "x = torch.tensor([1.0, 2.0], requires_grad=True)\nw = torch.tensor([3.0, 0.5], requires_grad=True)\n\n"
    "with record() as trace:\n    h = x * w\n    a, b = (h + x).unbind()\n    y = a * b\n    loss = y * y\n"
    "    loss.backward()",
    "Inspector(trace)",
    "Inspector(trace, lens='traversal')",
    "state_card(x=x, h=h, b=b, loss=loss, detached=h.detach())",
]


def save(name: str, shot: bytes) -> None:
    """Writes a picture in as many colours as its size allows."""
    image = Image.open(BytesIO(shot)).convert("RGB")
    for colors in (256, 128, 64, 32):
        out = BytesIO()
        image.quantize(colors, RARE, kmeans=1, dither=Image.Dither.NONE).save(out, "PNG", optimize=True)
        if len(out.getvalue()) <= LARGEST:
            break
    else:
        raise ValueError(f"{name} is {len(out.getvalue())} bytes even in 32 colours")
    (IMAGES / f"{name}.png").write_bytes(out.getvalue())
    print(f"{name}.png {len(out.getvalue())} bytes, {colors} colours")


def press(page: Page, root: Locator, *keys: str) -> None:
    """Steps an inspector, and lets its motion end."""
    root.scroll_into_view_if_needed()
    root.focus()
    for key in keys:
        page.keyboard.press(key)
    page.wait_for_timeout(500)


def inspectors(page: Page, running: Lab, theme: str) -> None:
    """The two lenses and the state card, each alone."""
    name = running.write("inspector.ipynb", *PROGRAM)
    open_notebook(page, running, name)
    run_all(page, running, name)
    first_inspector(page)
    roots = page.locator(".mg-root")
    await_idle(page, running, name)
    press(page, roots.nth(0), *["ArrowRight"] * 21)
    save(f"inspector-{theme}", roots.nth(0).screenshot())
    for _ in range(3):
        roots.nth(1).locator(".mg-chips .mg-next").click()
        press(page, roots.nth(1), "Enter")
    save(f"traversal-{theme}", roots.nth(1).screenshot())
    card = page.locator(".jp-RenderedHTML table").first
    card.scroll_into_view_if_needed()
    save(f"state-card-{theme}", card.screenshot())


def own_model(page: Page, running: Lab, theme: str) -> None:
    """The model of docs/your_own_model.md, with the sizes of its gradients."""
    text = (ROOT / "docs" / "your_own_model.md").read_text(encoding="utf-8")
    name = running.write("own_model.ipynb", text.partition("```python\n")[2].partition("```")[0])
    open_notebook(page, running, name)
    run_all(page, running, name)
    root = first_inspector(page)
    await_idle(page, running, name)
    press(page, root, "End")
    root.locator(".mg-colour select").select_option("gradient")
    root.locator(".mg-summary > summary").click()
    root.locator(".mg-filter").fill("weight")
    page.wait_for_timeout(500)
    save(f"own-model-heat-{theme}", root.screenshot())


def lesson(number: str) -> Callable[[Page, Lab, str], None]:
    """The inspector of a lesson, in its notebook."""

    def shoot(page: Page, running: Lab, theme: str) -> None:
        path = next(iter(sorted((ROOT / "notebooks").glob(f"{number}_*.ipynb"))), None)
        if path is None:
            print(f"lesson {number} is not there")
            return
        copy(path, running.folder)
        open_notebook(page, running, path.name)
        run_all(page, running, path.name)
        root = first_inspector(page)
        await_idle(page, running, path.name)
        press(page, root, *["ArrowRight"] * 8)
        root.evaluate("root => root.closest('.jp-Cell').scrollIntoView({block: 'center'})")
        page.wait_for_timeout(500)
        save(f"lesson-{number}-{theme}", page.screenshot())

    return shoot


def main() -> None:
    """All pictures, in both themes."""
    IMAGES.mkdir(parents=True, exist_ok=True)
    executable = chromium()
    if executable is None:
        raise SystemExit("no Chromium was found: install it, or name it in MINIGRAD_CHROMIUM")
    with chrome(executable) as browser:
        for theme, name in THEMES.items():
            shoot(browser, theme, name)


def shoot(browser: Browser, theme: str, name: str) -> None:
    """All pictures in one theme."""
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as home:
        with lab(Path(folder), Path(home), name) as running:
            for take in (inspectors, own_model, lesson("01"), lesson("03")):
                context = browser.new_context(viewport={"width": 1480, "height": 920})
                take(context.new_page(), running, theme)
                context.close()


if __name__ == "__main__":
    main()
