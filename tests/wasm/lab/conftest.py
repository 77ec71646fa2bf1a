"""The browser of these tests is that of tests/browser."""

from __future__ import annotations

from tests.groups import has_browser, installed

if has_browser() and installed("jupyterlab"):
    from tests.browser.fixtures import browser

    __all__ = ["browser"]
