"""Exported pages whose state is damaged, in Chromium: each is shown, or refused in words; nothing of it is executed."""

from __future__ import annotations

import atexit
import json
import tempfile
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from tests.fuzz.files.damage import by_schema, damaged
from tests.groups import chromium

KEYS = ("Home", "ArrowRight", "ArrowRight", "ArrowDown", "Enter", "End", "ArrowLeft")


@cache
def states() -> list[bytes]:
    """The state of a page, as JSON."""
    from tests.widgets import synthetic  # noqa: PLC0415 - only this target needs it

    fields = {"lens": "all", "step": 3, "collapsed": None, "ask": ["grad"], "answers": []}
    return [json.dumps({"trace": json.dumps(synthetic.diamond()), **fields}).encode()]


def damaged_state(random: Random, data: bytes) -> bytes:
    """A state whose trace is damaged, by its schema or byte by byte, or whose other fields are."""
    state = json.loads(data)
    if random.random() < 0.2:
        return by_schema(random, data)
    text = state["trace"].encode()
    made = by_schema(random, text) if random.random() < 0.7 else damaged(random, text)
    state["trace"] = made.decode("utf-8", "replace")
    return json.dumps(state).encode()


running = ExitStack()  # a Chromium, once there is a page
errors: list[str] = []


@cache
def page() -> Any:
    """A page of a Chromium that runs until `end`, or until this program ends; the network is cut."""
    from tests.browser.jupyter import chrome  # noqa: PLC0415 - only this target needs it

    made = running.enter_context(chrome(str(chromium()))).new_context(offline=True).new_page()
    made.on("pageerror", lambda error: errors.append(str(error)))
    return made


def end() -> None:
    """End the Chromium: Playwright can be started once at a time."""
    page.cache_clear()
    running.close()


atexit.register(end)


def use_state(data: bytes) -> None:
    """Open the page that has this state, and step through it."""
    from minigrad_widgets.widget.page import write_page  # noqa: PLC0415 - only this target needs it

    errors.clear()
    state = json.loads(data)
    state = state if isinstance(state, dict) else {"trace": state}
    with tempfile.TemporaryDirectory() as name:
        path = Path(name, "page.html")
        write_page({key: str(value) if key == "trace" else value for key, value in state.items()}, path)
        page().goto(path.as_uri())
    shown = page().locator(".mg-root, [role=alert]").first
    shown.wait_for(timeout=60_000)
    if shown.get_attribute("role") != "alert":
        shown.focus()
        for key in KEYS:
            page().keyboard.press(key)
    harmed = page().evaluate("window.harmed !== undefined || document.images.length > 0")
    assert not harmed, "something of it was executed"
    assert not errors, f"uncaught: {errors[0]}"
