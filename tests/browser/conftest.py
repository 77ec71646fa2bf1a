"""The fixtures of the browser tests, where there is a browser; elsewhere each file of tests says so and skips."""

from __future__ import annotations

from tests.groups import has_browser, installed

if has_browser() and installed("jupyterlab"):
    from tests.browser.fixtures import (
        arranged,
        axe,
        book,
        browser,
        lessons,
        opened,
        page,
        pages,
        read_book,
        seen,
        server,
        tab,
    )

    __all__ = ["arranged", "axe", "book", "browser", "lessons", "opened", "page", "pages", "read_book", "seen",
               "server", "tab"]
