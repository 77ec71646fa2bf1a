"""Recordings made to do harm, as exported pages in Chromium and in a live JupyterLab: nothing of them is executed."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
from playwright.sync_api import Page

from minigrad.recorder import Trace
from minigrad_widgets import Inspector, compare
from tests.browser.jupyter import Lab, chrome, lab, open_notebook, run_all
from tests.groups import chromium
from tests.widgets import hostile

ROOT = Path(__file__).resolve().parents[2]
HARM = "window.harmed=1"
TAGS = [f"<script>{HARM}</script>", f"<img src=x onerror={HARM}>", f"<svg onload={HARM}>", f"<body onload={HARM}>",
        f"<iframe srcdoc='<script>parent.{HARM}</script>'>",
        f"<iframe src=javascript:parent.{HARM}>",
        f"<a href=javascript:{HARM}>here</a>", f"<details open ontoggle={HARM}>", f"<video><source onerror={HARM}>",
        f"<input autofocus onfocus={HARM}>", f"<style onload={HARM}></style>", f"<object data=javascript:{HARM}>",
        f"<embed src=javascript:{HARM}>", f"<form><button formaction=javascript:{HARM}>x</button></form>",
        f"<math><mtext><img src=x onerror={HARM}></mtext></math>",
        f"<meta http-equiv=refresh content='0;javascript:{HARM}'>", f"<base href=javascript:{HARM}//>",
        f"<link rel=stylesheet href=data:text/css,x onload={HARM}>",
        f"<template><script>{HARM}</script></template>",
        f"<svg><animate onbegin={HARM} attributeName=x dur=1s>"]
ENDS = ["</script>", "-->", "]]>", "</style>", "</title>", "</textarea>", "'\">", "\\u003c/script>"]
OTHERS = [f"${{{HARM}}}", f"{{{{constructor.constructor('{HARM}')()}}}}", f"`;{HARM}//", f"';{HARM}//",
          f"\\');{HARM}//",
          f"$\\href{{javascript:{HARM}}}{{x}}$", f"[x](javascript:{HARM})", f"\u202e{HARM}\u2066",
          f"\u2028{HARM}\u2029",
          f"javascript:{HARM}", f"\x00<script>{HARM}</script>", "__proto__", "constructor", "toString",
          "hasOwnProperty"]
PAYLOADS = [*TAGS, *[f"{end}<script>{HARM}</script>" for end in ENDS], *OTHERS]
LENSES = ("forward", "backward", "traversal", "checkpoint", "all")
FOREIGN = "img, script, iframe, object, embed, link, base, meta, template, [onload], [onerror], [href^=javascript]"
HEAD = f"""import sys; sys.path[:0] = [{str(ROOT)!r}]
import minigrad
from minigrad.recorder import Trace
from minigrad_widgets import Inspector, compare
from tests.widgets import hostile"""
KEYS = ("Home", *["ArrowRight"] * 12, "Enter", "ArrowDown", "End")


def pages(payload: str) -> Iterator[Any]:
    """Each widget that shows a recording, with a payload for every name."""
    trace = Trace.from_dict(hostile.renamed(payload))
    for lens in LENSES:
        yield Inspector(trace, lens=lens, ask=["grad"])
    yield compare({payload: trace, "other": trace})


def opened(page: Page, path: Path, shown: Any) -> str | None:
    """What an exported page did that it should not; None for nothing."""
    shown.to_html(path)
    asked: list[str] = []
    errors: list[str] = []
    listeners = [("request", lambda request: asked.append(request.url)),
                 ("pageerror", lambda error: errors.append(str(error)))]
    for event, listener in listeners:
        page.on(event, listener)  # type: ignore[call-overload]  # playwright's types know each event by its literal
    page.goto(path.as_uri())
    root = page.locator(".mg-root").first
    root.wait_for()
    root.focus()
    for key in KEYS:
        page.keyboard.press(key)
    wrong = ["it was executed"] * bool(page.evaluate("window.harmed !== undefined"))
    wrong += ["elements came out of a name"] * root.locator(FOREIGN).count()
    wrong += [f"it asked for {url}" for url in asked[1:]] + errors
    for event, listener in listeners:
        page.remove_listener(event, listener)  # type: ignore[arg-type]  # as above
    return "; ".join(wrong) or None


def exported(payloads: list[str]) -> Iterator[str | None]:
    """Open the pages of payloads, and step through them; for each None, or what it did."""
    with chrome(str(chromium())) as browser, tempfile.TemporaryDirectory() as name:
        page = browser.new_context(offline=True, viewport={"width": 1200, "height": 900}).new_page()
        for payload in payloads:
            for shown in pages(payload):
                wrong = opened(page, Path(name, "page.html"), shown)
                yield f"{payload!r}: {wrong}" if wrong else None


def cells(payload: str) -> list[str]:
    """Cells that show a recording full of a payload, print it, and raise it as an error."""
    return [f"trace = Trace.from_dict(hostile.renamed({payload!r}))\nInspector(trace, lens='all')",
            f"compare({{{payload!r}: trace, 'other': trace}})",
            "print(trace.text())\nStateCard(minigrad.ones(2), name='x')", f"raise ValueError({payload!r})"]


def in_jupyterlab(payloads: list[str]) -> Iterator[str | None]:
    """Run a notebook for each payload, which is trusted then, and open its copy, which is not; for each what it did."""
    with tempfile.TemporaryDirectory() as name, chrome(str(chromium())) as browser:
        folder, home = Path(name, "notebooks"), Path(name, "home")
        for each in (folder, home):
            each.mkdir()
        with lab(folder, home) as running:
            page = browser.new_context(viewport={"width": 1500, "height": 1000}).new_page()
            page.on("dialog", lambda dialog: dialog.dismiss())
            for at, payload in enumerate(payloads):
                yield trusted(page, running, f"trusted {at}.ipynb", payload)
                yield untrusted(page, running, f"trusted {at}.ipynb", f"untrusted {at}.ipynb")


def trusted(page: Page, running: Lab, name: str, payload: str) -> str | None:
    """Run a notebook of a payload and look at it."""
    made = [HEAD, *cells(payload)]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in made])
    for cell in notebook.cells:
        cell.metadata["tags"] = ["raises-exception"]  # so that the cells below an error run
    notebook.cells.insert(0, nbformat.v4.new_markdown_cell(f"# {payload}"))
    notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    notebook.metadata["title"] = payload
    nbformat.write(notebook, running.folder / name)
    open_notebook(page, running, name)
    run_all(page, running, name)
    page.locator(".jp-CodeCell .jp-InputPrompt", has_text=f"[{len(made)}]:").wait_for(timeout=600_000)
    page.locator(".mg-root").nth(1).wait_for(timeout=600_000)
    page.locator(".mg-root").first.press("ArrowRight")
    wrong = looked_at(page, payload)
    page.keyboard.press("Control+s")
    while '"ename"' not in (running.folder / name).read_text(encoding="utf-8"):
        page.wait_for_timeout(200)
    return wrong


def untrusted(page: Page, running: Lab, name: str, copy: str) -> str | None:
    """Open a notebook with its outputs as one gets it from somebody else: JupyterLab has no signature for it."""
    notebook = nbformat.read(running.folder / name, as_version=4)
    notebook.metadata["copied"] = True  # another file, so that the signature of the first is not its own
    nbformat.write(notebook, running.folder / copy)
    page.goto(running.address(f"lab/tree/{copy}?reset"), wait_until="domcontentloaded")
    page.locator(".jp-NotebookPanel .jp-OutputArea-output").first.wait_for(timeout=600_000)
    return looked_at(page, f"untrusted copy of {name}")


def looked_at(page: Page, what: str) -> str | None:
    """What a notebook did that it should not; None for nothing."""
    wrong = ["it was executed"] * bool(page.evaluate("window.harmed !== undefined"))
    wrong += ["elements came out of a name"] * page.locator(".mg-root").locator(FOREIGN).count()
    return f"{what!r}: {'; '.join(wrong)}" if wrong else None


def spread(count: int) -> list[str]:
    """So many payloads, of all kinds."""
    return PAYLOADS[:: max(1, len(PAYLOADS) // count)][:count]
