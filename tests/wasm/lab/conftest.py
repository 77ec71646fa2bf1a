"""The browser of these tests is that of tests/browser; all of them use one lab."""

from __future__ import annotations

from tests.groups import has_browser, installed

if has_browser() and installed("jupyterlab"):
    from tests.browser.fixtures import browser
    from tests.wasm.lab.fixtures import lab

    __all__ = ["browser", "lab"]
